"""Which node a task ran, proven: by its recorded path, or by its id, which comes out equal.

Candidates are what a graph's checkpoints name anywhere: nodes in ``versions_seen``, in names of
channels (``branch:to:X``, ``start:X``, ``branch:A:condition:X``, ``join:A+B:X``), in packets; and
the channels that could trigger each. Where those of its own thread do not do, those of the others
in the database are tried. What no candidate proves stays unnamed.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, combinations, islice

from tracegraph.ingest.langgraph.history import Checkpoint, Task
from tracegraph.ingest.langgraph.ids import (
    PUSH,
    Place,
    Proof,
    handler_id,
    pull_ids,
    push_ids,
)
from tracegraph.ingest.langgraph.namespaces import graph_of, node_of, task_of

START = "__start__"
_MOST_HASHES = 20_000
"""Ids that are tried for one checkpoint without paths; a fan-out of hundreds stays below it."""
_MOST_SETS = 64
"""Sets of channels that are tried for one node."""
_ONE_CHANNEL = 3
NO_NODES = frozenset({"__input__", "__interrupt__"})
"""Keys of ``versions_seen`` that are no nodes."""


class Candidates:
    """What may have run in the graphs that checkpoints are of, by graph."""

    def __init__(self, checkpoints: Iterable[Checkpoint]) -> None:
        self._nodes: dict[str, dict[str, dict[str, None]]] = {}
        self._triggered_by: dict[tuple[str, str], dict[str, None]] = {}
        for found in checkpoints:
            self._collect(found)
            if found.namespace:
                outer = graph_of(found.namespace).rpartition("|")[0]
                self._add(outer, node_of(found.namespace))

    def _collect(self, found: Checkpoint) -> None:
        graph = graph_of(found.namespace)
        self._nodes.setdefault(graph, {})
        for node, seen in found.seen.items():
            if node not in NO_NODES:
                self._add(graph, node, *seen)
        for packet in found.packets:
            self._add(graph, packet.node)
        for channel in found.versions:
            self._read_channel(graph, channel)
        for task in found.tasks:
            for named in (task.path.node, _named_by_namespace(task)):
                if named is not None:
                    self._add(graph, named)
            for channel, value in task.record.channels.items():
                self._read_channel(graph, channel)
                if value == channel:  # a node of an older release writes its own name so
                    self._add(graph, channel)

    def _add(self, graph: str, node: str, *triggers: str) -> None:
        self._nodes.setdefault(graph, {}).setdefault(node, {}).update(dict.fromkeys(triggers))
        for channel in triggers:
            self._triggered_by.setdefault((graph, channel), {})[node] = None

    def _read_channel(self, graph: str, channel: str) -> None:
        target, writers = read_channel(channel)
        for writer in writers:
            self._add(graph, writer)
        if target is not None:
            self._add(graph, target, channel)

    def of(self, found: Checkpoint) -> dict[str, dict[str, None]]:
        """Return the nodes of a checkpoint's graph, each with the channels that may trigger it."""
        return self._nodes.get(graph_of(found.namespace), {})

    def triggered(self, found: Checkpoint) -> dict[str, list[str]]:
        """Return the nodes that a checkpoint may schedule, each with what is new for it."""
        graph = graph_of(found.namespace)
        fresh: dict[str, list[str]] = {}
        for channel in (*found.versions, *found.from_outside):
            for node in self._triggered_by.get((graph, channel), ()):
                if is_fresh(found, node, channel):
                    fresh.setdefault(node, []).append(channel)
        return fresh


def read_channel(channel: str) -> tuple[str | None, tuple[str, ...]]:
    """Return the node that a channel triggers and the nodes that its name says write it."""
    if channel == START:
        return START, ()
    word, _, rest = channel.partition(":")
    if word == "start" and rest:
        return rest, (START,)
    if word == "branch":
        if rest.startswith("to:"):
            return rest.removeprefix("to:"), ()
        parts = rest.split(":")
        return (parts[-1], (parts[0],)) if len(parts) == 3 else (None, ())
    if word == "join" and ":" in rest:
        writers, _, target = rest.rpartition(":")
        return target, tuple(writers.split("+"))
    return None, ()


def prove(found: Checkpoint, candidates: Candidates) -> None:
    """Fill in the proofs of a checkpoint's tasks."""
    place = found.location
    nodes = candidates.of(found)
    open_tasks = [task for task in found.tasks if task.proof is None]
    order = range(len(found.tasks) + len(found.packets))
    for task in open_tasks:
        if task.path.node is not None:
            triggers = _proven_triggers(task, place, nodes, order)
            task.proof = Proof(task.path.node, triggers)
        elif task.path.failed is not None and place is not None:
            _prove_handler(task, place, nodes)
    rest = {task.id: task for task in open_tasks if task.proof is None and not task.rows_path}
    if rest and place is not None:
        for task_id, proof in islice(_all_ids(found, place, candidates, order), _MOST_HASHES):
            if task_id in rest:
                rest.pop(task_id).proof = proof
                if not rest:
                    break
    find_called(found)
    for task in open_tasks:
        node = _named_by_namespace(task)
        if task.proof is None and node is not None:
            task.proof = Proof(node)


