"""The sessions of a corpus, and the run that the traces of one make together.

Sessions are those that ``scope session`` of a pattern reads as one.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.lookup import closest
from tracegraph.corpus.merge import concat, take
from tracegraph.errors import UsageError
from tracegraph.model.columns import Ints
from tracegraph.model.session_run import SessionRun, session_run
from tracegraph.model.trace import Trace, iterate
from tracegraph.pattern.session import NO_ID, sessions_of

PREFIX = "session="
"""How TRACE says that it names a session."""
_SHOWN = 10


class Sessions:
    """The sessions of a corpus, in the order of their first traces.

    Attributes:
        gaps: what telling them apart has to disclose.
        alone: traces without a session, each of which stands alone.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        segments = dict(corpus.segments)
        ranks = [corpus.ranks[number] for number in segments]
        found = sessions_of(list(segments.values()), ranks)
        counts = [columns.trace_count for columns in segments.values()]
        self._segment = np.repeat(list(segments), counts)
        self._place = np.concatenate([np.arange(0), *map(np.arange, counts)])
        self._order = found.order
        self._bounds = np.flatnonzero(np.r_[True, np.diff(found.units) > 0, True])
        self.gaps: Counter[str] = found.gaps
        self.alone = found.gaps[NO_ID]

    def __len__(self) -> int:
        return len(self._bounds) - 1 if len(self._order) else 0

    def __iter__(self) -> Iterator[list[Trace]]:
        """Yield the traces of each by start, unknown starts last; those without one alone."""
        return map(self.traces, range(len(self)))

    def traces(self, number: int) -> list[Trace]:
        """Return the traces of one session by its number."""
        return [self._trace(at) for at in self._members(number).tolist()]

    def first(self, number: int) -> Trace:
        """Return the first trace of one session by its number."""
        return self._trace(int(self._members(number)[0]))

    def sizes(self) -> Ints:
        """Return how many traces each session has."""
        return np.diff(self._bounds)[: len(self)]

    def _members(self, number: int) -> Ints:
        members: Ints = self._order[self._bounds[number] : self._bounds[number + 1]]
        return members

    def _trace(self, at: int) -> Trace:
        return Trace(self._corpus.columns(int(self._segment[at])), int(self._place[at]))


@dataclass(frozen=True, slots=True)
class NamedRun:
    """The run that a session is.

    Attributes:
        label: how TRACE names it.
        run: the run.
        members: its traces, all in the columns to which the rows of the run refer.
    """

    label: str
    run: SessionRun
    members: tuple[Trace, ...]

    @property
    def trace(self) -> Trace:
        """The run as a trace."""
        return Trace(self.run.columns, 0)


def find_session(corpus: Corpus, reference: str) -> NamedRun:
    """Return the run that the traces of one session make together.

    Args:
        corpus: where it is.
        reference: its id or the start of one, also with ``@`` and the source or the file; what
            stands behind :data:`PREFIX`.

    Raises:
        UsageError: none or several fit; the message lists them.
    """
    sessions = Sessions(corpus)
    labels = _labels(sessions)
    for fits in (str.__eq__, str.startswith):
        found = [at for at, names in labels.items() if any(fits(n, reference) for n in names)]
        if len(found) == 1:
            return named_run(sessions.traces(found[0]), labels[found[0]][-1])
        if found:
            shown = ", ".join(labels[at][-1] for at in found[:_SHOWN])
            more = ", ..." if len(found) > _SHOWN else ""
            raise UsageError(
                f"session {reference!r} is ambiguous, {len(found)} sessions fit: {shown}{more}"
            )
    near = closest(reference, (names[-1] for names in labels.values()))
    see = near or "; see: tracegraph traces --by-session"
    raise UsageError(f"no session {reference!r}{see}")


def named_run(traces: Sequence[Trace], name: str) -> NamedRun:
    """Return the run that traces make together, in their order; they share a session."""
    by_columns: dict[int, list[int]] = {}
    for at, trace in enumerate(traces):
        by_columns.setdefault(id(trace.columns), []).append(at)
    groups = list(by_columns.values())
    parts = [take(traces[g[0]].columns, np.array([traces[at].index for at in g])) for g in groups]
    order = np.argsort(np.array([at for group in groups for at in group]))
    together = take(concat(parts), order)
    run = session_run(together, traces[0].session_id or name)
    return NamedRun(f"{PREFIX}{name}", run, tuple(iterate(together)))


def several_traces(corpus: Corpus, limit: int) -> tuple[list[str], int]:
    """Return how TRACE names the first sessions of more than one trace, and how many there are."""
    sessions = Sessions(corpus)
    several = np.flatnonzero(sessions.sizes() > 1).tolist()
    labels = _labels(sessions) if several else {}
    return [PREFIX + labels[at][-1] for at in several[:limit]], len(several)


def _labels(sessions: Sessions) -> dict[int, tuple[str, ...]]:
    """Return what each session can be called, the shortest name that only it has last.

    That is its id, where several sessions share it the id with the source, or with the file.
    """
    first = {at: sessions.first(at) for at in range(len(sessions))}
    named = {at: trace for at, trace in first.items() if trace.session_id is not None}
    ways = {
        at: (f"{t.session_id}@{t.file}", f"{t.session_id}@{t.source}", str(t.session_id))
        for at, t in named.items()
    }
    used = Counter(name for names in ways.values() for name in names)
    return {
        at: (*(n for n in names if used[n] > 1), *(n for n in names if used[n] == 1))
        for at, names in ways.items()
    }
