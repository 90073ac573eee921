"""Runs: maximal blocks of neighbours in a line that agree in some fields (``{m,} same f, g``).

The steps of a run's kinds are lined up by group and seq. Everything then follows from *conflicts*,
pairs of places that no block may hold both of: the maximal blocks are the maximal ranges without a
conflict, found in one pass with a running maximum, whatever the length of the runs.
"""

from dataclasses import dataclass

import numpy as np

from tracegraph.model.columns import Array, Ints, Mask, expand
from tracegraph.pattern.ast import Run
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.operands import Frame, step_values
from tracegraph.pattern.rows import Runs
from tracegraph.pattern.truth import FALSE, TRUE, Truth


@dataclass(frozen=True, slots=True)
class Blocks:
    """Ranges of places in a line, both ends inside, ordered by end."""

    first: Ints
    last: Ints

    def __len__(self) -> int:
        return len(self.first)

    def take(self, index: Array) -> "Blocks":
        """Return the chosen blocks."""
        return Blocks(self.first[index], self.last[index])

    def hold_any(self, other: "Blocks") -> Mask:
        """Tell which blocks hold a whole block of another set."""
        if not len(other):
            return np.zeros(len(self), dtype=bool)
        order = np.argsort(other.first, kind="stable")
        first = other.first[order]
        # The earliest end among the other blocks that begin at or after a place.
        nearest = np.minimum.accumulate(other.last[order][::-1])[::-1]
        place = np.searchsorted(first, self.first, side="left")
        inside = place < len(first)
        ends = nearest[np.minimum(place, len(first) - 1)]
        return inside & (ends <= self.last)


def find_runs(
    run: Run, rows: Ints, truth: Truth, frame: Frame, ground: Ground
) -> tuple[Runs, Mask]:
    """Find the runs of a slot.

    Args:
        run: what the slot asks of a run.
        rows: the steps of the slot's kinds, ascending; also those that fail the predicate, for they
            break a run.
        truth: truth of glob and predicate on each.
        frame: gives the columns.
        ground: gives the units.

    Returns:
        The runs, and which of them are confirmed; the others are possible.
    """
    group = _groups(run, rows, frame, ground)
    if (np.diff(group) < 0).any():
        order = np.lexsort((rows, group))
        rows, group, truth = rows[order], group[order], truth[order]
    fields = [step_values(name, rows, frame) for name in run.same]
    codes = [_codes(f.data, f.known) for f in fields]
    known = np.logical_and.reduce([f.known for f in fields], axis=0)
    sure = (truth == TRUE) & known
    find = _plain if run.period is None else _periodic
    confirmed = find(run, group, sure, codes)
    maybe = truth != FALSE
    if np.array_equal(maybe, sure):
        possible = confirmed.take(np.zeros(0, dtype=np.int64))
    else:
        possible = find(run, group, maybe, codes)
        possible = possible.take(~possible.hold_any(confirmed))
    first = np.r_[confirmed.first, possible.first]
    counts = np.r_[confirmed.last, possible.last] - first + 1
    certain = np.arange(len(first)) < len(confirmed)
    return Runs(np.r_[0, np.cumsum(counts)], rows[expand(first, counts)]), certain


def _groups(run: Run, rows: Ints, frame: Frame, ground: Ground) -> Ints:
    """Return the group of each step: scopes and parents lie in one trace, agents in the unit."""
    steps = ground.columns.steps
    if run.per in ("scope", "parent"):
        holder = (steps.scope if run.per == "scope" else steps.parent)[rows].astype(np.int64)
        return np.where(holder >= 0, holder, len(steps.kind) + ground.columns.trace_of(rows))
    unit = ground.unit_of(rows)
    if run.per is None:
        return unit
    agent = steps.agent[rows].astype(np.int64) + 1
    return unit * (int(agent.max(initial=0)) + 1) + agent


def _codes(data: Array, known: Mask) -> Array:
    """Return values that are equal where the field is, -1 for unknown."""
    if data.dtype != object:
        return np.where(known, data, -1)  # no number that a run may share is negative
    codes = np.full(len(data), -1, dtype=np.int64)
    codes[known] = np.unique(data[known].astype(str), return_inverse=True)[1]
    return codes


