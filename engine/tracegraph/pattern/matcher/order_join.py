"""The join over ``~>`` and ``~>>``, which sorted ranks answer."""

from collections.abc import Iterator

import numpy as np

from tracegraph.model.columns import Ints, expand
from tracegraph.pattern.before import Way, before, groups_of, ordering
from tracegraph.pattern.between import Between
from tracegraph.pattern.filters import StepFilter
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.matcher.ends import Ends, Grouping, groupings
from tracegraph.pattern.spans import Spans
from tracegraph.pattern.truth import Truth


class OrderJoin:
    """``~>`` and ``~>>``: the left step is before the right one."""

    settled = False

    def __init__(self, ends: Ends, ground: Ground) -> None:
        self._ends, self._ground = ends, ground
        self._way: Way = "scope" if ends.edge.kind == "scope" else "trace"
        between = ends.edge.between
        steps = None if between is None else StepFilter(between, ends.frame, ground)
        involved = [ends.near, ends.far, *([] if steps is None else [steps.rows])]
        self._ordering = ordering(np.concatenate(involved), ground, forward=ends.forward)
        self._group = self._groups(ends.near)
        self._between = None
        if steps is not None:
            self._between = Between(
                steps, self._group, ends.near, self._groups, self._ordering, ground
            )

    def spans(self) -> Iterator[Spans]:
        """Take ranges of the order, cut short where the filter is certain to forbid the rest."""
        ends, ordering_ = self._ends, self._ordering
        bound = np.full(len(ends.near), ordering_.limit + 1)
        hits: list[Ints] = []
        if self._between is not None:
            bound, hits = self._between.bounds()
        leaving, entering = ordering_.leaving(ends.near), ordering_.entering(ends.far)
        for part in groupings(self._group, self._groups(ends.far), ends.keys):
            yield from self._ranges(part, leaving, entering, bound)
        yield from self._beyond(bound, hits, leaving, entering)

    def truth(self, line: Ints, far: Ints) -> Truth:
        """Compare the times; then ask what lies between."""
        left, right = self._ends.sides(line, far)
        truth = before(self._way, left, right, self._ground)
        if self._between is not None:
            at = np.flatnonzero(truth)
            truth[at] = np.minimum(truth[at], self._between.truth(line[at], far[at]))
        return truth

    def _groups(self, rows: Ints) -> Ints:
        return groups_of(self._way, rows, self._ground)

    def _ranges(
        self, part: Grouping, leaving: Ints, entering: Ints, bound: Ints
    ) -> Iterator[Spans]:
        limit = self._ordering.limit + 2
        leave, enter = leaving[part.lines], entering[part.items]
        by_rank = np.lexsort((enter, part.item_group))
        items = part.items[by_rank]
        key = part.item_group[by_rank] * limit + enter[by_rank] + 1  # unknown first, as 0
        base = part.line_group * limit
        begin = np.searchsorted(key, base, side="left")
        timed = np.searchsorted(key, base, side="right")
        end = np.searchsorted(key, base + limit, side="left")
        known = leave >= 0
        yield Spans(part.lines, begin, np.where(known, timed, end), items)
        low = np.searchsorted(key, base + leave + 1, side="right")
        high = np.searchsorted(key, base + np.minimum(bound[part.lines] + 1, limit - 1), "right")
        yield Spans(part.lines[known], low[known], high[known], items)

    def _beyond(
        self, bound: Ints, hits: list[Ints], leaving: Ints, entering: Ints
    ) -> Iterator[Spans]:
        """Propose what lies beyond the bound but is in the tree above or below its blockers.

        Those blockers are not before such steps, so they prove nothing about them.
        """
        cut = np.flatnonzero((bound <= self._ordering.limit) & (leaving >= 0))
        if not len(cut):
            return
        pairs = [self._below(cut, hit[cut]) for hit in hits]
        pairs += [self._above(cut, hit[cut]) for hit in hits]
        line, item = np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs])
        far_group = self._groups(self._ends.far)
        kept = (entering[item] > bound[line]) & (far_group[item] == self._group[line])
        distinct = np.unique(np.stack([line[kept], item[kept]]), axis=1)
        at = np.arange(distinct.shape[1])
        yield Spans(distinct[0], at, at + 1, distinct[1])

    def _below(self, lines: Ints, rows: Ints) -> tuple[Ints, Ints]:
        """Return the far items below a step of each line."""
        steps = self._ground.columns.steps
        order = np.argsort(steps.pre[self._ends.far], kind="stable")
        numbers = steps.pre[self._ends.far][order]
        low = np.searchsorted(numbers, steps.pre[rows], side="right")
        counts = np.searchsorted(numbers, steps.last[rows], side="right") - low
        return np.repeat(lines, counts), order[expand(low, counts)]

    def _above(self, lines: Ints, rows: Ints) -> tuple[Ints, Ints]:
        """Return the far items above a step of each line."""
        parent = self._ground.columns.steps.parent
        order = np.argsort(self._ends.far, kind="stable")
        far = self._ends.far[order]
        found: list[tuple[Ints, Ints]] = [(lines[:0], lines[:0])]
        here = parent[rows].astype(np.int64)
        while True:
            lines, here = lines[here >= 0], here[here >= 0]
            if not len(lines):
                break
            low = np.searchsorted(far, here, side="left")
            counts = np.searchsorted(far, here, side="right") - low
            found.append((np.repeat(lines, counts), order[expand(low, counts)]))
            here = parent[here].astype(np.int64)
        return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])
