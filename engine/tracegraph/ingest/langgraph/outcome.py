"""How a task ended, as far as its writes and what followed say (DESIGN section 3, Status).

A run that waits for a person is no failed run, and one failure is counted once: where a graph that
a task ran holds the same exception as the task, the failure is the inner task's.
"""

import ast
import re
from typing import Any

from tracegraph.ingest.langgraph.blob import UNDECODABLE, Built
from tracegraph.ingest.langgraph.history import Task
from tracegraph.ingest.langgraph.messages import as_text
from tracegraph.ingest.langgraph.tasks import ENDINGS, RETURN
from tracegraph.ingest.langgraph.tasks import ERROR as FAILED
from tracegraph.ingest.langgraph.tasks import INTERRUPT as PAUSED
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.status import ERROR, INTERRUPT, OK, UNSET, Verdict

_CANCELLED = "CancelledError"
_CONTROL = {
    name.rpartition(".")[2]: name
    for name in (
        "langgraph.errors.GraphInterrupt",
        "langgraph.errors.NodeInterrupt",
        "langgraph.errors.ParentCommand",
        "langgraph.errors.GraphBubbleUp",
        "langgraph.errors.GraphDelegate",
    )
}
"""Qualified names of control flow that is no failure, by the bare name of the class."""
_REPR = re.compile(r"([A-Za-z_][\w.]*)\((.*)\)\Z", re.DOTALL)
_MAX_LITERAL = 100_000


def judge_task(task: Task, losses: Losses) -> Verdict:
    """Decide the status of a task or of a write from outside.

    Gap codes: ``langgraph.failed_attempt`` (a task that failed and then succeeded when it was run
    again), ``langgraph.undecided_interrupt`` (interrupted and resumed since, without a result:
    releases before 1.2.3 recorded a task that was resumed and wrote nothing like one that paused
    again), ``langgraph.unqualified_control_flow`` (an error with the bare name of a class of
    control flow, which anybody may give), ``langgraph.rewritten_error_channel``.
    """
    record = task.record
    finished = task.finished_with_step
    if (finished or RETURN in record.channels) and record.has_result and not record.is_handled:
        if record.has_error and record.is_silent and _is_cancelled(record.error):
            return Verdict(UNSET, "cancelled")  # its step went on without it
        if record.has_error:
            losses.add("langgraph.failed_attempt", f"task {task.id} failed before it succeeded")
        return _of_result(task, losses)
    latest = _latest(task)
    if record.has_interrupt and not (record.has_result or finished or latest == FAILED):
        if (record.has_resume or record.has_error) and latest != PAUSED:
            losses.add("langgraph.undecided_interrupt", f"task {task.id}: did it pause again?")
        return Verdict(UNSET, "control_flow", signals=INTERRUPT)
    if record.has_error:
        return _of_error(task, record.error, losses)
    if record.has_result or finished:
        return _of_result(task, losses)
    return Verdict(UNSET, "scheduled" if record.is_scheduled else None)


def _of_result(task: Task, losses: Losses) -> Verdict:
    record = task.record
    if record.reset_error:
        losses.add(
            "langgraph.rewritten_error_channel",
            f"task {task.id}: wrote the error channel while it held an error",
        )
    if record.set_error is not None:
        return Verdict(ERROR, "error_channel", None, record.set_error or None)
    return Verdict(OK, "recorded")


def _of_error(task: Task, error: Any, losses: Losses) -> Verdict:
    error_type, message = describe(error)
    bare = (error_type or "").rpartition(".")[2]
    if _is_cancelled(error):
        return Verdict(UNSET, "cancelled")
    if bare in _CONTROL:
        if error_type == _CONTROL[bare]:
            return Verdict(UNSET, "control_flow")
        losses.add("langgraph.unqualified_control_flow", f"task {task.id}: {bare}")
    return Verdict(ERROR, "recorded", error_type, message)


def _latest(task: Task) -> str | None:
    """Return the latest of a task's failure, interrupt and resume, None where none can be told.

    Each call of the graph replaces the rows of the one before it, and a new row comes last in its
    table. Releases before 0.2.52 replaced none; they also counted interrupts among the results, so
    that these follow the failure in the order of ``idx``.
    """
    rows = [row for row in task.rows if row.channel in ENDINGS]
    order = [ENDINGS.index(row.channel) for row in rows]
    is_replaced = bool(rows) and order == sorted(set(order))
    return max(rows, key=lambda row: row.place).channel if is_replaced else None


def _is_cancelled(error: Any) -> bool:
    """Tell the failure of a task that was torn down because another failed."""
    return (describe(error)[0] or "").rpartition(".")[2] == _CANCELLED


def describe(error: Any) -> tuple[str | None, str | None]:
    """Return type and message of a recorded exception: its ``repr``, or the object's data."""
    if error is UNDECODABLE or error is None:
        return None, None
    if isinstance(error, Built):
        return f"{error.module}.{error.name}", _message(error.data)
    if not isinstance(error, str):
        return None, as_text(error)
    match = _REPR.match(error)
    if match is None:
        return None, error or None
    return match[1], _argument(match[2])


def _argument(text: str) -> str | None:
    """Return the message in the arguments of an exception's ``repr``."""
    if not text:
        return None
    try:
        value = ast.literal_eval(text) if len(text) <= _MAX_LITERAL else text
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text  # no literal: an exception within an exception
    return value if isinstance(value, str) else text


def _message(data: Any) -> str | None:
    if isinstance(data, list) and len(data) == 1:
        data = data[0]
    return as_text(data) or None


def share_failures(
    tasks: list[Task], callers: dict[int, Task], verdicts: dict[int, Verdict]
) -> None:
    """Leave each failure with the innermost task that holds it.

    Args:
        tasks: all tasks, those of inner graphs included.
        callers: the task that called one (functional API), by ``id`` of the called one.
        verdicts: by ``id`` of the task; changed in place.
    """
    inside: dict[int, set[tuple[str | None, str | None]]] = {}
    for task in tasks:
        verdict = verdicts[id(task)]
        owner = callers.get(id(task)) or task.checkpoint.owned_by
        if owner is not None and verdict.status == ERROR:
            inside.setdefault(id(owner), set()).add((verdict.error_type, verdict.error_message))
    for task in tasks:
        verdict = verdicts[id(task)]
        failure = (verdict.error_type, verdict.error_message)
        if verdict.status == ERROR and failure in inside.get(id(task), ()):
            verdicts[id(task)] = Verdict(UNSET, "subgraph", *failure)
