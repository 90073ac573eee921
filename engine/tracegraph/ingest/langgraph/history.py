"""The history of one thread: checkpoints, which came from which, the tasks that ran from each.

A graph that runs as a node of another has checkpoints of its own, in the namespace
``node:task id`` (``|`` between levels); its metadata name the outer checkpoint. So the task that
owns an inner checkpoint is recorded, also where a graph keeps one namespace over all its runs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from msgspec import Struct

from tracegraph.ingest.langgraph.blob import BlobReader
from tracegraph.ingest.langgraph.ids import (
    NULL_TASK,
    Path,
    Place,
    Proof,
    input_id,
    is_update_path,
    read_path,
    update_ids,
)
from tracegraph.ingest.langgraph.namespaces import outer_namespace, task_of, without_counter
from tracegraph.ingest.langgraph.tables import CheckpointRow, Tables, WriteRow
from tracegraph.ingest.langgraph.tasks import RETURN, Record
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.requests import Call
from tracegraph.model.codes import UNKNOWN

Owner = tuple[str, str]
"""Namespace and id of a checkpoint of the outer graph."""


class Packet(Struct, gc=False):
    """A ``Send``: the node it schedules, and the one tool call that it hands over, if it does."""

    node: str
    call: Call | None = None


@dataclass(slots=True, eq=False)
class Task:
    """A task, or a write from outside (``update_state``), which no task ran.

    Attributes:
        checkpoint: what it ran from; of a write from outside, what it made.
        id: as recorded.
        rows: its writes.
        path: where its path is recorded.
        proof: what is known of its node, and how.
        inner: first checkpoints of the graphs that it ran.
        called_by: the entrypoint that called it, itself or in a task, where no path says so.
        record: what its writes say.
        row: of its step in the draft.
    """

    checkpoint: "Checkpoint"
    id: str
    rows: list[WriteRow] = field(default_factory=list)
    path: Path = field(default_factory=Path)
    proof: Proof | None = None
    is_update: bool = False
    inner: list["Checkpoint"] = field(default_factory=list)
    called_by: "Task | None" = None
    record: Record = field(default_factory=Record)
    row: int = -1

    @property
    def node(self) -> str | None:
        """Name of its node, None where nothing proves it."""
        return self.proof.node if self.proof is not None else self.path.node

    @property
    def packet(self) -> int:
        """Index of the packet that scheduled it, -1 where none did."""
        return self.proof.packet if self.proof is not None else self.path.packet

    @property
    def is_called(self) -> bool:
        """Whether another task called it while it ran (functional API)."""
        is_told = self.path.caller is not None or self.called_by is not None
        return is_told or RETURN in self.record.channels

    @property
    def finished_with_step(self) -> bool:
        """Whether a later step was made of its own, so that it had finished.

        A task that another one called proves nothing so: its caller goes on without it. One that
        failed, and that the step does not tell of as its own, was called.
        """
        is_stray = self.record.has_error and self.proof is None and not self.rows_path
        return self.checkpoint.went_on and not (self.is_called or is_stray)

    @property
    def rows_path(self) -> str:
        """The path as recorded, empty where none is."""
        return self.rows[0].path if self.rows else ""

    @property
    def sort_key(self) -> tuple[str, str]:
        """What LangGraph applies the writes of a step by: the path."""
        return (self.rows_path, self.id)


@dataclass(slots=True, eq=False)
class Checkpoint:
    """A checkpoint.

    Attributes:
        place: its rowid, -1 where only writes name it.
        source: input, loop, update or fork; empty where unknown.
        owner: the checkpoint of the outer graph, as its metadata name it.
        owned_by: the task that ran its graph.
        update: the write from outside that made it.
        written_as: the node as which that was made, where the metadata say so.
        rows_of_update: writes that ``update_state`` stored on it, for the checkpoint it then made.
        from_outside: channels that a command wrote to it, as no task.
        versions: of the channels.
        seen: channel versions that each node ran on last.
        available: channels that hold a value.
        deferred: those that trigger only at the end, however many steps write them.
        barriers: names that a join has waited for so far.
        packets: packets that schedule tasks of it.
    """

    namespace: str
    id: str
    place: int = -1
    parent_id: str | None = None
    parent: "Checkpoint | None" = None
    children: list["Checkpoint"] = field(default_factory=list)
    source: str = ""
    step: Any = None
    owner: Owner | None = None
    owned_by: Task | None = None
    run_id: str | None = None
    agent: str | None = None
    tasks: list[Task] = field(default_factory=list)
    update: Task | None = None
    written_as: str | None = None
    rows_of_update: list[WriteRow] = field(default_factory=list)
    from_outside: set[str] = field(default_factory=set)
    start: int = UNKNOWN
    location: Place | None = None
    versions: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)
    available: frozenset[str] = frozenset()
    deferred: frozenset[str] = frozenset()
    barriers: dict[str, list[str]] = field(default_factory=dict)
    packets: list[Packet] = field(default_factory=list)

    @property
    def went_on(self) -> bool:
        """Whether a later step was made from it, so that all of its tasks had finished."""
        return any(child.source == "loop" for child in self.children)

    @property
    def holds_results(self) -> bool:
        """Whether it was made with the results of its parent's tasks.

        New input, a write from outside and a replay go on from the parent's state alone. A fork is
        a replay of its parent or the copy of a sibling; the copy counts one step more.
        """
        if self.source != "fork" or self.parent is None:
            return self.source not in ("input", "update")
        before = self.parent.step
        return isinstance(before, int) and self.step == before + 2

    @property
    def is_first(self) -> bool:
        """Whether it begins a run of its graph: what came before belongs to another task."""
        return self.parent is None or self.parent.owner != self.owner


@dataclass(slots=True)
class History:
    """All of a thread.

    Attributes:
        checkpoints: in order of namespace and time.
        roots: checkpoints that begin a history, of the outermost graph or of no known owner.
        inner: first checkpoints of inner graphs, by the outer checkpoint.
    """

    checkpoints: list[Checkpoint]
    roots: list[Checkpoint] = field(default_factory=list)
    inner: dict[Owner, list[Checkpoint]] = field(default_factory=dict)


def read_history(tables: Tables, thread: Any, blobs: BlobReader, losses: Losses) -> History:
    """Read how the checkpoints of a thread hang together; their states stay in the database.

    Gap codes: ``langgraph.missing_parent`` (the checkpoint that one was made from is not there),
    ``langgraph.parent_cycle``, ``langgraph.orphan_writes`` (tasks of a checkpoint that is not
    there), ``langgraph.unreadable_metadata``, ``langgraph.duplicate_checkpoint``.
    """
    by_key: dict[Owner, Checkpoint] = {}
    for row in tables.checkpoints(thread):
        if (row.namespace, row.id) in by_key:
            losses.add("langgraph.duplicate_checkpoint", f"checkpoint {row.id} is there twice")
            continue
        by_key[row.namespace, row.id] = _checkpoint(row, tables, blobs, losses)
    _add_tasks(by_key, tables.writes(thread), losses)
    history = History(list(by_key.values()))
    _link_parents(by_key, losses)
    _find_roots(history, by_key)
    return history


def _checkpoint(
    row: CheckpointRow, tables: Tables, blobs: BlobReader, losses: Losses
) -> Checkpoint:
    found = Checkpoint(row.namespace, row.id, row.place, row.parent)
    metadata = tables.metadata(row.place, blobs)
    if not isinstance(metadata, dict):
        losses.add("langgraph.unreadable_metadata", f"checkpoint {row.id}: no readable metadata")
        metadata = {}
    found.source = _text(metadata.get("source")) or ""
    found.step = metadata.get("step")
    found.run_id = _text(metadata.get("run_id"))
    found.agent = _text(metadata.get("lc_agent_name"))
    if row.namespace:
        outer = outer_namespace(row.namespace)
        parents = metadata.get("parents")
        known = parents.get(outer) if isinstance(parents, dict) else None
        found.owner = (outer, known if isinstance(known, str) else "")
    if found.source == "update":
        found.update = Task(found, found.id, is_update=True)
        writes = metadata.get("writes")
        if isinstance(writes, dict) and len(writes) == 1:
            found.written_as = _text(next(iter(writes)))
    return found


def _add_tasks(by_key: dict[Owner, Checkpoint], rows: Iterable[WriteRow], losses: Losses) -> None:
    for (namespace, key), of_checkpoint in groupby(rows, lambda r: (r.namespace, r.checkpoint)):
        found = by_key.get((namespace, key))
        is_orphan = found is None
        if found is None:
            found = by_key[namespace, key] = Checkpoint(namespace, key)
            if namespace:
                found.owner = (outer_namespace(namespace), "")
        of_updates: frozenset[str] | None = None
        for task_id, of_task in groupby(of_checkpoint, lambda r: r.task):
            group = list(of_task)
            if of_updates is None:
                of_updates = update_ids(key)
            if task_id == NULL_TASK:
                found.from_outside.update(row.channel for row in group)
            elif task_id == input_id(key):
                continue  # what the next checkpoint begins with, which holds it
            elif task_id in of_updates or is_update_path(group[0].path):
                found.rows_of_update += group
            else:
                found.tasks.append(Task(found, task_id, group, read_path(group[0].path)))
                if is_orphan:
                    losses.add("langgraph.orphan_writes", f"task {task_id}: no checkpoint {key}")
        found.tasks.sort(key=lambda task: task.sort_key)


def _link_parents(by_key: dict[Owner, Checkpoint], losses: Losses) -> None:
    for found in by_key.values():
        if found.parent_id is None:
            continue
        found.parent = by_key.get((found.namespace, found.parent_id)) or by_key.get(
            # In releases of 0.2 a task's second call of a graph goes on from its first.
            (without_counter(found.namespace), found.parent_id)
        )
        if found.parent is None:
            losses.add(
                "langgraph.missing_parent",
                f"checkpoint {found.id}: no checkpoint {found.parent_id}, which it was made from",
            )
    _break_cycles(by_key.values(), losses)
    for found in by_key.values():
        if found.parent is not None:
            found.parent.children.append(found)
            if found.update is not None:
                found.update.rows = found.parent.rows_of_update
    for found in by_key.values():
        if found.rows_of_update and not any(child.update for child in found.children):
            losses.add("langgraph.orphan_writes", f"checkpoint {found.id}: an update made nothing")


def _break_cycles(checkpoints: Iterable[Checkpoint], losses: Losses) -> None:
    """Cut the parent of one checkpoint of each cycle."""
    done: set[int] = set()
    for start in checkpoints:
        path: dict[int, None] = {}
        found: Checkpoint | None = start
        while found is not None and id(found) not in done:
            path[id(found)] = None
            if found.parent is not None and id(found.parent) in path:
                losses.add("langgraph.parent_cycle", f"checkpoint {found.id} comes from itself")
                found.parent = None
            found = found.parent
        done.update(path)


def _find_roots(history: History, by_key: dict[Owner, Checkpoint]) -> None:
    holders: dict[tuple[str, str], Checkpoint] = {
        (found.namespace, task.id): found for found in history.checkpoints for task in found.tasks
    }
    for found in history.checkpoints:
        if found.owner is not None and found.owner not in by_key:
            holder = holders.get((found.owner[0], task_of(found.namespace) or ""))
            found.owner = (found.owner[0], holder.id if holder is not None else "")
    for found in history.checkpoints:
        if not found.is_first:
            continue
        if found.owner is not None and found.owner in by_key:
            history.inner.setdefault(found.owner, []).append(found)
        else:
            history.roots.append(found)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
