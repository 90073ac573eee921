"""From a span of the OpenAI Agents SDK to what a step needs of a span."""

from typing import Any

from tracegraph.ingest.attributes import dump, text_of
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.openai_agents.messages import messages_of
from tracegraph.ingest.openai_agents.records import SpanData, SpanItem
from tracegraph.ingest.spans.record import SpanRecord, count, verdict_of
from tracegraph.ingest.status import ERROR, UNSET, RaisedException, Verdict
from tracegraph.ingest.step_fields import AGENT, CHAIN, LLM, TOOL, StepFields
from tracegraph.ingest.times import read_time
from tracegraph.ingest.tool_payload import ToolPayload, read_payload
from tracegraph.ingest.usage import read_usage
from tracegraph.model.codes import KIND_CODE

KINDS = {
    "agent": AGENT,
    "function": TOOL,
    "generation": LLM,
    "response": LLM,
    "handoff": TOOL,
    "guardrail": KIND_CODE["GUARDRAIL"],
    "mcp_tools": CHAIN,
    "task": CHAIN,
    "turn": CHAIN,
    "speech_group": CHAIN,
    "custom": CHAIN,
    "speech": KIND_CODE["UNKNOWN"],
    "transcription": KIND_CODE["UNKNOWN"],
}
"""As OpenInference's instrumentation of the SDK has them, but for speech, of which it has no word.

A handoff is a tool to the model that asks for it, and its answer is read as a tool's is.
"""
_DETAILS = "details"
"""Where the exporter of OpenAI's own backend moves all usage but two counts."""


class AgentSpan(SpanRecord, kw_only=True):
    """The record of a span, and what tells its place in a run.

    Attributes:
        work: its type, ``task`` and ``turn`` among them.
        to_agent: the agent that a handoff is to.
        offered: the tools of an agent, None where they are not recorded.
        hands_off: an agent may hand off to others, by tools that are not named.
    """

    work: str | None = None
    to_agent: str | None = None
    offered: list[str] | None = None
    hands_off: bool = False


def make_record(span: SpanItem, data: SpanData, losses: Losses) -> AgentSpan:
    """Make the record of a span.

    Gap code, besides those of :mod:`tracegraph.ingest.span_gaps`: ``openai_agents.unknown_type``.
    """
    codes: list[str] = []
    work = data.kind_of_work
    fields = StepFields(kind=KINDS.get(work or "", 0), name=_name(data, work))
    if work not in KINDS:
        losses.add("openai_agents.unknown_type", f"span {span.id}: a type of {data.type!r}")
    if work == "agent":
        fields.agent = data.name or None
    elif work == "function":
        fields.payload = read_payload(text_of(data.input), text_of(data.output))
    elif work == "handoff":
        fields.payload = ToolPayload()
    elif work == "generation" and (data.input is not None or data.output is not None):
        fields.messages = messages_of(data.input, data.output)
    if fields.kind == LLM:
        read_usage(_usage(data), fields, codes)
    fields.model = data.model or None
    start, end = read_time(span.started_at, codes), read_time(span.ended_at, codes)
    verdict = _verdict(span, fields, end >= 0)
    record = AgentSpan(span.id, span.parent_id or None, start, end, fields, verdict)
    record.work, record.to_agent = work, data.to_agent or None
    record.offered, record.hands_off = data.tools or None, bool(data.handoffs)
    for code in codes:
        count(record, code)
    return record


def keep_bodies(record: SpanRecord, span: SpanItem, data: SpanData, about: Any) -> None:
    """Keep what the span was given and gave back, and all else that is recorded of it.

    Args:
        record: where to.
        span: the span.
        data: what it says by its type.
        about: what is said of the trace, of a root; None elsewhere.
    """
    given, made = data.input, data.output
    if data.type == "mcp_tools":
        made = data.result
    elif data.type == "guardrail" and data.triggered is not None:
        made = {"triggered": data.triggered}
    record.input, record.output = text_of(given), text_of(made)
    recorded = span.span_data if isinstance(span.span_data, dict) else {}
    rest: dict[str, Any] = {
        key: value
        for key, value in recorded.items()
        if key not in ("input", "output") and value is not None and not is_too_deep(value)
    }
    if span.metadata:
        rest["metadata"] = span.metadata
    if isinstance(span.error, dict):
        rest["error"] = span.error
    if about:
        rest["trace"] = about
    record.attributes = dump(rest)


def _name(data: SpanData, work: str | None) -> str | None:
    """Return the name; the runner's spans go by their type, a task by that of the workflow."""
    if work == "task":
        own = data.data.get("name") if isinstance(data.data, dict) else data.name
        return own if isinstance(own, str) and own else work
    if work == "handoff":  # as OpenInference calls the same span
        return f"handoff to {data.to_agent}" if data.to_agent else work
    return data.name or data.server or work


def _usage(data: SpanData) -> dict[str, Any]:
    """Return the counts of a model step; those of a task or a turn are the sum of its models'."""
    usage = data.usage or {}
    details = usage.get(_DETAILS)
    return {**(details if isinstance(details, dict) else {}), **usage}


def _verdict(span: SpanItem, fields: StepFields, ended: bool) -> Verdict:
    """Decide the status: the one thing that a span records of it is its ``error``."""
    error = _error(span.error)
    if error is None:
        return verdict_of(fields, UNSET, ended=ended)
    return verdict_of(fields, ERROR, ended=ended, exceptions=[RaisedException(None, error)])


def _error(recorded: Any) -> str | None:
    """Return the text of an error: its message, and the detail in its data (``SpanError``)."""
    if recorded in (None, False, {}, []):
        return None
    if not isinstance(recorded, dict):
        return recorded if isinstance(recorded, str) else dump(recorded)
    message, data = recorded.get("message"), recorded.get("data")
    detail = data.get("error") if isinstance(data, dict) else None
    texts = [text for text in (message, detail) if isinstance(text, str) and text.strip()]
    return ": ".join(texts) or dump(recorded)
