"""Tasks that ran and left no result among the writes.

Releases of 0.2 stored no writes of the task of a step that finished last (``PregelLoop.put_writes``
in 0.2.20), and a task whose result came from a cache stores none in any. That it ran is recorded
all the same: the checkpoint that was made of the step has seen its node run on new channels. In
releases whose ids hash just those channels the task's id follows, else the node stands for it.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from tracegraph.ingest.langgraph.history import Checkpoint, Task
from tracegraph.ingest.langgraph.ids import PUSH, Proof, pull_ids, push_ids
from tracegraph.ingest.langgraph.proof import NO_NODES, read_channel

_EXACT = 2
"""Up to this ``v`` of a checkpoint a task's id hashes the channels that triggered it, not all."""


def may_be_silent(found: Checkpoint) -> bool:
    """Tell whether tasks of a checkpoint must be looked for in those that were made from it."""
    where = found.location
    return found.went_on and where is not None and where.version <= _EXACT


def complete(found: Checkpoint, seen_after: Iterable[dict[str, dict[str, Any]]]) -> None:
    """Prove the tasks of a checkpoint, and add those of which no write is recorded.

    Args:
        found: the checkpoint; :func:`may_be_silent`.
        seen_after: ``versions_seen`` of the checkpoints that were made of its tasks.
    """
    recorded = {task.id: task for task in found.tasks}
    unproven = set(recorded)
    missing: dict[str, Proof] = {}
    for ids, proof in _ran(found, seen_after):
        match = next((task_id for task_id in ids if task_id in recorded), None)
        if match is None:
            missing.setdefault(ids[0], proof)
        else:
            recorded[match].proof = proof
            unproven.discard(match)
    if not unproven:  # else a recorded task may be the one that seems to be missing
        found.tasks += [Task(found, task_id, proof=proof) for task_id, proof in missing.items()]


def _ran(
    found: Checkpoint, seen_after: Iterable[dict[str, dict[str, Any]]]
) -> Iterator[tuple[list[str], Proof]]:
    """Yield what ran from a checkpoint, each with the ids that it may have."""
    where = found.location
    if where is None:
        return
    order = range(len(found.tasks) + len(found.packets) + 1)
    for index, packet in enumerate(found.packets):
        yield list(push_ids(where, packet.node, index, order)), Proof(packet.node, (PUSH,), index)
    for seen in seen_after:
        for node, triggers in _nodes_run(found, seen):
            yield list(pull_ids(where, node, triggers, order)), Proof(node, triggers)


def _nodes_run(
    found: Checkpoint, after: dict[str, dict[str, Any]]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the nodes that ran on channels of a checkpoint, and those channels."""
    for node, versions in after.items():
        before = found.seen.get(node, {})
        channels = [
            channel
            for channel, version in versions.items()
            if version == found.versions.get(channel) and before.get(channel) != version
        ]
        if channels and node not in NO_NODES:
            yield node, tuple(sorted(channels))


def add_cached(found: Checkpoint) -> list[Task]:
    """Add and return the tasks of a newer release of which no write is recorded."""
    known = {task.node for task in found.tasks}
    if may_be_silent(found) or found.place < 0 or None in known:
        return []  # a task without a name may be the one that seems to be missing
    after = [child.seen for child in found.children if child.source == "loop"]
    run = {node: triggers for seen in after for node, triggers in _nodes_run(found, seen)}
    cached = [
        Task(found, f"{found.id}/{node}", proof=Proof(node, triggers))
        for node, triggers in run.items()
        if node not in known
    ]
    for task in cached:
        task.record.is_silent = task.record.has_result = True
    found.tasks += cached
    return cached


def fill_in(found: Checkpoint) -> None:
    """Find out which channels the silent tasks of a checkpoint wrote.

    A channel that names its writers or is named after its node, or one that no other task can have
    written, since the writes of all others are recorded.
    """
    silent = [task for task in found.tasks if task.record.is_silent]
    if not silent:
        return
    written = {channel for task in found.tasks for channel in task.record.channels}
    for child in found.children:
        if child.source != "loop":
            continue
        for channel in child.available:
            if child.versions.get(channel) == found.versions.get(channel):
                continue
            writers = {*read_channel(channel)[1], channel}
            if channel in child.barriers:
                writers.intersection_update(child.barriers[channel])
            for task in silent:
                if task.node in writers or (len(silent) == 1 and channel not in written):
                    task.record.channels[channel] = task.node
