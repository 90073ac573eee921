"""The records of agent-tracegraph's artifacts (schema versions 2 to 9) as they are decoded.

Only what is used is named; the decoder skips the rest. Every edge repeats two step ids and an
origin, so the closed words are Literals: they decode without making a new string each time.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

VERSIONS: Final = range(2, 10)

Kind = Literal[
    "AGENT",
    "CHAIN",
    "TOOL",
    "LLM",
    "RETRIEVER",
    "EMBEDDING",
    "RERANKER",
    "GUARDRAIL",
    "EVALUATOR",
    "PROMPT",
    "UNKNOWN",
]
Status = Literal["ok", "error", "unset"]
EdgeType = Literal["CAUSED_BY", "TREE_PARENT", "BELONGS_TO"]
Origin = Literal[
    "checkpoint_parent",
    "checkpoint_subgraph_return",
    "graph_parent",
    "graph_parent_heuristic",
    "span_link",
    "span_parent_fallback",
    "legacy_unknown",
]
Fidelity = Literal["declared_dag", "parent_only", "legacy_unknown"]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Id = Annotated[str, Meta(min_length=1)]


class Evidence(Struct, gc=False):
    """Measurements of a step."""

    end_ts: str | None = None
    duration_ms: float | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    prompt_cost: str | None = None
    completion_cost: str | None = None
    total_cost: str | None = None
    cost_currency: str | None = None
    artifact_digest: str | None = None
    evaluations: tuple[dict[str, Any], ...] = ()


class Step(Struct, gc=False):
    """One step. ``unknown_fields`` names the values that its adapter substituted."""

    step_id: Id
    ts: str | None = None
    kind: Kind = "UNKNOWN"
    source: str = "loop"
    name: str | None = None
    status: Status = "unset"
    error_msg: str | None = None
    evidence: Evidence | None = None
    unknown_fields: tuple[str, ...] = ()


class Edge(Struct, gc=False):
    """A typed edge from effect to cause."""

    type: EdgeType
    src: str
    dst: str
    origin: Origin | None = None


class Gap(Struct, gc=False):
    """A disclosed loss."""

    code: Id
    count: Annotated[int, Meta(ge=1, le=2**63 - 1)] = 1


class Capture(Struct):
    """What its adapter could not observe."""

    gaps: list[Gap] = []


class Header(Struct):
    """The trace as a whole."""

    trace_id: Id
    source_kind: Id = "unknown"
    run_id: str | None = None
    thread_id: str | None = None
    causal_fidelity: Fidelity = "legacy_unknown"
    links_preserved: bool | None = None
    decision_evidence: list[dict[str, Any]] = []
    schedule_graph: dict[str, Any] | None = None
    capture: Capture | None = None


class Body(Struct):
    """Trace, steps and edges."""

    trace: Header
    steps: list[Step] = []
    edges: list[Edge] = []


class PeerArtifact(Struct):
    """A whole artifact."""

    schema_version: Annotated[int, Meta(ge=2, le=9)]
    trace: Body


decode = msgspec.json.Decoder(PeerArtifact).decode
"""Decode an artifact that holds its format; msgspec.MsgspecError otherwise."""
