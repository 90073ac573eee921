"""What a Phoenix export holds of a span, in the words of its REST API (``/v1/projects/*/spans``).

A DataFrame's record and a span of ``/spans/otlpv1`` are put into the same words first. Every field
is optional and wide in its type: one odd value must not cost the span.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Raw, Struct, field

from tracegraph.ingest.attributes import whole_number
from tracegraph.ingest.phoenix.values import to_microsecond

Time = str | int | float | None


class Context(Struct, gc=False):
    """The ids of a span."""

    trace_id: str | None = None
    span_id: str | None = None


class Event(Struct, gc=False):
    """A span event; exceptions are events."""

    name: str | None = None
    attributes: dict[str, Any] | None = None


class Status(Struct, gc=False):
    """Status and its description where they stand together."""

    status_code: str | int | None = None
    message: str | None = None
    description: str | None = None


class Span(Struct):
    """A span.

    ``trace_id`` and ``span_id`` stand in place of ``context`` where the spans of a trace are only
    listed (``/traces?include_spans=true``).
    """

    name: str | None = None
    context: Context | None = None
    trace_id: str | None = None
    span_id: str | None = None
    parent_id: str | None = None
    span_kind: str | None = None
    start_time: Time = None
    end_time: Time = None
    status_code: str | int | None = None
    status_message: str | None = None
    status: Status | None = None
    attributes: dict[str, Any] | None = None
    events: list[Event] | None = None
    annotations: list[Any] | None = None
    notes: list[Any] | None = None


class Item(Span):
    """Whatever stands at the top of a document or line, or in a list: a span, or what holds spans.

    Attributes:
        data: the items of a REST page.
        spans: the spans of a trace, or of nothing but a file.
        frame_id: the span id of a DataFrame's record.
    """

    data: list[Raw] | None = None
    spans: list[Raw] | None = None
    traceId: str | None = None  # noqa: N815
    frame_id: Any = field(default=None, name="context.span_id")


def from_frame(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record of a DataFrame of spans in the words of the REST API."""
    span: dict[str, Any] = {"context": {}, "attributes": {}}
    for column, value in record.items():
        group, dot, name = column.partition(".")
        if dot and group in ("context", "attributes"):
            span[group][name] = value
        elif column not in ("context", "attributes"):
            span[column] = value
    return span


def frame_rows(columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the records of a DataFrame that was written column by column."""
    held = {name: values for name, values in columns.items() if isinstance(values, dict)}
    for row in held.get("context.span_id", ()):
        yield {name: values.get(row) for name, values in held.items()}


def from_otlpv1(span: Mapping[str, Any]) -> dict[str, Any]:
    """Return a span of ``/spans/otlpv1`` in the words of the REST API."""
    status = span.get("status")
    status = status if isinstance(status, dict) else {}
    return {
        "name": span.get("name"),
        "context": {"trace_id": span.get("trace_id"), "span_id": span.get("span_id")},
        "parent_id": span.get("parent_span_id"),
        "start_time": _rounded(span.get("start_time_unix_nano")),
        "end_time": _rounded(span.get("end_time_unix_nano")),
        "status_code": status.get("code"),
        "status_message": status.get("message"),
        "attributes": _attributes(span.get("attributes")),
        "events": _events(span.get("events")),
    }


def _rounded(ns: Any) -> Any:
    return to_microsecond(ns) if type(ns) is int else ns


def _events(events: Any) -> Any:
    """Return events in the words of the REST API; what is none is left for the reader to refuse."""
    if not _are_dicts(events):
        return events or []
    return [
        {"name": event.get("name"), "attributes": _attributes(event.get("attributes"))}
        for event in events
    ]


def _attributes(pairs: Any) -> Any:
    if not _are_dicts(pairs):
        return pairs or {}
    return {str(pair.get("key")): _plain(pair.get("value")) for pair in pairs}


def _plain(value: Any) -> Any:
    """Return the one of an AnyValue's members that is not null."""
    if not isinstance(value, dict):
        return None
    array = value.get("array_value")
    if isinstance(array, dict):
        items = array.get("values")
        return [_plain(item) for item in items] if isinstance(items, list) else []
    held = next((held for held in value.values() if held is not None), None)
    if isinstance(held, str) and held is value.get("int_value"):  # 64 bits, written as text
        return whole_number(held)
    return held


def _are_dicts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)
