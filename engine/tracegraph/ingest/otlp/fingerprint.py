"""What a span says, however it is encoded: two records of one span are compared by it.

Exporters write ids as bytes, hex or base64, 64-bit integers as text or as numbers, enums as numbers
or by name, and may leave out what is empty (protobuf's JSON mapping allows all of these).
"""

import json
from typing import Any

from tracegraph.ingest.attributes import RawAttributes, whole_number
from tracegraph.ingest.otlp.records import KeyValue, Number, Span, Status
from tracegraph.ingest.spans.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, normal_id
from tracegraph.ingest.status import status_code
from tracegraph.model.digest import digest_bytes


def fingerprint(span: Span) -> str:
    """Return a digest of what a span says besides its own ids."""
    status = span.status or Status()
    code = status_code(status.code)
    said = [
        normal_id(span.parentSpanId, SPAN_ID_DIGITS)[0],
        span.name or "",
        _integer(span.startTimeUnixNano),
        _integer(span.endTimeUnixNano),
        (status.code if code is None else code, status.message or ""),
        _values(span.attributes),
        [(event.name or "", _values(event.attributes)) for event in span.events or ()],
        [
            (normal_id(link.traceId, TRACE_ID_DIGITS)[0], normal_id(link.spanId, SPAN_ID_DIGITS)[0])
            for link in span.links or ()
        ],
        _integer(span.droppedAttributesCount),
        _integer(span.droppedEventsCount),
        _integer(span.droppedLinksCount),
    ]
    return digest_bytes(json.dumps(said, sort_keys=True).encode())


def _integer(value: Number) -> int | str:
    number = whole_number(value or 0)
    return str(value) if number is None else number


def _values(attributes: list[KeyValue] | None) -> dict[str, Any]:
    return RawAttributes({item.key: item.value for item in attributes or ()}).plain()
