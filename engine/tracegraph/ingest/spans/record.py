"""What a step needs of a span, in whatever format the span came.

An adapter takes ids, times, status, attributes and events out of its format; what they mean is the
same everywhere and decided here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from tracegraph.ingest import span_gaps
from tracegraph.ingest.attributes import Attributes, dump
from tracegraph.ingest.status import TOOL_ERROR, RaisedException, Verdict, judge
from tracegraph.ingest.step_fields import TOOL, StepFields, bodies, read_fields

EXCEPTION = "exception"
"""The name of the events that are exceptions (OpenTelemetry semantic conventions)."""

_GRAPH_ID = "graph.node.id"
_GRAPH_PARENT = "graph.node.parent_id"
_GRAPH_EDGES = "gen_ai.workflow.edges"
_DROPPED = {
    "attributes": span_gaps.DROPPED_ATTRIBUTES,
    "events": span_gaps.DROPPED_EVENTS,
    "links": span_gaps.DROPPED_LINKS,
}


class SpanRecord(Struct):
    """A span read: what becomes a step, its causes as recorded, and where it lies.

    Attributes:
        step_id: the span id, normalised.
        parent: the parent's span id, None for a root.
        start: nanoseconds since the epoch, -1 unknown.
        end: nanoseconds since the epoch, -1 unknown or not ended.
        verdict: its status.
        links: (trace id, span id) of the links.
        gaps: what is to be disclosed, by code of :mod:`tracegraph.ingest.span_gaps`.
        unknown_fields: names of the fields whose absence proves nothing, joined by a comma.
        source: index of the source.
        place: the record that it lies in, in the adapter's own terms.
        ordinal: which of the record's spans it is.
    """

    step_id: str
    parent: str | None
    start: int
    end: int
    fields: StepFields
    verdict: Verdict
    links: list[tuple[str | None, str | None]] = []
    gaps: dict[str, int] | None = None
    unknown_fields: str | None = None
    graph_id: str | None = None
    graph_parent: str | None = None
    graph_edges: list[object] | None = None
    input: str | None = None
    output: str | None = None
    attributes: str | None = None
    source: int = 0
    place: Any = None
    ordinal: int = 0


def make_record(
    step_id: str,
    parent: str | None,
    name: str | None,
    start: int,
    end: int,
    status: int | None,
    message: str | None,
    attributes: Attributes,
    exceptions: Sequence[RaisedException],
    *,
    keep_content: bool,
    knows_all: bool = True,
) -> SpanRecord:
    """Make the record of a span.

    Args:
        step_id: the span id.
        parent: the parent's span id, None for a root.
        name: the span's name.
        start: nanoseconds since the epoch, -1 unknown.
        end: nanoseconds since the epoch, -1 unknown or not ended.
        status: code of STATUSES as recorded, None where what is recorded cannot be read.
        message: description beside the status.
        attributes: all attributes, those that its events carry included.
        exceptions: its exception events in order.
        keep_content: keep its bodies and attributes.
        knows_all: status and events are recorded, so that an ended span with neither failed in no
            way that anybody knows of; else UNSET is nothing but unset.
    """
    fields = read_fields(attributes, name)
    verdict = verdict_of(
        fields, status, ended=knows_all and end >= 0, message=message, exceptions=exceptions
    )
    record = SpanRecord(step_id, parent, start, end, fields, verdict)
    values = attributes.values
    if _GRAPH_ID in values or _GRAPH_PARENT in values:
        record.graph_id = attributes.text(_GRAPH_ID)
        record.graph_parent = attributes.text(_GRAPH_PARENT)
    if _GRAPH_EDGES in values:
        edges = attributes.get(_GRAPH_EDGES)
        record.graph_edges = edges if isinstance(edges, list) else None
    if status is None:
        count(record, span_gaps.UNREADABLE_STATUS)
    for code in fields.gaps + verdict.gaps:
        count(record, code)
    if keep_content:
        record.input, record.output = bodies(attributes)
        record.attributes = dump(attributes.plain())
    return record


def count(record: SpanRecord, code: str, number: int = 1) -> None:
    """Count a gap of a span."""
    if record.gaps is None:
        record.gaps = {}
    record.gaps[code] = record.gaps.get(code, 0) + number


def count_dropped(record: SpanRecord, dropped: Mapping[str, int]) -> None:
    """Disclose how many attributes, events and links the producer dropped.

    What is absent then proves nothing.
    """
    for noun, number in dropped.items():
        if number:
            count(record, _DROPPED[noun], number)
            if noun == "attributes":
                record.unknown_fields = absent(record.fields)


def exception_of(attributes: Attributes) -> RaisedException:
    """Return what the attributes of an exception event say."""
    escaped = attributes.get("exception.escaped")
    return RaisedException(
        attributes.text("exception.type"),
        attributes.text("exception.message"),
        escaped is True or (isinstance(escaped, str) and escaped.lower() == "true"),
    )


def absent(fields: StepFields) -> str:
    """Name the fields that attributes would have filled and that none did."""
    payload = fields.payload
    known = {
        "agent": fields.agent is not None,
        "args": payload is not None and payload.args is not None,
        "attr": False,
        "cost": fields.cost is not None,
        "docs": fields.docs >= 0,
        "model": fields.model is not None,
        "result": payload is not None and payload.result is not None,
        "tokens.completion": fields.tokens_completion >= 0,
        "tokens.prompt": fields.tokens_prompt >= 0,
        "tokens.total": fields.tokens_total >= 0,
        "tool_call_id": payload is not None and payload.call_id is not None,
    }
    return ",".join(name for name, is_known in known.items() if not is_known)


def verdict_of(
    fields: StepFields,
    status: int | None,
    *,
    ended: bool,
    message: str | None = None,
    exceptions: Sequence[RaisedException] = (),
) -> Verdict:
    """Decide the status of a step; the signal ``tool_error`` is for tools only.

    Args:
        fields: what is known of the step.
        status: code of STATUSES as recorded, None where what is recorded cannot be read.
        ended: the step has an end.
        message: description beside the status.
        exceptions: its exceptions in order.
    """
    payload = fields.payload
    verdict = judge(
        status or 0,
        # Where it had a status that cannot be read, none of its own is not what UNSET means.
        ended=ended and status is not None,
        message=message,
        exceptions=exceptions,
        error_type=fields.error_type,
        tool_status=fields.tool_status,
        result_is_error=payload is not None and payload.is_error,
        message_failed=payload is not None and payload.message_failed,
    )
    if fields.kind != TOOL and verdict.signals & TOOL_ERROR:
        verdict.signals &= ~TOOL_ERROR
    return verdict
