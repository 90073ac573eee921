"""Calls of tools that failed with their task, which left no message of the tool.

A node that raises records its exception under its task and no result. Where the record shows that
the task was scheduled to run exactly one call that was open, the task is that call's step: it was
sent the call, or it is a run of a node of tools, triggered by the one model step whose only open
call it is. A node of tools is one that answered calls elsewhere in the thread, or that has the name
which LangGraph gives to its own (langgraph.prebuilt.ToolNode); a guard that stands between model
and tools and refuses the call is none. The rule is the protocol of an agent, so its evidence is
derived, and it is disclosed.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tracegraph.ingest.langgraph.causes import WRITE, Cause
from tracegraph.ingest.langgraph.history import Task
from tracegraph.ingest.langgraph.namespaces import graph_of
from tracegraph.ingest.langgraph.tasks import Request
from tracegraph.ingest.losses import Losses

_TOOL_NODE = "tools"
_Node = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class FailedCall:
    """The call that a failed task ran, and the task whose model asked for it, if one did."""

    task: Task
    request: Request
    asker: Task | None


def find_failed_calls(
    failed: Iterable[Task],
    tasks: Iterable[Task],
    edges: Iterable[Cause],
    askers: list[Task],
    losses: Losses,
) -> list[FailedCall]:
    """Find the calls that failed tasks ran.

    Gap codes: ``langgraph.failed_call_by_task`` (a call found so),
    ``langgraph.unattributed_tool_failure`` (a task that failed while calls were open: which of them
    it ran, or that it ran one, is not recorded).

    Args:
        failed: tasks whose own failure is recorded.
        tasks: all tasks.
        edges: the causes between tasks.
        askers: tasks whose models asked for calls; a request names its asker by position.
        losses: where findings are disclosed.
    """
    answering = {_node(task) for task in tasks if task.record.answers}
    triggered: defaultdict[int, list[Task]] = defaultdict(list)
    for edge in edges:
        if edge.origin == WRITE and edge.cause.record.asked:
            triggered[id(edge.cause)].append(edge.effect)
    by = {
        id(edge.effect): edge.cause
        for edge in edges
        if edge.origin == WRITE and edge.cause.record.asked
    }
    found: list[FailedCall] = []
    for task in failed:
        if not _may_be_a_call(task):
            continue
        candidates, is_alone = _candidates(task, by.get(id(task)), triggered, askers)
        runs_tools = task.record.is_asked is not None or _runs_tools(task, answering)
        if len(candidates) == 1 and is_alone and runs_tools:
            request = candidates[0]
            request.answered = True
            asker = askers[request.asker] if request.asker >= 0 else None
            losses.add("langgraph.failed_call_by_task", f"task {task.id} ran the call that failed")
            found.append(FailedCall(task, request, asker))
        elif candidates:
            losses.add(
                "langgraph.unattributed_tool_failure", f"task {task.id}: which call it ran is open"
            )
    return found


def _may_be_a_call(task: Task) -> bool:
    record = task.record
    return not (record.answers or record.usage or task.inner or task.is_update)


def _candidates(
    task: Task,
    asker: Task | None,
    triggered: dict[int, list[Task]],
    askers: list[Task],
) -> tuple[list[Request], bool]:
    """Return the open calls that a task may have run, and whether no other task of the step may."""
    waiting = task.record.open or []
    given = task.record.is_asked
    if given is not None:
        return [r for r in waiting if r.call.id == given.id] or [Request(given, -1)], True
    if asker is None:
        return [], False
    own = [r for r in waiting if r.asker >= 0 and askers[r.asker] is asker]
    siblings = [t for t in triggered[id(asker)] if t.checkpoint is task.checkpoint]
    return own, len(siblings) == 1


def _runs_tools(task: Task, answering: set[_Node]) -> bool:
    return task.node == _TOOL_NODE or (task.node is not None and _node(task) in answering)


def _node(task: Task) -> _Node:
    return graph_of(task.checkpoint.namespace), task.node
