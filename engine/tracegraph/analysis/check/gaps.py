"""What a disclosed gap may hide from a rule. A code that is not in the tables may hide anything."""

from enum import Flag, auto
from typing import Final

from tracegraph.ingest import span_gaps as span


class Hides(Flag):
    """What may be other than the trace shows."""

    NOTHING = 0
    STEPS = auto()
    """A step may be missing, or one step stand for several."""
    FAILURES = auto()
    """A step that is there may have failed."""
    CAUSES = auto()
    """An edge may be missing, or lead elsewhere."""
    TIMES = auto()
    TOKENS = auto()
    COST = auto()
    ANYTHING = STEPS | FAILURES | CAUSES | TIMES | TOKENS | COST


CONTRADICTS: Final = "status_contradicts_"
"""How codes start that count a recorded OK beside other evidence of a failure."""

_SPANS: Final = {
    span.AMBIGUOUS_GRAPH_STEP: Hides.CAUSES,
    span.AMBIGUOUS_TOOL_CALL: Hides.CAUSES,
    span.CONFLICTING_RUN_ID: Hides.NOTHING,
    # An error.type, an exception event or a token count may have been among what was dropped.
    span.DROPPED_ATTRIBUTES: Hides.ANYTHING & ~Hides.STEPS,
    span.DROPPED_EVENTS: Hides.FAILURES,
    span.DROPPED_LINKS: Hides.CAUSES,
    span.DUPLICATE_IDENTICAL: Hides.NOTHING,
    # The cause is in another trace, which a comparison of this one leaves out on both sides.
    span.FOREIGN_TRACE_LINK: Hides.NOTHING,
    span.GRAPH_PARENT_BY_TIMING: Hides.CAUSES,
    # Three names of spans that are not here: each may have failed.
    span.GRAPH_PARENT_FALLBACK: Hides.STEPS | Hides.CAUSES,
    span.MISSING_PARENT: Hides.STEPS | Hides.CAUSES,
    span.UNRESOLVED_SPAN_LINK: Hides.STEPS | Hides.CAUSES,
    span.SELF_LINK: Hides.CAUSES,
    span.SELF_PARENT: Hides.CAUSES,
    span.UNQUALIFIED_CONTROL_FLOW: Hides.NOTHING,
    span.UNREADABLE_COST: Hides.COST,
    span.UNREADABLE_MESSAGES: Hides.CAUSES,
    span.UNREADABLE_STATUS: Hides.FAILURES,
    span.UNREADABLE_TIMESTAMP: Hides.TIMES,
    span.UNREADABLE_TOKEN_COUNT: Hides.TOKENS,
}
"""Codes of the layer that formats made of spans share, without their area."""