def is_unproven(found: Checkpoint) -> bool:
    """Tell whether a task of a checkpoint has neither a path nor an id that came out equal."""
    return any(task.proof is None and not task.rows_path for task in found.tasks)


def find_called(found: Checkpoint) -> None:
    """Find the tasks that an entrypoint called, in releases that record no paths.

    Only an entrypoint runs on the input itself, and nothing beside it but what it calls.
    """
    entrypoints = [
        task
        for task in found.tasks
        if task.proof is not None and task.proof.triggers == (START,) and task.node != START
    ]
    for task in found.tasks if len(entrypoints) == 1 else ():
        if task.proof is None and not task.rows_path:
            task.called_by = entrypoints[0]


def _named_by_namespace(task: Task) -> str | None:
    """Return the node that the namespace of a task names, of its graph or of its interrupt."""
    inner = task.inner[0].namespace if task.inner else task.record.interrupted_in
    return node_of(inner) if task_of(inner) == task.id else None


def prove_packets(found: Checkpoint) -> None:
    """Fill in the proofs of the tasks that packets scheduled: those need no candidates."""
    if not found.packets:
        return
    without: dict[str, Task] = {}
    for task in found.tasks:
        index = task.path.packet
        if not task.rows_path:
            without[task.id] = task
        elif 0 <= index < len(found.packets) and found.packets[index].node:
            task.proof = Proof(found.packets[index].node, (PUSH,), index)
    if without and found.location is not None:
        for task_id, proof in _packet_ids(found, found.location):
            if task_id in without:
                without[task_id].proof = proof


def _packet_ids(found: Checkpoint, place: Place) -> Iterator[tuple[str, Proof]]:
    """Yield the ids of the tasks of packets, which are scheduled before all others, in order."""
    for index, packet in enumerate(found.packets):
        for task_id in push_ids(place, packet.node, index, range(index, index + 1)):
            yield task_id, Proof(packet.node, (PUSH,), index)


def _prove_handler(task: Task, place: Place, nodes: Iterable[str]) -> None:
    failed = _by_path(task.checkpoint, task.path.failed or "")
    if failed is not None and failed.path.node is not None:
        for node in nodes:
            if handler_id(place, node, failed.path.node, failed.id) == task.id:
                task.proof = Proof(node, None)


def _by_path(found: Checkpoint, path: str) -> Task | None:
    return next((task for task in found.tasks if task.rows_path == path), None)


def _proven_triggers(
    task: Task, place: Place | None, nodes: dict[str, dict[str, None]], order: range
) -> tuple[str, ...] | None:
    node = task.path.node
    if place is None or node is None:
        return None
    known = _may_trigger(place, node, nodes.get(node, {}))
    for triggers in islice(_trigger_sets(known), _MOST_SETS):
        if task.id in pull_ids(place, node, triggers, order):
            return triggers
    return None


def _may_trigger(place: Place, node: str, channels: dict[str, None]) -> dict[str, None]:
    """Return the channels that may trigger a node.

    Since checkpoints of v 3 each node has a channel of its own, also one that only joins trigger.
    """
    return {f"branch:to:{node}": None} | channels if place.version >= _ONE_CHANNEL else channels


def _trigger_sets(channels: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield the sets of channels that may have triggered a node, the likelier first.

    Newer releases hash all triggers of a node, of which joins may not be known yet; older ones hash
    those that were updated.
    """
    every = tuple(sorted(channels))
    if every:
        yield every
    for channel in every:
        if len(every) > 1:
            yield (channel,)
    for size in range(2, len(every)):
        yield from combinations(every, size)


def _all_ids(
    found: Checkpoint, place: Place, candidates: Candidates, order: range
) -> Iterator[tuple[str, Proof]]:
    """Yield the ids that tasks of a checkpoint may have, with what each proves."""
    nodes = candidates.of(found)
    for node, fresh in candidates.triggered(found).items():
        known = _may_trigger(place, node, nodes[node])
        tried = (islice(_trigger_sets(channels), _MOST_SETS) for channels in (fresh, known))
        for triggers in dict.fromkeys(chain.from_iterable(tried)):
            for task_id in pull_ids(place, node, triggers, order):
                yield task_id, Proof(node, triggers)
    updated = _updated(found)
    for node in nodes:  # what triggers a node that never finished is recorded nowhere else
        for channel in updated:
            for task_id in pull_ids(place, node, (channel,), order):
                yield task_id, Proof(node, (channel,))


def is_fresh(found: Checkpoint, node: str, channel: str) -> bool:
    """Tell whether a channel holds something that a node has not run on yet."""
    if channel in found.from_outside:
        return True
    if channel not in found.available or channel not in found.versions:
        return False
    return bool(found.versions[channel] != found.seen.get(node, {}).get(channel))


def _updated(found: Checkpoint) -> list[str]:
    before = found.parent.versions if found.parent is not None else {}
    return [
        channel
        for channel, version in found.versions.items()
        if channel in found.available and before.get(channel) != version
    ]
