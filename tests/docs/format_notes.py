"""What docs/formats.md says beside what can be counted: titles, and why something is missing."""

TITLES = {
    "otlp": "OTLP",
    "otel_sdk": "Printed by OpenTelemetry SDKs",
    "jaeger": "Jaeger",
    "trail": "TRAIL benchmark",
    "phoenix": "Phoenix",
    "langgraph": "LangGraph checkpoints",
    "agent_lattice": "agent-lattice",
    "agentdiff": "AgentDiff",
    "agentdelta": "agentdelta",
    "langsmith": "LangSmith",
    "langfuse": "Langfuse",
    "openai_agents": "OpenAI Agents SDK",
    "crewai": "CrewAI",
    "langgraph_state": "LangGraph message states",
    "whowhen": "Who&When",
    "claude_code": "Claude Code sessions",
    "tau_bench": "tau-bench trajectories",
    "mapped": "Home-made logs, by a mapping",
    "inspect_ai": "Inspect logs",
    "swe_agent": "SWE-agent and mini-swe-agent",
    "peer_artifact": "Artifacts of agent-tracegraph",
}

FIXTURES = {
    "otlp": ("otlp", "examples/traces"),
    "otel_sdk": ("otel_sdk",),
    "jaeger": ("jaeger",),
    "trail": ("trail",),
    "phoenix": ("phoenix",),
    "langgraph": ("langgraph", "examples/langgraph/trace.db"),
    "agent_lattice": ("agent_lattice",),
    "agentdiff": ("agentdiff",),
    "agentdelta": ("agentdelta",),
    "langsmith": ("langsmith",),
    "langfuse": ("langfuse",),
    "openai_agents": ("openai_agents",),
    "crewai": ("crewai",),
    "langgraph_state": ("langgraph_state",),
    "whowhen": ("whowhen",),
    "claude_code": ("claude_code",),
    "tau_bench": ("tau_bench",),
    "mapped": ("mapped/made_all.jsonl", "mapped/made_array.json"),
    "inspect_ai": ("inspect_ai",),
    "swe_agent": ("swe_agent",),
    "peer_artifact": ("peer_artifact",),
}

