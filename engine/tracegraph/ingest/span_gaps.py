"""What can be doubtful or lost about a span, whatever format carries it.

The layer from spans to steps and causes counts these; a trace discloses them as ``<area>.<code>``,
where the area is the name of its source: ``otlp.missing_parent``, ``phoenix.missing_parent``.
"""

AREAS = (
    "otlp",
    "phoenix",
    "langsmith",
    "langfuse",
    "otel_sdk",
    "jaeger",
    "trail",
    "openai_agents",
    "crewai",
    "inspect_ai",
)
"""The sources that share the layer."""

AMBIGUOUS_GRAPH_STEP = "ambiguous_graph_step"
AMBIGUOUS_TOOL_CALL = "ambiguous_tool_call"
CONFLICTING_RUN_ID = "conflicting_run_id"
DROPPED_ATTRIBUTES = "dropped_attributes"
DROPPED_EVENTS = "dropped_events"
DROPPED_LINKS = "dropped_links"
DUPLICATE_CONFLICT = "duplicate_conflict"
DUPLICATE_IDENTICAL = "duplicate_identical"
FOREIGN_TRACE_LINK = "foreign_trace_link"
GRAPH_PARENT_BY_TIMING = "graph_parent_by_timing"
GRAPH_PARENT_FALLBACK = "graph_parent_fallback"
MISSING_PARENT = "missing_parent"
SELF_LINK = "self_link"
SELF_PARENT = "self_parent"
STATUS_CONTRADICTS_ERROR_TYPE = "status_contradicts_error_type"
STATUS_CONTRADICTS_ESCAPED_EXCEPTION = "status_contradicts_escaped_exception"
STATUS_CONTRADICTS_TOOL_STATUS = "status_contradicts_tool_status"
UNQUALIFIED_CONTROL_FLOW = "unqualified_control_flow"
UNREADABLE_COST = "unreadable_cost"
UNREADABLE_MESSAGES = "unreadable_messages"
UNREADABLE_RECORD = "unreadable_record"
UNREADABLE_SPAN = "unreadable_span"
UNREADABLE_STATUS = "unreadable_status"
UNREADABLE_TIMESTAMP = "unreadable_timestamp"
UNREADABLE_TOKEN_COUNT = "unreadable_token_count"
UNRESOLVED_SPAN_LINK = "unresolved_span_link"

_FACTS = (
    "ambiguous_",
    CONFLICTING_RUN_ID,
    "dropped_",
    DUPLICATE_IDENTICAL,
    FOREIGN_TRACE_LINK,
    "graph_parent_",
    MISSING_PARENT,
    "self_",
    "status_contradicts_",
    UNQUALIFIED_CONTROL_FLOW,
    UNRESOLVED_SPAN_LINK,
)
FACTS = tuple(f"{area}.{fact}" for area in AREAS for fact in _FACTS)
"""Codes, or how they start, of what was recorded so; reading lost nothing."""
