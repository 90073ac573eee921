"""The spans of a trace of the TRAIL benchmark as they are decoded, out of the spans that hold them.

``{"trace_id": ..., "spans": [{..., "child_spans": [...]}]}``: OpenTelemetry's spans with each field
named as in a table of them, and nested. Copies of the data set leave members out, ``trace_id`` of
the spans among them.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from tracegraph.ingest.attributes import LARGEST
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.salvage import read_record
from tracegraph.ingest.spans.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, normal_id
from tracegraph.ingest.spans.plain import PlainSpan, Said, readable, records_of, time_of
from tracegraph.ingest.status import UNSET, status_code
from tracegraph.ingest.times import UNREADABLE
from tracegraph.ingest.trail.duration import duration_of
from tracegraph.model.codes import UNKNOWN

AREA = "trail"
NESTED = "child_spans"


class Event(Struct):
    """A span event; exceptions are events."""

    name: str | None = None
    attributes: dict[str, Any] | None = None


class Link(Struct, gc=False):
    """A link to another span."""

    trace_id: str | None = None
    span_id: str | None = None


class Span(Struct):
    """A span without those that it holds."""

    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None
    span_name: str | None = None
    service_name: str | None = None
    timestamp: str | None = None
    duration: str | None = None
    status_code: str | int | None = None
    status_message: str | None = None
    resource_attributes: dict[str, Any] | None = None
    span_attributes: dict[str, Any] | None = None
    events: list[Any] | None = None
    links: list[Any] | None = None


class Found(Struct):
    """A span where it was found.

    Attributes:
        value: as decoded, without the spans that it holds.
        holder: id of the span that holds it, as recorded.
        trace_id: id of the trace that holds it, as recorded.
    """

    value: Any
    holder: str | None = None
    trace_id: str | None = None


def spans_in(value: Any) -> Iterator[Found]:
    """Yield the spans of a decoded document, each before those that it holds."""
    trace_id, held = None, [value]
    if isinstance(value, dict) and isinstance(value.get("spans"), list):
        trace_id, held = _id(value, "trace_id"), value["spans"]
    waiting = [Found(item, None, trace_id) for item in reversed(held)]
    while waiting:
        found = waiting.pop()
        span = found.value
        nested = span.get(NESTED) if isinstance(span, dict) else None
        if nested:
            found.value = {key: item for key, item in span.items() if key != NESTED}
            holder, of = _id(span, "span_id"), found.trace_id or _id(span, "trace_id")
            below = nested if isinstance(nested, list) else [nested]
            waiting += [Found(item, holder, of) for item in reversed(below)]
        yield found


def read_span(found: Found, shown: str, losses: Losses) -> PlainSpan | None:
    """Make a span of a decoded one; None where it has no ids.

    Gap codes: ``trail.contradictory_nesting`` where a span names another parent or another trace
    than what holds it (what it names stays), ``trail.unreadable_field``,
    ``trail.unreadable_event``, ``trail.unreadable_link``.
    """
    span = read_record(Span, found.value, shown, AREA, losses)
    if span is None:
        return None
    step_id = normal_id(span.span_id, SPAN_ID_DIGITS)[0]
    trace_id, around = _either(span.trace_id, found.trace_id, TRACE_ID_DIGITS)
    parent, above = _either(span.parent_span_id, found.holder, SPAN_ID_DIGITS)
    if trace_id is None or step_id is None:
        return None
    if trace_id != around or parent != above:
        losses.add("trail.contradictory_nesting", f"{shown}: names what does not hold it")
    start, end = _times(span)
    return PlainSpan(
        trace_id,
        step_id,
        parent,
        span.span_name,
        start,
        end,
        UNSET if span.status_code is None else status_code(span.status_code),
        span.status_message,
        readable(span.span_attributes, shown, AREA, losses),
        _events(span, shown, losses),
        _links(span, losses),
        {"service.name": span.service_name} | (span.resource_attributes or {}),
        knows_all=span.status_code is not None,
    )


def _id(value: dict[str, Any], key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) else None


def _either(named: str | None, held: str | None, digits: int) -> tuple[str | None, str | None]:
    """Return the id that a span names, else that of what holds it; and the other way about."""
    own, around = normal_id(named, digits)[0], normal_id(held, digits)[0]
    return own or around, around or own


def _times(span: Span) -> tuple[int, int]:
    """Return start and end; a duration without a start tells no end."""
    start, duration = time_of(span.timestamp), duration_of(span.duration)
    if start < 0 or duration < 0:
        return start, duration if duration == UNREADABLE else UNKNOWN
    return start, start + duration if start + duration <= LARGEST else UNREADABLE


def _events(span: Span, shown: str, losses: Losses) -> list[Said]:
    found = records_of(Event, _lower(span.events), "event", AREA, losses)
    return [(e.name or "", readable(e.attributes, shown, AREA, losses)) for e in found]


def _links(span: Span, losses: Losses) -> list[tuple[str | None, str | None]]:
    return [
        (normal_id(link.trace_id, TRACE_ID_DIGITS)[0], normal_id(link.span_id, SPAN_ID_DIGITS)[0])
        for link in records_of(Link, _lower(span.links), "link", AREA, losses)
    ]


def _lower(items: list[Any] | None) -> list[Any]:
    """Return objects with their keys in lower case, in which some writers begin with a capital."""
    return [
        {key.lower(): value for key, value in item.items()} if isinstance(item, dict) else item
        for item in items or ()
    ]
