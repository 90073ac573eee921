"""What a checkpoint database holds, by SQL and a decoder of its own: the tests' oracle.

Nothing of ``tracegraph`` is used. A blob becomes plain data: an object that the serializer wrote by
class, module and arguments is a ``Made``, whichever way it was written (msgpack extension types of
``langgraph.checkpoint.serde.jsonplus``, or JSON with ``lc``).
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import ormsgpack

NULL_TASK = "00000000-0000-0000-0000-000000000000"


@dataclass
class Made:
    """An object as the serializer wrote it: the name of its class and what it is made from."""

    kind: str
    arguments: Any


@dataclass
class Checkpoint:
    """A row of ``checkpoints``."""

    namespace: str
    checkpoint_id: str
    parent: str | None
    content: dict[str, Any]
    metadata: dict[str, Any]


@dataclass
class Task:
    """The rows of ``writes`` that have one task id under one checkpoint."""

    namespace: str
    checkpoint_id: str
    task_id: str
    path: str | None
    writes: list[tuple[str, Any]] = field(default_factory=list)

    def channel(self, name: str) -> list[Any]:
        """Return what the task wrote to a channel."""
        return [value for channel, value in self.writes if channel == name]

    @property
    def errors(self) -> list[Any]:
        """The errors that it ended with (a task that was torn down has none of its own)."""
        errors = self.channel("__error__")
        return [error for error in errors if not str(error).startswith("CancelledError")]


@dataclass
class Thread:
    """The rows of one thread."""

    thread_id: str
    checkpoints: dict[tuple[str, str], Checkpoint]
    tasks: list[Task]

    def ran_from(self, task: Task) -> Checkpoint | None:
        """Return the checkpoint that scheduled a task."""
        return self.checkpoints.get((task.namespace, task.checkpoint_id))

    def parent_of(self, checkpoint: Checkpoint) -> Checkpoint | None:
        return self.checkpoints.get((checkpoint.namespace, checkpoint.parent or ""))

    def failed(self, task: Task) -> bool:
        """Whether a task ended with an error.

        The error of an attempt stays beside the result of a later one. What tells them apart is
        whether the graph went on from the super-step; it also does where a handler answered. An
        interrupt in a later row came later: each call of the graph replaces those of the last.
        """
        went_on = any(
            (child.namespace, child.parent) == (task.namespace, task.checkpoint_id)
            and child.metadata.get("source") == "loop"
            for child in self.checkpoints.values()
        )
        handled = task.channel("__error_source_node__")
        ends = [name for name, _ in task.writes if name in {"__error__", "__interrupt__"}]
        paused = ends[-1:] == ["__interrupt__"]
        return bool(task.errors and (handled or not went_on) and not paused)

    def under(self, checkpoint: Checkpoint) -> list[Task]:
        """Return the tasks that ran from a checkpoint."""
        place = (checkpoint.namespace, checkpoint.checkpoint_id)
        return [task for task in self.tasks if (task.namespace, task.checkpoint_id) == place]


def threads(path: Path) -> dict[str, Thread]:
    """Read a database."""
    # Immutable: whoever merely opens a database with a log leaves files beside it.
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        found: dict[str, Thread] = {}
        for row in connection.execute("SELECT * FROM checkpoints ORDER BY rowid"):
            checkpoint = _checkpoint(dict(row))
            thread = found.setdefault(row["thread_id"], Thread(row["thread_id"], {}, []))
            thread.checkpoints[checkpoint.namespace, checkpoint.checkpoint_id] = checkpoint
        tasks: dict[tuple[str, ...], Task] = {}
        for row in map(dict, connection.execute("SELECT * FROM writes ORDER BY rowid")):
            where = (row.get("checkpoint_ns") or "", row.get("checkpoint_id") or row["thread_ts"])
            if row["task_id"] in {NULL_TASK, str(uuid5(UUID(where[1]), "__input__"))}:
                continue
            key = (row["thread_id"], *where, row["task_id"])
            if key not in tasks:
                tasks[key] = Task(*where, row["task_id"], row.get("task_path"))
                thread = found.setdefault(row["thread_id"], Thread(row["thread_id"], {}, []))
                thread.tasks.append(tasks[key])
            value = decode(row.get("type", "json"), row["value"])
            tasks[key].writes.append((row["channel"], value))
    return found


def _checkpoint(row: dict[str, Any]) -> Checkpoint:
    metadata = row["metadata"]
    return Checkpoint(
        row.get("checkpoint_ns") or "",
        row.get("checkpoint_id") or row["thread_ts"],
        row.get("parent_checkpoint_id") or row.get("parent_ts"),
        decode(row.get("type", "json"), row["checkpoint"]),
        decode("json", metadata) if metadata else {},
    )


def decode(kind: str | None, blob: bytes | None) -> Any:
    """Return the plain data of a blob."""
    if kind in {None, "null", "empty"} or blob is None:
        return None
    if kind == "json":
        return json.loads(blob, object_hook=_of_json)
    assert kind == "msgpack", kind
    return ormsgpack.unpackb(blob, ext_hook=_of_extension, option=ormsgpack.OPT_NON_STR_KEYS)


def _of_extension(code: int, data: bytes) -> Any:
    content = ormsgpack.unpackb(data, ext_hook=_of_extension, option=ormsgpack.OPT_NON_STR_KEYS)
    return Made(content[1], content[2]) if isinstance(content, list) else content


def _of_json(value: dict[str, Any]) -> Any:
    if value.get("type") == "constructor" and "lc" in value:
        return Made(value["id"][-1], value.get("kwargs") or value.get("args"))
    return value


def messages(value: Any, kind: str) -> Iterator[dict[str, Any]]:
    """Yield what each message of a class anywhere in a value is made from."""
    if isinstance(value, Made):
        if value.kind == kind and isinstance(value.arguments, dict):
            yield value.arguments
        else:
            yield from messages(value.arguments, kind)
    elif isinstance(value, dict):
        for item in value.values():
            yield from messages(item, kind)
    elif isinstance(value, list):
        for item in value:
            yield from messages(item, kind)


def answers(thread: Thread) -> list[dict[str, Any]]:
    """Return the tool messages of a thread, each once however often it was written again.

    A message has an id from the moment in which it becomes part of a state (since 1.2.x before it
    is written); one without was either applied to a later state, where it is counted, or lies in
    the writes of a super-step that no checkpoint followed. The pair of messages with which
    langgraph-supervisor ends a handoff is marked as its own: no tool ran and no model asked. So is
    what a scenario's node writes in the place of another message.
    """
    by_id: dict[str, dict[str, Any]] = {}
    for checkpoint in thread.checkpoints.values():
        for message in messages(checkpoint.content.get("channel_values"), "ToolMessage"):
            by_id.setdefault(message.get("id") or "", message)
    followed = {(c.namespace, c.parent) for c in thread.checkpoints.values()}
    unapplied = []
    for task in thread.tasks:
        for _, value in task.writes:
            for message in messages(value, "ToolMessage"):
                if message.get("id"):
                    by_id.setdefault(message["id"], message)
                elif (task.namespace, task.checkpoint_id) not in followed:
                    unapplied.append(message)
    assert "" not in by_id, "a message of a state has no id"
    return [
        message
        for message in (*by_id.values(), *unapplied)
        if not (message.get("response_metadata") or {}).get("__is_handoff_back")
        and not (message.get("additional_kwargs") or {}).get("shortened")
    ]


def told_names(threads: Iterable[Thread]) -> str:
    """Return all that could tell a node's name: channels, versions seen, writes, namespaces.

    A release without task_path tells the name of a node that never returned only where another
    edge, an earlier run, another thread, its subgraph or its interrupt does.
    """
    told: list[str] = []
    for thread in threads:
        for checkpoint in thread.checkpoints.values():
            told += [checkpoint.namespace, *checkpoint.content.get("channel_versions", {})]
            told += checkpoint.content.get("versions_seen", {})
            told += checkpoint.metadata.get("writes") or {}
        for task in thread.tasks:
            told += [task.path or "", *(channel for channel, _ in task.writes)]
            told += [str(task.channel(name)) for name in ("__interrupt__", "__pregel_tasks")]
    return "\n".join(told)


def requests(thread: Thread) -> dict[str, str]:
    """Return the tool name of each call id that a model message of the thread asks for."""
    values = [checkpoint.content for checkpoint in thread.checkpoints.values()]
    values += [{"writes": [value for _, value in task.writes]} for task in thread.tasks]
    return {
        call["id"]: call["name"]
        for message in messages(values, "AIMessage")
        for call in message.get("tool_calls") or []
    }
