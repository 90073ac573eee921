"""From the messages of a state to a trace in a draft.

A message of a model is an LLM step, a tool's message together with the call that it answers a TOOL
step; what people and systems say is no step. The state is what the next model is given, so each
model step has the results since the one before as causes. Nothing has a time.
"""

from dataclasses import dataclass
from typing import Any

from tracegraph.ingest.attributes import dump
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.langchain_messages import unwrapped
from tracegraph.ingest.langgraph.messages import (
    MODEL,
    TOOL,
    Message,
    as_text,
    asked_by,
    messages_in,
    result_of,
    usage_of,
)
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.source import Source
from tracegraph.ingest.transcript.transcript import Transcript
from tracegraph.ingest.transcript.turns import Asked, ModelTurn, ToolTurn
from tracegraph.model.codes import FIDELITY_CODE, KIND_CODE, SIGNAL_BIT, STATUS_CODE
from tracegraph.model.draft import Draft

AREA = "langgraph_state"
_OK, _ERROR, _UNSET = STATUS_CODE["ok"], STATUS_CODE["error"], STATUS_CODE["unset"]
_TOOL_STATUS = {"success": (_OK, "recorded"), "error": (_ERROR, "recorded"), None: (_OK, "default")}
"""LangChain's tool messages are successes unless they say otherwise."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A decoded state.

    Attributes:
        trace_id: the thread, or the file.
        thread: None where the state does not name it.
        value: all of it.
        messages: the messages in it, as decoded.
    """

    trace_id: str
    thread: str | None
    value: dict[str, Any]
    messages: list[Any]


def add_state(draft: Draft, state: Snapshot, source: Source, losses: Losses) -> None:
    """Append the state's trace to a draft."""
    row = draft.begin(
        state.trace_id,
        source=AREA,
        file=source.name,
        file_digest=source.digest,
        session_id=state.thread,
        fidelity=FIDELITY_CODE["order_only"],
        contained=False,
        attributes=_facts(state.value),
    )
    ids = FreeIds()
    talk = Transcript(draft)
    last: Message | None = None
    for number, value in enumerate(state.messages, 1):
        message = _message(value, number, losses)
        if message is None or message.is_frameworks_own:
            continue
        last = message
        step_id = ids.take(message.id or f"message-{number}")
        if message.role == MODEL:
            row = _add_model(draft, message, step_id, talk, losses)
        elif message.role == TOOL:
            _add_tool(draft, message, step_id, talk, losses)
        else:
            talk.hear(message.fields)
    talk.end()
    has_failed = _add_tasks(draft, state.value.get("tasks"), ids, losses)
    _finish(draft, state, row, last, is_open=talk.is_open, has_failed=has_failed)
    draft.traces.gaps[-1].update(losses.counts)


def _facts(value: dict[str, Any]) -> str | None:
    """Return what a snapshot says of itself."""
    config = value.get("config")
    configurable = config.get("configurable") if isinstance(config, dict) else None
    place = configurable if isinstance(configurable, dict) else value.get("checkpoint")
    checkpoint = place.get("checkpoint_id") if isinstance(place, dict) else None
    facts = {"checkpoint_id": _text(checkpoint), "created_at": _text(value.get("created_at"))}
    known = {name: fact for name, fact in facts.items() if fact is not None}
    return dump(known) if known else None


def _message(value: Any, number: int, losses: Losses) -> Message | None:
    """Read a message.

    Gap code: ``langgraph_state.unreadable_message``.
    """
    found = None
    if not is_too_deep(value):
        found = next(messages_in(unwrapped([value])), None)
    if found is None:
        losses.add("langgraph_state.unreadable_message", f"message {number} cannot be used")
    return found


