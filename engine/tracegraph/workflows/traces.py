"""What is there: the traces of a corpus, and one of them whole."""

import os
from collections.abc import Iterator
from itertools import islice

import numpy as np

from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.labels import Labels
from tracegraph.corpus.lookup import find_trace
from tracegraph.errors import UsageError
from tracegraph.export.table import Report
from tracegraph.export.traces import ListedTrace, Totals, traces_report
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


def error_counts(columns: Columns) -> Ints:
    """Return the number of failing steps of each trace."""
    failing = np.r_[0, np.cumsum(columns.steps.status == STATUS_CODE["error"])]
    return np.asarray(failing[columns.offsets[1:]] - failing[columns.offsets[:-1]], dtype=np.int64)


def split_trace(text: str) -> tuple[str, str | None]:
    """Split TRACE into a path and the id behind its last ``#``, if it has one."""
    path, mark, trace_id = text.rpartition("#")
    if not mark or os.path.lexists(text):
        return text, None
    return path, trace_id


def select_trace(corpus: Corpus, trace_id: str | None, name: str, remedy: str) -> ListedTrace:
    """Return the one trace of a corpus, or the one that an id, or the start of one, names.

    Args:
        corpus: where it is.
        trace_id: which one; None where there is only one.
        name: what the corpus was read from, for messages.
        remedy: how one of several is named, for messages.

    Raises:
        UsageError: there is none, or there are several; the message lists their ids.
    """
    if trace_id is None:
        if corpus.trace_count != 1:
            ids = [listed.label for listed in islice(list_traces(corpus), _SHOWN)]
            more = corpus.trace_count - len(ids)
            raise UsageError(
                f"{name}: holds {corpus.trace_count} traces, name one as {remedy}: "
                + ", ".join(ids)
                + (f" and {more} more (tracegraph traces {name})" if more else "")
            )
        trace = next(corpus.traces())
    else:
        trace = find_trace(corpus, trace_id)
    errors = error_counts(trace.columns)[trace.index]
    return ListedTrace(trace, Labels(corpus).of(trace.columns, trace.index), int(errors))
