"""From a LangSmith run to what a step needs of a span."""

from typing import Any

from tracegraph.ingest import span_gaps
from tracegraph.ingest.attributes import LARGEST, dump, total_of
from tracegraph.ingest.langchain_messages import read_messages
from tracegraph.ingest.langgraph.messages import Usage
from tracegraph.ingest.langsmith.records import RunRecord
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import decimal_text
from tracegraph.ingest.openinference import Metadata
from tracegraph.ingest.raised import raised_by
from tracegraph.ingest.spans.record import SpanRecord, count, verdict_of
from tracegraph.ingest.status import ERROR, OK, UNSET, Verdict
from tracegraph.ingest.step_fields import AGENT, CHAIN, LLM, TOOL, StepFields
from tracegraph.ingest.times import read_time
from tracegraph.ingest.tool_payload import ToolPayload, read_arguments, read_result
from tracegraph.ingest.usage import read_count
from tracegraph.model.codes import KIND_CODE, UNKNOWN

_KINDS = {
    "chain": CHAIN,
    "llm": LLM,
    "tool": TOOL,
    "retriever": KIND_CODE["RETRIEVER"],
    "embedding": KIND_CODE["EMBEDDING"],
    "prompt": KIND_CODE["PROMPT"],
    "parser": CHAIN,
    "agent": AGENT,
}
_STATUSES = {"success": OK, "error": ERROR, "pending": UNSET, None: UNSET}
_SESSIONS = ("thread_id", "session_id", "conversation_id")
"""The metadata keys that LangSmith itself groups traces to threads by; ``session_id`` of a run is
its project."""


def make_record(
    run: RunRecord, holder: str | None, trace_id: str | None, losses: Losses
) -> SpanRecord:
    """Make the record of a run.

    Gap codes, besides those of :mod:`tracegraph.ingest.span_gaps`: ``langsmith.unknown_run_type``,
    ``langsmith.status_contradicts_error``, ``langsmith.dotted_order_differs``.

    Args:
        run: the run.
        holder: the run that it is nested in.
        trace_id: the trace that it is known to be of.
        losses: where doubts are disclosed.
    """
    codes: list[str] = []
    start, end = _time(run.start_time, codes), _time(run.end_time, codes)
    fields = _fields(run, codes, losses)
    verdict = _verdict(run, fields, end >= 0, codes, losses)
    lineage = run.lineage()
    above = lineage[-2] if len(lineage) > 1 else None
    parent = run.parent_run_id or above or holder
    named = {known for known in (run.parent_run_id, above, holder) if known}
    own, top = (lineage[-1], lineage[0]) if lineage else (run.id, trace_id)
    if len(named) > 1 or own != run.id or (trace_id is not None and top != trace_id):
        losses.add("langsmith.dotted_order_differs", f"run {run.id}: dotted_order says otherwise")
    record = SpanRecord(run.id, parent, start, end, fields, verdict)
    for code in (*codes, *verdict.gaps):
        count(record, code)
    return record


def keep_bodies(record: SpanRecord, run: RunRecord, rest: dict[str, Any], losses: Losses) -> None:
    """Keep what the run was given and gave back, and all else that is recorded of it.

    Gap code: ``langsmith.unreadable_field``.
    """
    try:
        record.input = None if run.inputs is None else dump(run.inputs)
        record.output = None if run.outputs is None else dump(run.outputs)
        record.attributes = dump(rest)
    except RecursionError:
        losses.add("langsmith.unreadable_field", f"run {run.id}: nested too deeply to be read")


def _fields(run: RunRecord, codes: list[str], losses: Losses) -> StepFields:
    kind = _KINDS.get((run.run_type or "").lower(), 0)
    if kind == 0:
        losses.add("langsmith.unknown_run_type", f"run {run.id}: a type of {run.run_type!r}")
    metadata = run.metadata
    fields = StepFields(kind=kind, name=run.name or None)
    fields.session = next(
        (_text(metadata.get(key)) for key in _SESSIONS if metadata.get(key)), None
    )
    if metadata.get("langgraph_node") is not None:
        known = {key: metadata.get(key) for key in Metadata.__struct_fields__}
        fields.metadata = Metadata(**known)
        fields.wrapper = kind in (AGENT, CHAIN) and run.name == metadata["langgraph_node"]
    if kind == LLM:
        _read_model(run, fields, codes)
    elif kind == TOOL:
        fields.payload = _payload(run)
    elif isinstance(run.outputs, dict) and kind == KIND_CODE["RETRIEVER"]:
        documents = run.outputs.get("documents", run.outputs.get("output"))
        fields.docs = len(documents) if isinstance(documents, list) else UNKNOWN
    return fields


