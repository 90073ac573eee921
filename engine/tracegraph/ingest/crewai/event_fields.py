"""From what started and ended in a crew to what a step needs of a span."""

import re
from typing import Any

from tracegraph.ingest.attributes import dump, text_of
from tracegraph.ingest.call_steps import Messages
from tracegraph.ingest.crewai.events import Event, Whole, unquoted
from tracegraph.ingest.crewai.react import asked_in
from tracegraph.ingest.crewai.records import plain_name, told_name, type_word
from tracegraph.ingest.langchain_messages import read_messages
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.requests import Call
from tracegraph.ingest.spans.record import SpanRecord, count
from tracegraph.ingest.status import ERROR, UNSET, RaisedException, judge
from tracegraph.ingest.step_fields import AGENT, CHAIN, LLM, TOOL, StepFields
from tracegraph.ingest.times import read_time
from tracegraph.ingest.tool_payload import make_call, read_payload
from tracegraph.ingest.usage import read_usage
from tracegraph.model.codes import KIND_CODE

_KINDS = {
    **dict.fromkeys(("crew_kickoff", "task", "flow", "method_execution"), CHAIN),
    **dict.fromkeys(("agent_execution", "lite_agent_execution"), AGENT),
    **dict.fromkeys(
        ("memory_query", "memory_retrieval", "knowledge_query", "knowledge_search_query"),
        KIND_CODE["RETRIEVER"],
    ),
    "llm_call": LLM,
    "tool_usage": TOOL,
    "llm_guardrail": KIND_CODE["GUARDRAIL"],
    "agent_evaluation": KIND_CODE["EVALUATOR"],
}
"""All else is what the framework does for itself, of no kind."""
_GIVEN = ("messages", "tool_args", "task_prompt", "inputs", "context", "query", "value", "params")
_MADE = ("response", "output", "results", "result", "retrieved_knowledge", "memory_content")
_NAMES = ("tool_name", "method_name", "flow_name", "crew_name")
_DUMPS = frozenset({"agent", "task", "crew", "from_agent", "from_task", "tools", "state"})
"""Members that hold whole objects of the framework, over and over."""
_CLASS = re.compile(r"<class '(?:builtins\.)?([\w.]+)'>")


def make_record(whole: Whole, parent: str | None) -> SpanRecord:
    """Make the record of what started and ended.

    Args:
        whole: its events.
        parent: what it ran in.
    """
    codes: list[str] = []
    fields = _fields(whole, codes)
    start, end = _time(whole.started, codes), _time(whole.ended, codes)
    error = _error(whole.ended[0]) if whole.ended is not None else None
    verdict = judge(
        UNSET if error is None else ERROR,
        ended=whole.ended is not None,
        exceptions=[] if error is None else [error],
    )
    record = SpanRecord(whole.step_id, parent, start, end, fields, verdict)
    for code in codes:
        count(record, code)
    return record


def keep_bodies(record: SpanRecord, whole: Whole) -> None:
    """Keep what it was given and what it made, and what else its events say."""
    record.input, record.output = text_of(whole.body(*_GIVEN)), text_of(whole.body(*_MADE))
    bodies = {*_GIVEN, *_MADE} | _DUMPS
    rest = {
        name: {k: v for k, v in found[1].items() if k not in bodies and _says(v)}
        for name, found in (("started", whole.started), ("ended", whole.ended))
        if found is not None
    }
    record.attributes = dump(rest)


def _says(value: Any) -> bool:
    return value not in (None, [], {}) and not is_too_deep(value)


def _fields(whole: Whole, codes: list[str]) -> StepFields:
    fields = StepFields(kind=_KINDS.get(whole.work, 0))
    agent = whole.body("agent")
    role = agent.get("role") if isinstance(agent, dict) else None
    fields.agent = whole.said("agent_role") or (role if isinstance(role, str) and role else None)
    fields.name = _name(whole, fields) or whole.work
    if fields.kind == LLM:
        fields.model = whole.said("model")
        fields.messages = _messages(whole)
        read_usage(whole.said("usage") or {}, fields, codes)
    elif fields.kind == TOOL:
        fields.name = plain_name(whole.said("tool_name"))
        given, made = text_of(whole.body("tool_args")), text_of(whole.body("output"))
        fields.payload = read_payload(given, made)
    return fields


def _name(whole: Whole, fields: StepFields) -> str | None:
    if fields.kind == LLM:
        return None
    if fields.kind == AGENT and fields.agent:
        return fields.agent
    named: str | None = next(filter(None, map(whole.said, _NAMES)), None)
    return named or told_name(whole.said("task_name")) or whole.said("model")


def _messages(whole: Whole) -> Messages | None:
    """Read what a model was told and what it answered: calls of functions, or actions as text.

    None where what it was told is not recorded and it asked for nothing: it may have been given
    any result.
    """
    told = whole.body("messages")
    found, _ = read_messages(told, None, None)
    answer = whole.body("response")
    if isinstance(answer, list):
        found.calls = [_call(item) for item in answer if isinstance(item, dict)]
    elif isinstance(answer, str):
        action = asked_in(answer)
        if action is not None:
            found.calls = [make_call(None, plain_name(action[0]), action[1])]
        found.answers = action is None and bool(answer.strip())
    found.cut = whole.said("finish_reason") == "length"
    return found if found.calls or found.cut or told is not None else None


def _call(item: dict[str, Any]) -> Call:
    function = item.get("function")
    holder = function if isinstance(function, dict) else item
    call_id, name = item.get("id"), unquoted(holder.get("name"))
    arguments = unquoted(holder.get("arguments", holder.get("input")))
    return make_call(
        call_id if isinstance(call_id, str) and call_id else None,
        plain_name(name) if isinstance(name, str) else None,
        arguments,
    )


def _error(event: Event) -> RaisedException | None:
    """Return the failure that an event ends with; newer ones name the class as Python shows it."""
    if event.error is None and not event.type.endswith(("_failed", "_error")):
        return None
    error = "nested too deeply to be read" if is_too_deep(event.error) else event.error
    named = _CLASS.fullmatch(event.error_type or "")
    return RaisedException(named[1] if named else type_word(event.error_type), text_of(error))


def _time(found: tuple[Event, dict[str, Any]] | None, codes: list[str]) -> int:
    return read_time(None if found is None else found[0].timestamp, codes)
