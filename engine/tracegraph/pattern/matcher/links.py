"""Joins whose answer follows from one table: causal edges, tree parents, preorder, units."""

from collections.abc import Iterator

import numpy as np

from tracegraph.model.codes import CONTAINMENT
from tracegraph.model.columns import Ints, Mask
from tracegraph.pattern.filters import StepFilter
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.matcher.ends import Ends, Join, by_row, groupings, two_valued
from tracegraph.pattern.matcher.order_join import OrderJoin
from tracegraph.pattern.matcher.walk_join import WalkJoin
from tracegraph.pattern.spans import Spans, distinct_rows, spans_of_pairs
from tracegraph.pattern.truth import FALSE, TRUE, UNKNOWN, Truth


def join_of(ends: Ends, ground: Ground) -> Join:
    """Return the join for a link."""
    edge = ends.edge
    if edge.kind == "cause":
        return DirectJoin(ends, ground) if edge.high == 1 else WalkJoin(ends, ground)
    if edge.kind == "child":
        return ChildJoin(ends, ground)
    return DescendantJoin(ends, ground) if edge.kind == "descendant" else OrderJoin(ends, ground)


class DirectJoin:
    """``->``: one causal edge."""

    settled = True

    def __init__(self, ends: Ends, ground: Ground) -> None:
        self._ends, self._ground = ends, ground
        self._edges = ground.edges(ends.exact)
        self._size = ground.columns.step_count

    def spans(self) -> Iterator[Spans]:
        """Scan the edges for both ends."""
        ends, edges = self._ends, self._edges
        near, far = (edges.cause, edges.effect) if ends.forward else (edges.effect, edges.cause)
        kept = np.flatnonzero(_marks(ends.far, self._size)[far])
        kept = kept[_marks(ends.near, self._size)[near[kept]]]
        yield from by_row(ends, near[kept], far[kept])

    def truth(self, line: Ints, far: Ints) -> Truth:
        """Look the edges up."""
        left, right = self._ends.sides(line, far)
        return two_valued(self._edges.evidence_of(left, right) > 0)


class ChildJoin:
    """``/``: the right step is a tree child of the left one."""

    def __init__(self, ends: Ends, ground: Ground) -> None:
        self._ends = ends
        self.settled = not ends.exact
        self._steps = ground.columns.steps
        self._size = ground.columns.step_count

    def spans(self) -> Iterator[Spans]:
        """Follow the parents of the right steps."""
        ends = self._ends
        right, _ = distinct_rows(ends.far if ends.forward else ends.near, self._size)
        left = self._steps.parent[right].astype(np.int64)
        has = left >= 0
        left, right = left[has], right[has]
        near, far = (left, right) if ends.forward else (right, left)
        kept = _marks(ends.far, self._size)[far] & _marks(ends.near, self._size)[near]
        yield from by_row(ends, near[kept], far[kept])

    def truth(self, line: Ints, far: Ints) -> Truth:
        """Compare parents; ``exact`` asks for strong tree edges."""
        left, right = self._ends.sides(line, far)
        holds = self._steps.parent[right] == left
        if self._ends.exact:
            holds &= self._steps.parent_evidence[right] <= CONTAINMENT
        return two_valued(holds)


class DescendantJoin:
    """``//``: the right step lies below the left one; by preorder, so without any depth."""

    def __init__(self, ends: Ends, ground: Ground) -> None:
        self._ends, self._ground = ends, ground
        self._steps = ground.columns.steps
        between = ends.edge.between
        self._filter = None if between is None else StepFilter(between, ends.frame, ground)
        self.settled = self._filter is None and not ends.exact

    def spans(self) -> Iterator[Spans]:
        """Take ranges of the preorder."""
        ends, pre, last = self._ends, self._steps.pre, self._steps.last
        upper = ends.near if ends.forward else ends.far
        lower = ends.far
        if not ends.forward:
            lower, _ = distinct_rows(ends.near, self._ground.columns.step_count)
        order = np.argsort(pre[lower], kind="stable")
        numbers = pre[lower][order]
        low = np.searchsorted(numbers, pre[upper], side="right")
        high = np.searchsorted(numbers, last[upper], side="right")
        if ends.forward:
            yield Spans(np.arange(len(upper)), low, high, order)
            return
        for item, below, _ in Spans(np.arange(len(upper)), low, high, lower[order]).blocks():
            yield spans_of_pairs(ends.near, below, item)

    def truth(self, line: Ints, far: Ints) -> Truth:
        """Compare preorder numbers; then count weak edges and filtered steps on the way."""
        left, right = self._ends.sides(line, far)
        pre, last = self._steps.pre, self._steps.last
        holds = (pre[left] < pre[right]) & (pre[right] <= last[left])
        if self._ends.exact:
            weak = self._ground.weak_above(CONTAINMENT)
            holds &= weak[left] == weak[right]
        truth = two_valued(holds)
        if self._filter is None:
            return truth
        if not self._filter.same_for_all:
            return self._climb(self._filter, truth, line, left, right)
        free = np.full(len(line), TRUE, dtype=np.int8)
        parent = self._steps.parent[right]
        for least, met in ((UNKNOWN, UNKNOWN), (TRUE, FALSE)):
            inside = self._ground.above(self._filter.dense >= least)
            free[inside[parent] > inside[left]] = met
        return np.minimum(truth, free)

    def _climb(self, steps: StepFilter, truth: Truth, line: Ints, left: Ints, right: Ints) -> Truth:
        """Ask every step on the way, where the filter speaks of the line's other steps."""
        at = np.flatnonzero(truth)
        here = self._steps.parent[right[at]].astype(np.int64)
        while True:
            inside = here != left[at]
            at, here = at[inside], here[inside]
            if not len(at):
                return truth
            truth[at] = np.minimum(truth[at], TRUE - steps.at(here, line[at]))
            here = self._steps.parent[here].astype(np.int64)


class UnitJoin:
    """No link at all: any step of the same unit."""

    settled = True

    def __init__(self, ends: Ends, ground: Ground) -> None:
        self._ends, self._ground = ends, ground

    def spans(self) -> Iterator[Spans]:
        """Take the items of the line's unit, by shared fields where there are any."""
        ends = self._ends
        units = self._ground.unit_of
        for part in groupings(units(ends.near), units(ends.far), ends.keys):
            order = np.argsort(part.item_group, kind="stable")
            ordered = part.item_group[order]
            low = np.searchsorted(ordered, part.line_group, side="left")
            high = np.searchsorted(ordered, part.line_group, side="right")
            yield Spans(part.lines, low, high, part.items[order])

    def truth(self, line: Ints, far: Ints) -> Truth:
        """Compare the units."""
        units = self._ground.unit_of
        return two_valued(units(self._ends.near[line]) == units(far))


def _marks(rows: Ints, size: int) -> Mask:
    marks = np.zeros(size, dtype=bool)
    marks[rows] = True
    return marks
