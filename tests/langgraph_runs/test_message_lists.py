"""Ids of calls are no more unique than whoever gives them: the list tells whose a call is."""

import pytest

from langgraph_runs.recorded import MODERN, Recordings, named, one
from tracegraph.model.trace import Trace


def by_call(trace: Trace) -> set[tuple[str | None, str | None]]:
    """Return (cause, effect) of the edges between models and tools, by name."""
    names = {step.step_id: step.name for step in trace.steps}
    return {
        (names[edge.cause], names[edge.effect])
        for edge in trace.causes
        if edge.origin == "tool_call_id"
    }


def unanswered(trace: Trace) -> list[str | None]:
    return [step.name for step in trace.steps if "unanswered_call" in step.signals]


@pytest.mark.parametrize("version", MODERN)
def test_agents_side_by_side_that_ask_with_one_id(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["two_lists"].trace
    assert by_call(trace) == {(f"{side}_asks", f"ask_{side}") for side in ("left", "right")} | {
        (f"ask_{side}", f"{side}_reads") for side in ("left", "right")
    }
    assert not unanswered(trace)


@pytest.mark.parametrize("version", MODERN)
def test_a_model_that_talks_elsewhere_reads_nothing(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["another_list"].trace
    assert by_call(trace) == {("asks", "ask"), ("ask", "reads")}


@pytest.mark.parametrize("version", MODERN)
def test_two_calls_of_one_message_with_one_id(recorded: Recordings, version: str) -> None:
    """Both are calls, each with its own arguments, and the second one's failure is there."""
    trace = recorded.of(version)["one_id_twice"].trace
    fine, broken = one(trace, "fine"), one(trace, "broken")
    assert (fine.status, broken.status, broken.error_message) == ("ok", "error", "no")
    assert fine.args_digest != broken.args_digest
    assert by_call(trace) == {("think", "fine"), ("think", "broken")}
    assert not unanswered(trace)


@pytest.mark.parametrize("version", MODERN)
def test_a_node_that_shortens_a_result_is_no_agent(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["result_shortened"].trace
    assert [step.kind for step in named(trace, "shorten")] == ["CHAIN", "CHAIN"]
    assert [step.kind for step in named(trace, "agent")] == ["LLM"] * 4
    assert len([step for step in trace.steps if step.kind == "TOOL"]) == 2
    assert by_call(trace) == {("agent", "weather"), ("weather", "agent")}
