"""One execution read twice: from its spans (OpenInference, OTLP) and from its checkpoints."""

from collections import Counter

import pytest

from langgraph_runs.recorded import Recordings, Run, gaps, named, read_traces
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace

VERSION = "1.2.24"
Call = tuple[str | None, bool, str | None]

# What a checkpoint database cannot hold of these executions, or a span file does not.
ONLY_IN_SPANS = {
    # The task of three calls raised: the answers of the other two were never written.
    "react_parallel_raising": [("weather", False), ("weather", True), ("add", False)],
}
ONLY_IN_CHECKPOINTS = {
    # No tool ran, so there is no span; the tool node's answer says that nobody knows it.
    "react_unknown": [("teleport", True)],
}
PAIRED_IN_ONE = {"interrupt_in_tool", "messages_elsewhere"}
"""There the spans of a call lie in another trace than its request, or name no call id."""
BOTH = (
    *("react_chain", "react_parallel", "react_handled", "react_raising", "multi_turn"),
    *("repeated_call_ids", "prebuilt_parallel", "prebuilt_handled", "prebuilt_raising"),
    *("agent_in_one_node", "two_agents", "agent_as_tool", "tool_command", "handoff"),
    *("messages_written_again", "messages_elsewhere", "interrupt_in_tool"),
)


def spans_of(run: Run) -> list[Trace]:
    """Return the traces of the execution's spans, in time order."""
    found = read_traces(run.path.with_suffix(".otlp.json"))
    return sorted(found, key=lambda trace: trace.started or 0)


def calls(traces: list[Trace]) -> list[tuple[str | None, bool]]:
    """Return (tool, failed) of the calls of an execution, in order."""
    steps = [step for trace in traces for step in trace.steps if step.kind == "TOOL"]
    return [(step.name, step.status == "error") for step in steps]


def rounds(traces: list[Trace]) -> list[list[Call]]:
    """Return the calls of each model step that asked for any; those of one round in no order."""
    found: list[list[Call]] = []
    for trace in traces:
        tools = {step.step_id: step for step in trace.steps if step.kind == "TOOL"}
        asked: dict[str, list[Step]] = {}
        for edge in trace.causes:
            if edge.effect in tools and edge.origin in {"tool_call_id", "protocol"}:
                asked.setdefault(edge.cause, []).append(tools[edge.effect])
        found += [
            sorted(
                (
                    (tool.name, tool.status == "error", tool.args_digest)
                    for tool in asked[step.step_id]
                ),
                key=str,
            )
            for step in trace.steps
            if step.step_id in asked
        ]
    return found


@pytest.mark.parametrize("scenario", BOTH)
def test_the_same_calls_fail_in_the_same_order(recorded: Recordings, scenario: str) -> None:
    run = recorded.of(VERSION)[scenario]
    spans = spans_of(run)
    if scenario == "interrupt_in_tool":  # its first attempt was interrupted: a span, no answer
        del spans[0]
    assert sorted(calls([run.trace]), key=str) == sorted(calls(spans), key=str)
    if scenario not in PAIRED_IN_ONE:
        assert rounds([run.trace]) == rounds(spans)


@pytest.mark.parametrize("scenario", sorted(ONLY_IN_SPANS))
def test_calls_that_only_spans_hold_are_disclosed(recorded: Recordings, scenario: str) -> None:
    run = recorded.of(VERSION)[scenario]
    assert sorted(calls(spans_of(run))) == sorted(ONLY_IN_SPANS[scenario])
    assert calls([run.trace]) == []
    assert "langgraph.unattributed_tool_failure" in {gap.code for gap in run.trace.gaps}


@pytest.mark.parametrize("scenario", sorted(ONLY_IN_CHECKPOINTS))
def test_calls_that_only_checkpoints_hold(recorded: Recordings, scenario: str) -> None:
    run = recorded.of(VERSION)[scenario]
    assert calls(spans_of(run)) == []
    assert calls([run.trace]) == ONLY_IN_CHECKPOINTS[scenario]


def test_results_are_digested_alike(recorded: Recordings) -> None:
    """A tool message's envelope holds its unique id: the digest is of the content alone."""
    run = recorded.of(VERSION)["react_chain"]
    (spans,) = spans_of(run)
    for tool in ("weather", "add"):
        (checkpointed,), (spanned,) = named(run.trace, tool), named(spans, tool)
        assert checkpointed.result_digest == spanned.result_digest is not None
        assert checkpointed.args_digest == spanned.args_digest is not None


