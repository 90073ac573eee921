"""Traces and spans of the OpenAI Agents SDK as they are decoded, out of whatever holds them.

``trace.export()`` and ``span.export()`` make objects (``agents.tracing``), which processors of
one's own write one a line, and which ``BackendSpanExporter`` posts as a list under ``data``. Others
gather the spans of a trace under ``spans``.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.salvage import Id, read_record, salvage

AREA = "openai_agents"
_UNREADABLE = "openai_agents.unreadable_field"
_HOLDERS = ("data", "spans")
_LEVELS = 3
"""A batch holds traces, they hold spans; nothing is nested deeper."""


class TraceItem(Struct):
    """What is said of a trace as a whole; ``group_id`` joins the traces of a conversation."""

    id: Id
    workflow_name: str | None = None
    group_id: str | None = None
    metadata: dict[str, Any] | None = None


class SpanData(Struct):
    """What a span says by its type (``agents.tracing.span_data``), all types in one."""

    type: str | None = None
    name: str | None = None
    input: Any = None
    output: Any = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    tools: list[str] | None = None
    handoffs: list[str] | None = None
    from_agent: str | None = None
    to_agent: str | None = None
    triggered: bool | None = None
    server: str | None = None
    result: Any = None
    data: Any = None

    @property
    def kind_of_work(self) -> str | None:
        """The type; of the runner's own spans, which are exported as custom ones, their own."""
        if self.type == "custom" and isinstance(self.data, dict):
            own = self.data.get("sdk_span_type")
            return own if own in ("task", "turn") else self.type
        return self.type


class SpanItem(Struct):
    """One span. An error is taken whatever its type is, so that none is taken for absent."""

    id: Id
    trace_id: str | None = None
    parent_id: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    span_data: Any = None
    error: Any = None
    metadata: dict[str, Any] | None = None


class Found(Struct):
    """A trace or a span where it was found.

    Attributes:
        value: as decoded.
        trace_id: of the trace that holds it.
    """

    value: Any
    trace_id: str | None = None


def items_in(value: Any, trace_id: str | None = None, level: int = 0) -> Iterator[Found]:
    """Yield the traces and spans of a decoded document, a trace before the spans in it."""
    held = None
    if isinstance(value, dict) and "span_data" not in value and level < _LEVELS:
        held = next((value[key] for key in _HOLDERS if isinstance(value.get(key), list)), None)
    if held is None:
        yield Found(value, trace_id)
        return
    if is_trace(value):
        own = value.get("id", value.get("trace_id"))
        trace_id = own if isinstance(own, str) else None
        about = {key: item for key, item in value.items() if key not in _HOLDERS}
        yield Found(about if "id" in about else {**about, "id": own})
    for item in held:
        yield from items_in(item, trace_id, level + 1)


def is_trace(value: Any) -> bool:
    """Tell a trace from a span."""
    if not isinstance(value, dict) or "span_data" in value:
        return False
    return value.get("object") == "trace" or "workflow_name" in value


def read_trace(value: Any, shown: str, losses: Losses) -> TraceItem | None:
    """Make a trace of a decoded object; None where it has no id.

    Gap code: ``openai_agents.unreadable_field``.
    """
    return read_record(TraceItem, value, shown, AREA, losses)


def read_span(value: Any, shown: str, losses: Losses) -> SpanItem | None:
    """Make a span of a decoded object; None where it has no id.

    Gap code: ``openai_agents.unreadable_field``.
    """
    span = read_record(SpanItem, value, shown, AREA, losses)
    if span is None:
        return None
    for name in ("error", "metadata"):
        if is_too_deep(getattr(span, name)):
            losses.add(_UNREADABLE, f"{shown}: {name}: nested too deeply to be read")
            setattr(span, name, "nested too deeply to be read" if name == "error" else None)
    return span


def read_data(span: SpanItem, losses: Losses) -> SpanData:
    """Read what a span says by its type, as far as it can be used.

    Gap code: ``openai_agents.unreadable_field``.
    """
    value, shown = span.span_data, f"span {span.id}: span_data"
    read = salvage if is_too_deep(value) else read_record
    found = read(SpanData, value, shown, AREA, losses)
    if found is None and value is not None:
        losses.add(_UNREADABLE, f"{shown} is no object")
    return found or SpanData()
