"""``within``: how far apart the steps of a match lie, and which matches lie close together."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracegraph.model.columns import Columns, Ints, Mask
from tracegraph.pattern.ast import Window
from tracegraph.pattern.operands import possible_end
from tracegraph.pattern.rows import Column, Rows, RunColumn
from tracegraph.pattern.truth import FALSE, TRUE, UNKNOWN, Truth

_LATEST = np.iinfo(np.int64).max


def within(window: Window, rows: Rows, columns: Columns) -> Truth:
    """Return whether each binding lies within a window.

    Latest end minus earliest start says one inequality for each ordered pair of steps, so a pair
    that is known to be too far apart decides even where other times are missing.
    """
    if window.steps is not None:
        first = np.min([_reduced(c, np.minimum, None) for c in rows.columns], axis=0)
        last = np.max([_reduced(c, np.maximum, None) for c in rows.columns], axis=0)
        return np.where(last - first <= window.steps, TRUE, FALSE).astype(np.int8)
    start = columns.steps.start
    end = possible_end(np.arange(columns.step_count), columns)
    early = np.where(start >= 0, start, _LATEST)
    earliest = np.min([_reduced(c, np.minimum, early) for c in rows.columns], axis=0)
    latest = np.max([_reduced(c, np.maximum, end) for c in rows.columns], axis=0)
    # Unknown times are the least ends and the latest starts: any of them leaves a pair open.
    last_start = np.max([_reduced(c, np.maximum, early) for c in rows.columns], axis=0)
    first_end = np.min([_reduced(c, np.minimum, end) for c in rows.columns], axis=0)
    told = (earliest < _LATEST) & (latest >= 0)
    span = np.where(told, latest - np.where(told, earliest, 0), 0)
    truth = np.where((last_start < _LATEST) & (first_end >= 0), TRUE, UNKNOWN)
    truth[span > (window.ns or 0)] = FALSE
    return truth.astype(np.int8)


def _reduced(column: Column, reduce: np.ufunc, values: Ints | None) -> Ints:
    """Reduce the values of a position's steps; without values their rows."""
    if not isinstance(column, RunColumn):
        return column if values is None else values[column]
    pool = column.pool
    members = pool.members if values is None else values[pool.members]
    if not len(pool):
        return column.which
    reduced: Ints = reduce.reduceat(members, pool.offsets[:-1])
    return reduced[column.which]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of ``having``: matches that count together.

    Attributes:
        members: numbers of the matches, ascending.
        certain: whether it is confirmed.
        of: the match whose by-values are those of the row.
    """

    members: Ints
    certain: bool
    of: int


def rows_of(
    group: Ints,
    joinable: tuple[Ints, Ints],
    certain: Mask,
    minimum: int,
    time: Ints | None,
    ns: int,
) -> list[Row]:
    """Turn matches into the rows of ``having``.

    Args:
        group: number of the by-values (and unit) of each match, -1 where one is unknown.
        joinable: pairs of a match with an unknown by-value and a group that it could join.
        certain: which matches are confirmed.
        minimum: how many make a row.
        time: where matches slide: the start of each, -1 unknown; else None.
        ns: length of the window.
    """
    rows: list[Row] = []
    for every in _groups(group, joinable, minimum):
        full = every[group[every] >= 0]
        sure, of = full[certain[full]], int(full[0])
        if time is None:
            enough = len(sure) >= minimum
            rows.append(Row(sure if enough else every, enough, of))
            continue
        confirmed = _clusters(sure[time[sure] >= 0], time, minimum, ns)
        rows += [Row(members, True, of) for members in confirmed]
        taken = np.concatenate([*confirmed, every[:0]])
        for members in _possible(every, time, minimum, ns):
            if not np.isin(taken, members).any():
                rows.append(Row(members, False, of))
    return rows


def _groups(group: Ints, joinable: tuple[Ints, Ints], minimum: int) -> Iterator[Ints]:
    """Yield for each group that may reach the minimum all matches that could belong to it."""
    told = np.flatnonzero(group >= 0)
    match, number = np.r_[told, joinable[0]], np.r_[group[told], joinable[1]]
    enough = np.bincount(number)[number] >= minimum
    match, number = match[enough], number[enough]
    order = np.lexsort((match, number))
    if len(order):
        yield from np.split(match[order], np.flatnonzero(np.diff(number[order])) + 1)


def _possible(every: Ints, time: Ints, minimum: int, ns: int) -> list[Ints]:
    """Return the sets that may lie in one window; a match without a time may lie in any."""
    timeless, timed = every[time[every] < 0], every[time[every] >= 0]
    if not len(timeless):
        return _clusters(timed, time, minimum, ns)
    found = _clusters(timed, time, minimum - len(timeless), ns)
    if not found and len(timeless) < minimum:
        return []
    return [np.unique(np.concatenate([timeless, *found]))]


def _clusters(members: Ints, time: Ints, minimum: int, ns: int) -> list[Ints]:
    """Return the windows with enough members, those that share one united."""
    order = members[np.argsort(time[members], kind="stable")]
    times = time[order]
    ends = np.searchsorted(times, times + ns, side="right")
    begins = np.flatnonzero(ends - np.arange(len(order)) >= max(minimum, 1))
    if not len(begins):
        return []
    ends = ends[begins]
    new = np.r_[True, begins[1:] >= ends[:-1]]
    last = np.r_[np.flatnonzero(new)[1:] - 1, len(begins) - 1]
    return [
        np.sort(order[low:high])
        for low, high in zip(begins[new].tolist(), ends[last].tolist(), strict=True)
    ]