_LINKS = ("foreign_trace_link", "self_link", "unresolved_span_link", "dropped_links")
_GRAPH_NODES = ("graph_parent_by_timing", "graph_parent_fallback")
_DROPS = ("dropped_attributes", "dropped_events")
_NO_OWN_STATUS = (
    "ambiguous_graph_step",
    "conflicting_run_id",
    "status_contradicts_error_type",
    "status_contradicts_escaped_exception",
    "status_contradicts_tool_status",
    "unqualified_control_flow",
    "unreadable_cost",
    "unreadable_messages",
    "unreadable_status",
)
NEVER = {
    "otel_sdk": (*_DROPS, "dropped_links"),
    "jaeger": (*_DROPS, "dropped_links"),
    "trail": (*_DROPS, "dropped_links"),
    "phoenix": (*_LINKS, *_DROPS),
    "langsmith": (*_LINKS, *_DROPS, *_GRAPH_NODES),
    "langfuse": (*_LINKS, *_DROPS, *_GRAPH_NODES),
    "inspect_ai": (
        *_LINKS,
        *_DROPS,
        *_GRAPH_NODES,
        *_NO_OWN_STATUS,
        "duplicate_conflict",
        "duplicate_identical",
        "self_parent",
        "unreadable_record",
        "unreadable_span",
    ),
    "openai_agents": (*_LINKS, *_DROPS, *_GRAPH_NODES, *_NO_OWN_STATUS),
    "crewai": ("dropped_links", "foreign_trace_link", *_DROPS, *_GRAPH_NODES, *_NO_OWN_STATUS),
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
    "otel_sdk": {
        "nanoseconds": "times are rounded to microseconds where they are printed",
        "what was dropped": "numbers of dropped attributes, events and links are not printed",
        "consoles of other languages": "what they print is no JSON, or other JSON",
    },
    "jaeger": {
        "nanoseconds": "times have microseconds",
        "what was dropped": "Jaeger does not keep the numbers of dropped attributes and events",
        "spans that did not end": "a span comes to Jaeger when it ends",
    },
    "trail": {
        "the data set": "it was not at hand: the fixtures are made after descriptions of it",
        "annotations": "the errors that people marked lie in files beside the traces",
        "logs": "what functions were given and returned stands there, outside of the attributes",
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
    "openai_agents": {
        "cost": "spans hold tokens and no prices",
        "error type": "an error is a message and data of any shape",
        "tool call id": "the span of a function names no call: it is paired with the request of "
        "its model by tool and arguments, else by the order of the runner",
        "retrieved documents": "hosted tools leave no spans",
        "run id": _NO_RUN,
        "span links": "spans have parents only: each trace is `parent_only`",
        "messages of a response": "of the Responses API only the id of the response is exported: "
        "what its model asked for and was given follows from the order of the runner",
        "a status of its own": "the runner records what ended a run on the agent or turn that was "
        "current: those around it are judged by it (`status_source` `inner_error`)",
    },
    "crewai": {
        "cost": "records hold tokens and no prices",
        "retrieved documents": "what a memory or a knowledge source found is a value of any shape",
        "run id": _NO_RUN,
        "session id": "a crew knows no conversation around its run",
        "times of a result": "only events and logs have times",
        "tokens of a step": "a result has those of the crew as a whole, in its attributes; events "
        "have each model's",
        "the last answer in its own words": "a task's `raw` output stands for what its model said "
        "last, where the messages do not hold that",
        "a failing crew": "a result is written of a crew that ended well; logs only lack the end; "
        "events record the failure",
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
    "claude_code": {
        "start": "a line is written when something is over; when it began is not recorded; the "
        "first time of a session stands in the attribute `started_at`",
        "retrieved documents": "sessions have no retrievers",
        "run id": "a session is what is recorded, whatever the number of its runs",
    },
    "tau_bench": {
        "agent": "there is one agent, without a name",
        "model": "the file's name says it, no record does",
        "start": "messages have no times",
        "end": "messages have no times",
        "duration": "messages have no times",
        "error type": "a run that crashed leaves its text",
        "tokens": "not recorded",
        "cost": "recorded of the simulated user only, who is no step",
        "retrieved documents": "messages hold none",
        "run id": "a run is told by its task and its trial, which are its id here",
        "session id": "runs of one task have nothing in common but the task",
        "a tool that failed": "messages of tools say nothing but their text: the status is unset",
    },
    "whowhen": {
        "the id of a call": "code and the report on it are paired by their place: the cause is "
        "derived (`protocol`), never declared",
        "model": "messages do not name it",
        "start": "messages have no times",
        "end": "messages have no times",
        "duration": "messages have no times",
        "error type": "an executor reports an exit code and what the code printed",
        "tokens": "messages hold none",
        "cost": "messages hold none",
        "tool call id": "a report of an executor follows the code that it is on",
        "retrieved documents": "messages hold none",
        "run id": "the id is that of the task in its benchmark, and names the trace",
        "session id": "a file is one run",
    },
    "mapped": {
        "what the mapping does not name": "the report of `ingest --map` lists it, column by column",
    },
    "inspect_ai": {
        "cost": "kept where the usage of a model has it, as in none of the fixtures",
        "retrieved documents": "what a tool found is a result like any other",
        "session id": "a sample is a run of its own",
        "span links": "events have containers only: each trace is `parent_only`; a log without "
        "events has messages, and is `order_only`",
        "the end of a model in old logs": "events have had an end since 2025; before 0.3.58 their "
        "one time is that of the answer",
        "how solvers and scorers ended": "a span ends in the same way however it ends: its status "
        "is unset, an error is that of the sample",
        "the success of a run that a limit stopped": "it was scored as it stood: its status is "
        "unset, and the limit stands in the attribute `ended_by`",
        "the whole input of a model": "each has what it was given for the first time; what came "
        "before is in the steps before it",
        "attempts": "those before the last are counted as `inspect_ai.earlier_attempts`",
        "answers and explanations of scorers": "they may quote the run; the values are "
        "evaluations of the trace",
    },
    "swe_agent": {
        "the id of a command": "only function calls in the history have one, and a declared cause; "
        "else what came back is paired by its place, and the cause is derived (`protocol`)",
        "model": "the name is recorded of the run, not of its steps; mini-swe-agent has it where "
        "an answer is kept as its API gave it, as in none of the fixtures",
        "start": "SWE-agent writes no times, mini-swe-agent when something was over",
        "tokens": "SWE-agent counts them for the run; mini-swe-agent has them where an answer is "
        "kept as its API gave it, as in none of the fixtures",
        "retrieved documents": "what a command found is its output",
        "run id": "a file is one run, named by its task",
        "session id": "a file is one run",
        "how a command ended": "SWE-agent writes what came back and no exit code: its status is "
        "unset; mini-swe-agent has written the code since 2.0",
        "the success of a run that a limit stopped": "its status is unset, and `exit_status` "
        "stands in the attribute `ended_by`",
        "answers that could not be parsed": "they are asked for again and left out of the log",
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
