"""A model event and a tool event, to what a step needs of a span."""

from typing import Any

from tracegraph.ingest.attributes import dump
from tracegraph.ingest.call_steps import Messages
from tracegraph.ingest.inspect_ai.log import AREA
from tracegraph.ingest.inspect_ai.sample import Sample, rest_of
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import decimal_text
from tracegraph.ingest.spans.record import SpanRecord
from tracegraph.ingest.status import ERROR, OK, TOOL_ERROR, UNSET, Verdict
from tracegraph.ingest.step_fields import LLM, TOOL, StepFields
from tracegraph.ingest.tool_payload import ToolPayload, size_of
from tracegraph.ingest.transcript.content import content_digest, content_text
from tracegraph.ingest.transcript.fields import Fields
from tracegraph.ingest.transcript.turns import Asked, asked
from tracegraph.model.codes import UNKNOWN

_CUT = frozenset({"max_tokens", "model_length"})
"""Reasons to stop that mean a limit of length (``StopReason`` of ``inspect_ai.model``)."""
_BODIES = frozenset("input input_refs output call arguments result events view tools event".split())


def model_record(
    event: Fields, record: SpanRecord, given: list[dict[str, Any]], sample: Sample, *, keep: bool
) -> float | None:
    """Fill in what a model was given and said; return how many seconds it took, None unknown.

    Args:
        event: the event.
        record: its record; its end is where the event has one.
        given: the messages that are new in its input.
        sample: of the event.
        keep: keep bodies and attributes.
    """
    output = event.inner("output")
    choice = _first(output, sample.losses)
    message = choice.inner("message")
    content = sample.resolved(message.content("content"))
    text = content_text(content)
    fields = StepFields(kind=LLM, name=event.text("role"))
    fields.model = output.text("model") or event.text("model")
    fields.messages = Messages(
        calls=[call.call for call in calls_of(message, sample)],
        reads=_reads(given, sample),
        history=_history(given),
        offered=_offered(event),
        answers=text is not None,
        cut=choice.text("stop_reason") in _CUT,
    )
    _read_usage(output, fields)
    record.fields = fields
    record.verdict = _verdict_of_model(event, is_answered=bool(choice.values))
    if keep:
        record.input = dump(sample.resolved(given)) if given else None
        record.output = text
        record.attributes = rest_of(event, _BODIES)
    return output.number("time")


def tool_record(event: Fields, record: SpanRecord, sample: Sample, *, keep: bool) -> None:
    """Fill in what a tool was given and gave back."""
    name = event.text("function")
    call = asked(event.text("id"), name, sample.whole(event.content("arguments")))
    result = sample.whole(event.content("result"))
    digest, size = content_digest(result)
    record.fields = StepFields(
        kind=TOOL,
        name=name,
        payload=ToolPayload(
            args=call.call.args,
            result=digest,
            args_size=UNKNOWN if call.given is None else size_of(call.given),
            result_size=size,
            call_id=call.call.id,
        ),
    )
    record.verdict = verdict_of_tool(event)
    if event.flag("pending") or (record.verdict.status == OK and "result" not in event.values):
        record.verdict = Verdict(UNSET)
    if keep:
        record.input, record.output = call.given, content_text(result)
        record.attributes = rest_of(event, _BODIES)


def verdict_of_tool(fields: Fields) -> Verdict:
    """Return how a call ended: an error is what the model was told, ``failed`` ended the sample."""
    error = fields.values.get("error")
    failed = fields.flag("failed")
    if error:
        said = fields.inner("error")
        if not said.values:
            return Verdict(UNSET)
        kind, text = said.text("type"), said.text("message")
        return Verdict(ERROR, "recorded", kind, text, TOOL_ERROR)
    if failed:
        return Verdict(ERROR, "recorded", signals=TOOL_ERROR)
    told = fields.text("tool_error")  # of messages until 2024
    if told is not None:
        return Verdict(ERROR, "recorded", None, told, TOOL_ERROR)
    return Verdict(OK, "default")


def calls_of(message: Fields, sample: Sample) -> list[Asked]:
    """Return the calls that a message asks for."""
    found: list[Asked] = []
    for call in message.records("tool_calls", "call"):
        arguments = sample.whole(call.content("arguments"))
        found.append(asked(call.text("id"), call.text("function"), arguments))
    return found


def _first(output: Fields, losses: Losses) -> Fields:
    """Return the choice that the conversation goes on with."""
    first: Any = next(iter(output.items("choices")), {})
    if not isinstance(first, dict):
        output.refuse("choices", "holds what is no choice")
        first = {}
    return Fields(first, "choice", AREA, losses)


def _offered(event: Fields) -> list[str] | None:
    tools = event.items("tools")
    if "tools" not in event.values:
        return None
    names = (tool.get("name") for tool in tools if isinstance(tool, dict))
    return [name for name in names if isinstance(name, str)]


def _reads(given: list[dict[str, Any]], sample: Sample) -> list[str]:
    """Return the calls whose results are among messages.

    Gap code: ``inspect_ai.unreadable_message``.
    """
    found: list[str] = []
    for message in given:
        role, answered = message.get("role"), message.get("tool_call_id")
        if role == "tool" and isinstance(answered, str):
            found.append(answered)
        elif not isinstance(role, str) or (role == "tool" and answered is not None):
            what = f"{sample.trace_id}: a message that a model was given has no role or no call"
            sample.losses.add("inspect_ai.unreadable_message", what)
    return found


def _history(given: list[dict[str, Any]]) -> list[str]:
    """Return the calls that messages ask for."""
    found: list[str] = []
    for message in given:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            call_id = call.get("id") if isinstance(call, dict) else None
            if isinstance(call_id, str):
                found.append(call_id)
    return found


def _read_usage(output: Fields, fields: StepFields) -> None:
    """Read tokens and cost.

    ``input_tokens`` leaves out what was read from and written to a cache, where the total tells.
    """
    usage = output.inner("usage")
    prompt, made = usage.count("input_tokens"), usage.count("output_tokens")
    total = usage.count("total_tokens")
    cached = sum(max(0, usage.count(f"input_tokens_cache_{what}")) for what in ("read", "write"))
    if min(prompt, made, total) >= 0 and prompt + cached + made == total:
        prompt += cached
    fields.tokens_prompt, fields.tokens_completion, fields.tokens_total = prompt, made, total
    cost = usage.number("total_cost")
    if cost is not None:
        fields.cost = decimal_text(cost)
        if fields.cost is None:
            usage.refuse("total_cost", "is no cost")


def _verdict_of_model(event: Fields, *, is_answered: bool) -> Verdict:
    error = event.text("error")
    if error is not None:
        return Verdict(ERROR, "recorded", None, error)
    is_open = event.flag("pending") or event.values.get("error") is not None
    return Verdict(OK, "default") if is_answered and not is_open else Verdict(UNSET)