_CODES: Final = {
    "causes.cycle": Hides.NOTHING,
    "causes.self": Hides.CAUSES,
    "clock.child_before_parent": Hides.NOTHING,
    "clock.end_before_start": Hides.TIMES,
    "text.invalid_utf8": Hides.NOTHING,
    "text.lone_surrogate": Hides.NOTHING,
    "text.unicode_form": Hides.NOTHING,
    "sessions.conflicting_id": Hides.NOTHING,
    "sessions.no_id": Hides.NOTHING,
    "sessions.same_id_apart": Hides.NOTHING,
    "sessions.unknown_start": Hides.NOTHING,
    "otlp.nonstandard_id_encoding": Hides.NOTHING,
    "otlp.empty_record": Hides.NOTHING,
    "otlp.event_without_span": Hides.NOTHING,  # what was said in a step that is not here
    # Newer exporters write exceptions and messages as log records.
    "otlp.other_signal": Hides.FAILURES | Hides.CAUSES,
    # Once in every trace: what it costs is in the fidelity, which has a rule of its own.
    "phoenix.no_span_links": Hides.NOTHING,
    "phoenix.no_attributes": Hides.ANYTHING & ~Hides.STEPS,
    # The step itself shows that it has no name, no time or no status.
    "phoenix.missing_field": Hides.NOTHING,
    "phoenix.cost_from_price_list": Hides.NOTHING,
    "phoenix.evaluations_left_out": Hides.NOTHING,
    "phoenix.unreadable_annotation": Hides.NOTHING,
    "langfuse.scores_left_out": Hides.NOTHING,
    "langsmith.dotted_order_differs": Hides.CAUSES,
    "otel_sdk.other_output": Hides.NOTHING,
    "otel_sdk.snapshot_replaced": Hides.NOTHING,
    "otel_sdk.unreadable_event": Hides.FAILURES,
    "otel_sdk.unreadable_link": Hides.CAUSES,
    "jaeger.unreadable_log": Hides.FAILURES,
    "jaeger.unreadable_reference": Hides.CAUSES,
    "jaeger.unreadable_tag": Hides.ANYTHING & ~Hides.STEPS,
    # Its times may be moved, and spans may be missing around it.
    "jaeger.warning": Hides.STEPS | Hides.CAUSES | Hides.TIMES,
    "trail.contradictory_nesting": Hides.CAUSES,
    "trail.unreadable_event": Hides.FAILURES,
    "trail.unreadable_link": Hides.CAUSES,
    "claude_code.duplicate_conflict": Hides.STEPS | Hides.FAILURES,
    "claude_code.duplicate_identical": Hides.NOTHING,
    "claude_code.missing_parent": Hides.STEPS | Hides.CAUSES,
    "claude_code.partial_usage": Hides.TOKENS,
    "claude_code.result_without_call": Hides.STEPS | Hides.CAUSES,
    "tau_bench.result_without_call": Hides.STEPS | Hides.CAUSES,
    "agentdelta.ambiguous_edge": Hides.CAUSES,
    "agentdelta.open_pairing": Hides.CAUSES,
    "agentdelta.return_without_call": Hides.CAUSES,
    "agentdelta.repeated_step": Hides.CAUSES,
    "agentdiff.ambiguous_parent": Hides.CAUSES,
    "agentdiff.self_parent": Hides.CAUSES,
    "agentdiff.duplicate_step": Hides.CAUSES,
    "agentdiff.parent_after_child": Hides.NOTHING,
    "agentdiff.repeated_index": Hides.NOTHING,
    "agentdiff.rollup_differs": Hides.TOKENS | Hides.COST,
    "agent_lattice.ambiguous_message": Hides.CAUSES,
    "agent_lattice.ambiguous_result": Hides.FAILURES | Hides.CAUSES,
    "agent_lattice.ambiguous_task": Hides.CAUSES,
    "agent_lattice.contradictory_ids": Hides.CAUSES,
    "agent_lattice.duplicate_row": Hides.NOTHING,
    "agent_lattice.redacted": Hides.CAUSES,
    "agent_lattice.unrequested_tool": Hides.CAUSES,
    "agent_lattice.unreadable_timestamp": Hides.TIMES,
    "langgraph.ambiguous_call_id": Hides.CAUSES,
    "langgraph.ambiguous_subgraph_return": Hides.CAUSES,
    # Once in every trace, on both sides: attempts that a later one replaced are compared in none.
    "langgraph.last_attempts_only": Hides.NOTHING,
    # The step itself shows what is known: the call, its failure, and a derived edge.
    "langgraph.failed_call_by_task": Hides.NOTHING,
    # Of the attempts of a task only the last is a step.
    "langgraph.failed_attempt": Hides.FAILURES,
    "langgraph.parent_cycle": Hides.CAUSES,
    "langgraph.rewritten_error_channel": Hides.FAILURES,
    "langgraph.unnamed_task": Hides.NOTHING,
    "langgraph.unnamed_update": Hides.NOTHING,
    "langgraph.unproven_trigger": Hides.CAUSES,
    "langgraph.unqualified_control_flow": Hides.NOTHING,
    "langgraph.unreadable_time": Hides.TIMES,
    "langgraph_state.result_without_call": Hides.CAUSES,
    # What stands over the samples; none of it is of a step.
    "inspect_ai.no_header": Hides.NOTHING,
    "inspect_ai.result_without_call": Hides.CAUSES,
    "inspect_ai.scores_left_out": Hides.NOTHING,
    # The step itself shows that there is no digest of it.
    "inspect_ai.unresolved_attachment": Hides.NOTHING,
    "inspect_ai.unresolved_message": Hides.CAUSES,
    # Of the attempts at a sample only the last is read.
    "inspect_ai.earlier_attempts": Hides.FAILURES,
    "swe_agent.attempts_left_out": Hides.NOTHING,
    "swe_agent.result_without_call": Hides.CAUSES,
    "whowhen.result_without_call": Hides.CAUSES,
    "crewai.ambiguous_tool_failure": Hides.FAILURES,
    "crewai.end_without_start": Hides.NOTHING,
    "crewai.events_left_out": Hides.NOTHING,
    "crewai.local_time": Hides.NOTHING,
    "crewai.missing_output": Hides.STEPS,
    "crewai.result_without_call": Hides.CAUSES,
    "crewai.unmatched_tool_failure": Hides.FAILURES,
    "openai_agents.missing_trace_id": Hides.STEPS | Hides.CAUSES,
    "openai_agents.trace_without_spans": Hides.NOTHING,
    "artifact.unknown_word": Hides.ANYTHING & ~Hides.STEPS,
    # The steps themselves show what is not known of them.
    "mapped.absent_column": Hides.NOTHING,
    "mapped.ambiguous_cause": Hides.CAUSES,
    "mapped.ambiguous_parent": Hides.CAUSES,
    "mapped.conflicting_label": Hides.NOTHING,
    "mapped.conflicting_run_id": Hides.NOTHING,
    "mapped.duplicate_identical": Hides.NOTHING,
    "mapped.duplicate_step": Hides.CAUSES,
    "mapped.missing_cause": Hides.STEPS | Hides.CAUSES,
    "mapped.missing_id": Hides.CAUSES,
    "mapped.missing_parent": Hides.STEPS | Hides.CAUSES,
    "mapped.self_parent": Hides.CAUSES,
    "mapped.unknown_status": Hides.FAILURES,
    "mapped.unreadable_cost": Hides.COST,
    "mapped.unreadable_duration": Hides.TIMES,
    "mapped.unreadable_timestamp": Hides.TIMES,
    "mapped.unreadable_token_count": Hides.TOKENS,
}
"""Codes of one area, each as a whole."""


def hides(code: str) -> Hides:
    """Return what a gap may hide."""
    area, _, bare = code.partition(".")
    if bare.startswith(CONTRADICTS):
        return Hides.NOTHING
    if code not in _CODES and area in span.AREAS:
        return _SPANS.get(bare, Hides.ANYTHING)
    return _CODES.get(code, Hides.ANYTHING)
