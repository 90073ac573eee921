"""One OTLP span -> the record of a step, without keeping the span."""

from collections.abc import Sequence

from tracegraph.ingest import span_gaps
from tracegraph.ingest.attributes import LARGEST, Attributes, RawAttributes, whole_number
from tracegraph.ingest.genai_events import with_events
from tracegraph.ingest.otlp.records import KeyValue, Number, Span
from tracegraph.ingest.spans.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, normal_id
from tracegraph.ingest.spans.record import (
    EXCEPTION,
    SpanRecord,
    count,
    count_dropped,
    exception_of,
    make_record,
)
from tracegraph.ingest.status import UNSET, RaisedException, status_code
from tracegraph.model.codes import UNKNOWN

_UNREADABLE = -2


def read_span(
    span: Span, step_id: str, keep_content: bool, logged: Sequence[tuple[str, Attributes]] = ()
) -> SpanRecord:
    """Read a span whose id is known, and the events that were logged beside it."""
    attributes = RawAttributes(_values(span.attributes))
    exceptions: list[RaisedException] = []
    if span.events or logged:
        events: list[tuple[str, Attributes]] = [
            (event.name or "", RawAttributes(_values(event.attributes)))
            for event in span.events or ()
        ]
        events += logged
        attributes = with_events(attributes, events)
        exceptions = [exception_of(said) for name, said in events if name == EXCEPTION]
    status = span.status
    start, end = _time(span.startTimeUnixNano), _time(span.endTimeUnixNano)
    record = make_record(
        step_id,
        normal_id(span.parentSpanId, SPAN_ID_DIGITS)[0],
        span.name,
        max(start, UNKNOWN),
        max(end, UNKNOWN),
        status_code(status.code) if status is not None else UNSET,
        status.message if status is not None else None,
        attributes,
        exceptions,
        keep_content=keep_content,
    )
    unreadable = (start == _UNREADABLE) + (end == _UNREADABLE)
    if unreadable:
        count(record, span_gaps.UNREADABLE_TIMESTAMP, unreadable)
    if span.links:
        record.links = [
            (normal_id(link.traceId, TRACE_ID_DIGITS)[0], normal_id(link.spanId, SPAN_ID_DIGITS)[0])
            for link in span.links
        ]
    if span.droppedAttributesCount or span.droppedEventsCount or span.droppedLinksCount:
        dropped = {
            "attributes": whole_number(span.droppedAttributesCount) or 0,
            "events": whole_number(span.droppedEventsCount) or 0,
            "links": whole_number(span.droppedLinksCount) or 0,
        }
        count_dropped(record, dropped)
    return record


def _time(value: Number) -> int:
    """Return nanoseconds since the epoch; absent and 0 are unknown in OTLP."""
    if value is None or value in (0, "0", ""):
        return UNKNOWN
    number = whole_number(value)
    if number is None or number > LARGEST:
        return _UNREADABLE
    return number or UNKNOWN


def _values(attributes: list[KeyValue] | None) -> dict[str, object]:
    return {item.key: item.value for item in attributes or ()}
