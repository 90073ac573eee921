"""The message state of a LangGraph thread as JSON: a result, a snapshot, a dump of a checkpoint.

``{"messages": [...]}``, ``{"values": {"messages": ...}}`` (``get_state`` and the platform's API) or
``{"channel_values": {"messages": ...}}``; one trace a state. The checkpoints themselves, which also
hold the tasks, are read by :mod:`tracegraph.ingest.langgraph.adapter`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from tracegraph.errors import InputError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.documents import read_documents
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.langgraph_state.draft import AREA, Snapshot, add_state
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import Source
from tracegraph.ingest.tolerant_json import decode_json
from tracegraph.model.draft import Draft

_HOLDING = ("values", "channel_values")
_MEMBERS = frozenset({"messages", *_HOLDING})
_MESSAGES = re.compile(
    rb'"messages"\s*:\s*\[\s*\{\s*"(?:content|type|role|data|lc|id|kwargs|additional_kwargs|name)"'
)
_ROLE = re.compile(
    rb'"(?:type|role)"\s*:\s*"(?:human|ai|tool|system|user|assistant)"'
    rb'|"(?:Human|AI|Tool|System)Message"'
)
_OTHER = b'"mini_version"'
"""mini-swe-agent's mark: a run that is a list of messages, too."""


class LanggraphStateAdapter:
    """Reads states that hold messages."""

    name = AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by a list of messages in the place where a state has it."""
        if opening_keys(source).isdisjoint(_MEMBERS) or _OTHER in source.head:
            return False
        return bool(_MESSAGES.search(source.head) and _ROLE.search(source.head))

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield one draft a file.

        Gap codes: ``langgraph_state.unreadable_trace`` (of the file),
        ``langgraph_state.unreadable_message``, ``langgraph_state.unreadable_task``,
        ``langgraph_state.unreadable_field``, ``langgraph_state.result_without_call``.
        """
        for source in sources:
            state = partial(_state, ids=FreeIds())
            yield read_documents(source, options, AREA, state, _trace_id, add_state)


def _trace_id(state: Snapshot) -> str:
    return state.trace_id


def _state(data: bytes, place: str, losses: Losses, ids: FreeIds) -> Snapshot:
    """Decode a state.

    Raises:
        InputError: it is no JSON, or holds no list of messages.
    """
    value = decode_json(data, place, losses)
    value = value if isinstance(value, dict) else {}
    messages = _messages(value)
    if messages is None:
        raise InputError(f"{place}: a state without a list of messages")
    thread = _thread(value)
    file = PurePosixPath(place.partition(": ")[0]).stem
    return Snapshot(ids.take(thread or file), thread, value, messages)


def _messages(value: dict[str, Any]) -> list[Any] | None:
    for holder in (value, *(value.get(key) for key in _HOLDING)):
        found = holder.get("messages") if isinstance(holder, dict) else None
        if isinstance(found, list):
            return found
    return None


def _thread(value: dict[str, Any]) -> str | None:
    """Return the thread, wherever the kind of state names it."""
    config = value.get("config")
    places = (
        config.get("configurable") if isinstance(config, dict) else None,
        value.get("checkpoint"),
        value.get("metadata"),
        value,
    )
    found = (place.get("thread_id") for place in places if isinstance(place, dict))
    return next((thread for thread in found if isinstance(thread, str) and thread), None)
