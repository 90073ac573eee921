"""Who caused a task, told from the journal's triggers and the tables: the tests' oracle of causes.

A node says in its journal which channels triggered it (``langgraph_triggers`` of its
configuration). Whoever wrote such a channel since the node last ran, on the line of checkpoints
that leads to the one it ran from, caused it. A ``fork`` checkpoint is a copy, and an ``update``
checkpoint was written from outside: the tasks that ran from the parent of either belong to another
branch.
"""

from uuid import UUID, uuid5

from langgraph_runs.tables import Checkpoint, Task, Thread

SENT = "__pregel_push"


def update_task_id(parent: str) -> str:
    """Return the id under which 0.2 saves the writes of an update (pregel, ``update_state``)."""
    return str(uuid5(UUID(parent), "__interrupt__"))


def is_update(task: Task) -> bool:
    return task.task_id == update_task_id(task.checkpoint_id)


def silent_updates(thread: Thread) -> list[Checkpoint]:
    """Return the update checkpoints whose writes are no rows: nothing but them tells of these."""
    saved = {task.checkpoint_id for task in thread.tasks if is_update(task)}
    return [
        checkpoint
        for checkpoint in thread.checkpoints.values()
        if checkpoint.metadata.get("source") == "update" and checkpoint.parent not in saved
    ]


def writers(
    thread: Thread, task: Task, triggers: list[str], names: dict[str, str]
) -> set[str] | None:
    """Return the task ids of those who wrote a task's triggers; None where an update is the cause.

    ``names`` is the node of each task id, from the journal.
    """
    channels = {"__pregel_tasks" if trigger == SENT else trigger for trigger in triggers}
    found: set[str] = set()
    current = thread.ran_from(task)
    while current is not None:
        parent = thread.parent_of(current)
        source = current.metadata.get("source")
        if source == "update" and _changed(parent, current, channels):
            return None
        if source == "loop" and parent is not None:
            ran = [other for other in thread.under(parent) if not is_update(other)]
            wrote = {o.task_id for o in ran if any(o.channel(channel) for channel in channels)}
            found |= wrote
            if SENT in triggers and wrote:
                return found
            if any(names.get(other.task_id) == names[task.task_id] for other in ran):
                return found
        current = parent
    return found


def _changed(parent: Checkpoint | None, child: Checkpoint, channels: set[str]) -> bool:
    before = parent.content.get("channel_versions", {}) if parent else {}
    after = child.content.get("channel_versions", {})
    return any(before.get(channel) != after.get(channel) for channel in channels)
