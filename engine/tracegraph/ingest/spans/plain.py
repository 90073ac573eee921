"""Spans whose values are plain JSON, in OpenTelemetry's terms: what several formats come to.

Their adapters take the members of a span out of whatever holds them; what they mean is here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from tracegraph.ingest import span_gaps
from tracegraph.ingest.attributes import Attributes
from tracegraph.ingest.genai_events import with_events
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.salvage import salvage_all
from tracegraph.ingest.spans.exports import ExportReader
from tracegraph.ingest.spans.record import EXCEPTION, SpanRecord, count, exception_of, make_record
from tracegraph.ingest.spans.resource import resource_attributes
from tracegraph.ingest.times import UNREADABLE, parse_time
from tracegraph.model.codes import UNKNOWN

_LISTS = ("gen_ai.response.finish_reasons", "gen_ai.workflow.edges")
"""Attributes that are lists: what keeps nothing but scalars writes such a one as JSON text."""

_Record = TypeVar("_Record", bound=Struct)

Said = tuple[str, dict[str, Any]]
"""The name and the attributes of an event."""


class PlainSpan(Struct):
    """A span.

    Attributes:
        trace_id: normalised.
        step_id: the span id, normalised.
        parent: the parent's span id, None for a root.
        start: nanoseconds since the epoch, -1 unknown, UNREADABLE what is no time.
        end: likewise, -1 also where it did not end.
        status: code of STATUSES as recorded, None where what is recorded cannot be read.
        message: description beside the status.
        events: name and attributes of each.
        links: (trace id, span id) of each.
        resource: attributes of what it ran in.
        knows_all: the format writes the status of every span (:func:`make_record`).
    """

    trace_id: str
    step_id: str
    parent: str | None
    name: str | None
    start: int
    end: int
    status: int | None
    message: str | None
    attributes: dict[str, Any]
    events: Sequence[Said] = ()
    links: list[tuple[str | None, str | None]] = []
    resource: Mapping[str, Any] = {}
    knows_all: bool = True


class PlainReader(ExportReader[PlainSpan]):
    """Reads the spans of the sources."""

    noun = "span"

    def take(self, items: Sequence[tuple[PlainSpan, Losses]], index: int) -> None:
        """Take the spans whose trace is asked for."""
        for number, (span, losses) in enumerate(items, 1):
            trace = self.open_trace(span.trace_id, index)
            if trace is None:
                continue
            if not trace.attributes:
                trace.attributes.update(resource_attributes(Attributes(span.resource)))
            record = record_of(span, keep_content=self.options.keep_content)
            self.keep_item(trace, record, index, number, losses)


def record_of(span: PlainSpan, *, keep_content: bool) -> SpanRecord:
    """Make the record of a span."""
    events = [(name, Attributes(said)) for name, said in span.events]
    record = make_record(
        span.step_id,
        span.parent,
        span.name,
        max(span.start, UNKNOWN),
        max(span.end, UNKNOWN),
        span.status,
        span.message,
        with_events(Attributes(_with_lists(span.attributes)), events),
        [exception_of(said) for name, said in events if name == EXCEPTION],
        keep_content=keep_content,
        knows_all=span.knows_all,
    )
    unreadable = (span.start, span.end).count(UNREADABLE)
    if unreadable:
        count(record, span_gaps.UNREADABLE_TIMESTAMP, unreadable)
    record.links = span.links
    return record


def time_of(text: str | None) -> int:
    """Return the nanoseconds of an ISO 8601 time: -1 where there is none, UNREADABLE of no time."""
    if not text:
        return UNKNOWN
    try:
        return parse_time(text)
    except ValueError:
        return UNREADABLE


def readable(
    values: Mapping[str, Any] | None, place: str, area: str, losses: Losses
) -> dict[str, Any]:
    """Return attributes without those that are nested too deeply to be read.

    Gap code: ``<area>.unreadable_field``.

    Args:
        values: the attributes.
        place: names the span in messages.
        area: what gap codes start with.
        losses: where losses are disclosed.
    """
    kept: dict[str, Any] = {}
    for key, value in (values or {}).items():
        if isinstance(value, dict | list) and is_too_deep(value):
            losses.add(f"{area}.unreadable_field", f"{place}: {key[:60]}: nested too deeply")
        else:
            kept[key] = value
    return kept


def records_of(
    record: type[_Record], items: list[Any] | None, noun: str, area: str, losses: Losses
) -> list[_Record]:
    """Make records of the items of a list; what is wrong costs the item that it is in.

    Gap codes: ``<area>.unreadable_field``, and ``<area>.unreadable_<noun>`` of an item that cannot
    be used.
    """
    try:
        return msgspec.convert(items or [], list[record])  # type: ignore[valid-type]
    except (msgspec.MsgspecError, RecursionError):
        return salvage_all(record, items, noun, area, losses)


def _with_lists(attributes: dict[str, Any]) -> dict[str, Any]:
    for key in _LISTS:
        text = attributes.get(key)
        if isinstance(text, str) and text.startswith("["):
            try:
                attributes = {**attributes, key: msgspec.json.decode(text)}
            except (msgspec.MsgspecError, RecursionError):
                continue
    return attributes