def _plain(run: Run, group: Ints, admitted: Mask, codes: list[Array]) -> Blocks:
    """Return the maximal blocks without two different known values, long enough."""
    begin = _stretches(group, admitted)
    cut = begin - 1
    for code in codes:
        before, here = _conflicts(code, begin, 1)
        cut = np.maximum(cut, _latest(before, here, len(group)))
    return _maximal(cut, admitted, begin, run.minimum)


def _periodic(run: Run, group: Ints, admitted: Mask, codes: list[Array]) -> Blocks:
    """Return the maximal blocks whose smallest period is in the bounds, long enough."""
    shortest, longest = run.period or (1, 1)
    begin = _stretches(group, admitted)
    places = np.arange(len(group))
    longest = min(longest, int((places - begin + 1).max(initial=0)) // run.minimum)
    found: list[Blocks] = []
    broken: list[Ints] = []  # for each period: how many places before do not surely repeat
    for period in range(1, longest + 1):
        cut = begin - 1
        sure = np.ones(max(len(group) - period, 0), dtype=bool)
        for code in codes:
            before, here = _conflicts(code, begin, period)
            cut = np.maximum(cut, _latest(before, here, len(group)))
            one, other = code[: len(sure)], code[period:]
            sure &= (one == other) & (one >= 0)
        if period >= shortest:
            blocks = _maximal(cut, admitted, begin, run.minimum * period)
            for smaller, counts in enumerate(broken, 1):
                stop = np.maximum(blocks.last - smaller + 1, blocks.first)
                blocks = blocks.take(counts[stop] > counts[blocks.first])
            found.append(blocks)
        broken.append(np.r_[0, np.cumsum(~sure), np.full(period, (~sure).sum())])
    first = np.concatenate([np.zeros(0, dtype=np.int64), *(b.first for b in found)])
    last = np.concatenate([np.zeros(0, dtype=np.int64), *(b.last for b in found)])
    distinct = np.unique(np.stack([last, first]), axis=1)  # one block may fit several periods
    return Blocks(distinct[1], distinct[0])


def _stretches(group: Ints, admitted: Mask) -> Ints:
    """Return for each place where its stretch of admitted neighbours of one group begins.

    A place that is not admitted is a stretch of its own.
    """
    changed = np.ones(len(group), dtype=bool)
    changed[1:] = (group[1:] != group[:-1]) | ~admitted[1:] | ~admitted[:-1]
    return np.maximum.accumulate(np.where(changed, np.arange(len(group)), 0))


def _conflicts(code: Array, begin: Ints, period: int) -> tuple[Ints, Ints]:
    """Return the pairs of places that no block may hold both of.

    They are the known neighbours, among the places a multiple of the period apart in one stretch,
    whose values differ.
    """
    known = np.flatnonzero(code >= 0)
    if period > 1:
        residue = known % period
        known = known[np.lexsort((known, residue))]
    before, here = known[:-1], known[1:]
    apart = (begin[before] == begin[here]) & (code[before] != code[here])
    if period > 1:
        apart &= before % period == here % period
    return before[apart], here[apart]


def _latest(before: Ints, here: Ints, size: int) -> Ints:
    """Return for each place the last place that a block which ends there may not reach."""
    cut = np.full(size, -1, dtype=np.int64)
    np.maximum.at(cut, here, before)
    return np.asarray(np.maximum.accumulate(cut), dtype=np.int64) if size else cut


def _maximal(cut: Ints, admitted: Mask, begin: Ints, minimum: int) -> Blocks:
    """Return the ranges ``cut + 1 .. place`` that no later place extends, of enough length."""
    size = len(cut)
    ends = np.ones(size, dtype=bool)
    ends[:-1] = (begin[1:] != begin[:-1]) | (cut[1:] > cut[:-1])
    last = np.flatnonzero(ends & admitted & (np.arange(size) - cut >= minimum))
    return Blocks(cut[last] + 1, last)
