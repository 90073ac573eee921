"""The messages of a sample to a trace, where its events are not recorded: order and ids are all."""

from typing import Any

from tracegraph.ingest.attributes import dump
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.inspect_ai.log import AREA
from tracegraph.ingest.inspect_ai.sample import Sample, facts_of, rest_of, verdict_of
from tracegraph.ingest.inspect_ai.turns import calls_of, verdict_of_tool
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.source import Source
from tracegraph.ingest.status import ERROR, UNSET
from tracegraph.ingest.step_fields import CHAIN
from tracegraph.ingest.transcript.content import content_digest, content_text
from tracegraph.ingest.transcript.fields import Fields
from tracegraph.ingest.transcript.transcript import Transcript
from tracegraph.ingest.transcript.turns import ModelTurn, ToolTurn, Turn
from tracegraph.model.codes import FIDELITY_CODE
from tracegraph.model.draft import Draft

_BODIES = frozenset({"role", "content", "tool_calls", "error"})


def add_conversation(draft: Draft, sample: Sample, source: Source) -> None:
    """Append the trace of a sample's messages.

    Gap codes: ``inspect_ai.unreadable_message``, ``inspect_ai.unreadable_field``,
    ``inspect_ai.result_without_call``.
    """
    verdict = verdict_of(sample)
    draft.begin(
        sample.trace_id,
        source=AREA,
        file=source.name,
        file_digest=source.digest,
        run_id=sample.evaluation.run_id,
        fidelity=FIDELITY_CODE["order_only"],
        contained=False,
        attributes=dump(dict(sorted(facts_of(sample).items()))),
    )
    ids = FreeIds()
    talk = Transcript(draft)
    for number, value in enumerate(sample.messages, 1):
        place = f"message-{number}"
        role = value.get("role") if isinstance(value, dict) else None
        if not isinstance(role, str) or is_too_deep(value):
            sample.losses.add("inspect_ai.unreadable_message", f"{place} cannot be used")
            continue
        message = Fields(value, place, AREA, sample.losses)
        if role == "assistant":
            _add_model(message, ids, place, talk, sample, draft.keep_content)
        elif role == "tool":
            _add_tool(message, ids, place, talk, sample, draft.keep_content)
        else:
            talk.hear(sample.resolved(value))
    is_open = talk.is_open
    talk.end()
    if verdict.status == ERROR:  # which step failed is not recorded
        draft.step(
            ids.take(sample.fields.text("uuid") or "sample"),
            kind=CHAIN,
            name=sample.evaluation.task,
            status=ERROR,
            status_source=verdict.source,
            error_type=verdict.error_type,
            error_message=verdict.error_message,
        )
    elif is_open or verdict.status == UNSET:
        draft.traces.status[-1] = UNSET
    # Else its last step decides, as in any log: that the sample was completed is no more than that.
    draft.traces.gaps[-1].update(sample.losses.counts)


def _add_model(
    message: Fields, ids: FreeIds, place: str, talk: Transcript, sample: Sample, keep: bool
) -> None:
    turn = ModelTurn(step_id=ids.take(message.text("id") or place), model=message.text("model"))
    turn.calls = calls_of(message, sample)
    _keep_bodies(turn, message, sample.resolved(message.content("content")), keep)
    talk.add_model(turn)


def _add_tool(
    message: Fields, ids: FreeIds, place: str, talk: Transcript, sample: Sample, keep: bool
) -> None:
    verdict = verdict_of_tool(message)
    turn = ToolTurn(
        step_id=ids.take(message.text("id") or place),
        call_id=message.text("tool_call_id"),
        name=message.text("function"),
        status=verdict.status,
        status_source=verdict.source,
        error_type=verdict.error_type,
        error_message=verdict.error_message,
        signals=verdict.signals,
    )
    content = sample.whole(message.content("content"))
    turn.result, turn.result_size = content_digest(content)
    _keep_bodies(turn, message, content, keep)
    _, is_asked_for = talk.add_tool(turn)
    if not is_asked_for:
        what = f"{place}: nobody asked for call {turn.call_id}"
        sample.losses.add("inspect_ai.result_without_call", what)


def _keep_bodies(turn: Turn, message: Fields, content: Any, keep: bool) -> None:
    if keep:
        turn.text = content_text(content)
        turn.attributes = rest_of(message, _BODIES)
