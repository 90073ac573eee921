"""The same executions read from spans (OTLP, Phoenix) and from checkpoints: 29 threads, 34 traces.

What was exported to a collector and what went through a Phoenix server are the same spans, so
their tool calls and causes are compared span by span. A checkpoint database holds what the graph
kept: it is compared by thread, which spans know as their session. Every difference is in a table
here, with its reason and where it is disclosed. ``tests/langgraph_runs`` does the same for
executions that it makes itself.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, permutations

import pytest

import langgraph_files
import phoenix_data
from otlp_data import of_file
from phoenix_data import causes, facts
from shared_data import shared
from trace_view import gaps
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace

OTLP = "traces/otlp_jsonl_collector/openinference_batch.jsonl"
BY_SCENARIO = "traces/otlp_json_openinference/langgraph_gen"
PHOENIX = "traces/phoenix_export/h3_spans.jsonl"
SQLITE = "traces/langgraph_sqlite/gen_langgraph1.2_all_scenarios.sqlite"
SPANS = ("otlp", "phoenix")
MESSAGES = ("tool_call_id", "protocol")
Edge = tuple[str, tuple[str | None, int], int]
"""(asks or reads, the model step: its node and its place among the node's, the call's place)"""
Failure = tuple[str | None, str | None]


@dataclass
class Difference:
    """What one scenario's spans and checkpoints do not both hold.

    Attributes:
        why: the reason.
        spans_fail: failing steps, tool calls apart, that only spans hold: (name, error type).
        calls: tools of calls that only checkpoints hold.
        args: tools of calls whose arguments are known in different forms.
        edges: message edges that only checkpoints hold.
        status: of the last run in the spans and of the thread, where they differ.
        gaps: what the trace of the thread discloses of it.
        span_signals: what the traces of the spans disclose of it.
        documented: what docs/gaps.md says of it, where no single trace can tell.
    """

    why: str
    spans_fail: tuple[Failure, ...] = ()
    calls: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    edges: tuple[Edge, ...] = ()
    status: tuple[str, str] | None = None
    gaps: dict[str, int] = field(default_factory=dict)
    span_signals: tuple[str, ...] = ()


LIMIT = "langgraph.errors.GraphRecursionError"
UNFINISHED = {"langgraph.unfinished_run": 1}
EVERY_THREAD = {"langgraph.last_attempts_only": 1}
"""What a thread says of attempts that a later one replaced, and of a root that failed."""
DIFFERENT = {
    "async_cancel": Difference(
        "a cancelled task writes nothing; that it was left to run is all that is recorded",
        spans_fail=(("LangGraph", "CancelledError"), ("agent", "CancelledError")),
        status=("error", "unset"),
        gaps=UNFINISHED,
    ),
    "fork_time_travel": Difference(
        "the model asked in the run that was forked: the span of the call in the fork has neither "
        "its request in its trace nor its arguments in another form than Python's own",
        args=("get_weather",),
        edges=(("asks", ("agent", 0), 1),),
        gaps={"langgraph.unnamed_update": 1},
    ),
    "loop_until_limit": Difference(
        "the recursion limit fails the graph itself, outside every task",
        spans_fail=(("LangGraph", LIMIT),),
        status=("error", "unset"),
        gaps=UNFINISHED,
    ),
    "model_fallback": Difference(
        "a model failed and another one answered within one task, which is all that a checkpoint "
        "records of it",
        spans_fail=(("Boom", "RuntimeError"),),
    ),
    "node_retry_policy": Difference(
        "a task that a RetryPolicy runs again writes what its last attempt returned",
        spans_fail=(("flaky", "ConnectionError"), ("flaky", "ConnectionError")),
    ),
    "regression_v2": Difference(
        "the recursion limit, as above",
        spans_fail=(("LangGraph", LIMIT),),
        status=("error", "unset"),
        gaps=UNFINISHED,
    ),
    "tool_error_fatal": Difference(
        "the task that failed is the failing call's own step, and a thread has no root",
        spans_fail=(("LangGraph", "TimeoutError"), ("tools", "TimeoutError")),
        gaps={"langgraph.failed_call_by_task": 1},
    ),
    "unknown_tool": Difference(
        "no tool ran, so there is no span; the tool node's answer says that nobody knows it",
        calls=("delete_everything",),
        edges=(("asks", ("agent", 0), 0), ("reads", ("agent", 1), 0)),
        span_signals=("unknown_tool",),
    ),
}
NOTHING = Difference("")


@cache
def executions(source: str) -> dict[str, list[Trace]]:
    """Return the traces of each thread in time order."""
    reads: dict[str, Callable[[], Iterable[Trace]]] = {
        "otlp": lambda: of_file(shared(OTLP)),
        "phoenix": lambda: phoenix_data.read(shared(PHOENIX)),
        "sqlite": lambda: langgraph_files.read(shared(SQLITE)),
    }
    found: dict[str, list[Trace]] = {}
    for trace in sorted(reads[source](), key=lambda trace: trace.started or 0):
        assert trace.session_id is not None
        found.setdefault(trace.session_id, []).append(trace)
    return found


@pytest.fixture(params=SPANS)
def spans(request: pytest.FixtureRequest) -> dict[str, list[Trace]]:
    """The executions as one of the exports of their spans has them."""
    return executions(request.param)


def all_of(source: str) -> Iterator[Trace]:
    for traces in executions(source).values():
        yield from traces


def of_kind(traces: list[Trace], kind: str) -> list[tuple[Trace, Step]]:
    return [(trace, step) for trace in traces for step in trace.steps if step.kind == kind]


def calls(traces: list[Trace]) -> list[Step]:
    """Return the tool steps of an execution in order."""
    return [step for _, step in of_kind(traces, "TOOL")]


def agree(one: Step, other: Step, args: bool = True) -> bool:
    """Tell whether two steps can be the same call: nothing that both know of it differs."""
    known = ["tool_call_id", "result_digest"] + ["args_digest"] * args
    pairs = [(getattr(one, name), getattr(other, name)) for name in known]
    return (one.name, one.status) == (other.name, other.status) and all(
        a == b or None in (a, b) for a, b in pairs
    )


def differing(spanned: list[Step], recorded: list[Step]) -> Iterator[tuple[list[Step], list[Step]]]:
    """Yield the super-steps whose calls are not, in some order, those at their place in the spans.

    The tasks of one super-step start with one checkpoint, so their own order is not recorded.
    """
    at = 0
    for _, group in groupby(recorded, key=lambda step: step.start):
        tools = list(group)
        ran, at = spanned[at : at + len(tools)], at + len(tools)
        if not any(
            len(ran) == len(order) and all(map(agree, ran, order)) for order in permutations(tools)
        ):
            yield ran, tools
    if at < len(spanned):
        yield spanned[at:], []


def failures(traces: list[Trace]) -> Counter[Failure]:
    """Count the failing steps that are no tool calls."""
    return Counter(
        (step.name, step.error_type)
        for trace in traces
        for step in trace.steps
        if step.status == "error" and step.kind != "TOOL"
    )


def node_of(trace: Trace, step: Step) -> str | None:
    """Return the graph node of a step: its own, or in spans the nearest that wraps it."""
    if trace.source == "langgraph":
        return step.name
    steps = {each.step_id: each for each in trace.steps}
    above = {edge.effect: edge.cause for edge in trace.causes if edge.origin == "span_parent"}
    while not step.wrapper and step.step_id in above:
        step = steps[above[step.step_id]]
    return step.name


def message_edges(traces: list[Trace]) -> set[Edge]:
    """Return who asked for each call and who read it, models by node, calls by their order."""
    models: dict[str, tuple[str | None, int]] = {}
    count: Counter[str | None] = Counter()
    for trace, step in of_kind(traces, "LLM"):
        node = node_of(trace, step)
        models[step.step_id] = (node, count[node])
        count[node] += 1
    tools = {step.step_id: at for at, step in enumerate(calls(traces))}
    found: set[Edge] = set()
    for trace in traces:
        for edge in trace.causes:
            if edge.origin in MESSAGES and edge.effect in tools:
                found.add(("asks", models[edge.cause], tools[edge.effect]))
            elif edge.origin in MESSAGES:
                found.add(("reads", models[edge.effect], tools[edge.cause]))
    return found


def test_the_three_sources_hold_the_same_executions() -> None:
    names = {source: set(executions(source)) for source in (*SPANS, "sqlite")}
    assert names["otlp"] == names["phoenix"] == names["sqlite"]
    assert names["sqlite"] >= DIFFERENT.keys()
    several = {name: len(found) for name, found in executions("otlp").items() if len(found) > 1}
    assert several == {"interrupt_resume": 2, "multi_turn": 3, "fork_time_travel": 3}
    assert sum(map(len, executions("otlp").values())) == 34
    assert [len(found) for found in executions("sqlite").values()] == [1] * 29


def test_calls_their_failures_and_order_are_the_same(spans: dict[str, list[Trace]]) -> None:
    compared = 0
    for name, traces in spans.items():
        expected = DIFFERENT.get(name, NOTHING)
        recorded = [
            step for step in calls(executions("sqlite")[name]) if step.name not in expected.calls
        ]
        for ran, tools in differing(calls(traces), recorded):
            (spanned,), (step,) = ran, tools
            assert step.name in expected.args, name
            assert spanned.args_digest != step.args_digest
            assert agree(spanned, step, args=False), name
        compared += len(recorded)
    assert compared == 47


def test_calls_that_only_checkpoints_hold(spans: dict[str, list[Trace]]) -> None:
    for name, expected in DIFFERENT.items():
        recorded = Counter(step.name for step in calls(executions("sqlite")[name]))
        spanned = Counter(step.name for step in calls(spans[name]))
        assert recorded - spanned == Counter(expected.calls), name
        assert not spanned - recorded, name


def test_what_fails_fails_in_both_but_for_what_is_listed(spans: dict[str, list[Trace]]) -> None:
    for name, traces in spans.items():
        expected = DIFFERENT.get(name, NOTHING)
        recorded, spanned = failures(executions("sqlite")[name]), failures(traces)
        assert spanned - recorded == Counter(expected.spans_fail), name
        assert not recorded - spanned, name


def test_runs_end_alike_but_for_those_whose_end_no_checkpoint_tells(
    spans: dict[str, list[Trace]],
) -> None:
    for name, traces in spans.items():
        (thread,) = executions("sqlite")[name]
        ended = (traces[-1].status, thread.status)
        wanted = DIFFERENT.get(name, NOTHING).status
        assert ended == wanted if wanted else ended[0] == ended[1], name


def test_every_difference_is_disclosed(spans: dict[str, list[Trace]]) -> None:
    for name, (thread,) in executions("sqlite").items():
        expected = DIFFERENT.get(name, NOTHING)
        assert gaps(thread) == expected.gaps | EVERY_THREAD, name
        signals = {code for trace in spans[name] for step in trace.steps for code in step.signals}
        assert signals >= set(expected.span_signals), name


def test_models_and_calls_hang_together_alike(spans: dict[str, list[Trace]]) -> None:
    for name, traces in spans.items():
        expected = set(DIFFERENT.get(name, NOTHING).edges)
        recorded, spanned = message_edges(executions("sqlite")[name]), message_edges(traces)
        assert recorded - spanned == expected, name
        assert not spanned - recorded, name


@pytest.mark.parametrize("source", [*SPANS, "sqlite"])
def test_a_call_has_who_asked_and_its_first_reader_only(source: str) -> None:
    for trace in all_of(source):
        tools = {step.step_id: step for step in trace.steps if step.kind == "TOOL"}
        order = {step.step_id: step.seq for step in trace.steps}
        asked: Counter[str] = Counter()
        read: Counter[str] = Counter()
        for edge in trace.causes:
            assert not {edge.effect, edge.cause} <= tools.keys()  # parallel calls: none between
            if edge.origin in MESSAGES:
                asked[edge.effect] += edge.effect in tools
                read[edge.cause] += edge.cause in tools
                assert order[edge.cause] < order[edge.effect]
        assert max((*asked.values(), *read.values()), default=1) <= 1
        unasked = tools.keys() - +asked
        # Only the call of the fork was asked for in another trace; a checkpoint's thread is one.
        assert not unasked or (trace.session_id, source == "sqlite") == ("fork_time_travel", False)


def test_spans_are_the_same_whichever_way_they_were_exported() -> None:
    sent = {trace.trace_id: trace for trace in all_of("otlp")}
    for trace in all_of("phoenix"):
        assert causes(trace) == causes(sent[trace.trace_id])
    files = [t for path in sorted(shared(BY_SCENARIO).iterdir()) for t in of_file(path)]
    assert len(files) == 19
    for trace in files:
        assert causes(trace) == causes(sent[trace.trace_id])
        assert facts(trace) == facts(sent[trace.trace_id])
