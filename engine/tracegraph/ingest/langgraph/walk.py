"""One pass over a thread in the order of its history: every blob is decoded once, then forgotten.

Children follow their parent; the graphs that a task ran come before what the task itself wrote.
The pass keeps a stack of its own, since histories are thousands of checkpoints long.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tracegraph.ingest.attributes import dump
from tracegraph.ingest.langgraph.blob import UNDECODABLE, BlobReader
from tracegraph.ingest.langgraph.handed import Handed, handed_call
from tracegraph.ingest.langgraph.history import (
    Checkpoint,
    History,
    Packet,
    Task,
)
from tracegraph.ingest.langgraph.ids import place_of
from tracegraph.ingest.langgraph.messages import as_text, plain_or_none
from tracegraph.ingest.langgraph.namespaces import node_of, task_of
from tracegraph.ingest.langgraph.proof import START, find_called, prove_packets
from tracegraph.ingest.langgraph.silent import complete, may_be_silent
from tracegraph.ingest.langgraph.tables import Tables
from tracegraph.ingest.langgraph.talk import Talk
from tracegraph.ingest.langgraph.tasks import END, PACKETS, PREVIOUS, packet_parts
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.times import parse_time

_REPEATS = frozenset({END, PREVIOUS})
"""Channels into which the functional API writes once more what a task returned."""


class Walk:
    """The pass over one thread.

    Attributes:
        order: the tasks and writes from outside, in the order of the history.
        talk: what they asked and answered.
    """

    def __init__(
        self,
        tables: Tables,
        blobs: BlobReader,
        losses: Losses,
        error_channel: str,
        keep_content: bool,
    ) -> None:
        self.order: list[Task] = []
        self.talk = Talk(keep_content)
        self._tables = tables
        self._blobs = blobs
        self._losses = losses
        self._error_channel = error_channel
        self._keep_content = keep_content
        self._todo: list[Callable[[], None]] = []
        self._inner: dict[tuple[str, str], list[Checkpoint]] = {}

    def run(self, history: History) -> None:
        """Follow a history.

        Gap codes: ``langgraph.unreadable_checkpoint``, ``langgraph.unreadable_time``.
        """
        self._inner = history.inner
        self._branches(history.roots)
        while self._todo:
            self._todo.pop()()

    def _do(self, steps: Iterable[Callable[[], None]]) -> None:
        """Plan steps to be done next, in order."""
        self._todo += reversed(list(steps))

    def _branches(self, checkpoints: list[Checkpoint]) -> None:
        """Plan to follow each of several checkpoints from what is known now; the last one stays."""
        mark = self.talk.known.mark()
        steps: list[Callable[[], None]] = []
        for found in checkpoints:
            if steps:
                steps.append(lambda: self._undo(mark))
            steps.append(lambda found=found: self._enter(found))  # type: ignore[misc]
        self._do(steps)

    def _undo(self, mark: int) -> None:
        self.talk.known.undo(mark)

    def _enter(self, found: Checkpoint) -> None:
        handed = self._read(found)
        if found.update is not None:
            self._update(found.update, handed)
        prove_packets(found)
        if may_be_silent(found):
            self._complete(found)
            find_called(found)
        unowned = self._adopt(found)
        mark = self.talk.known.mark()
        with_results, without = _following(found)
        run = [*self._steps_of_tasks(found, handed, mark), lambda: self._branches(with_results)]
        other = [lambda: self._branches(without)]
        # What the newest branch knows stays: the graph that ran this one goes on with it.
        newest = max(found.children, key=lambda child: child.id, default=None)
        parts = [other, run] if newest in with_results else [run, other]
        self._do([lambda: self._branches(unowned), *parts[0], lambda: self._undo(mark), *parts[1]])

    def _steps_of_tasks(
        self, found: Checkpoint, handed: Handed, mark: int
    ) -> list[Callable[[], None]]:
        """Return the steps that take in the tasks of a checkpoint; each hears what was known."""
        steps: list[Callable[[], None]] = []
        heard: list[Any] = []
        for task in found.tasks:
            self.order.append(task)
            if task.inner:
                steps.append(lambda task=task: self._branches(task.inner))  # type: ignore[misc]
            steps.append(lambda task=task: self._task(task, handed))  # type: ignore[misc]
            if len(found.tasks) > 1:
                steps.append(lambda: heard.extend(self.talk.known.undo(mark)))
        if len(found.tasks) > 1:
            steps.append(lambda: self.talk.known.redo(heard))
        return steps

    def _read(self, found: Checkpoint) -> Handed:
        """Decode a checkpoint and keep of it what causes and names need."""
        data = self._tables.checkpoint(found.place, self._blobs) if found.place >= 0 else {}
        if not isinstance(data, dict):
            if data is not UNDECODABLE:
                self._losses.add(
                    "langgraph.unreadable_checkpoint", f"checkpoint {found.id}: no object"
                )
            data = {}
        found.location = place_of(found.id, data.get("v", 1), found.namespace, found.step)
        found.start = self._time(data.get("ts"), found)
        note_versions(found, data)
        values = _named(data.get("channel_values"))
        found.available = frozenset(values)
        found.deferred = frozenset(c for c, v in values.items() if _waits_for_the_end(c, v))
        for channel, value in values.items():
            if channel.startswith("join:"):
                found.barriers[channel] = _names_in(value)
        handed = Handed(values, self._error_channel)
        packets = values.get(PACKETS) or data.get("pending_sends")
        for packet in packets if isinstance(packets, list) else ():
            node, argument = packet_parts(packet)
            call = handed_call(argument)
            found.packets.append(Packet(node or "", call.call() if call is not None else None))
            handed.packets.append(argument)
        return handed

    def _time(self, value: Any, found: Checkpoint) -> int:
        if found.place < 0:
            return -1
        try:
            return parse_time(value)
        except (ValueError, TypeError):
            self._losses.add(
                "langgraph.unreadable_time", f"checkpoint {found.id}: ts {str(value)[:40]!r}"
            )
            return -1

    def _adopt(self, found: Checkpoint) -> list[Checkpoint]:
        """Give the graphs that ran from a checkpoint to their tasks; return those without one."""
        inner = self._inner.get((found.namespace, found.id), ())
        by_id = {task.id: task for task in found.tasks}
        unowned: list[Checkpoint] = []
        for first in inner:
            task_id = task_of(first.namespace)
            owner = by_id.get(task_id) if task_id is not None else _run_of(found, first.namespace)
            if owner is None:
                unowned.append(first)
            else:
                owner.inner.append(first)
                first.owned_by = owner
        return unowned

    def _update(self, update: Task, handed: Handed) -> None:
        self.order.append(update)
        self.talk.take_outside(handed.state)
        for row in update.rows:
            update.record.take(row.channel, self._tables.value(row.place, self._blobs))
        update.record.has_result = True

    def _task(self, task: Task, handed: Handed) -> None:
        record = task.record
        values: list[tuple[str, Any]] = []
        kept: dict[str, Any] = {}
        is_start = task.node == START
        for channel, value in self._writes(task):
            if not record.take(channel, value):
                continue
            if channel == self._error_channel and value and not is_start:
                if handed.holds_error:
                    record.reset_error = True
                elif record.set_error is None:
                    record.set_error = as_text(value) or ""
            if channel not in _REPEATS:
                values.append((channel, value))
            if self._keep_content:
                kept[channel] = plain_or_none(value)
        packets = task.checkpoint.packets
        if 0 <= task.packet < len(packets):
            record.is_asked = packets[task.packet].call
        self.talk.take(task, values, handed.to(task), is_start=is_start)
        if kept:
            record.output = dump(kept)

    def _writes(self, task: Task) -> Iterator[tuple[str, Any]]:
        """Yield what a task wrote, as its rows say, or else what the next checkpoint says."""
        for row in task.rows:
            yield row.channel, self._tables.value(row.place, self._blobs)
        record = task.record
        if task.finished_with_step and not record.has_result and not record.is_handled:
            record.is_silent = record.has_result = True
            yield from self._silent_writes(task)

    def _complete(self, found: Checkpoint) -> None:
        """Look up in what was made from a checkpoint which of its tasks left no writes."""
        after: list[dict[str, dict[str, Any]]] = []
        for child in found.children:
            if child.source == "loop" and child.place >= 0:
                data = _named(self._tables.checkpoint(child.place, self._blobs))
                seen = _named(data.get("versions_seen"))
                after.append({node: _named(versions) for node, versions in seen.items()})
        complete(found, after)

    def _silent_writes(self, task: Task) -> list[tuple[str, Any]]:
        """Return what the metadata of the next checkpoint say that a task wrote.

        Of several tasks of one node they hold a list, in an order that is not recorded.
        """
        for child in task.checkpoint.children:
            if child.source == "loop" and child.place >= 0:
                metadata = _named(self._tables.metadata(child.place, self._blobs))
                written = _named(metadata.get("writes")).get(task.node or "")
                return list(_named(written).items())
        return []


def note_versions(found: Checkpoint, data: dict[str, Any]) -> None:
    """Keep which channels a checkpoint names, and on which of them each node ran."""
    found.versions = _named(data.get("channel_versions"))
    seen = _named(data.get("versions_seen"))
    found.seen = {node: _named(versions) for node, versions in seen.items()}


def _following(found: Checkpoint) -> tuple[list[Checkpoint], list[Checkpoint]]:
    """Return what was made from a checkpoint with the results of its tasks, and without them."""
    with_results: list[Checkpoint] = []
    without: list[Checkpoint] = []
    for child in found.children:
        if child.owner == found.owner:
            child.owned_by = found.owned_by
            (with_results if child.holds_results else without).append(child)
    return with_results, without


def _run_of(found: Checkpoint, namespace: str) -> Task | None:
    """Return the task whose graph keeps one namespace over all its runs."""
    node = node_of(namespace)
    named = [task for task in found.tasks if task.node == node]
    if not named and len(found.tasks) == 1 and found.tasks[0].node is None:
        named = found.tasks
    return named[0] if len(named) == 1 else None


def _waits_for_the_end(channel: str, value: Any) -> bool:
    """Tell a node's channel that waits for the end: it keeps whether the end has come beside it."""
    if not channel.startswith("branch:to:") or not isinstance(value, list | tuple):
        return False
    return len(value) == 2 and isinstance(value[1], bool)


def _names_in(value: Any) -> list[str]:
    """Return the names that a join has waited for; one that waits for the end has a flag beside."""
    while isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple):
        value = value[0]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _named(value: Any) -> dict[str, Any]:
    """Return the entries of a dict that have a name; nothing where it is no dict."""
    if not isinstance(value, dict):
        return {}
    return {key: item for key, item in value.items() if isinstance(key, str)}
