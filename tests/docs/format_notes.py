"""What docs/formats.md says beside what can be counted: titles, and why something is missing."""

TITLES = {
    "otlp": "OTLP/JSON",
    "phoenix": "Phoenix",
    "langgraph": "LangGraph checkpoints",
    "agent_lattice": "agent-lattice",
    "agentdiff": "AgentDiff",
    "agentdelta": "agentdelta",
    "langsmith": "LangSmith",
    "langfuse": "Langfuse",
    "langgraph_state": "LangGraph message states",
    "peer_artifact": "Artifacts of agent-tracegraph",
}

FIXTURES = {
    "otlp": ("otlp", "examples/traces"),
    "phoenix": ("phoenix",),
    "langgraph": ("langgraph", "examples/langgraph/trace.db"),
    "agent_lattice": ("agent_lattice",),
    "agentdiff": ("agentdiff",),
    "agentdelta": ("agentdelta",),
    "langsmith": ("langsmith",),
    "langfuse": ("langfuse",),
    "langgraph_state": ("langgraph_state",),
    "peer_artifact": ("peer_artifact",),
}

_LINKS = ("foreign_trace_link", "self_link", "unresolved_span_link", "dropped_links")
_GRAPH_NODES = ("graph_parent_by_timing", "graph_parent_fallback")
_DROPS = ("dropped_attributes", "dropped_events")
NEVER = {
    "phoenix": (*_LINKS, *_DROPS),
    "langsmith": (*_LINKS, *_DROPS, *_GRAPH_NODES),
    "langfuse": (*_LINKS, *_DROPS, *_GRAPH_NODES),
}
"""Codes of spans that a format made of spans has no occasion for."""

_NO_RUN = "its traces are runs, no other id of them is recorded"

NOT_RECORDED: dict[str, dict[str, str]] = {
    "otlp": {},
    "phoenix": {
        "run id": "read from `syncmill.run_id`, as in OTLP; none of the fixtures has it",
        "span links": "a Phoenix server drops them when it takes spans in: causes that only links "
        "record are missing, each trace is `parent_only` and says so",
        "nanoseconds": "times have microseconds",
        "attributes in a list of traces": "`/traces?include_spans=true` leaves them out",
    },
    "langgraph": {
        "end": "a checkpoint tells when it was made, not when the tasks before it ended; the start "
        "is that of the super-step",
        "duration": "it follows from the end",
        "cost": "checkpoints hold tokens and no prices",
        "retrieved documents": "what a retriever found is a value like any other in a checkpoint",
        "run id": "kept where all checkpoints of a thread name one, as in none of the fixtures",
        "attempts": "of a task that was tried again (RetryPolicy) the last attempt is stored: each "
        "trace says so as `langgraph.last_attempts_only`",
        "a failing root": "the recursion limit, a cancellation and a kill leave no write: such a "
        "run is unset and counted as `langgraph.unfinished_run`",
        "the input of a model": "a node was handed the state that is recorded; that its model read "
        "it is derived",
        "a tool that raised": "it leaves no tool message: the task that failed stands for the one "
        "call that was open, as `langgraph.failed_call_by_task`",
    },
    "agent_lattice": {
        "cost": "rows hold tokens and no prices",
        "retrieved documents": "the format has no retrievers",
        "the model call of a compaction": "the tracer does not write it",
        "a sub-agent outside a team": "it has no trace context: nothing joins it to its caller",
    },
    "agentdiff": {
        "start": "the format has no times, only latencies",
        "end": "the format has no times, only latencies",
        "agent": "it is recorded of the run, not of its steps",
        "model": "the format has no field for it",
        "error type": "failures are text",
        "session id": "the format has no field for it",
        "retrieved documents": "the format has no field for it",
    },
    "agentdelta": {
        "agent": "only a trace as a whole has metadata that name one",
        "model": "the format has no field for it",
        "start": "the format has no times",
        "end": "the format has no times",
        "duration": "the format has no times",
        "error type": "a failed call leaves a call without a return and nothing else",
        "error message": "a failed call leaves a call without a return and nothing else",
        "tokens": "the format has no field for them",
        "cost": "the format has no field for it",
        "tool call id": "its callback writes none; metadata of one's own are read",
        "retrieved documents": "the format has no field for it",
        "status other than unset": "its callback writes none; metadata of one's own are read",
        "session id": "the format has no field for it",
        "causes": "the chain that its callback writes is order; causes are derived",
    },
    "langsmith": {
        "agent": "runs name no agent",
        "run id": _NO_RUN,
        "span links": "runs have parents only: each trace is `parent_only`",
    },
    "langfuse": {
        "agent": "observations name no agent beside their own name",
        "error type": "failures are text",
        "tool call id": "a TOOL observation has no field for it",
        "run id": _NO_RUN,
        "span links": "observations have parents only: each trace is `parent_only`",
    },
    "langgraph_state": {
        "agent": "messages name no agent that the fixtures hold",
        "model": "only messages with response metadata name it",
        "start": "messages have no times",
        "end": "messages have no times",
        "duration": "messages have no times",
        "error type": "a failed tool leaves its text",
        "cost": "messages hold tokens and no prices",
        "retrieved documents": "messages hold none",
        "run id": "a state is the outcome of a thread, whatever the number of its runs",
    },
    "peer_artifact": {
        "agent": "agent-tracegraph does not keep it",
        "model": "agent-tracegraph does not keep it",
        "error type": "agent-tracegraph keeps the message only",
        "cost": "kept where the source records it, as none of the fixtures does",
        "tool call id": "agent-tracegraph does not keep it",
        "arguments (digest)": "agent-tracegraph keeps no bodies and no digests of them",
        "result (digest)": "agent-tracegraph keeps no bodies and no digests of them",
        "retrieved documents": "agent-tracegraph does not keep their number",
        "run id": "kept where the source records it, as none of the fixtures does",
        "signals": "agent-tracegraph does not tell them",
    },
}
