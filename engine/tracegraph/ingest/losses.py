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
    "jaeger.warning",
    "claude_code.duplicate_identical",
    "claude_code.missing_parent",
    "claude_code.partial_usage",
    "claude_code.result_without_call",
    "inspect_ai.no_header",
    "inspect_ai.result_without_call",
    "inspect_ai.unresolved_",
    "langgraph_state.result_without_call",
    "mapped.absent_column",
    "mapped.conflicting_",
    "mapped.duplicate_identical",
    "mapped.missing_",
    "mapped.self_parent",
    "mapped.status_contradicts_",
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
    "otel_sdk.other_output",
    "otel_sdk.snapshot_replaced",
    "crewai.ambiguous_tool_failure",
    "crewai.end_without_start",
    "crewai.events_left_out",
    "crewai.local_time",
    "crewai.missing_output",
    "crewai.result_without_call",
    "crewai.unmatched_tool_failure",
    "openai_agents.missing_trace_id",
    "openai_agents.trace_without_spans",
    "otlp.empty_record",
    "otlp.event_without_span",
    "otlp.other_signal",
    "peer_artifact.unrecorded_gaps",
    "phoenix.cost_from_price_list",
    "phoenix.missing_field",
    "phoenix.no_",
    "sessions.",
    "tau_bench.result_without_call",
    "swe_agent.result_without_call",
    "text.unicode_form",
    "trail.contradictory_nesting",
    "whowhen.result_without_call",
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
