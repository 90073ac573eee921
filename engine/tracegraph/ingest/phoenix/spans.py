"""One span of a Phoenix export -> the record of a step."""

from tracegraph.ingest import span_gaps
from tracegraph.ingest.attributes import Attributes
from tracegraph.ingest.genai_events import with_events
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.openinference import KIND
from tracegraph.ingest.phoenix.records import Span, Status
from tracegraph.ingest.phoenix.values import UNREADABLE_TIME, attributes_of, time_of
from tracegraph.ingest.spans.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, normal_id
from tracegraph.ingest.spans.record import (
    EXCEPTION,
    SpanRecord,
    absent,
    count,
    exception_of,
    make_record,
)
from tracegraph.ingest.status import UNSET, status_code
from tracegraph.model.codes import UNKNOWN

_NO_KIND = "UNKNOWN"
"""Phoenix's word where no kind was recorded: other conventions may tell it then."""


def ids_of(span: Span) -> tuple[str | None, str | None]:
    """Return trace id and span id, None where there is none."""
    context = span.context
    trace_id = (context.trace_id if context is not None else None) or span.trace_id
    span_id = (context.span_id if context is not None else None) or span.span_id
    return normal_id(trace_id, TRACE_ID_DIGITS)[0], normal_id(span_id, SPAN_ID_DIGITS)[0]


def read_span(
    span: Span, step_id: str, where: str, losses: Losses, *, keep_content: bool
) -> SpanRecord:
    """Read a span whose ids are known.

    Gap codes: ``phoenix.no_attributes`` where the export leaves them out, ``phoenix.missing_field``
    for each of name, times and status that the format demands and that is not there.
    """
    attributes = _attributes(span, where, losses)
    if keep_content:  # kept in one order, since each form of an export has its own
        attributes = Attributes(dict(sorted(attributes.values.items())))
    events = [
        (event.name or "", attributes_of(event.attributes or {}, where, losses))
        for event in span.events or ()
    ]
    status = span.status or Status()
    code = status.status_code if span.status_code is None else span.status_code
    start, end = time_of(span.start_time), time_of(span.end_time)
    record = make_record(
        step_id,
        normal_id(span.parent_id, SPAN_ID_DIGITS)[0],
        span.name,
        max(start, UNKNOWN),
        max(end, UNKNOWN),
        status_code(code) if code is not None else UNSET,
        span.status_message or status.message or status.description,
        with_events(attributes, events),
        [exception_of(said) for name, said in events if name == EXCEPTION],
        keep_content=keep_content,
        knows_all=code is not None and span.events is not None,
    )
    unreadable = (start == UNREADABLE_TIME) + (end == UNREADABLE_TIME)
    if unreadable:
        count(record, span_gaps.UNREADABLE_TIMESTAMP, unreadable)
    if span.attributes is None:
        record.unknown_fields = absent(record.fields)
        losses.add("phoenix.no_attributes", f"{where}: attributes are not in this export")
    missing = (span.name, span.start_time, span.end_time, code).count(None)
    if missing:
        losses.add("phoenix.missing_field", f"{where}: {missing} fields are missing", missing)
    return record


def _attributes(span: Span, where: str, losses: Losses) -> Attributes:
    attributes = attributes_of(span.attributes or {}, where, losses)
    kind = span.span_kind
    if kind and kind.upper() != _NO_KIND and KIND not in attributes.values:
        return attributes.adding({KIND: kind})
    return attributes
