"""The tasks of one thread -> steps and causes in a draft."""

from typing import Any

from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.langgraph.blob import UNDECODABLE
from tracegraph.ingest.langgraph.causes import INSIDE, Causes
from tracegraph.ingest.langgraph.failed_calls import FailedCall, find_failed_calls
from tracegraph.ingest.langgraph.history import History, Task
from tracegraph.ingest.langgraph.messages import Usage
from tracegraph.ingest.langgraph.namespaces import graph_of
from tracegraph.ingest.langgraph.outcome import judge_task, share_failures
from tracegraph.ingest.langgraph.proof import START
from tracegraph.ingest.langgraph.talk import Talk
from tracegraph.ingest.langgraph.tasks import Answer
from tracegraph.ingest.langgraph.update import updated_as
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.status import ERROR, OK, UNSET, Verdict
from tracegraph.model.codes import DERIVED, KIND_CODE, SIGNAL_BIT, UNKNOWN
from tracegraph.model.draft import Draft

_CHAIN, _LLM = KIND_CODE["CHAIN"], KIND_CODE["LLM"]
_AGENT, _TOOL = KIND_CODE["AGENT"], KIND_CODE["TOOL"]
_NO_USAGE = Usage()
_TOOL_STATUS = {"success": (OK, "recorded"), "error": (ERROR, "recorded"), None: (OK, "default")}


def add_steps(
    draft: Draft, history: History, tasks: list[Task], talk: Talk, losses: Losses
) -> dict[int, Verdict]:
    """Append the steps of a thread to the open trace, and every cause that its record holds.

    Returns:
        How each task ended, by its ``id``.

    Gap codes: ``langgraph.unnamed_task``, ``langgraph.unnamed_update`` (nothing proves which node
    ran, or as which one the state was written), ``langgraph.blank_call_id`` (a tool's message that
    names no call: it gives no step), ``langgraph.ambiguous_call_id`` (several tasks of one step
    asked for calls of one id, and nothing tells which of them an answer belongs to),
    ``langgraph.repeated_superstep`` (a checkpoint was gone on from more than once, and a later run
    of its tasks is hidden behind the first), ``langgraph.unrecorded_tasks`` (a checkpoint was made
    by a step of which nothing is recorded: with ``durability="exit"`` only the last checkpoint of a
    run is stored).
    """
    causes = Causes(losses)
    for task in tasks:
        causes.of(task)
    verdicts = {id(task): judge_task(task, losses) for task in tasks}
    callers = {id(edge.effect): edge.cause for edge in causes.edges if edge.origin == INSIDE}
    share_failures(tasks, callers, verdicts)
    failed = [task for task in tasks if verdicts[id(task)].status == ERROR]
    calls = find_failed_calls(failed, tasks, causes.edges, talk.askers, losses)
    _disclose_hidden_tasks(history, losses)
    if talk.contested:
        losses.add(
            "langgraph.ambiguous_call_id", "one id for calls of several tasks", talk.contested
        )
    if talk.nameless:
        losses.add("langgraph.blank_call_id", "a tool's message without a call id", talk.nameless)
    steps = _Steps(draft, tasks, losses)
    caused = {id(edge.effect) for edge in causes.edges}
    by_task = {id(call.task): call for call in calls}
    for task in tasks:
        steps.add(task, verdicts[id(task)], by_task.get(id(task)), id(task) in caused)
    for edge in causes.edges:
        draft.link(edge.effect.row, edge.cause.row, edge.origin, edge.evidence)
    for answer, asker in talk.answered:
        draft.link(answer.row, asker.row, "tool_call_id")
    for task, answer in talk.read:
        draft.link(task.row, answer.row, "tool_call_id", DERIVED)
    for call in calls:
        if call.asker is not None:
            draft.link(call.task.row, call.asker.row, "protocol")
    for request in talk.requests:
        if not request.answered and request.asker >= 0:
            row = talk.askers[request.asker].row
            draft.steps.signals[row] |= SIGNAL_BIT["unanswered_call"]
    return verdicts


def _disclose_hidden_tasks(history: History, losses: Losses) -> None:
    for found in history.checkpoints:
        place = f"checkpoint {found.id}"
        again = sum(child.source == "loop" for child in found.children) - 1
        if again > 0 and found.tasks:
            losses.add("langgraph.repeated_superstep", f"{place}: went on more than once", again)
        before = found.parent
        is_known = found.parent_id is not None if before is None else bool(before.tasks)
        if found.source == "loop" and not is_known:
            losses.add("langgraph.unrecorded_tasks", f"{place}: nothing is recorded of its step")


