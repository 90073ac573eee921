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
from tracegraph.export.ingest import FormatTotals
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


def formats(corpus: Corpus) -> list[FormatTotals]:
    """Count the same by the format of the file that a trace was read from, by name.

    An artifact is a format of its own, whatever source its trace once had.
    """
    names = sorted({entry.adapter for entry in corpus.manifest.files if entry.adapter})
    number = {name: at for at, name in enumerate(names)}
    of_file = {entry.id: number[entry.adapter] for entry in corpus.files}
    counts = np.zeros((3, len(names)), dtype=np.int64)
    for segment in corpus.parts:
        columns = corpus.columns(segment.number)
        homes, places = np.unique(segment.held.home, return_inverse=True)
        of_trace = np.array([of_file[home] for home in homes.tolist()], dtype=np.int64)[places]
        each = (np.ones_like(of_trace), np.diff(columns.offsets), error_counts(columns))
        for row, values in zip(counts, each, strict=True):
            np.add.at(row, of_trace, values)
    entries = [entry for entry in corpus.manifest.files if entry.adapter]
    files = Counter(entry.adapter for entry in entries if not entry.skipped)
    opened = Counter(entry.adapter for entry in entries if entry.name in corpus.opened)
    skipped = Counter(entry.adapter for entry in entries if entry.skipped)
    return [
        FormatTotals(name, files[name], opened[name], skipped[name], Totals(*found))
        for name, found in zip(names, counts.T.tolist(), strict=True)
    ]


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
    from tracegraph.workflows.sessions import Sessions

    sessions = Sessions(corpus)
    found = SessionTotals(len(sessions) - sessions.alone, sessions.alone)
    gaps = Counter(corpus.gaps) + sessions.gaps

    def listed() -> Iterator[ListedSession]:
        labels = Labels(corpus)
        for traces in islice(sessions, limit):
            listed = [_listed(trace, labels) for trace in traces]
            yield ListedSession(traces[0].session_id, listed)

    report = sessions_report(listed, found, totals(corpus), gaps, limit)
    return SessionListing(report, found, gaps)


def _listed(trace: Trace, labels: Labels) -> ListedTrace:
    return ListedTrace(trace, labels.of(trace.columns, trace.index), error_count(trace))


def error_count(trace: Trace) -> int:
    """Return the number of failing steps of one trace."""
    rows = slice(trace.rows.start, trace.rows.stop)
    return int(np.count_nonzero(trace.columns.steps.status[rows] == STATUS_CODE["error"]))


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


def resolve_trace(corpus: Corpus, reference: str) -> ListedTrace:
    """Return what a reference names: a trace, or ``session=ID``: the run that its traces make.

    A trace is named by its id, the start of one, ``id@source`` or ``id@file``, and so is a session.

    Raises:
        UsageError: none or several fit; the message lists them.
    """
    from tracegraph.workflows.sessions import PREFIX, find_session

    if not reference.startswith(PREFIX):
        return _listed(find_trace(corpus, reference), Labels(corpus))
    found = find_session(corpus, reference.removeprefix(PREFIX))
    failing = error_count(found.trace)
    rows = found.run.rows.tolist()
    return ListedTrace(found.trace, found.label, failing, found.members, rows)


def select_trace(
    corpus: Corpus, trace_id: str | None, name: str, remedy: str, *, whole: bool = False
) -> ListedTrace:
    """Return the one trace of a corpus, or what a reference names.

    Args:
        corpus: where it is.
        trace_id: which one, as :func:`resolve_trace` takes it; None where there is only one.
        name: what the corpus was read from, for messages.
        remedy: how one of several is named, for messages.
        whole: take whole ids only; the start of one that people chose is often another one.

    Raises:
        UsageError: there is none, or there are several; the message lists their ids.
    """
    count = corpus.trace_count
    if not count:
        raise UsageError(f"{name}: holds no trace")
    if trace_id is not None and not whole:
        try:
            return resolve_trace(corpus, trace_id)
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from None
    if trace_id is None:
        if count > 1:
            ids = _ids(corpus, name) + _session_ids(corpus)
            raise UsageError(f"{name}: holds {count} traces, name one as {remedy}: {ids}")
        found = next(corpus.traces())
    else:
        same = (trace for trace in corpus.traces() if trace.trace_id == trace_id)
        if (trace := next(same, None)) is None:
            raise UsageError(f"{name}: holds no {trace_id!r}; {remedy}: {_ids(corpus, name)}")
        found = trace
    return _listed(found, Labels(corpus))


def _ids(corpus: Corpus, name: str) -> str:
    """Return what the traces of a corpus are called, for a message."""
    ids = [listed.label for listed in islice(list_traces(corpus), _SHOWN)]
    more = corpus.trace_count - len(ids)
    return ", ".join(ids) + (f" and {more} more (tracegraph traces {name})" if more else "")


def _session_ids(corpus: Corpus) -> str:
    """Return how runs of several traces are named, for a message; empty if there are none."""
    from tracegraph.workflows.sessions import several_traces

    names, count = several_traces(corpus, _SHOWN)
    more = f" and {count - len(names)} more" if count > len(names) else ""
    return f"; or the traces of one session together: {', '.join(names)}{more}" if names else ""