def _add_model(
    draft: Draft, message: Message, step_id: str, talk: Transcript, losses: Losses
) -> int:
    """Append the step of what a model said.

    Gap code: ``langgraph_state.unreadable_field``.
    """
    usage = usage_of([message])
    recorded = message.fields.get("usage_metadata")
    counts = recorded.values() if isinstance(recorded, dict) else [recorded]
    if any(isinstance(count, str | list) for count in counts):
        losses.add("langgraph_state.unreadable_field", f"{step_id}: its usage is no count")
    name = _text(message.fields.get("name"))
    return talk.add_model(
        ModelTurn(
            step_id=step_id,
            name=name,
            agent=name,
            model=usage.model,
            tokens_prompt=usage.prompt,
            tokens_completion=usage.completion,
            tokens_total=usage.total,
            signals=SIGNAL_BIT["truncated"] if usage.cut else 0,
            text=message.text,
            attributes=_rest(draft, message),
            calls=[Asked(call.call(), as_text(call.args)) for call in asked_by(message)],
        )
    )


def _add_tool(
    draft: Draft, message: Message, step_id: str, talk: Transcript, losses: Losses
) -> None:
    """Append the step of a tool's message.

    Gap codes: ``langgraph_state.result_without_call``, ``langgraph_state.unreadable_field``.
    """
    word = message.fields.get("status")
    status, source = _TOOL_STATUS.get(word, (_UNSET, None)) if _is_word(word) else (_UNSET, None)
    if source is None:
        losses.add("langgraph_state.unreadable_field", f"{step_id}: its status is no word known")
    result, size = result_of(message)
    _, is_asked_for = talk.add_tool(
        ToolTurn(
            step_id=step_id,
            call_id=message.call_id,
            name=_text(message.fields.get("name")),
            status=status,
            status_source=source,
            error_message=message.text if status == _ERROR else None,
            result=result,
            result_size=size,
            text=message.text,
            attributes=_rest(draft, message),
        )
    )
    if not is_asked_for:
        what = f"message {message.id}: nobody asked for call {message.call_id}"
        losses.add("langgraph_state.result_without_call", what)


def _add_tasks(draft: Draft, tasks: Any, ids: FreeIds, losses: Losses) -> bool:
    """Append a step for each task that a snapshot says is to run next, or failed.

    Gap code: ``langgraph_state.unreadable_task``. Return whether one failed.
    """
    has_failed = False
    if not isinstance(tasks, list):
        tasks = [] if tasks is None else [None]
    for number, task in enumerate(tasks, 1):
        if not isinstance(task, dict) or not _text(task.get("name")):
            losses.add("langgraph_state.unreadable_task", f"task {number} cannot be used")
            continue
        error = None if is_too_deep(task.get("error")) else as_text(task.get("error"))
        has_failed |= error is not None
        draft.step(
            ids.take(_text(task.get("id")) or f"task-{number}"),
            kind=KIND_CODE["CHAIN"],
            name=task["name"],
            status=_ERROR if error is not None else _UNSET,
            status_source=None if error is None else "recorded",
            error_message=error,
            signals=SIGNAL_BIT["interrupt"] if task.get("interrupts") else 0,
        )
    return has_failed


def _finish(
    draft: Draft,
    state: Snapshot,
    row: int,
    last: Message | None,
    *,
    is_open: bool,
    has_failed: bool,
) -> None:
    """Say how the run ended: a state where something is still to run is not known to be ok."""
    following = state.value.get("next")
    if has_failed:
        draft.traces.status[-1] = _ERROR
    elif is_open or following:
        draft.traces.status[-1] = _UNSET
    elif following == [] and last is not None and last.role == MODEL and last.text is not None:
        draft.steps.signals[row] |= SIGNAL_BIT["final_answer"]


def _rest(draft: Draft, message: Message) -> str | None:
    """Return what a message records besides its content, where content is kept."""
    if not draft.keep_content:
        return None
    rest = {k: v for k, v in message.fields.items() if k != "content" and v not in (None, {}, [])}
    return dump(rest)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _is_word(value: Any) -> bool:
    return value is None or isinstance(value, str)
