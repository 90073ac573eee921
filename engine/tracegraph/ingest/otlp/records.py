"""The shape of OTLP as it is decoded: only what a step is made of, values left as raw bytes.

Field names are those of the OTLP/JSON encoding (opentelemetry-proto, ``trace/v1``). Attribute
values stay raw, so that a body of many megabytes is scanned once and never built as a string
unless someone asks for it. Every field is optional and wide in its type: one odd value must not
cost the record.
"""

import math
import re
from typing import Any

from msgspec import Raw, Struct

Number = int | float | str | None
"""64-bit integers are decimal strings in OTLP/JSON and plain numbers in some exporters."""


class KeyValue(Struct, gc=False):
    """One attribute."""

    key: str = ""
    value: Raw = Raw(b"null")


class Event(Struct, gc=False):
    """A span event; exceptions are events."""

    name: str | None = None
    attributes: list[KeyValue] | None = None


class Link(Struct, gc=False):
    """A link to another span."""

    traceId: str | None = None  # noqa: N815
    spanId: str | None = None  # noqa: N815


class Status(Struct, gc=False):
    """The recorded status; the code is a number or the name of the enum."""

    code: int | str | None = None
    message: str | None = None


class Span(Struct, gc=False):
    """One span."""

    traceId: str | None = None  # noqa: N815
    spanId: str | None = None  # noqa: N815
    parentSpanId: str | None = None  # noqa: N815
    name: str | None = None
    startTimeUnixNano: Number = None  # noqa: N815
    endTimeUnixNano: Number = None  # noqa: N815
    attributes: list[KeyValue] | None = None
    events: list[Event] | None = None
    links: list[Link] | None = None
    status: Status | None = None
    droppedAttributesCount: Number = None  # noqa: N815
    droppedEventsCount: Number = None  # noqa: N815
    droppedLinksCount: Number = None  # noqa: N815


class ScopeSpans(Struct, gc=False):
    """The spans of one instrumentation scope."""

    spans: list[Span] | None = None


class ResourceSpans(Struct, gc=False):
    """The spans of one resource; Tempo keeps the name that OTLP had before 0.19."""

    resource: Raw = Raw(b"null")
    scopeSpans: list[ScopeSpans] | None = None  # noqa: N815
    instrumentationLibrarySpans: list[ScopeSpans] | None = None  # noqa: N815


class ExportRecord(Span, gc=False):
    """Whatever stands at the top of a document or line.

    An export request (``resourceSpans``), Tempo's answer (``batches``), one resource's spans, or a
    single span.
    """

    resourceSpans: list[ResourceSpans] | None = None  # noqa: N815
    batches: list[ResourceSpans] | None = None
    resource: Raw = Raw(b"null")
    scopeSpans: list[ScopeSpans] | None = None  # noqa: N815
    instrumentationLibrarySpans: list[ScopeSpans] | None = None  # noqa: N815


class Resource(Struct, gc=False):
    """What produced the spans."""

    attributes: list[KeyValue] | None = None


class LogRecord(Struct, gc=False):
    """One log record; only events that name their span are looked at."""

    traceId: str | None = None  # noqa: N815
    spanId: str | None = None  # noqa: N815
    eventName: str | None = None  # noqa: N815
    attributes: list[KeyValue] | None = None
    body: Raw = Raw(b"null")


class ScopeLogs(Struct, gc=False):
    """The log records of one instrumentation scope."""

    logRecords: list[LogRecord] | None = None  # noqa: N815


class ResourceLogs(Struct, gc=False):
    """The log records of one resource."""

    scopeLogs: list[ScopeLogs] | None = None  # noqa: N815


class ArrayValue(Struct, gc=False):
    """A list of values."""

    values: list["AnyValue"] | None = None


class KeyValueList(Struct, gc=False):
    """A map of values."""

    values: list["NestedKeyValue"] | None = None


class NestedKeyValue(Struct, gc=False):
    """One entry of a map of values."""

    key: str = ""
    value: "AnyValue | None" = None


class AnyValue(Struct, gc=False):
    """An attribute value; some write all keys, all but one of them null."""

    stringValue: str | None = None  # noqa: N815
    intValue: Number = None  # noqa: N815
    doubleValue: Number = None  # noqa: N815
    boolValue: bool | None = None  # noqa: N815
    arrayValue: ArrayValue | None = None  # noqa: N815
    kvlistValue: KeyValueList | None = None  # noqa: N815
    bytesValue: str | None = None  # noqa: N815


_ALL_MEMBERS = re.compile(
    rb'"kvlist_value"\s*:\s*null|"start_time_unix_nano".*"links"\s*:\s*null', re.DOTALL
)


def is_phoenix_dialect(head: bytes) -> bool:
    """Tell spans of Phoenix's ``/spans/otlpv1``, which write every member, though it be null.

    They are Phoenix's: their times are rounded, and what Phoenix does not keep is missing.
    """
    return _ALL_MEMBERS.search(head) is not None


def plain(value: AnyValue | None) -> Any:
    """Return the Python value of an attribute value; integers recorded as text become integers."""
    if value is None:
        return None
    if value.stringValue is not None:
        return value.stringValue
    if value.arrayValue is not None:
        return [plain(item) for item in value.arrayValue.values or ()]
    if value.kvlistValue is not None:
        return {item.key: plain(item.value) for item in value.kvlistValue.values or ()}
    return _scalar(value)


def _scalar(value: AnyValue) -> int | float | str | bool | None:
    if value.intValue is not None:
        return _integer(value.intValue)
    if value.doubleValue is not None:
        return _double(value.doubleValue)
    return value.boolValue if value.boolValue is not None else value.bytesValue


def nonfinite_name(value: float) -> str:
    """Return how protobuf's JSON mapping writes a float that JSON has no number for."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _double(value: int | float | str) -> float | str:
    """Return a double, which some write without a point; what is no finite one stays text."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return str(value)
    return number if math.isfinite(number) else nonfinite_name(number)


def _integer(value: int | float | str) -> int | float | str:
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return value
    return value
