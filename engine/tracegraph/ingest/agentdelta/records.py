"""The rows of an agentdelta file, and the runs that they make up."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct

from tracegraph.ingest.losses import Losses


class Row(Struct):
    """One line: ``trace_meta``, ``node`` or ``edge``, told apart by ``type``."""

    type: str
    run_id: str | None = None
    id: str | None = None
    step: int | None = None
    node_type: str | None = None
    content: str | None = None
    metadata: dict[str, Any] | None = None
    source_step: int | None = None
    target_step: int | None = None


decode = msgspec.json.Decoder(Row).decode
"""Decode a line that holds the format; msgspec.MsgspecError otherwise."""


@dataclass(slots=True)
class Node:
    """One recorded event.

    Attributes:
        step: its number; the recorded order, neither unique nor gapless.
        kind: start, llm, tool_call, tool_return or end; others are unknown.
        content: text, cut by the recorder at a fixed length.
        metadata: whatever the author added.
        id: a digest of the content, so not unique; kept, never used.
    """

    step: int
    kind: str
    content: str | None
    metadata: dict[str, Any] | None
    id: str | None

    def of(self, *keys: str) -> Any:
        """Return the first of some metadata values that is there."""
        held = self.metadata or {}
        return next((held[key] for key in keys if held.get(key) is not None), None)

    def text_of(self, *keys: str) -> str | None:
        """Return the first of some metadata values if it is text that is not blank."""
        value = self.of(*keys)
        return value if isinstance(value, str) and value.strip() else None


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from an earlier to a later step number."""

    source: int
    target: int


@dataclass(slots=True)
class Run:
    """One run of a file.

    Attributes:
        losses: what reading it lost.
        run_id: as its trace_meta says.
        has_meta: it had a trace_meta.
        readable: some line of it was a record.
    """

    losses: Losses
    run_id: str | None = None
    has_meta: bool = False
    readable: bool = False
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
