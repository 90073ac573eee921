"""The SQLite database of a Phoenix server (``phoenix.db``), a trace at a time.

Tables as of Phoenix 20: a project has traces, a trace has spans, annotations hang on spans, traces
and retrieved documents, costs on spans. Older servers lack some of them. The columns named
``cumulative_*`` are sums over what is below a span and are not read.
"""

import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from tracegraph.errors import InputError
from tracegraph.ingest.source import Source
from tracegraph.ingest.sqlite_file import open_copy, tables

_TRACES = (
    "SELECT t.id, t.trace_id, p.name FROM traces t LEFT JOIN projects p ON p.id = t.project_rowid"
)
_SPANS = (
    "trace_rowid, span_id, parent_id, name, span_kind, start_time, end_time, status_code, "
    "status_message, attributes, events"
)
_RESULT = "a.name, a.label, a.score, a.explanation, a.annotator_kind"
_Rows = tuple[str, str, bool]
"""A table, its columns, and whether they hang on spans; else on traces."""
_COSTS: _Rows = ("span_costs", "s.trace_rowid, s.span_id, a.total_cost", True)
_ANNOTATIONS: tuple[_Rows, ...] = (
    ("span_annotations", f"s.trace_rowid, s.span_id, NULL, {_RESULT}", True),
    ("document_annotations", f"s.trace_rowid, s.span_id, a.document_position, {_RESULT}", True),
    ("trace_annotations", f"a.trace_rowid, NULL, NULL, {_RESULT}", False),
)
_NAMES = tuple(column.strip() for column in _SPANS.split(","))
_NEEDED = {
    "projects": {"id", "name"},
    "traces": {"id", "trace_id", "project_rowid"},
    "spans": {"id", *_NAMES},
}
JSON_COLUMNS = ("attributes", "events")
_ANNOTATION = ("document_position", "name", "label", "score", "explanation", "annotator_kind")


@dataclass(slots=True)
class TraceRows:
    """What the database holds of a trace.

    Attributes:
        trace_id: as recorded.
        project: name of its project.
        spans: in the words of the REST API, in the order in which the server took them in; the
            JSON columns are bytes still.
        costs: of spans by span id, as Phoenix reckons them from its price list.
        annotations: (span id, or None of the trace; the annotation).
    """

    trace_id: str
    project: str | None
    spans: list[dict[str, Any]]
    costs: dict[str, Any]
    annotations: list[tuple[str | None, dict[str, Any]]]


def is_phoenix_database(source: Source) -> bool:
    """Tell by the tables and columns that are read."""
    found = tables(source)
    return all(needed <= found.get(table, frozenset()) for table, needed in _NEEDED.items())


def traces_of(source: Source) -> Iterator[TraceRows]:
    """Yield the traces in the order in which the server met them.

    Raises:
        InputError: the database cannot be copied, or is damaged from here on.
    """
    found = tables(source)
    with open_copy(source) as connection:
        connection.text_factory = bytes
        try:
            yield from _traces(connection, found.keys())
        except sqlite3.Error as error:
            raise InputError(f"{source.name}: the database is damaged: {error}") from None


def _traces(connection: sqlite3.Connection, found: Collection[str]) -> Iterator[TraceRows]:
    spans = _Groups(connection, f"SELECT {_SPANS} FROM spans ORDER BY trace_rowid, id")
    costs = _Groups(connection, _query(_COSTS, found))
    hanging = [_Groups(connection, _query(rows, found)) for rows in _ANNOTATIONS]
    lost = connection.execute(
        f"SELECT {_SPANS} FROM spans s WHERE NOT EXISTS (SELECT 1 FROM traces t WHERE "
        "t.id = s.trace_rowid) ORDER BY id"
    )
    for row in lost:  # the reader discloses a span that names no trace
        yield TraceRows("", None, [_span(row, "")], {}, [])
    for rowid, recorded, project in connection.execute(f"{_TRACES} ORDER BY t.id"):
        trace_id = str(_text(recorded))
        yield TraceRows(
            trace_id,
            _text(project),
            [_span(row, trace_id) for row in spans.of(rowid)],
            {_text(span_id): cost for _, span_id, cost in costs.of(rowid)},
            [
                (_text(span_id), dict(zip(_ANNOTATION, map(_text, values), strict=True)))
                for group in hanging
                for _, span_id, *values in group.of(rowid)
            ],
        )


def _span(row: tuple[Any, ...], trace_id: str) -> dict[str, Any]:
    """Return a span in the words of the REST API."""
    named = dict(zip(_NAMES, row, strict=True))
    span = {name: v if name in JSON_COLUMNS else _text(v) for name, v in named.items()}
    span["context"] = {"trace_id": trace_id, "span_id": span.pop("span_id")}
    return span


def _text(value: Any) -> Any:
    """Return a column's text; SQLite holds whatever bytes somebody gave it for text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _query(rows: _Rows, found: Collection[str]) -> str | None:
    """Return the query of what hangs on spans or traces, None where there is no such table."""
    table, columns, on_spans = rows
    if table not in found:
        return None
    joined = " JOIN spans s ON s.id = a.span_rowid" if on_spans else ""
    trace = "s.trace_rowid" if on_spans else "a.trace_rowid"
    return f"SELECT {columns} FROM {table} a{joined} ORDER BY {trace}, a.id"


class _Groups:
    """The rows of a query by their first column, asked for in ascending order, in one pass."""

    def __init__(self, connection: sqlite3.Connection, query: str | None) -> None:
        rows = connection.execute(query) if query is not None else iter(())
        self._groups = groupby(rows, key=itemgetter(0))
        self._next = next(self._groups, None)

    def of(self, key: Any) -> list[Any]:
        """Return the rows of a key."""
        while self._next is not None and _order(self._next[0]) < _order(key):
            self._next = next(self._groups, None)
        if self._next is None or self._next[0] != key:
            return []
        rows = list(self._next[1])
        self._next = next(self._groups, None)
        return rows


def _order(key: Any) -> tuple[int, Any]:
    """Return where SQLite sorts a key: keys are numbers, but a column holds what it was given."""
    if key is None:
        return 0, 0
    return (1, key) if isinstance(key, int | float) else (2, key)
