"""What a file lost while it was read: counted by code, or refused at once under ``--strict``."""

from collections import Counter

from tracegraph.errors import StrictError
from tracegraph.ingest import span_gaps

_KEPT = (
    "agent_lattice.ambiguous_",
    "agent_lattice.contradictory_ids",
    "agent_lattice.duplicate_row",
    "agent_lattice.missing_",
    "agent_lattice.redacted",
    "agent_lattice.status_contradicts_",
    "agent_lattice.unrequested_tool",
    "agent_lattice.unresolved_message",
    "agentdelta.open_pairing",
    "agentdelta.return_without_call",
    "agentdiff.missing_parent",
    "agentdiff.parent_after_child",
    "agentdiff.repeated_index",
    "agentdiff.rollup_differs",
    "agentdiff.self_parent",
    "agentdiff.status_contradicts_",
    "langgraph_state.result_without_call",
    "langsmith.dotted_order_differs",
    "causes.",
    "clock.",
    *(
        f"langgraph.{fact}"
        for fact in (
            "ambiguous_ blank_ failed_ last_ missing_parent orphan_writes parent_cycle "
            "repeated_superstep rewritten_ unapplied_ unattributed_ undecided_ unfinished_ "
            "unknown_ unnamed_ unproven_ unqualified_ unrecorded_"
        ).split()
    ),
    "peer_artifact.unrecorded_gaps",
    "phoenix.cost_from_price_list",
    "phoenix.missing_field",
    "phoenix.no_",
    "sessions.",
    "text.unicode_form",
    *span_gaps.FACTS,
)
"""Codes, or how they start, of what was recorded so: doubtful, contradictory or never exported."""


def is_loss(code: str) -> bool:
    """Tell whether a gap means that reading lost something, which ``--strict`` refuses."""
    return not code.startswith(_KEPT)


class Losses:
    """Losses of one trace, or of a file outside its traces.

    Attributes:
        counts: how often each gap code happened.
    """

    def __init__(self, file: str, strict: bool) -> None:
        self.counts: Counter[str] = Counter()
        self._file = file
        self._strict = strict

    def add(self, code: str, what: str, count: int = 1) -> None:
        """Disclose a loss or a doubt; ``what`` says in words what is the matter and where.

        Raises:
            StrictError: losses are to be refused.
        """
        if self._strict and is_loss(code):
            raise StrictError(f"{self._file}: {what} ({code})")
        self.counts[code] += count
