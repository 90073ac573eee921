"""From a Langfuse observation to what a step needs of a span.

Langfuse has one status that says something, the level ERROR. What it took in by OpenTelemetry it
keeps under ``metadata.attributes``, which says what its own columns do not: the kind of a SPAN, the
thread and the node of a graph.
"""

from typing import Any

from tracegraph.ingest import span_gaps
from tracegraph.ingest.attributes import Attributes, dump, text_of, total_of
from tracegraph.ingest.langchain_messages import read_messages
from tracegraph.ingest.langfuse.records import Observation, body
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import decimal_text
from tracegraph.ingest.spans.record import SpanRecord, count, verdict_of
from tracegraph.ingest.status import ERROR, UNSET, RaisedException, Verdict
from tracegraph.ingest.step_fields import AGENT, CHAIN, LLM, TOOL, StepFields, read_fields
from tracegraph.ingest.times import read_time
from tracegraph.ingest.tool_payload import ToolPayload, read_payload
from tracegraph.ingest.usage import read_count
from tracegraph.model.codes import KIND_CODE, UNKNOWN

_UNSAID = ("SPAN", "EVENT")
"""Types that do not say what kind of work it is."""
_KINDS = {
    "GENERATION": LLM,
    "AGENT": AGENT,
    "TOOL": TOOL,
    "CHAIN": CHAIN,
    "RETRIEVER": KIND_CODE["RETRIEVER"],
    "EVALUATOR": KIND_CODE["EVALUATOR"],
    "EMBEDDING": KIND_CODE["EMBEDDING"],
    "GUARDRAIL": KIND_CODE["GUARDRAIL"],
}
_LEVELS = {"ERROR": ERROR, "DEFAULT": UNSET, "DEBUG": UNSET, "WARNING": UNSET, None: UNSET}
_USED = {
    "prompt": ("input", "promptTokens", "input_tokens", "prompt_tokens"),
    "completion": ("output", "completionTokens", "output_tokens", "completion_tokens"),
    "total": ("total", "totalTokens", "total_tokens"),
}


def make_record(found: Observation, losses: Losses) -> SpanRecord:
    """Make the record of an observation.

    Gap code, besides those of :mod:`tracegraph.ingest.span_gaps`: ``langfuse.unknown_type``.
    """
    codes: list[str] = []
    start, end = read_time(found.start_time, codes), read_time(found.end_time, codes)
    if found.type == "EVENT" and found.end_time is None:
        end = start  # it is a moment
    fields = _fields(found, codes, losses)
    verdict = _verdict(found, fields, end >= 0, codes)
    parent = found.parent_observation_id or None
    record = SpanRecord(found.id, parent, start, end, fields, verdict)
    for code in (*codes, *fields.gaps, *verdict.gaps):
        count(record, code)
    return record


def keep_bodies(
    record: SpanRecord, found: Observation, rest: dict[str, Any], losses: Losses
) -> None:
    """Keep what the observation was given and gave back, and all else that is recorded of it.

    Gap code: ``langfuse.unreadable_field``.
    """
    try:
        record.input, record.output = text_of(found.input), text_of(found.output)
        record.attributes = dump(rest)
    except RecursionError:
        what = f"observation {found.id}: nested too deeply to be read"
        losses.add("langfuse.unreadable_field", what)


def _fields(found: Observation, codes: list[str], losses: Losses) -> StepFields:
    metadata = body(found.metadata)
    metadata = metadata if isinstance(metadata, dict) else {}
    attributes = body(metadata.get("attributes"))
    own = attributes if isinstance(attributes, dict) else {}
    fields = read_fields(Attributes(own), found.name)
    word = (found.type or "").upper()
    if word in _KINDS:
        fields.kind = _KINDS[word]
    elif word not in _UNSAID:
        losses.add("langfuse.unknown_type", f"observation {found.id}: a type of {found.type!r}")
    if fields.kind == LLM:
        _read_model(found, fields, metadata.get("tools"), codes)
    elif fields.kind == TOOL:
        fields.payload = _payload(found, fields.payload)
    elif fields.kind == KIND_CODE["RETRIEVER"] and fields.docs < 0:
        documents = body(found.output)
        documents = documents.get("documents") if isinstance(documents, dict) else documents
        fields.docs = len(documents) if isinstance(documents, list) else UNKNOWN
    return fields


def _read_model(found: Observation, fields: StepFields, tools: Any, codes: list[str]) -> None:
    """Read messages, model and usage."""
    given, made = body(found.input), body(found.output)
    if isinstance(given, dict) and tools is None:
        tools = given.get("tools")
    tools = [body(tool) for tool in tools] if isinstance(tools, list) else None
    messages, usage = read_messages(given, made, tools)
    messages.answers |= isinstance(made, str) and bool(made.strip())
    if fields.messages is None or not fields.messages.says_anything():
        fields.messages = messages
    fields.model = found.model or fields.model or usage.model
    _read_usage(found, fields, codes)


def _read_usage(found: Observation, fields: StepFields, codes: list[str]) -> None:
    """Read usage and cost; zeros stand for what is not known, unless a total bears them out."""
    used = found.usage_details or found.usage or {}
    prompt, completion, total = (
        next((read_count(used[key], codes) for key in keys if used.get(key) is not None), UNKNOWN)
        for keys in _USED.values()
    )
    if max(prompt, completion, total) > 0:
        if total < 0:
            total = total_of((prompt, completion))
        fields.tokens_prompt, fields.tokens_completion = prompt, completion
        fields.tokens_total = total or UNKNOWN
    prices = (found.cost_details or {}).get("total"), found.total_cost, found.calculated_total_cost
    cost = next((price for price in prices if price), None)
    if cost is not None:
        text = decimal_text(cost) if isinstance(cost, str | int | float) else None
        fields.cost = text or fields.cost
        if text is None:
            codes.append(span_gaps.UNREADABLE_COST)


def _payload(found: Observation, known: ToolPayload | None) -> ToolPayload:
    call_id = known.call_id if known is not None else None
    try:
        given, made = text_of(found.input), text_of(found.output)
    except RecursionError:
        given = made = None
    return read_payload(given, made, call_id)


def _verdict(found: Observation, fields: StepFields, ended: bool, codes: list[str]) -> Verdict:
    readable = found.level is None or (isinstance(found.level, str) and found.level in _LEVELS)
    if not readable:
        codes.append(span_gaps.UNREADABLE_STATUS)
    recorded = _LEVELS[found.level] if readable else None
    message = found.status_message
    raised = [RaisedException(None, message)] if recorded == ERROR and message else []
    return verdict_of(fields, recorded, ended=ended, message=message, exceptions=raised)
