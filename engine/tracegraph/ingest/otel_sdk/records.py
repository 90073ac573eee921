"""A span as ``ReadableSpan.to_json`` writes it (opentelemetry-sdk for Python)."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from tracegraph.ingest.losses import Losses
from tracegraph.ingest.salvage import read_record
from tracegraph.ingest.spans.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, normal_id
from tracegraph.ingest.spans.plain import PlainSpan, readable, records_of, time_of
from tracegraph.ingest.status import UNSET, status_code

AREA = "otel_sdk"
_OF_A_SPAN = frozenset({"context", "kind", "parent_id", "start_time", "end_time"})
_ENOUGH = 2
"""As many members of a span tell one from other JSON that a program prints."""


class Context(Struct, gc=False):
    """The ids of a span, in hex with ``0x`` in front."""

    trace_id: str | None = None
    span_id: str | None = None


class Event(Struct):
    """A span event; exceptions are events."""

    name: str | None = None
    attributes: dict[str, Any] | None = None


class Link(Struct, gc=False):
    """A link to another span."""

    context: Context | None = None


class Status(Struct, gc=False):
    """The recorded status."""

    status_code: str | int | None = None
    description: str | None = None


class PrintedSpan(Struct):
    """A span. ``end_time`` is null in what is printed before it ends."""

    name: str | None = None
    context: Context | None = None
    parent_id: str | None = None
    start_time: str | None = None
    end_time: str | None = None
    status: Status | None = None
    attributes: dict[str, Any] | None = None
    events: list[Any] | None = None
    links: list[Any] | None = None
    resource: dict[str, Any] | None = None


def spans_in(value: Any) -> Iterator[Any]:
    """Yield a decoded document if it is a span, or cannot be told from a damaged one."""
    if not isinstance(value, dict) or len(value.keys() & _OF_A_SPAN) >= _ENOUGH:
        yield value


def read_span(value: Any, shown: str, losses: Losses) -> PlainSpan | None:
    """Make a span of a decoded document; None where it has no ids.

    Gap codes: ``otel_sdk.unreadable_field``, ``otel_sdk.unreadable_event``,
    ``otel_sdk.unreadable_link``.
    """
    found = read_record(PrintedSpan, value, shown, AREA, losses)
    if found is None:
        return None
    trace_id, step_id = _ids(found.context)
    if trace_id is None or step_id is None:
        return None
    status = found.status or Status()
    events = records_of(Event, found.events, "event", AREA, losses)
    links = records_of(Link, found.links, "link", AREA, losses)
    return PlainSpan(
        trace_id,
        step_id,
        normal_id(found.parent_id, SPAN_ID_DIGITS)[0],
        found.name,
        time_of(found.start_time),
        time_of(found.end_time),
        UNSET if status.status_code is None else status_code(status.status_code),
        status.description,
        readable(found.attributes, shown, AREA, losses),
        [(e.name or "", readable(e.attributes, shown, AREA, losses)) for e in events],
        [_ids(link.context) for link in links],
        _resource(found.resource),
        knows_all=status.status_code is not None,
    )


def _ids(context: Context | None) -> tuple[str | None, str | None]:
    if context is None:
        return None, None
    trace_id, _ = normal_id(context.trace_id, TRACE_ID_DIGITS)
    return trace_id, normal_id(context.span_id, SPAN_ID_DIGITS)[0]


def _resource(resource: dict[str, Any] | None) -> dict[str, Any]:
    """Return the attributes of a resource; before release 1.12 it was nothing but them."""
    held = (resource or {}).get("attributes", resource)
    return held if isinstance(held, dict) else {}
