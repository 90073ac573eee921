"""``scope session``: the traces with one known session id, read as one.

They are brought side by side, ordered by start, into one Columns; the *units* tell which of them
are read as one. A trace without a known session id is a unit of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tracegraph.model.columns import Columns, Ints

_LAST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Gathered:
    """Traces of several segments in one Columns, sessions side by side.

    Attributes:
        columns: the traces; ids and fields are those of the segments, rows are new.
        units: unit of each trace, ascending from 0.
        segment: for each trace the number of the segment that it comes from.
        trace: its trace index there.
    """

    columns: Columns
    units: Ints
    segment: Ints
    trace: Ints


class Rearrange(Protocol):
    """Puts traces of several segments into one Columns; the corpus knows how."""

    def __call__(self, parts: Sequence[Columns], traces: Ints, /) -> Columns:
        """Return the traces, numbered over the parts in their order, in the order given."""


def gather(segments: Sequence[Columns], rearrange: Rearrange) -> Gathered:
    """Bring the traces of a corpus into one Columns, those of one session next to each other.

    Args:
        segments: the corpus in its order, at least one.
        rearrange: what brings them there.
    """
    counts = [columns.trace_count for columns in segments]
    segment = np.repeat(np.arange(len(segments)), counts)
    trace = np.concatenate([np.arange(0), *(np.arange(count) for count in counts)])
    unit, started = _units(segments)
    order = np.lexsort((np.arange(len(unit)), started, unit))
    units = np.unique(unit[order], return_inverse=True)[1].reshape(-1).astype(np.int64)
    columns = rearrange(segments, order)
    _read_as_one(columns, units)
    return Gathered(columns, units, segment[order], trace[order])


def _units(segments: Sequence[Columns]) -> tuple[Ints, Ints]:
    """Return a unit per trace, in order of first appearance, and its start, unknown last."""
    unit: list[int] = []
    started: list[int] = []
    known: dict[str, int] = {}
    for columns in segments:
        t = columns.traces
        for code, start in zip(t.session_id.tolist(), t.started.tolist(), strict=True):
            session = columns.text(code)
            number = len(unit)
            unit.append(number if session is None else known.setdefault(session, number))
            started.append(start if start >= 0 else _LAST)
    return np.array(unit, dtype=np.int64), np.array(started, dtype=np.int64)


def _read_as_one(columns: Columns, units: Ints) -> None:
    """Renew the order bounds: recorded order stands for times only where a unit has no time."""
    begins = np.flatnonzero(np.r_[True, units[1:] != units[:-1]]) if len(units) else units
    timed = np.zeros(int(units.max(initial=-1)) + 1, dtype=bool)
    timed[units[columns.traces.timed]] = True
    sizes = np.diff(columns.offsets)
    unit = np.repeat(units, sizes)
    seq = np.arange(columns.step_count) - columns.offsets[begins][unit]
    untimed_trace = ~np.repeat(columns.traces.timed, sizes)
    for name in ("o0", "o1"):
        bounds = np.where(untimed_trace, -1, getattr(columns.steps, name))
        setattr(columns.steps, name, np.where(timed[unit], bounds, seq))
