"""What caused a task: those that wrote what it ran on.

A channel keeps its version until somebody writes it, so the tasks that wrote what a checkpoint
holds are found by going back to where the version is new. Tasks whose triggers are proven hang on
the writers of those (``checkpoint_write``); a task that only the input triggered, on those that
made the state it went on with (``checkpoint_parent``).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tracegraph.ingest.langgraph.history import Checkpoint, Task
from tracegraph.ingest.langgraph.ids import PULL
from tracegraph.ingest.langgraph.proof import is_fresh
from tracegraph.ingest.langgraph.tasks import PACKETS
from tracegraph.ingest.losses import Losses
from tracegraph.model.codes import HEURISTIC

WRITE, PARENT, RETURN, INSIDE = (
    "checkpoint_write",
    "checkpoint_parent",
    "subgraph_return",
    "span_parent",
)

_MOST_GUESSED = 64
"""Of so many tasks that may have triggered one, all are guessed; of more, none."""


class Cause(NamedTuple):
    """An edge; ``evidence`` is None where it is the origin's own."""

    effect: Task
    cause: Task
    origin: str
    evidence: int | None = None


@dataclass(slots=True)
class Causes:
    """The causes between the tasks of one thread.

    Gap codes: ``langgraph.unproven_trigger`` (a task of which nothing proves which of several
    tasks triggered it: all are causes, as a guess), ``langgraph.ambiguous_subgraph_return``.

    Attributes:
        edges: the causes.
    """

    losses: Losses
    edges: list[Cause] = field(default_factory=list)
    _ends: dict[int, list[Task] | None] = field(default_factory=dict)
    _indexes: dict[int, "_Index"] = field(default_factory=dict)

    def of(self, task: Task) -> None:
        """Add the causes of a task or of a write from outside."""
        found = task.checkpoint
        if task.is_update:
            self._add(task, makers(found.parent), PARENT)
            return
        if task.called_by is not None:
            self._add(task, [task.called_by], INSIDE)
            return
        if task.path.caller is not None or task.path.failed is not None:
            self._of_called(task)
            return
        writers = self._writers(task)
        if writers:
            self._add(task, writers, WRITE)
            return
        made_by = makers(found)
        if found.owned_by is not None and (found.is_first or found.source == "input"):
            self.edges.append(Cause(task, found.owned_by, PARENT))
        is_proven = task.proof is not None and task.proof.triggers is not None
        if len(made_by) > 1 and not is_proven:
            self.losses.add(
                "langgraph.unproven_trigger", f"task {task.id}: {len(made_by)} tasks may trigger it"
            )
            guessed = made_by if len(made_by) <= _MOST_GUESSED else ()
            self._add(task, guessed, PARENT, HEURISTIC)
        else:
            self._add(task, made_by, PARENT)

    def _add(
        self, task: Task, causes: Iterable[Task], origin: str, evidence: int | None = None
    ) -> None:
        for cause in causes:
            if cause is task:
                continue
            self.edges.append(Cause(task, cause, origin, evidence))
            for end in self._ends_of(cause):
                self.edges.append(Cause(task, end, RETURN, evidence))

    def _of_called(self, task: Task) -> None:
        """Add the cause of a task that another called while it ran, or whose failure it handles."""
        wanted = task.path.caller or task.path.failed or ""
        other = self._index_of(task.checkpoint).paths.get(wanted)
        if other is not None:
            origin = INSIDE if task.path.caller is not None else WRITE
            self._add(task, [other], origin)

    def _writers(self, task: Task) -> list[Task]:
        """Return the tasks that wrote what triggered a task, as far as that is proven."""
        found, proof = task.checkpoint, task.proof
        if proof is None:
            return []
        if proof.packet >= 0:
            index = self._index_of(found)
            if index.senders is None:
                index.senders = self._senders(found)
            return [index.senders[proof.packet]] if proof.packet < len(index.senders) else []
        fresh = [
            channel
            for channel in proof.triggers or ()
            if channel not in found.from_outside and is_fresh(found, proof.node, channel)
        ]
        writers = [
            writer for channel in fresh for writer in self._writers_of(found, channel, proof.node)
        ]
        return list({id(writer): writer for writer in writers}.values())

    def _writers_of(self, found: Checkpoint, channel: str, node: str) -> list[Task]:
        """Return the tasks that wrote what a channel of a checkpoint holds for a node."""
        if channel.startswith("join:"):
            return self._joined(found, channel)
        if channel in found.deferred:
            return self._deferred(found, channel, found.seen.get(node, {}).get(channel))
        return self._written(_where_made(found, channel), channel)

    def _written(self, made: Checkpoint, channel: str) -> list[Task]:
        """Return who wrote a channel on the way to the checkpoint in which its version is new."""
        if made.update is not None:
            return [made.update]
        if made.parent is None or not made.holds_results:
            return []  # from outside: the input, or a command
        return self._index_of(made.parent).writers.get(channel, [])

    def _joined(self, found: Checkpoint, channel: str) -> list[Task]:
        """Return the tasks that a join waited for: each of its names, since it ran last."""
        missing = set(found.barriers.get(channel, ())) or {
            part for part in channel.removeprefix("join:").rpartition(":")[0].split("+") if part
        }
        writers: list[Task] = []
        at: Checkpoint | None = found
        while at is not None and missing:
            made = _where_made(at, channel)
            if channel not in made.versions:
                break
            written = self._written(made, channel)
            names = {id(task): task.record.channels.get(channel) for task in written}
            writers += [task for task in written if task.is_update or names[id(task)] in missing]
            missing -= {name for name in names.values() if name is not None}
            at = made.parent
        return writers

    def _deferred(self, found: Checkpoint, channel: str, seen: Any) -> list[Task]:
        """Return the tasks that wrote a channel that waits for the end, since it was read last.

        It was in its version ``seen``; who wrote it while it was being read comes later.
        """
        writers: list[Task] = []
        at: Checkpoint | None = found
        while at is not None and channel in at.available and at.versions.get(channel) != seen:
            made = _where_made(at, channel)
            writers += self._written(made, channel)
            at = made.parent
        return writers

    def _senders(self, found: Checkpoint) -> list[Task]:
        """Return the task that sent each packet of a checkpoint; nothing where it is not certain.

        LangGraph strings the packets of a step together in the order of its tasks' paths; where
        they are not those that the checkpoint holds, only a single sender is certain.
        """
        made = _where_made(found, PACKETS if PACKETS in found.versions else "")
        if made.update is not None:
            return [made.update] * len(found.packets)
        tasks = made.parent.tasks if made.parent is not None else ()
        senders = [task for task in tasks if task.record.packets]
        if len(senders) == 1:
            return senders * len(found.packets)
        senders.sort(key=lambda task: task.rows_path or f"~{PULL}, {task.node or ''}")
        sent = [(task, node) for task in senders for node in task.record.packets]
        is_certain = all(task.rows_path or task.node is not None for task in senders)
        if not is_certain or [node for _, node in sent] != [p.node for p in found.packets]:
            return []
        return [task for task, _ in sent]

    def _ends_of(self, task: Task) -> list[Task]:
        """Return the last tasks of the graph that a task ran, where one run of one returned."""
        if not task.inner:
            return []
        if id(task) not in self._ends:
            ends = _last_tasks(task)
            self._ends[id(task)] = ends
            if ends is None:
                self.losses.add(
                    "langgraph.ambiguous_subgraph_return",
                    f"task {task.id}: several histories of inner graphs end in it",
                )
        return self._ends[id(task)] or []

    def _index_of(self, found: Checkpoint) -> "_Index":
        index = self._indexes.get(id(found))
        if index is None:
            index = self._indexes[id(found)] = _Index()
            for task in found.tasks:
                index.paths.setdefault(task.rows_path, task)
                for channel in task.record.channels:
                    index.writers.setdefault(channel, []).append(task)
        return index


