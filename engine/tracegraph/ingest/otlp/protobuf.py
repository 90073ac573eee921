"""An export request in protobuf -> the same shape as OTLP/JSON has when it is decoded.

Each span is decoded on its own, so that an odd one costs itself, and what comes before a tear is
read. The library that knows the messages is an extra; what a file is, is told without it.
"""

import base64
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from tracegraph.errors import MissingLibraryError
from tracegraph.ingest.otlp.asides import EMPTY_RECORD, OTHER_SIGNAL, Asides
from tracegraph.ingest.otlp.decoded import DecodedRecord, Place
from tracegraph.ingest.otlp.mend import RESOURCE_TEXTS, SPAN_TEXTS, Mended, Texts, mend
from tracegraph.ingest.otlp.records import (
    Event,
    KeyValue,
    Link,
    LogRecord,
    ResourceSpans,
    ScopeSpans,
    Span,
    Status,
    nonfinite_name,
)
from tracegraph.ingest.otlp.repair import INVALID_UTF8
from tracegraph.ingest.otlp.wire import Field, Request, Signal

_INSTALL = "pip install 'tracegraph-engine[otlp]'"
_encode = msgspec.json.encode


class _Messages(NamedTuple):
    span: Any
    resource: Any
    log_record: Any
    refused: type[Exception]


@cache
def _library() -> _Messages:
    """Return the classes of the messages.

    Raises:
        MissingLibraryError: the library is not installed, or does not fit its own runtime.
    """
    try:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as LogMessage
        from opentelemetry.proto.resource.v1.resource_pb2 import Resource
        from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
    except ImportError:
        needs = f"OTLP in protobuf needs opentelemetry-proto: {_INSTALL}"
        raise MissingLibraryError(needs) from None
    except Exception as error:  # whatever generated code raises of a runtime it was not made for
        why = str(error).partition("\n")[0]
        unfit = f"opentelemetry-proto cannot be used ({why}): {_INSTALL}"
        raise MissingLibraryError(unfit) from None
    return _Messages(SpanMessage, Resource, LogMessage, DecodeError)


def decode_request(data: memoryview, place: Place, *, is_whole: bool) -> DecodedRecord:
    """Decode a request.

    Args:
        data: what there is of it.
        place: where it lies.
        is_whole: nothing was cut off at its end.

    Raises:
        MissingLibraryError: the library that it takes is not there.
    """
    _library()
    request = Request(data)
    record = DecodedRecord(place, [])
    if request.signal() is not Signal.SPANS:
        _without_spans(record, request, is_whole)
        return record
    count = 0
    for described, items in request.groups():
        spans = []
        for item in items:
            span = _read_span(record, data, item, count)
            if span is None:
                record.lost += 1
            else:
                spans.append(span)
                count += 1
        resource = _resource(data, described)
        record.groups.append(ResourceSpans(resource, [ScopeSpans(spans)]))
    record.lost += request.faults or int(not is_whole)
    return record


def _without_spans(record: DecodedRecord, request: Request, is_whole: bool) -> None:
    record.asides = Asides()
    signal = request.signal()
    if signal is Signal.LOGS:
        record.asides.add_logs(_log_records(request))
    elif signal is Signal.OTHER:
        record.asides.counts[OTHER_SIGNAL] += 1
    elif request.faults or not is_whole:
        record.unreadable = f"{record.place}: cut off or damaged, no span can be read"
    elif any(True for _, items in request.groups() for _ in items):
        record.unreadable = f"{record.place}: holds something else than spans"
    else:
        record.asides.counts[EMPTY_RECORD] += 1


def _log_records(request: Request) -> Iterator[LogRecord]:
    kind, refused = _library().log_record, _library().refused
    for _, items in request.groups():
        for item in items:
            try:
                message = kind.FromString(bytes(request.data[item.start : item.end]))
            except refused:
                yield LogRecord()
                continue
            yield LogRecord(
                message.trace_id.hex(),
                message.span_id.hex(),
                getattr(message, "event_name", None),  # since OTLP 1.5
                _attributes(message.attributes),
                Raw(_encode(_any_value(message.body))),
            )


def _read_span(record: DecodedRecord, data: memoryview, item: Field, ordinal: int) -> Span | None:
    message, mended = _parsed(_library().span, data, item, SPAN_TEXTS)
    if mended is not None and mended.count:
        record.repaired[ordinal] = {INVALID_UTF8: mended.count}
        if record.invalid_at < 0:
            record.invalid_at = record.place.offset + mended.invalid_at
    return None if message is None else _span(message)


def _resource(data: memoryview, described: Field | None) -> Raw:
    if described is None:
        return Raw(b"null")
    message, _ = _parsed(_library().resource, data, described, RESOURCE_TEXTS)
    return Raw(_encode({"attributes": _attributes(message.attributes) if message else []}))


def _parsed(kind: Any, data: memoryview, at: Field, texts: Texts) -> tuple[Any, Mended | None]:
    """Return a message, and what was mended to read it: text that is no UTF-8 is refused."""
    refused = _library().refused
    try:
        return kind.FromString(bytes(data[at.start : at.end])), None
    except refused:
        mended = mend(data, at.start, at.end, texts)
    try:
        return kind.FromString(mended.data), mended
    except refused:
        return None, None


def _span(message: Any) -> Span:
    status = message.status if message.HasField("status") else None
    return Span(
        traceId=message.trace_id.hex(),
        spanId=message.span_id.hex(),
        parentSpanId=message.parent_span_id.hex(),
        name=message.name,
        startTimeUnixNano=message.start_time_unix_nano,
        endTimeUnixNano=message.end_time_unix_nano,
        attributes=_attributes(message.attributes),
        events=[Event(event.name, _attributes(event.attributes)) for event in message.events],
        links=[Link(link.trace_id.hex(), link.span_id.hex()) for link in message.links],
        status=None if status is None else Status(status.code, status.message),
        droppedAttributesCount=message.dropped_attributes_count,
        droppedEventsCount=message.dropped_events_count,
        droppedLinksCount=message.dropped_links_count,
    )


def _attributes(attributes: Any) -> list[KeyValue]:
    return [KeyValue(item.key, Raw(_encode(_any_value(item.value)))) for item in attributes]


def _any_value(message: Any) -> dict[str, Any]:
    """Return a value as OTLP/JSON has it: values of spans stay undecoded until one is asked for."""
    kind = message.WhichOneof("value")
    if kind not in _VALUES:
        return {}
    name, converted = _VALUES[kind]
    value = getattr(message, kind)
    return {name: value if converted is None else converted(value)}


def _double(value: float) -> float | str:
    return value if math.isfinite(value) else nonfinite_name(value)


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _array(message: Any) -> dict[str, Any]:
    return {"values": [_any_value(value) for value in message.values]}


def _map(message: Any) -> dict[str, Any]:
    return {
        "values": [{"key": item.key, "value": _any_value(item.value)} for item in message.values]
    }


_VALUES: dict[str, tuple[str, Callable[[Any], Any] | None]] = {
    "string_value": ("stringValue", None),
    "int_value": ("intValue", None),
    "bool_value": ("boolValue", None),
    "double_value": ("doubleValue", _double),
    "bytes_value": ("bytesValue", _base64),
    "array_value": ("arrayValue", _array),
    "kvlist_value": ("kvlistValue", _map),
}