class _Steps:
    """Appends the steps of one thread."""

    def __init__(self, draft: Draft, tasks: list[Task], losses: Losses) -> None:
        self._draft = draft
        self._losses = losses
        self._ids = FreeIds()
        self._asking = {_node(task) for task in tasks if task.record.asked}

    def add(self, task: Task, verdict: Verdict, call: FailedCall | None, has_cause: bool) -> None:
        """Append the step of a task, and one for each tool that answered in it."""
        record, found = task.record, task.checkpoint
        kind = _TOOL if call is not None else _kind(task)
        usage = record.usage or _NO_USAGE
        name = call.request.call.name if call is not None else self._name(task)
        unknown = [] if name is not None else ["name"]
        if verdict.status == ERROR and record.error is UNDECODABLE:
            unknown.insert(0, "error_message")
        step_id = self._free_id(task.id, found.id)
        task.row = self._draft.step(
            step_id,
            kind=kind,
            name=name,
            status=verdict.status,
            status_source=verdict.source,
            agent=found.agent,
            model=usage.model,
            start=found.start,
            error_type=verdict.error_type,
            error_message=verdict.error_message,
            tokens_prompt=usage.prompt,
            tokens_completion=usage.completion,
            tokens_total=usage.total,
            tool_call_id=call.request.call.id if call is not None else None,
            args=call.request.call.args if call is not None else None,
            signals=verdict.signals | self._signals(task, usage),
            wrapper=kind in (_AGENT, _CHAIN) and not task.is_update,
            orphan=not has_cause and _is_orphan(task),
            unknown_fields=",".join(unknown) or None,
            output=record.output,
        )
        for answer in record.answers:
            # Inside of an agent that is one node, tools ran later than the node, nobody knows when.
            start = UNKNOWN if kind == _AGENT else found.start
            self._add_answer(answer, step_id, task, start)

    def _add_answer(self, answer: Answer, step_id: str, task: Task, start: int) -> None:
        status, source = _TOOL_STATUS.get(answer.status, (UNSET, None))
        call = answer.call
        answer.row = self._draft.step(
            self._free_id(f"{step_id}/{answer.call_id}", ""),
            kind=_TOOL,
            name=answer.name,
            status=status,
            status_source=source,
            agent=task.checkpoint.agent,
            start=start,
            error_message=answer.text if status == ERROR else None,
            tool_call_id=answer.call_id,
            args=call.args if call is not None else None,
            args_size=answer.args_size,
            result=answer.result,
            result_size=answer.result_size,
            unknown_fields=None if answer.name is not None else "name",
            input=answer.arguments,
            output=answer.text,
        )
        self._draft.link(answer.row, task.row, "span_parent")

    def _name(self, task: Task) -> str | None:
        name = updated_as(task) if task.is_update else task.node
        if name is None:
            code = "langgraph.unnamed_update" if task.is_update else "langgraph.unnamed_task"
            self._losses.add(code, f"nothing proves which node {task.id} belongs to")
        return name

    def _signals(self, task: Task, usage: Usage) -> int:
        # A model that never asks for a tool answers each time: only where it could have asked is
        # an answer in text its last.
        final = task.record.answers_in_text and not usage.cut and _node(task) in self._asking
        signals = SIGNAL_BIT["final_answer"] if final else 0
        return signals | (SIGNAL_BIT["truncated"] if usage.cut else 0)

    def _free_id(self, wanted: str, checkpoint: str) -> str:
        """Return an id that is free: with the checkpoint, and numbered where that is not enough."""
        if not wanted or (wanted in self._ids and checkpoint):
            wanted = f"{wanted}@{checkpoint}"
        return self._ids.take(wanted)


def _kind(task: Task) -> int:
    record = task.record
    if task.is_update or task.node == START:
        return _CHAIN
    if record.said and record.heard:
        return _AGENT
    if any(first.agent is not None for first in task.inner):
        return _AGENT
    if record.usage is not None:
        return _AGENT if task.inner else _LLM
    return _CHAIN


def _is_orphan(task: Task) -> bool:
    found = task.checkpoint
    if found.parent is None and (found.parent_id is not None or found.place < 0):
        return True
    return found.is_first and found.owner is not None and found.owned_by is None


def _node(task: Task) -> tuple[str, Any]:
    return graph_of(task.checkpoint.namespace), task.node