# Failing steps that the spans of an execution have and its checkpoints do not, and the other way
# round; the root span, which has no counterpart, left out.
FAILING_ONLY_IN_SPANS = {
    # Attempts: only the last is recorded, and of a thread that went on not even that one.
    "retry_policy": {"flaky": 2},
    "retry_exhausted": {"flaky": 2},
    "raised_then_continued": {"second": 1},
    "failed_then_asks": {"ask": 1},
    "tool_fails_then_continued": {"tools": 2, "weather": 1},
    # What only passes on what failed inside it: one failure is one.
    "subgraph_fails": {"sub": 1},
    "nested_three_fails": {"level_one": 1, "level_two": 1, "level_three": 1},
    "condition_raises": {"choose": 1},
    # The task is the failed call's own step.
    "react_raising": {"tools": 1},
    "prebuilt_raising": {"tools": 1},
    # Which of three calls failed is not recorded.
    "react_parallel_raising": {"weather": 1},
    # Names of the functional API's tasks are not recorded, and the caller passes the error on.
    "functional_fails": {"flow": 1, "breaks": 1},
    "functional_fails_later": {"flow": 1, "breaks": 1},
    "functional_caught": {"divide": 3},
    "node_calls_tasks": {"divide": 1},
}
FAILING_ONLY_IN_CHECKPOINTS = {
    # Messages of tools that no tool wrote.
    "one_id_twice": {"broken": 1},
    "error_channel": {"sets": 1, "sets_again": 1},
    "react_unknown": {"teleport": 1},
    "functional_fails": {None: 1},
    "functional_fails_later": {None: 1},
    "functional_caught": {None: 3},
    "node_calls_tasks": {None: 1},
}
# Status of the last run in the spans and of the thread.
STATUSES = {
    "error_channel": ("ok", "error"),
    # The limit ends a run outside every task: the thread only stops.
    "recursion_limit": ("error", "unset"),
    # A span of a run that was held or interrupted ends as if all were well.
    "breakpoint_left": ("ok", "unset"),
    "map_reduce_held": ("ok", "unset"),
    "interrupted_left": ("ok", "unset"),
    "failed_then_asks": ("ok", "unset"),
    "interrupt_half_resumed": ("ok", "unset"),
    "interrupt_in_tool_left": ("ok", "unset"),
    "node_interrupt": ("ok", "unset"),
    # Saved only at its end: of what it did no record is left.
    "saved_at_exit": ("ok", "unset"),
}
# Several threads, a process that was killed before it wrote a span, a race that anybody may win.
NOT_COMPARED = {"two_threads", "random_graphs", "goto_killed", "cancelled_sibling"}


def failing(traces: list[Trace]) -> Counter[str | None]:
    """Count the failing steps by name, the root spans left out."""
    return Counter(
        step.name
        for trace in traces
        for step in trace.steps
        if step.status == "error" and step.name != "LangGraph"
    )


def test_what_fails_fails_in_both_but_for_what_is_listed(recorded: Recordings) -> None:
    only_in_spans, only_in_checkpoints, statuses = {}, {}, {}
    for name, run in recorded.of(VERSION).items():
        if name in NOT_COMPARED:
            continue
        spans = spans_of(run)
        spanned, checkpointed = failing(spans), failing([run.trace])
        if spanned - checkpointed:
            only_in_spans[name] = dict(spanned - checkpointed)
        if checkpointed - spanned:
            only_in_checkpoints[name] = dict(checkpointed - spanned)
        if spans[-1].status != run.trace.status:
            statuses[name] = (spans[-1].status, run.trace.status)
    assert only_in_spans == FAILING_ONLY_IN_SPANS
    assert only_in_checkpoints == FAILING_ONLY_IN_CHECKPOINTS
    assert statuses == STATUSES


def test_a_run_that_was_stopped_is_disclosed(recorded: Recordings) -> None:
    """A root that fails is a fact of the spans alone; the thread tells that it did not finish."""
    run = recorded.of(VERSION)["recursion_limit"]
    assert gaps(run.trace) == {"langgraph.unfinished_run": 1}
