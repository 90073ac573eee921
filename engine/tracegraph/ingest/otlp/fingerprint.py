"""What a span says, however it is spelled: two records of one span are compared by it.

Exporters write ids as hex or base64, 64-bit integers as text or as numbers, enums as numbers or by
name, and may leave out what is empty (protobuf's JSON mapping allows all of these).
"""

from typing import Any

import msgspec

from tracegraph.ingest.otlp.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, normal_id
from tracegraph.ingest.otlp.records import Span, Status
from tracegraph.ingest.status import status_code
from tracegraph.model.digest import digest_bytes

_INTEGERS = {
    "startTimeUnixNano",
    "endTimeUnixNano",
    "droppedAttributesCount",
    "droppedEventsCount",
    "droppedLinksCount",
    "intValue",
}


def fingerprint(span: Span) -> str:
    """Return a digest of what a span says besides its own ids."""
    value = msgspec.json.decode(msgspec.json.encode(span))
    for key in ("traceId", "spanId"):
        value.pop(key, None)
    value["parentSpanId"] = normal_id(span.parentSpanId, SPAN_ID_DIGITS)[0]
    value["status"] = _status(span.status or Status())
    value["links"] = [
        (normal_id(link.traceId, TRACE_ID_DIGITS)[0], normal_id(link.spanId, SPAN_ID_DIGITS)[0])
        for link in span.links or ()
    ]
    return digest_bytes(msgspec.json.encode(_plain(value), order="sorted"))


def _status(status: Status) -> tuple[int | str | None, str]:
    code = status_code(status.code)
    return status.code if code is None else code, status.message or ""


def _plain(value: Any) -> Any:
    """Return a JSON value with integers as text and without what is empty."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: str(item) if key in _INTEGERS else _plain(item)
        for key, item in value.items()
        if item is not None and item != []
    }