def _read_model(run: RunRecord, fields: StepFields, codes: list[str]) -> None:
    """Read messages, model and usage; only model runs: the platform sums usage up to the root."""
    asked = (run.extra or {}).get("invocation_params")
    parameters: dict[str, Any] = asked if isinstance(asked, dict) else {}
    fields.messages, usage = read_messages(run.inputs, run.outputs, parameters.get("tools"))
    named = (
        run.metadata.get("ls_model_name"),
        parameters.get("model"),
        parameters.get("model_name"),
        usage.model,
    )
    fields.model = next((name for name in named if isinstance(name, str) and name), None)
    recorded: dict[str, Any] = next(
        (found for found in _usages(run) if isinstance(found, dict) and found), {}
    )
    fields.tokens_prompt = _count(run.prompt_tokens, recorded.get("input_tokens"), codes)
    fields.tokens_completion = _count(run.completion_tokens, recorded.get("output_tokens"), codes)
    fields.tokens_total = _count(run.total_tokens, recorded.get("total_tokens"), codes)
    if max(fields.tokens_prompt, fields.tokens_completion, fields.tokens_total) < 0:
        _take(usage, fields)
    if fields.tokens_total < 0:
        fields.tokens_total = total_of((fields.tokens_prompt, fields.tokens_completion))
    cost = recorded.get("total_cost") if run.total_cost is None else run.total_cost
    if cost is not None:
        fields.cost = decimal_text(cost) if isinstance(cost, str | int | float) else None
        if fields.cost is None:
            codes.append(span_gaps.UNREADABLE_COST)


def _usages(run: RunRecord) -> tuple[Any, ...]:
    outputs = run.outputs if isinstance(run.outputs, dict) else {}
    return run.usage_metadata, outputs.get("usage_metadata"), run.metadata.get("usage_metadata")


def _take(usage: Usage, fields: StepFields) -> None:
    fields.tokens_prompt, fields.tokens_completion = usage.prompt, usage.completion
    fields.tokens_total = usage.total


def _payload(run: RunRecord) -> ToolPayload:
    asked = (run.extra or {}).get("tool_call_id")
    payload = ToolPayload(call_id=asked if isinstance(asked, str) and asked else None)
    try:
        if run.inputs is not None:
            read_arguments(_given(run.inputs), payload)
        if run.outputs:  # the tracer writes an empty object where there is none
            read_result(_only(run.outputs, "output"), payload)
    except RecursionError:
        return ToolPayload(call_id=payload.call_id)
    return payload


def _given(inputs: Any) -> str:
    """Return arguments as text; a tracer that was given text writes it under ``input``."""
    if isinstance(inputs, dict) and inputs.keys() == {"input"} and isinstance(inputs["input"], str):
        return dump({"input_str": inputs["input"], "tags": None})  # as LangChain's callbacks do
    return dump(inputs)


def _only(body: Any, key: str) -> str:
    """Return a body as text: of an object that has only one member, that one."""
    if isinstance(body, dict) and body.keys() == {key}:
        body = body[key]
    return body if isinstance(body, str) else dump(body)


def _verdict(
    run: RunRecord, fields: StepFields, ended: bool, codes: list[str], losses: Losses
) -> Verdict:
    word = run.status.lower() if isinstance(run.status, str) else None
    readable = word in _STATUSES and (word is not None or run.status is None)
    if not readable:
        codes.append(span_gaps.UNREADABLE_STATUS)
    recorded = _STATUSES.get(word, UNSET)
    error = _error(run.error)
    if error is not None and recorded == UNSET:
        recorded = ERROR
    elif error is not None and recorded == OK:
        losses.add("langsmith.status_contradicts_error", f"run {run.id}: success with an error")
    raised = [raised_by(error)] if error is not None else []
    is_over = ended and word != "pending" and readable
    return verdict_of(fields, recorded, ended=is_over, exceptions=raised)


def _error(recorded: Any) -> str | None:
    """Return the text of an error, None where none is recorded."""
    if recorded in (None, False, {}, []):
        return None
    try:
        text = recorded if isinstance(recorded, str) else dump(recorded)
    except RecursionError:
        text = "an error that is nested too deeply to be read"
    return text if text.strip() else None


def _time(recorded: str | float | None, codes: list[str]) -> int:
    """Return the nanoseconds of a time: ISO 8601, or milliseconds since the epoch."""
    if recorded is None or isinstance(recorded, str):
        return read_time(recorded, codes)
    if 0 <= recorded * 1_000_000 <= LARGEST:
        return int(recorded * 1_000_000)
    codes.append(span_gaps.UNREADABLE_TIMESTAMP)
    return UNKNOWN


def _count(recorded: Any, other: Any, codes: list[str]) -> int:
    return read_count(other if recorded is None else recorded, codes)


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and str(value).strip() else None
