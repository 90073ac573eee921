"""The closed vocabularies of the model and the integer codes under which they are stored.

A code is the position in its tuple. The tuples only ever grow at the end: codes are on disk.
Sources: DESIGN section 3 (kinds are OpenInference's words, evidence and origins are ours).
"""

from typing import Final

KINDS: Final = (
    "UNKNOWN",
    "AGENT",
    "CHAIN",
    "LLM",
    "TOOL",
    "RETRIEVER",
    "RERANKER",
    "EMBEDDING",
    "GUARDRAIL",
    "EVALUATOR",
    "PROMPT",
)
STATUSES: Final = ("unset", "ok", "error")
FIDELITIES: Final = ("full", "parent_only", "order_only")

EVIDENCE: Final = ("none", "declared", "containment", "derived", "heuristic")
"""Strongest first; ``none`` marks the absence of an edge. Weaker is larger, so a walk's evidence is
the maximum over its edges."""

ORIGINS: Final = (
    "span_link",
    "graph_parent",
    "checkpoint_parent",
    "checkpoint_write",
    "subgraph_return",
    "tool_call_id",
    "edge",
    "message",
    "span_parent",
    "protocol",
    "graph_step",
    "data_flow",
    "order",
    "legacy_unknown",
)

SIGNALS: Final = (
    "tool_error",
    "unknown_tool",
    "unanswered_call",
    "final_answer",
    "interrupt",
    "truncated",
)
"""Codes found at ingest whatever the content policy; stored as a bit mask, bit = position."""

KIND_CODE: Final = {name: code for code, name in enumerate(KINDS)}
STATUS_CODE: Final = {name: code for code, name in enumerate(STATUSES)}
FIDELITY_CODE: Final = {name: code for code, name in enumerate(FIDELITIES)}
EVIDENCE_CODE: Final = {name: code for code, name in enumerate(EVIDENCE)}
ORIGIN_CODE: Final = {name: code for code, name in enumerate(ORIGINS)}
SIGNAL_BIT: Final = {name: 1 << bit for bit, name in enumerate(SIGNALS)}

DECLARED: Final = EVIDENCE_CODE["declared"]
CONTAINMENT: Final = EVIDENCE_CODE["containment"]
DERIVED: Final = EVIDENCE_CODE["derived"]
HEURISTIC: Final = EVIDENCE_CODE["heuristic"]

_EVIDENCE_OF_ORIGIN: Final = {
    "span_parent": CONTAINMENT,
    "protocol": DERIVED,
    "graph_step": DERIVED,
    "data_flow": DERIVED,
    "order": HEURISTIC,
    "legacy_unknown": HEURISTIC,
}


def evidence_of(origin: str) -> int:
    """Return the evidence code that an origin has unless the adapter says it knows less."""
    return _EVIDENCE_OF_ORIGIN.get(origin, DECLARED)


def signal_words(mask: int) -> tuple[str, ...]:
    """Return the signals of a bit mask, in the order of their bits."""
    return tuple(name for name, bit in SIGNAL_BIT.items() if mask & bit)


UNKNOWN: Final = -1
"""The stored value of an unknown count, code, row or time."""
