"""One OTLP span -> what a step of it needs, without keeping the span."""

from msgspec import Struct

from tracegraph.ingest.attributes import LARGEST, RawAttributes, dump, whole_number
from tracegraph.ingest.genai_events import with_events
from tracegraph.ingest.otlp_decode import Place
from tracegraph.ingest.otlp_ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, normal_id
from tracegraph.ingest.otlp_records import Event, KeyValue, Number, Span
from tracegraph.ingest.status import (
    TOOL_ERROR,
    RaisedException,
    Verdict,
    judge,
    status_code,
)
from tracegraph.ingest.step_fields import TOOL, StepFields, bodies, read_fields
from tracegraph.model.codes import UNKNOWN

_EXCEPTION = "exception"
_GRAPH_ID = "graph.node.id"
_GRAPH_PARENT = "graph.node.parent_id"
_GRAPH_EDGES = "gen_ai.workflow.edges"


class SpanRecord(Struct):
    """A span read: what becomes a step, its causes as recorded, and where it lies.

    Attributes:
        step_id: the span id, normalised.
        parent: the parent's span id, None for a root.
        links: (trace id, span id) of the links.
        verdict: its status.
        gaps: what is to be disclosed, by code.
        source: index of the source.
        place: the record that it lies in.
        ordinal: which of the record's spans it is.
    """

    step_id: str
    parent: str | None
    start: int
    end: int
    fields: StepFields
    verdict: Verdict
    source: int
    place: Place
    ordinal: int
    links: list[tuple[str | None, str | None]] = []
    gaps: dict[str, int] | None = None
    unknown_fields: str | None = None
    graph_id: str | None = None
    graph_parent: str | None = None
    graph_edges: list[object] | None = None
    input: str | None = None
    output: str | None = None
    attributes: str | None = None


def read_span(
    span: Span, step_id: str, source: int, place: Place, ordinal: int, keep_content: bool
) -> SpanRecord:
    """Read a span whose id is known."""
    gaps: dict[str, int] = {}
    values = _values(span.attributes)
    if span.events and any((event.name or "").startswith("gen_ai.") for event in span.events):
        values = with_events(values, span.events)
    attributes = RawAttributes(values)
    fields = read_fields(attributes, span.name)
    start = _time(span.startTimeUnixNano, gaps)
    end = _time(span.endTimeUnixNano, gaps)
    record = SpanRecord(
        step_id,
        normal_id(span.parentSpanId, SPAN_ID_DIGITS)[0],
        start,
        end,
        fields,
        _verdict(span, fields, end >= 0, gaps),
        source,
        place,
        ordinal,
    )
    if span.links:
        record.links = [
            (normal_id(link.traceId, TRACE_ID_DIGITS)[0], normal_id(link.spanId, SPAN_ID_DIGITS)[0])
            for link in span.links
        ]
    if _GRAPH_ID in values or _GRAPH_PARENT in values:
        record.graph_id = attributes.text(_GRAPH_ID)
        record.graph_parent = attributes.text(_GRAPH_PARENT)
    if _GRAPH_EDGES in values:
        edges = attributes.get(_GRAPH_EDGES)
        record.graph_edges = edges if isinstance(edges, list) else None
    for code in fields.gaps + record.verdict.gaps:
        gaps[code] = gaps.get(code, 0) + 1
    if span.droppedAttributesCount or span.droppedEventsCount or span.droppedLinksCount:
        _read_drops(span, record, gaps)
    if keep_content:
        record.input, record.output = bodies(attributes)
        record.attributes = dump(attributes.plain())
    if gaps:
        record.gaps = gaps
    return record


def _time(value: Number, gaps: dict[str, int]) -> int:
    """Return nanoseconds since the epoch; absent and 0 are unknown in OTLP."""
    if value is None or value in (0, "0", ""):
        return UNKNOWN
    number = whole_number(value)
    if number is None or number > LARGEST:
        gaps["otlp.unreadable_timestamp"] = gaps.get("otlp.unreadable_timestamp", 0) + 1
        return UNKNOWN
    return number or UNKNOWN


def _verdict(span: Span, fields: StepFields, ended: bool, gaps: dict[str, int]) -> Verdict:
    status = span.status
    code = status_code(status.code) if status is not None else 0
    if code is None:
        gaps["otlp.unreadable_status"] = 1
        ended = False  # it had a status, so none of its own is not what UNSET means
        code = 0
    exceptions = [_exception(event) for event in span.events or () if event.name == _EXCEPTION]
    payload = fields.payload
    verdict = judge(
        code,
        ended=ended,
        message=status.message if status is not None else None,
        exceptions=exceptions,
        error_type=fields.error_type,
        tool_status=fields.tool_status,
        result_is_error=payload is not None and payload.is_error,
        message_failed=payload is not None and payload.message_failed,
    )
    if fields.kind != TOOL and verdict.signals & TOOL_ERROR:
        verdict.signals &= ~TOOL_ERROR
    return verdict


def _exception(event: Event) -> RaisedException:
    attributes = RawAttributes(_values(event.attributes))
    escaped = attributes.get("exception.escaped")
    return RaisedException(
        attributes.text("exception.type"),
        attributes.text("exception.message"),
        escaped is True or (isinstance(escaped, str) and escaped.lower() == "true"),
    )


def _values(attributes: list[KeyValue] | None) -> dict[str, object]:
    return {item.key: item.value for item in attributes or ()}


def _read_drops(span: Span, record: SpanRecord, gaps: dict[str, int]) -> None:
    """Disclose what the producer dropped: what is absent then proves nothing."""
    for noun, value in (
        ("attributes", span.droppedAttributesCount),
        ("events", span.droppedEventsCount),
        ("links", span.droppedLinksCount),
    ):
        dropped = whole_number(value) if value else 0
        if dropped:
            gaps[f"otlp.dropped_{noun}"] = dropped
            if noun == "attributes":
                record.unknown_fields = _absent(record.fields)


def _absent(fields: StepFields) -> str:
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
