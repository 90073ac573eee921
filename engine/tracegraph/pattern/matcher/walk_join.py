"""The join over causal walks, which bitsets follow."""

from collections.abc import Iterator, Sequence

import numpy as np

from tracegraph.model.codes import HEURISTIC
from tracegraph.model.columns import Ints
from tracegraph.pattern.filters import StepFilter
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.matcher.ends import Ends, by_row
from tracegraph.pattern.operands import Values
from tracegraph.pattern.reach import Keys, Walks
from tracegraph.pattern.spans import Spans, compact, distinct_rows
from tracegraph.pattern.truth import FALSE, TRUE, UNKNOWN, Truth


class WalkJoin:
    """``->>``, ``->{m,n}``: a causal walk, the best one counting where steps may not lie inside."""

    def __init__(self, ends: Ends, ground: Ground) -> None:
        self._ends, self._ground = ends, ground
        between = ends.edge.between
        self._filter = None if between is None else StepFilter(between, ends.frame, ground)
        self.settled = self._filter is None

    def spans(self) -> Iterator[Spans]:
        """Sweep from the left steps to the right ones."""
        ends = self._ends
        size = self._ground.columns.step_count
        items, item_place = distinct_rows(ends.far, size)
        item_of = np.empty(len(items), dtype=np.int64)
        item_of[item_place[ends.far]] = np.arange(len(ends.far))
        for lines in self._shares(np.arange(len(ends.near))):
            near, place = distinct_rows(ends.near[lines], size)
            of = place[ends.near[lines]]
            first = np.empty(len(near), dtype=np.int64)
            first[of] = np.arange(len(lines))
            keys = _keys_of_steps(ends.keys, lines, lines[first], of, item_of)
            left, right = (near, items) if ends.forward else (items, near)
            if keys is not None and not ends.forward:
                keys = Keys(keys.target, keys.source)
            for found in self._walks(lines, UNKNOWN).pairs(left, right, keys):
                bound, far = found if ends.forward else found[::-1]
                held = np.zeros(len(near), dtype=bool)
                held[bound] = True
                yield from by_row(ends, near[bound], items[far], lines[held[of]])

    def truth(self, line: Ints, far: Ints) -> Truth:
        """Sweep over steps that are known to be free; then, for the rest, over all that may be."""
        left, right = self._ends.sides(line, far)
        truth = np.full(len(line), FALSE, dtype=np.int8)
        for at in self._shares(line):
            free = self._walks(line[at], FALSE).connect(left[at], right[at])
            truth[at[free]] = TRUE
            rest = at[~free]
            if self._filter is not None and len(rest):
                maybe = self._walks(line[rest], UNKNOWN).connect(left[rest], right[rest])
                truth[rest[maybe]] = UNKNOWN
        return truth

    def evidence(self, line: Ints, far: Ints, truth: Truth) -> Ints:
        """Return the weakest edge of the best walk, given the truth of each pair."""
        left, right = self._ends.sides(line, far)
        codes = np.unique(self._ground.edges(self._ends.exact).evidence).tolist()
        result = np.full(len(line), codes[-1] if codes else 0, dtype=np.int64)
        for at in self._shares(line):
            for worst, best in ((FALSE, TRUE), (UNKNOWN, UNKNOWN)):
                open_ = at[truth[at] == best]
                for code in codes[:-1]:
                    if not len(open_):
                        break
                    walks = self._walks(line[open_], worst, code)
                    joined = walks.connect(left[open_], right[open_])
                    result[open_[joined]] = code
                    open_ = open_[~joined]
        return result

    def _walks(self, lines: Ints, worst: int, weakest: int = HEURISTIC) -> Walks:
        """Return the walks over steps whose filter is no truer than ``worst`` for these lines."""
        edges = self._ground.edges(self._ends.exact).up_to(weakest)
        passable = None
        if self._filter is not None and len(lines):
            stops = self._filter.dense
            if not self._filter.same_for_all:
                rows = self._filter.rows
                stops = stops.copy()
                stops[rows] = self._filter.at(rows, np.full(len(rows), lines[0]))
            passable = stops <= worst
        offsets = self._ground.columns.offsets
        return Walks(edges, offsets, self._ends.edge.low, self._ends.edge.high, passable)

    def _shares(self, line: Ints) -> Iterator[Ints]:
        """Split pairs into sets with one and the same filter."""
        if self._filter is None or self._filter.same_for_all:
            yield np.arange(len(line))
            return
        share = np.zeros(int(line.max(initial=0)) + 1, dtype=np.int64)
        for number, members in enumerate(self._filter.shares(np.unique(line))):
            share[members] = number
        order = np.argsort(share[line], kind="stable")
        yield from np.split(order, np.flatnonzero(np.diff(share[line][order])) + 1)


def _keys_of_steps(
    keys: Sequence[tuple[Values, Values]], lines: Ints, first: Ints, of: Ints, item_of: Ints
) -> Keys | None:
    """Return what lines and items must share as a property of their steps, if it is one.

    Args:
        keys: values over all lines and over all items.
        lines: the lines.
        first: a line of each distinct near step.
        of: number of the near step of each line.
        item_of: an item of each distinct far step.
    """
    if not keys or len(item_of) != len(keys[0][1].data):
        return None
    for line, _ in keys:
        there = line.take(first).take(of)
        here = line.take(lines)
        same = (here.known == there.known) & (~here.known | (here.data == there.data))
        if not same.all():
            return None
    near, far = compact(*((line.data[first], item.data[item_of]) for line, item in keys))
    told = np.logical_and.reduce([line.known[first] for line, _ in keys])
    known = np.logical_and.reduce([item.known[item_of] for _, item in keys])
    return Keys(np.where(told, near, -1), np.where(known, far, -1))
