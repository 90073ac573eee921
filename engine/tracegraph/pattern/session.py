"""``scope session``: the traces with one known session id, read as one.

They are brought side by side, ordered by start, into one Columns; the *units* tell which of them
are read as one. A trace without a known session id is a unit of its own.

A session belongs to one source, and holds a trace id once: of a conversation that two tools, or two
files, recorded every failure would else count twice. What comes second is a session of its file,
and so is a thread of another checkpoint database to which people gave the same name.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tracegraph.model.columns import Columns, Ints
from tracegraph.model.session_run import UNKNOWN_START

NO_ID = "sessions.no_id"
APART = "sessions.same_id_apart"
_LAST = np.iinfo(np.int64).max
_Key = tuple[str | None, ...]
"""(session id, source), and the file of what was recorded before."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """Which traces of some segments are read as one, and in which order.

    Attributes:
        order: the traces, numbered over the segments in turn: sessions by their first trace, the
            traces of one by start.
        units: unit of each trace of ``order``, ascending from 0.
        gaps: what this has to disclose: ``sessions.no_id`` (traces that stand alone),
            ``sessions.same_id_apart`` (ids that several sessions have), ``sessions.unknown_start``
            (traces that are last in their session since nobody knows when they began).
    """

    order: Ints
    units: Ints
    gaps: Counter[str]


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


def sessions_of(segments: Sequence[Columns], ranks: Sequence[Ints] = ()) -> Sessions:
    """Find the sessions among the traces of some segments.

    Args:
        segments: the traces.
        ranks: place of each trace of each segment in the order of the input; without them it is
            that of the segments.
    """
    named = [_named(columns, trace) for columns in segments for trace in range(columns.trace_count)]
    none = np.arange(0)
    rank = np.concatenate([none, *ranks]) if len(ranks) else np.arange(len(named))
    started = np.concatenate([none, *(columns.traces.started for columns in segments)])
    first: dict[_Key, int] = {}
    held: set[tuple[_Key, str]] = set()
    unit = np.empty(len(named), dtype=np.int64)
    for trace in np.argsort(rank, kind="stable").tolist():
        session, source, file, trace_id = named[trace]
        unit[trace] = rank[trace]
        for key in ((session, source), (session, source, file)) if session is not None else ():
            if (key, trace_id) not in held:
                held.add((key, trace_id))
                unit[trace] = first.setdefault(key, int(rank[trace]))
                break
    order = np.lexsort((rank, np.where(started < 0, _LAST, started), unit))
    units = np.unique(unit[order], return_inverse=True)[1].reshape(-1).astype(np.int64)
    sessions = [session for session, *_ in named]
    several = np.bincount(units, minlength=1)[units] > 1
    ids = Counter(session for session, _ in {*zip(sessions, unit.tolist(), strict=True)})
    alone = ids.pop(None, 0)
    gaps = {
        NO_ID: alone,
        APART: sum(count > 1 for count in ids.values()),
        UNKNOWN_START: int(np.count_nonzero(several & (started[order] < 0))),
    }
    return Sessions(order, units, Counter({code: n for code, n in gaps.items() if n}))


def gather(segments: Sequence[Columns], rearrange: Rearrange, found: Sessions) -> Gathered:
    """Bring the traces of a corpus into one Columns, those of one session next to each other.

    Args:
        segments: the corpus, at least one segment.
        rearrange: what brings them there.
        found: its sessions.
    """
    counts = [columns.trace_count for columns in segments]
    segment = np.repeat(np.arange(len(segments)), counts)
    trace = np.concatenate([np.arange(count) for count in counts])
    columns = rearrange(segments, found.order)
    _read_as_one(columns, found.units)
    return Gathered(columns, found.units, segment[found.order], trace[found.order])


def _named(columns: Columns, trace: int) -> tuple[str | None, str | None, str | None, str]:
    """Return session id, source, file and id of a trace."""
    t = columns.traces
    codes = (t.session_id[trace], t.source[trace], t.file[trace])
    session, source, file = map(columns.text, codes)
    return session, source, file, columns.trace_id[trace]


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
