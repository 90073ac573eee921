"""``A before B``: the order behind ``~>`` and ``~>>``, on ranks instead of times.

``A.end < B.start, or equal and A.seq < B.seq`` compares the pairs (time, row); their ranks among
all steps involved are integers that search and sort alike. An :class:`Ordering` looks either way:
seen from the right, both ends of every step change places and the ranks run backwards, so a join
from right to left is the same code.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracegraph.model.columns import Ints
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.spans import distinct_rows
from tracegraph.pattern.truth import FALSE, TRUE, UNKNOWN, Truth

Way = Literal["scope", "trace"]

_LATEST = np.iinfo(np.int64).max


def groups_of(way: Way, rows: Ints, ground: Ground) -> Ints:
    """Return a number per step: steps of different numbers are never in order.

    ``~>`` orders within a scope, of one trace always; ``~>>`` within the unit.
    """
    if way == "trace":
        return ground.unit_of(rows)
    scope = ground.columns.steps.scope[rows].astype(np.int64)
    outside = ground.columns.step_count + ground.trace_of(rows)
    return np.where(scope >= 0, scope, outside)


def before(way: Way, left: Ints, right: Ints, ground: Ground) -> Truth:
    """Return the truth of ``left ~> right`` (``scope``) or ``left ~>> right`` (``trace``)."""
    steps = ground.columns.steps
    end, start = steps.o1[left], steps.o0[right]
    truth = np.where((end < start) | ((end == start) & (left < right)), TRUE, FALSE)
    truth = np.where((end < 0) | (start < 0), UNKNOWN, truth)
    apart = groups_of(way, left, ground) != groups_of(way, right, ground)
    truth[apart | ground.related(left, right)] = FALSE
    return truth.astype(np.int8)


@dataclass(frozen=True, slots=True)
class Ordering:
    """Ranks of the ends of steps, seen from one side; they compare within a unit.

    Attributes:
        place: for each row of the columns its place among the steps that have ranks.
        near_end: rank of the end of each that faces away from the viewer, -1 unknown: of the left
            step of a pair seen from the left its end, seen from the right of the right its start.
        far_end: rank of the end that faces the viewer.
        limit: larger than any rank.
    """

    place: Ints
    near_end: Ints
    far_end: Ints
    limit: int

    def leaving(self, rows: Ints) -> Ints:
        """Rank that a step on the near side must stay below, -1 unknown."""
        return self.near_end[self.place[rows]]

    def entering(self, rows: Ints) -> Ints:
        """Rank of a step on the far side, -1 unknown."""
        return self.far_end[self.place[rows]]


def ordering(rows: Ints, ground: Ground, *, forward: bool) -> Ordering:
    """Rank the ends of steps.

    Args:
        rows: the steps, in any order, repeats allowed.
        ground: gives their bounds.
        forward: seen from the left step of a pair, else from the right.
    """
    steps = ground.columns.steps
    distinct, place = distinct_rows(rows, ground.columns.step_count)
    # Start and end of each step side by side, so that a stable sort puts ties in order of seq.
    times = np.stack([steps.o0[distinct], steps.o1[distinct]], axis=1).reshape(-1)
    owner = np.repeat(np.arange(len(distinct)), 2)
    unit = np.repeat(ground.unit_of(distinct), 2)
    order = _sorted(unit, times)
    changed = np.ones(len(order), dtype=bool)
    changed[1:] = (np.diff(times[order]) != 0) | (np.diff(owner[order]) != 0)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.cumsum(changed) - 1
    if not forward:
        rank = len(order) - rank
    rank[times < 0] = -1
    start, end = rank[::2], rank[1::2]
    return Ordering(
        place,
        end if forward else start,
        start if forward else end,
        len(order) + 1,
    )


def _sorted(unit: Ints, times: Ints) -> Ints:
    """Return the order by unit and time, stable."""
    if not len(unit):
        return unit
    begins = np.flatnonzero(np.r_[True, unit[1:] != unit[:-1]])
    known = np.where(times >= 0, times, _LATEST)
    first = np.minimum(np.minimum.reduceat(known, begins), np.maximum.reduceat(times, begins))
    since = np.maximum(times - np.repeat(first, np.diff(np.r_[begins, len(unit)])), 0)
    width = int(since.max()) + 1
    if width * (int(unit[-1]) + 1) < _LATEST:
        return np.argsort(unit * width + since, kind="stable")  # almost sorted, so almost linear
    return np.lexsort((times, unit))
