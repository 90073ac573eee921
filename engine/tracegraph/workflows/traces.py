"""What is there: the traces of a corpus, and one of them whole."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.labels import Labels
from tracegraph.corpus.lookup import find_trace
from tracegraph.errors import UsageError
from tracegraph.export.table import Report
from tracegraph.export.traces import (
    ListedSession,
    ListedTrace,
    SessionTotals,
    Totals,
    sessions_report,
    traces_report,
)
from tracegraph.ingest.discover import STDIN
from tracegraph.model.codes import STATUS_CODE
from tracegraph.model.columns import Columns, Ints
from tracegraph.model.trace import Trace

_SHOWN = 20
"""Ids that a refusal lists; how many more there are is said."""


def list_traces(corpus: Corpus) -> Iterator[ListedTrace]:
    """Yield every trace in the order of the corpus, with its label and failing steps."""
    labels = Labels(corpus)
    errors = {number: error_counts(columns) for number, columns in corpus.segments}
    for number, index in corpus.order():
        columns = corpus.columns(number)
        label = labels.of(columns, index)
        yield ListedTrace(Trace(columns, index), label, int(errors[number][index]))


def totals(corpus: Corpus) -> Totals:
    """Count traces, steps and failing steps."""
    failing = sum(int(error_counts(columns).sum()) for _, columns in corpus.segments)
    return Totals(corpus.trace_count, corpus.step_count, failing)


def report_traces(corpus: Corpus, limit: int | None) -> Report:
    """Report the first ``limit`` traces (None: all) and the totals of all."""

    def listed() -> Iterator[ListedTrace]:
        return islice(list_traces(corpus), limit)

    return traces_report(listed, totals(corpus), corpus.gaps, limit)


@dataclass(frozen=True, slots=True)
class SessionListing:
    """The sessions of a corpus as a report, with what is said beside it.

    Attributes:
        report: the sessions.
        found: how many there are.
        gaps: what reading, and telling sessions apart, has to disclose.
    """

    report: Report
    found: SessionTotals
    gaps: Mapping[str, int]


def report_sessions(corpus: Corpus, limit: int | None) -> SessionListing:
    """Report the first ``limit`` sessions (None: all) and the totals of all.

    Sessions are those that ``scope session`` reads as one.
    """
    from tracegraph.pattern.session import NO_ID, sessions_of

    segments = dict(corpus.segments)
    sessions = sessions_of(list(segments.values()), [corpus.ranks[number] for number in segments])
    units = int(sessions.units.max(initial=-1)) + 1
    found = SessionTotals(units - sessions.gaps[NO_ID], sessions.gaps[NO_ID])
    gaps = Counter(corpus.gaps) + sessions.gaps
    counts = [columns.trace_count for columns in segments.values()]
    segment = np.repeat(list(segments), counts)
    place = np.concatenate([np.arange(0), *map(np.arange, counts)])

    def listed() -> Iterator[ListedSession]:
        labels = Labels(corpus)
        errors = {number: error_counts(columns) for number, columns in corpus.segments}

        def one(trace: int) -> ListedTrace:
            number, index = int(segment[trace]), int(place[trace])
            columns = corpus.columns(number)
            label = labels.of(columns, index)
            return ListedTrace(Trace(columns, index), label, int(errors[number][index]))

        members = np.split(sessions.order, np.flatnonzero(np.diff(sessions.units)) + 1)
        for traces in islice(members if units else [], limit):
            listed = [one(trace) for trace in traces.tolist()]
            yield ListedSession(listed[0].trace.session_id, listed)

    report = sessions_report(listed, found, totals(corpus), gaps, limit)
    return SessionListing(report, found, gaps)


def error_counts(columns: Columns) -> Ints:
    """Return the number of failing steps of each trace."""
    failing = np.r_[0, np.cumsum(columns.steps.status == STATUS_CODE["error"])]
    return np.asarray(failing[columns.offsets[1:]] - failing[columns.offsets[:-1]], dtype=np.int64)


def split_trace(text: str) -> tuple[str, str | None]:
    """Split TRACE into a path and the id behind its ``#``, if it has one.

    People choose names of files and ids of threads, so both may hold a ``#`` of their own: the
    longest path that is there is meant, else all up to the last one.
    """
    if "#" not in text or os.path.lexists(text):
        return text, None
    parts = text.split("#")
    for count in range(len(parts) - 1, 0, -1):
        path = "#".join(parts[:count])
        if path == STDIN or os.path.lexists(path):
            return path, "#".join(parts[count:])
    return "#".join(parts[:-1]), parts[-1]


def name_trace(text: str, trace_id: str | None) -> tuple[str, str | None]:
    """Split TRACE into a path and an id, which may stand in an option of its own.

    Raises:
        UsageError: it stands in both, and differs.
    """
    path, wanted = split_trace(text)
    if trace_id is not None and wanted not in {None, trace_id}:
        raise UsageError(f"{text}: names trace {wanted!r}, the option names {trace_id!r}: give one")
    return path, trace_id or wanted


def select_trace(
    corpus: Corpus, trace_id: str | None, name: str, remedy: str, *, whole: bool = False
) -> ListedTrace:
    """Return the one trace of a corpus, or the one that an id, or the start of one, names.

    Args:
        corpus: where it is.
        trace_id: which one; None where there is only one.
        name: what the corpus was read from, for messages.
        remedy: how one of several is named, for messages.
        whole: take whole ids only; the start of one that people chose is often another one.

    Raises:
        UsageError: there is none, or there are several; the message lists their ids.
    """
    count = corpus.trace_count
    if not count:
        raise UsageError(f"{name}: holds no trace")
    if trace_id is None:
        if count > 1:
            raise UsageError(
                f"{name}: holds {count} traces, name one as {remedy}: {_ids(corpus, name)}"
            )
        trace = next(corpus.traces())
    elif whole:
        found = next((trace for trace in corpus.traces() if trace.trace_id == trace_id), None)
        if found is None:
            raise UsageError(f"{name}: holds no {trace_id!r}; {remedy}: {_ids(corpus, name)}")
        trace = found
    else:
        trace = find_trace(corpus, trace_id)
    errors = error_counts(trace.columns)[trace.index]
    return ListedTrace(trace, Labels(corpus).of(trace.columns, trace.index), int(errors))


def _ids(corpus: Corpus, name: str) -> str:
    """Return what the traces of a corpus are called, for a message."""
    ids = [listed.label for listed in islice(list_traces(corpus), _SHOWN)]
    more = corpus.trace_count - len(ids)
    return ", ".join(ids) + (f" and {more} more (tracegraph traces {name})" if more else "")
