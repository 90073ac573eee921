"""``[no ...]`` and ``[at most K ...]`` on ``~>`` and ``~>>``: how many steps lie between two.

A step C lies between A and B when ``A e C`` and ``C e B``. Blockers are sorted by where they begin
within their group; of those that begin after A the one that ends first tells whether any lies
before B, so a range-minimum table answers for each pair without looking at all blockers. Steps that
the tree relates to A or B are passed over one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tracegraph.model.columns import Ints, expand
from tracegraph.pattern.before import Ordering
from tracegraph.pattern.filters import StepFilter
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.spans import among, compact
from tracegraph.pattern.truth import FALSE, TRUE, UNKNOWN, Truth

_ROUNDS = 64
_MOST_PRUNED = 16
NONE = -1


class MinimumTable:
    """Answers where the least value of any range lies (a sparse table of places)."""

    def __init__(self, values: Ints) -> None:
        self._values = values
        self._levels = [np.arange(len(values), dtype=np.int32)]
        width = 1
        while 2 * width <= len(values):
            lower = self._levels[-1]
            one, other = lower[: len(lower) - width], lower[width:]
            self._levels.append(np.where(values[one] <= values[other], one, other))
            width *= 2

    def place(self, low: Ints, high: Ints) -> Ints:
        """Return the place of the least value of each non-empty range ``low:high``."""
        level = np.frexp(high - low)[1] - 1
        result = np.empty(len(low), dtype=np.int64)
        for k in np.unique(level).tolist():
            chosen = np.flatnonzero(level == k)
            one = self._levels[k][low[chosen]]
            other = self._levels[k][high[chosen] - (1 << k)]
            result[chosen] = np.where(self._values[one] <= self._values[other], one, other)
        return result


@dataclass(frozen=True, slots=True)
class Gaps:
    """Pairs of steps whose gap is asked about, seen from the near side.

    Attributes:
        group: group of each pair.
        near: row of the near step.
        far: row of the far step; None where the gap is open.
        leaving: rank at which the near step is left; -1 unknown.
        entering: rank at which the far step is entered; -1 unknown.
    """

    group: Ints
    near: Ints
    far: Ints | None
    leaving: Ints
    entering: Ints


class Blockers:
    """Steps that may lie between others, of one certainty.

    Args:
        rows: the steps.
        group: their groups; a step lies only between steps of its group.
        ordering: ranks of their ends.
        ground: tells which steps the tree relates.
        lenient: count a step wherever it is not known to lie elsewhere; else only where it is
            known to lie between.
        until_end: a step lies in a gap to its end; else, for open gaps, its begin is enough.
    """

    def __init__(
        self,
        rows: Ints,
        group: Ints,
        ordering: Ordering,
        ground: Ground,
        *,
        lenient: bool,
        until_end: bool = True,
    ) -> None:
        self._ground = ground
        self._limit = ordering.limit + 1
        self._lenient = lenient
        begin = ordering.entering(rows)
        end = ordering.leaving(rows) if until_end else begin
        if lenient:
            begin = np.where(begin < 0, ordering.limit, begin)
        else:
            known = (begin >= 0) & (end >= 0)
            rows, group, begin, end = rows[known], group[known], begin[known], end[known]
        key = group * self._limit + begin
        order = np.argsort(key, kind="stable")
        self._key, self._rows, self._end = key[order], rows[order], end[order]
        self._table = MinimumTable(self._end) if until_end else None

    def count(self, gaps: Gaps, most: int) -> Ints:
        """Count the blockers in each gap, up to ``most + 1``."""
        counts = np.zeros(len(gaps.near), dtype=np.int64)
        low, high = self._after(gaps.group, gaps.leaving)
        entering = np.where(gaps.entering < 0, self._limit, gaps.entering)
        if self._lenient:
            pair = np.arange(len(counts))
        else:
            pair = np.flatnonzero((gaps.leaving >= 0) & (gaps.entering >= 0))
            low, high = low[pair], high[pair]
        filled = low < high
        pair, low, high = pair[filled], low[filled], high[filled]
        while len(pair):
            place = low if self._table is None else self._table.place(low, high)
            inside = self._end[place] < entering[pair]
            pair, low, high, place = pair[inside], low[inside], high[inside], place[inside]
            row = self._rows[place]
            apart = ~self._ground.related(row, gaps.near[pair])
            if gaps.far is not None:
                apart &= ~self._ground.related(row, gaps.far[pair])
            np.add.at(counts, pair[apart], 1)
            pair = np.r_[pair, pair]
            low, high = np.r_[low, place + 1], np.r_[place, high]
            open_ = (low < high) & (counts[pair] <= most)
            pair, low, high = pair[open_], low[open_], high[open_]
        return np.minimum(counts, most + 1)

    def nearest(self, group: Ints, near: Ints, leaving: Ints, most: int) -> tuple[Ints, list[Ints]]:
        """Find for each near step a rank beyond which more than ``most`` blockers lie before it.

        Returns:
            The rank, at least ``limit`` where no such place was found, and for each of the
            ``most + 1`` blockers that prove it their rows (-1 for none). Far steps beyond the rank
            are out, unless the tree relates them to one of these.
        """
        low, high = self._after(group, leaving)
        bound = np.where(leaving >= 0, -1, self._limit)
        found: list[Ints] = []
        for _ in range(most + 1):
            hit = np.full(len(near), NONE, dtype=np.int64)
            open_ = np.flatnonzero((low < high) & (bound < self._limit))
            for _ in range(_ROUNDS):
                if not len(open_):
                    break
                place = low[open_]
                if self._table is not None:
                    place = self._table.place(place, high[open_])
                low[open_] = place + 1
                apart = ~self._ground.related(self._rows[place], near[open_])
                proved = open_[apart]
                hit[proved] = self._rows[place[apart]]
                bound[proved] = np.maximum(bound[proved], self._end[place[apart]])
                open_ = open_[~apart]
                open_ = open_[low[open_] < high[open_]]
            bound[hit == NONE] = self._limit
            found.append(hit)
        return bound, found

    def _after(self, group: Ints, leaving: Ints) -> tuple[Ints, Ints]:
        """Return the range of blockers of a group that begin after a rank; -1 takes all."""
        base = group * self._limit
        low = np.searchsorted(self._key, base + leaving, side="right")
        low = np.where(leaving < 0, np.searchsorted(self._key, base, side="left"), low)
        return low, np.searchsorted(self._key, base + self._limit, side="left")


class Between:
    """The filter of one ``~>`` or ``~>>`` link, for lines of which the near step is bound.

    Where the filter asks steps to share a field with the line, blockers are grouped by that field
    too; what is left, and what is unknown, is worked out once per distinct set of named values.

    Args:
        steps: the filter.
        group: group of each line's near step.
        near: near step of each line.
        groups: returns the group of steps.
        ordering: ranks of the ends of near, far and filtered steps.
        ground: gives the units.
    """

    def __init__(
        self,
        steps: StepFilter,
        group: Ints,
        near: Ints,
        groups: Callable[[Ints], Ints],
        ordering: Ordering,
        ground: Ground,
    ) -> None:
        self.most = steps.most
        self._ground, self._ordering = ground, ordering
        self._near, self._leaving = near, ordering.leaving(near)
        self._pieces: list[_Piece] = []
        rows, truth, base = steps.rows, steps.truth, groups(steps.rows)
        if steps.same_for_all:
            self._add(group, rows, truth, base)
            return
        pairs, complete = steps.equalities()
        if not complete:
            self._add_shared(steps, np.arange(len(near)), np.arange(len(rows)), group, base)
            return
        told = np.logical_and.reduce([theirs.known for _, theirs in pairs])
        known = np.logical_and.reduce([mine.known for mine, _ in pairs])
        lines, at = np.flatnonzero(told), np.flatnonzero(known)
        line_key, step_key = compact(
            (group[lines], base[at]), *((t.data[lines], m.data[at]) for m, t in pairs)
        )
        keyed = np.full(len(near), NONE, dtype=np.int64)
        keyed[lines] = line_key
        self._add(keyed, rows[at], truth[at], step_key)
        self._add_shared(steps, lines, np.flatnonzero(~known), group, base)
        self._add_shared(steps, np.flatnonzero(~told), np.arange(len(rows)), group, base)

    def bounds(self) -> tuple[Ints, list[Ints]]:
        """Return for each line what :meth:`Blockers.nearest` finds."""
        limit = self._ordering.limit + 1
        bound = np.full(len(self._near), limit, dtype=np.int64)
        hits = [np.full(len(bound), NONE, dtype=np.int64) for _ in range(self.most + 1)]
        if self._pieces and self.most <= _MOST_PRUNED:
            piece = self._pieces[0]
            lines = np.flatnonzero(piece.group >= 0)
            bound[lines], found = piece.definite.nearest(
                piece.group[lines], self._near[lines], self._leaving[lines], self.most
            )
            for hit, rows in zip(hits, found, strict=True):
                hit[lines] = rows
        return bound, hits

    def truth(self, line: Ints, far: Ints) -> Truth:
        """Return whether no more steps than admitted lie between."""
        definite = np.zeros(len(line), dtype=np.int64)
        possible = np.zeros(len(line), dtype=np.int64)
        entering = self._ordering.entering(far)
        for piece in self._pieces:
            group = piece.group[line]
            at = np.flatnonzero(group >= 0)
            gaps = Gaps(
                group[at], self._near[line[at]], far[at], self._leaving[line[at]], entering[at]
            )
            definite[at] += piece.definite.count(gaps, self.most)
            possible[at] += piece.possible.count(gaps, self.most)
        truth = np.where(possible <= self.most, TRUE, UNKNOWN)
        return np.where(definite > self.most, FALSE, truth).astype(np.int8)

    def _add(self, group: Ints, rows: Ints, truth: Truth, step_group: Ints) -> None:
        """Count some steps for the lines whose group is not NONE."""
        held = among(step_group, group)
        rows, truth, step_group = rows[held], truth[held], step_group[held]
        if not len(rows):
            return
        sure = truth == TRUE
        definite = Blockers(
            rows[sure], step_group[sure], self._ordering, self._ground, lenient=False
        )
        possible = Blockers(rows, step_group, self._ordering, self._ground, lenient=True)
        self._pieces.append(_Piece(group, definite, possible))

    def _add_shared(
        self, steps: StepFilter, lines: Ints, at: Ints, group: Ints, base: Ints
    ) -> None:
        """Count some of the filter's steps for some lines, one set of named values at a time."""
        if not len(lines) or not len(at):
            return
        rows = steps.rows[at]
        low, high = self._ground.unit_ranges(rows)
        number = np.full(len(self._near), NONE, dtype=np.int64)
        found: list[tuple[Ints, Truth, Ints]] = []
        for share, members in enumerate(steps.shares(lines)):
            number[members] = share
            units = np.unique(self._ground.unit_of(self._near[members]))
            place = expand(low[units], high[units] - low[units])
            truth = steps.at(rows[place], np.full(len(place), members[0]))
            place, truth = place[truth != FALSE], truth[truth != FALSE]
            found.append((place, truth, np.full(len(place), share)))
        place = np.concatenate([f[0] for f in found])
        truth = np.concatenate([f[1] for f in found])
        share_of = np.concatenate([f[2] for f in found])
        number[lines], step_group = compact(
            (number[lines], share_of), (group[lines], base[at[place]])
        )
        self._add(number, rows[place], truth, step_group)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some of the filter's steps and the lines for which they count, by their group."""

    group: Ints
    definite: Blockers
    possible: Blockers
