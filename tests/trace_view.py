"""Traces as plain values: whole, to compare what two corpora hold, and what tests ask of them."""

from typing import Any

from tracegraph.corpus.corpus import Corpus
from tracegraph.model.columns import Columns, StepColumns, TraceColumns, is_row, is_text, names
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace, iterate

View = dict[str, Any]


def view(trace: Trace) -> View:
    """Return everything that columns say of a trace, in words and relative to its first row."""
    columns, first = trace.columns, trace.rows.start
    bodies = columns.content
    return {
        "trace_id": trace.trace_id,
        **{n: _value(columns, TraceColumns, n, trace.index, 0) for n in names(TraceColumns)},
        "steps": [
            {
                "step_id": columns.step_id[row],
                **{n: _value(columns, StepColumns, n, row, first) for n in names(StepColumns)},
                "bodies": bodies
                and (bodies.input[row], bodies.output[row], bodies.attributes[row]),
            }
            for row in trace.rows
        ],
        "causes": list(trace.causes),
    }


def views(columns: Columns) -> list[View]:
    """Return the view of every trace."""
    return [view(trace) for trace in iterate(columns)]


def corpus_view(corpus: Corpus) -> tuple[list[View], dict[str, int], list[tuple[str, str]]]:
    """Return everything that a query can see of a corpus."""
    return (
        [view(trace) for trace in corpus.traces()],
        corpus.gaps,
        [(file.name, file.reason) for file in corpus.skipped],
    )


def gaps(trace: Trace) -> dict[str, int]:
    """Return the gaps of a trace by code."""
    return {gap.code: gap.count for gap in trace.gaps}


def the(trace: Trace, step_id: str) -> Step:
    """Return the step of an id."""
    return next(step for step in trace.steps if step.step_id == step_id)


def named(trace: Trace, name: str) -> Step:
    """Return the first step of a name."""
    return next(step for step in trace.steps if step.name == name)


def _value(columns: Columns, table: type, name: str, at: int, first: int) -> Any:
    values = columns.steps if table is StepColumns else columns.traces
    value = getattr(values, name)[at].item()
    if is_text(table, name):
        return columns.text(value)
    return value - first if is_row(table, name) and value >= 0 else value
