"""LangGraph's task ids, recomputed: an id that comes out equal proves a task's node and triggers.

A task id is a hash of the checkpoint it runs from, the namespace, the step, the node, how it was
scheduled (PULL by channels, PUSH by a packet) and by what (langgraph.pregel._algo,
``prepare_single_task``). The hash changed three times; a checkpoint's ``v`` says which can be it.
"""

import json
import uuid
from collections.abc import Callable, Iterator
from hashlib import sha1
from typing import Any

from msgspec import Struct
from xxhash import xxh3_128_hexdigest

PULL, PUSH = "__pregel_pull", "__pregel_push"
NULL_TASK = "00000000-0000-0000-0000-000000000000"
_PULL_PATH = f"~{PULL}, "
_PUSH_PATH = f"~{PUSH}, "
_TASKS = "__pregel_tasks"
_HANDLER = ", node_error_handler, "
_HANDLED = "node_error_handler"


class Place(Struct, gc=False):
    """What all tasks of a checkpoint share: its id as bytes, ``v``, namespace, and their step."""

    id: bytes
    version: int
    namespace: str
    step: int

    def inside(self, node: str) -> str:
        """Return the namespace of a node's task, without the task."""
        return f"{self.namespace}|{node}" if self.namespace else node


class Proof(Struct, gc=False):
    """What a task id proves: the node and, of a PULL task, the channels that trigger it.

    Attributes:
        node: its name.
        triggers: channels, None where only the name is known.
        packet: index of the packet that scheduled a PUSH task, -1 for none.
    """

    node: str
    triggers: tuple[str, ...] | None = None
    packet: int = -1


def place_of(checkpoint_id: str, version: Any, namespace: str, step: Any) -> Place | None:
    """Return the place of a checkpoint's tasks, None where its id, ``v`` or step are not readable.

    Args:
        checkpoint_id: a UUID.
        version: the checkpoint's ``v``.
        namespace: of the checkpoint.
        step: the step in its metadata; its tasks run in the next.
    """
    if isinstance(step, bool) or not isinstance(step, int) or not isinstance(version, int):
        return None
    try:
        return Place(bytes.fromhex(checkpoint_id.replace("-", "")), version, namespace, step + 1)
    except ValueError:
        return None


def pull_ids(place: Place, node: str, triggers: tuple[str, ...], order: range) -> Iterator[str]:
    """Yield the ids that a node's task may have.

    Args:
        place: where it runs.
        node: its name.
        triggers: sorted channels.
        order: positions among the tasks of the step that it may have: the first releases hash it.
    """
    parts = (place.inside(node), str(place.step), node, PULL, *triggers)
    yield from (digest(place.id, parts) for digest in _digests(place))
    yield from _first_ids(place, node, list(triggers), order)


def push_ids(place: Place, node: str, packet: int, order: range) -> Iterator[str]:
    """Yield the ids that the task of a packet may have."""
    parts = (place.inside(node), str(place.step), node, PUSH, str(packet))
    yield from (digest(place.id, parts) for digest in _digests(place))
    yield from _first_ids(place, node, [_TASKS], order)


def handler_id(place: Place, node: str, failed_node: str, failed: str) -> str:
    """Return the id of a task that handles the failure of another, as whose child it runs."""
    within = f"{place.inside(failed_node)}:{failed}|{node}"
    return _xxh3(place.id, (within, str(place.step), node, PUSH, _HANDLED, failed))


def update_ids(checkpoint_id: str) -> frozenset[str]:
    """Return the ids under which ``update_state`` wrote to a checkpoint, as no task."""
    try:
        of = uuid.UUID(checkpoint_id)
    except ValueError:
        return frozenset()
    return frozenset(
        str(uuid.uuid5(of, "__interrupt__" + suffix))
        for suffix in ("", *(f":{index}" for index in range(1, 16)))
    )


def input_id(checkpoint_id: str) -> str | None:
    """Return the id under which input was written to the checkpoint before it, as no task."""
    try:
        return str(uuid.uuid5(uuid.UUID(checkpoint_id), "__input__"))
    except ValueError:
        return None


def _digests(place: Place) -> tuple[Callable[[bytes, tuple[str, ...]], str], ...]:
    if place.version <= 1:
        return (_sha1,)
    return (_xxh3, _sha1) if place.version == 2 else (_xxh3,)


def _xxh3(namespace: bytes, parts: tuple[str, ...]) -> str:
    return _as_uuid(xxh3_128_hexdigest(namespace + _joined(parts)))


def _sha1(namespace: bytes, parts: tuple[str, ...]) -> str:
    return _as_uuid(sha1(namespace + _joined(parts), usedforsecurity=False).hexdigest())


def _joined(parts: tuple[str, ...]) -> bytes:
    return "".join(parts).encode("utf-8", "surrogatepass")


def _as_uuid(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"


def _first_ids(place: Place, node: str, triggers: list[str], order: range) -> Iterator[str]:
    """Yield the ids of releases before 2024-09: a UUID 5 of JSON, with the namespace or without."""
    if place.version != 1 or len(place.id) != 16:
        return
    of = uuid.UUID(bytes=place.id)
    for index in order:
        metadata = {
            "langgraph_step": place.step,
            "langgraph_node": node,
            "langgraph_triggers": triggers,
            "langgraph_task_idx": index,
        }
        yield str(uuid.uuid5(of, json.dumps((place.inside(node), metadata))))
        yield str(uuid.uuid5(of, json.dumps(metadata)))


class Path(Struct, gc=False):
    """A recorded ``task_path``.

    Attributes:
        node: of a PULL task.
        packet: index of the packet of a PUSH task, -1 for none.
        caller: path of the task that called a task of the functional API.
        failed: path of the task whose failure the task handles.
    """

    node: str | None = None
    packet: int = -1
    caller: str | None = None
    failed: str | None = None


def read_path(text: str) -> Path:
    """Read a path as ``task_path_str`` writes it."""
    if _HANDLER in text:
        return Path(failed=text.partition(_HANDLER)[0])
    if text.startswith(_PULL_PATH):
        return Path(node=text.removeprefix(_PULL_PATH))
    if text.startswith(_PUSH_PATH):
        rest = text.removeprefix(_PUSH_PATH)
        if rest.startswith("~"):
            return Path(caller=rest.rsplit(", ", 2)[0])
        index = rest.partition(", ")[0]
        return Path(packet=int(index) if index.isdecimal() and len(index) < 12 else -1)
    return Path()


def is_update_path(text: str) -> bool:
    """Tell whether a path is that of ``update_state``, which gives none or that of no node."""
    return text == "~" or text.startswith("~__interrupt__")