@dataclass(slots=True)
class _Index:
    """The tasks of a checkpoint by path and by channels they wrote, and who sent its packets."""

    paths: dict[str, Task] = field(default_factory=dict)
    writers: dict[str, list[Task]] = field(default_factory=dict)
    senders: list[Task] | None = None


def _where_made(found: Checkpoint, channel: str) -> Checkpoint:
    """Return the checkpoint, or its ancestor, in which the channel's version is new.

    Without a channel: the first that is no copy of the one that it was made from.
    """
    at = found
    while at.parent is not None:
        if channel and at.parent.versions.get(channel) != at.versions.get(channel):
            break
        if not channel and (at.source != "fork" or at.holds_results):
            break
        at = at.parent
    return at


def makers(found: Checkpoint | None) -> list[Task]:
    """Return the tasks, or the write from outside, that made the state of a checkpoint."""
    while found is not None and found.update is None and found.parent is not None:
        if found.holds_results:
            ran = found.parent.tasks
            return [task for task in ran if task.record.has_result and not task.is_called]
        found = found.parent
    return [found.update] if found is not None and found.update is not None else []


def _last_tasks(task: Task) -> list[Task] | None:
    """Return the last tasks of the graph that a task ran, None where several could have returned.

    A graph returns when no task is left to run: what made its last checkpoint came last. One that
    a failure or an interrupt ended returns nothing.
    """
    if len({first.namespace for first in task.inner}) > 1:
        return None
    leaves: list[Checkpoint] = []
    waiting = list(task.inner)
    while waiting:
        found = waiting.pop()
        following = [child for child in found.children if child.owner == found.owner]
        waiting += following
        if not following:
            leaves.append(found)
    if len(leaves) != 1:
        return None
    returned = all(task.record.has_result for task in leaves[0].tasks)
    return makers(leaves[0]) if returned else []
