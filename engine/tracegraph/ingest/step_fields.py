"""Attributes of one span -> the fields of a step, in all conventions at once.

Exporters mix conventions in one span, so each fact is looked up under every name that it goes by,
OpenInference first, then OpenTelemetry GenAI, then OpenLLMetry. Formats that carry the same
attributes in another container (Phoenix, Jaeger) share this.
"""

from decimal import Decimal, InvalidOperation
from typing import Any

from msgspec import Struct

from tracegraph.ingest import genai, openinference, openllmetry, span_gaps
from tracegraph.ingest.attributes import Attributes, total_of, whole_number
from tracegraph.ingest.call_steps import Messages
from tracegraph.ingest.openinference import Metadata
from tracegraph.ingest.tool_payload import ToolPayload, read_payload
from tracegraph.model.codes import KIND_CODE, UNKNOWN

LLM, TOOL = KIND_CODE["LLM"], KIND_CODE["TOOL"]
AGENT, CHAIN = KIND_CODE["AGENT"], KIND_CODE["CHAIN"]
_RANKED = (KIND_CODE["RETRIEVER"], KIND_CODE["RERANKER"])
_PROMPT = ("llm.token_count.prompt", "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
_COMPLETION = (
    "llm.token_count.completion",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
)
_TOTAL = ("llm.token_count.total", "gen_ai.usage.total_tokens", "llm.usage.total_tokens")
_MODEL = (
    "llm.model_name",
    "gen_ai.response.model",
    "gen_ai.request.model",
    "embedding.model_name",
    "reranker.model_name",
    openllmetry.PROPERTIES + "ls_model_name",
)
_AGENT = ("gen_ai.agent.name", "agent.name")
_SESSION = ("session.id", "gen_ai.conversation.id")
_RUN = "syncmill.run_id"
"""The only attribute by which a producer is known to name the run that governance means."""
_OTHER_SESSION = (
    "metadata.session_id",
    "metadata.thread_id",
    openllmetry.PROPERTIES + "session_id",
    openllmetry.PROPERTIES + "thread_id",
)
_NAME = (
    "tool.name",
    "gen_ai.tool.name",
    "traceloop.entity.name",
    "gen_ai.task.name",
    "executor.id",
    "graph.node.name",
)
_COST = ("llm.cost.total", "gen_ai.usage.cost")
_COST_PARTS = ("llm.cost.prompt", "llm.cost.completion")
_CALL_ID = ("gen_ai.tool.call.id", "tool_call.id", "tool.id")
_ARGUMENTS = (
    "input.value",
    "gen_ai.tool.call.arguments",
    "tool_call.function.arguments",
    "traceloop.entity.input",
    "tool.parameters",
)
_RESULT = ("output.value", "gen_ai.tool.call.result", "traceloop.entity.output")
_INPUT = ("input.value", genai.INPUT, "traceloop.entity.input", "gen_ai.tool.call.arguments")
_OUTPUT = ("output.value", genai.OUTPUT, "traceloop.entity.output", "gen_ai.tool.call.result")
_USAGE = frozenset((*_PROMPT, *_COMPLETION, *_TOTAL, *_MODEL, *_COST, *_COST_PARTS))
_NO_MODEL = "unknown"
"""OpenLLMetry's word for a model that it could not find out."""


class StepFields(Struct, gc=False):
    """What the attributes of a span say; -1 and None are unknown.

    Attributes:
        node: the graph node that the span runs in.
        wrapper: the span was opened by a framework for a graph node.
        messages: of a model step.
        payload: of a tool step.
        gaps: what was recorded and cannot be read, codes of :mod:`tracegraph.ingest.span_gaps`.
    """

    kind: int = 0
    name: str | None = None
    agent: str | None = None
    model: str | None = None
    tokens_prompt: int = UNKNOWN
    tokens_completion: int = UNKNOWN
    tokens_total: int = UNKNOWN
    cost: str | None = None
    docs: int = UNKNOWN
    session: str | None = None
    run: str | None = None
    error_type: str | None = None
    tool_status: str | None = None
    metadata: Metadata | None = None
    wrapper: bool = False
    messages: Messages | None = None
    payload: ToolPayload | None = None
    gaps: tuple[str, ...] = ()


def read_fields(attributes: Attributes, span_name: str | None) -> StepFields:
    """Read the fields of a step."""
    values = attributes.values
    fields = StepFields(kind=_kind(attributes))
    kind = fields.kind
    fields.name = _name(attributes, kind, span_name)
    fields.agent = attributes.text(*_AGENT)
    _read_session(attributes, fields)
    if "error.type" in values:
        fields.error_type = attributes.text("error.type")
    if kind == TOOL:
        fields.payload = _payload(attributes)
        if "gen_ai.tool.status" in values:
            fields.tool_status = attributes.text("gen_ai.tool.status")
    elif kind == LLM:
        fields.messages = _messages(attributes, fields)
    elif kind in _RANKED:
        fields.docs = openinference.documents(attributes)
    if not values.keys().isdisjoint(_USAGE):
        _read_usage(attributes, fields)
    return fields


def bodies(attributes: Attributes) -> tuple[str | None, str | None]:
    """Return the recorded input and output as text."""
    return attributes.body(*_INPUT), attributes.body(*_OUTPUT)


def _kind(attributes: Attributes) -> int:
    for read in (openinference.kind, genai.kind, openllmetry.kind):
        kind = read(attributes)
        if kind is not None:
            return kind
    if "executor.id" in attributes.values:  # Microsoft Agent Framework: a node of its workflow
        return CHAIN
    return 0


def _name(attributes: Attributes, kind: int, span_name: str | None) -> str | None:
    values = attributes.values
    if kind == AGENT and "gen_ai.agent.name" in values and "traceloop.entity.name" not in values:
        name = attributes.text("gen_ai.agent.name")
        if name:
            return name
    for key in _NAME:
        if key in values:
            name = attributes.text(key)
            if name:
                return name
    if span_name and genai.OPERATION in values:
        operation = attributes.text(genai.OPERATION)
        if operation and span_name.startswith(operation + " "):
            return span_name[len(operation) + 1 :]
    return span_name or None


def _read_session(attributes: Attributes, fields: StepFields) -> None:
    """Read the session and the framework's metadata, which may hold it."""
    values = attributes.values
    found = (
        openinference.metadata(attributes)
        if openinference.METADATA in values
        else openllmetry.metadata(attributes)
        if "traceloop.workflow.name" in values
        or openllmetry.PROPERTIES + "langgraph_node" in values
        or openllmetry.PROPERTIES + "thread_id" in values
        else None
    )
    fields.session = attributes.text(*_SESSION) or _session(attributes, found)
    fields.run = attributes.text(_RUN)
    if found is not None and found.langgraph_node is not None:
        fields.metadata = found
        fields.wrapper = fields.kind in (AGENT, CHAIN) and fields.name == found.langgraph_node


def _session(attributes: Attributes, found: Metadata | None) -> str | None:
    """Return a session that goes by another name: of a thread of LangGraph, an association."""
    for value in (
        found.session_id if found else None,
        found.thread_id if found else None,
        attributes.text(*_OTHER_SESSION),
    ):
        if isinstance(value, str | int) and str(value).strip():
            return str(value)
    return None


def _payload(attributes: Attributes) -> ToolPayload:
    arguments, result = attributes.body(*_ARGUMENTS), attributes.body(*_RESULT)
    return read_payload(arguments, result, attributes.text(*_CALL_ID))


def _messages(attributes: Attributes, fields: StepFields) -> Messages | None:
    found = openinference.messages(attributes)
    if found is not None:
        return found
    try:
        return genai.messages(attributes)
    except ValueError:
        fields.gaps += (span_gaps.UNREADABLE_MESSAGES,)
        return None


def _read_usage(attributes: Attributes, fields: StepFields) -> None:
    for key in _MODEL:
        if key in attributes.values:
            model = attributes.text(key)
            if model and model != _NO_MODEL:
                fields.model = model
                break
    fields.tokens_prompt = _count(attributes, _PROMPT, fields)
    fields.tokens_completion = _count(attributes, _COMPLETION, fields)
    fields.tokens_total = _count(attributes, _TOTAL, fields)
    if fields.tokens_total < 0:
        fields.tokens_total = total_of((fields.tokens_prompt, fields.tokens_completion))
    fields.cost = _cost(attributes, fields)


def _count(attributes: Attributes, keys: tuple[str, ...], fields: StepFields) -> int:
    unreadable = False
    for key in keys:
        if key in attributes.values:
            number = whole_number(attributes.get(key))
            if number is not None:
                return number
            unreadable = True
    if unreadable:
        fields.gaps += (span_gaps.UNREADABLE_TOKEN_COUNT,)
    return UNKNOWN


def _cost(attributes: Attributes, fields: StepFields) -> str | None:
    for key in _COST:
        if key in attributes.values:
            cost = _decimal(attributes.get(key), fields)
            return format(cost, "f") if cost is not None else None
    if all(key in attributes.values for key in _COST_PARTS):
        parts = [_decimal(attributes.get(key), fields) for key in _COST_PARTS]
        if parts[0] is not None and parts[1] is not None:
            return format(parts[0] + parts[1], "f")
    return None


def _decimal(value: Any, fields: StepFields) -> Decimal | None:
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        cost = Decimal("NaN")
    if not cost.is_finite() or cost < 0 or cost.adjusted() > 30 or cost.adjusted() < -30:
        fields.gaps += (span_gaps.UNREADABLE_COST,)
        return None
    return cost
