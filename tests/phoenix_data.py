"""Builders and readers that the Phoenix tests share."""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from shared_data import fixture
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.phoenix.adapter import PhoenixAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

MADE = "5b8efff798038103d269b633813fc601"
"""The trace that the ``made_*`` fixtures hold in all forms."""
LINKS = {"phoenix.no_span_links": 1}
GAP_PREFIXES = {"phoenix", "text", "clock", "causes", "sessions"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STATUS = {None: "UNSET", 0: "UNSET", 1: "OK", 2: "ERROR", "STATUS_CODE_ERROR": "ERROR"}


def read(data: Any, name: str = "input.json", **options: Any) -> list[Trace]:
    """Read bytes, text, a value written as JSON, a path, or a list of sources."""
    if isinstance(data, Path):
        data = Source.open(data, data.name)
    elif not isinstance(data, bytes | str | Source) and not _are_sources(data):
        data = json.dumps(data)
    if isinstance(data, bytes | str):
        data = Source(name, data.encode() if isinstance(data, str) else data, 0)
    sources = [data] if isinstance(data, Source) else data
    drafts = PhoenixAdapter().read(sources, ReadOptions(**options))
    return [trace for draft in drafts for trace in iterate(seal(draft))]


def _are_sources(data: Any) -> bool:
    return isinstance(data, list) and bool(data) and isinstance(data[0], Source)


def one(data: Any, **options: Any) -> Trace:
    """Return the only trace of an input."""
    (trace,) = read(data, **options)
    return trace


def page(spans: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return a page of the REST API, which lists the newest first."""
    return {"data": list(spans)[::-1], "next_cursor": None}


def from_otlp(*exports: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the spans of OTLP/JSON as Phoenix's REST API gives them, in the order of the export.

    Written from the server's ``decode_otlp_span`` and its REST answers, for spans that no server
    would send (Phoenix takes protobuf only, which cannot hold most faults).
    """
    return [
        _span(span)
        for export in exports
        for group in export.get("resourceSpans", [{"scopeSpans": [{"spans": [export]}]}])
        for scope in group["scopeSpans"]
        for span in scope["spans"]
    ]


def _span(span: dict[str, Any]) -> dict[str, Any]:
    attributes = _attributes(span)
    status = span.get("status") or {}
    return {
        "id": "U3BhbjoxMjM=",
        "name": span.get("name"),
        "context": {"trace_id": span.get("traceId"), "span_id": span.get("spanId")},
        "span_kind": attributes.pop("openinference.span.kind", "UNKNOWN"),
        "parent_id": span.get("parentSpanId"),
        "start_time": _time(span.get("startTimeUnixNano")),
        "end_time": _time(span.get("endTimeUnixNano")),
        "status_code": _STATUS.get(status.get("code"), status.get("code")),
        "status_message": status.get("message", ""),
        "attributes": attributes,
        "events": [
            {"name": event["name"], "timestamp": None, "attributes": _attributes(event)}
            for event in span.get("events", [])
        ],
    }


def _time(ns: Any) -> str:
    return (_EPOCH + timedelta(microseconds=int(ns or 0) // 1000)).isoformat()


def _attributes(holder: dict[str, Any]) -> dict[str, Any]:
    return {item["key"]: _value(item["value"]) for item in holder.get("attributes", [])}


def _value(value: dict[str, Any]) -> Any:
    ((kind, held),) = value.items()
    if kind == "arrayValue":
        return [_value(item) for item in held.get("values", [])]
    return int(held) if kind == "intValue" and str(held).isdigit() else held


def database(path: Path, *more: str, wal: bool = False) -> sqlite3.Connection:
    """Make the database of a server of what a real one held; the connection keeps its log.

    Args:
        path: where to.
        more: statements that change it.
        wal: leave all rows in the write-ahead log.
    """
    connection = sqlite3.connect(path)
    script = (fixture("phoenix_database/phoenix.db.sql")).read_text(encoding="utf-8")
    tables, inserts = script[: script.index("INSERT")], script[script.index("INSERT") :]
    connection.executescript(tables)
    if wal:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.executescript("\n".join(("BEGIN;", inserts, *more, "COMMIT;")))
    return connection


def made_database(path: Path, *more: str) -> Path:
    """Make such a database and leave nothing open."""
    with closing(database(path, *more)):
        return path


def facts(trace: Trace) -> dict[str, dict[str, Any]]:
    """Return what is known of each step, times apart."""
    names = (
        "seq kind name status status_source agent model tokens_prompt tokens_completion "
        "tokens_total cost tool_call_id args_digest result_digest args_size result_size docs "
        "signals wrapper orphan lossy error_type error_message unknown_fields depth"
    ).split()
    return {s.step_id: {name: getattr(s, name) for name in names} for s in trace.steps}


def causes(trace: Trace) -> set[tuple[str, str, str, str]]:
    """Return (effect, cause, origin, evidence) of the edges."""
    return {(e.effect, e.cause, e.origin, e.evidence) for e in trace.causes}
