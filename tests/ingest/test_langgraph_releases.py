"""One program, written by releases of LangGraph from 2024 on: the same story is read from each.

What a release stored differs: other columns, JSON or msgpack, other ids, writes of the last task of
a step or none, packets beside the channels or in one.
"""

from collections import Counter
from functools import cache

import pytest

from langgraph_files import causes, gaps, read
from shared_data import fixture
from tracegraph.model.trace import Trace

_RELEASES = ("0.1.19", "0.2.20", "0.2.76")


@cache
def _traces(release: str) -> dict[str, Trace]:
    path = fixture(f"langgraph/{release}.sqlite")
    return {trace.trace_id: trace for trace in read(path)}


@pytest.mark.parametrize("release", _RELEASES)
def test_a_fan_out_of_three_and_its_join(release: str) -> None:
    trace = _traces(release)["fan_out"]
    assert gaps(trace) == {}
    assert [step.status for step in trace.steps] == ["ok"] * 6
    assert causes(trace) == {
        ("plan", "__start__", "checkpoint_write", "declared"),
        *((name, "plan", "checkpoint_write", "declared") for name in "abc"),
        *(("join", name, "checkpoint_write", "declared") for name in "abc"),
    }


@pytest.mark.parametrize("release", _RELEASES)
def test_packets_and_what_they_reduce_to(release: str) -> None:
    trace = _traces(release)["map_reduce"]
    names = {step.step_id: step.name for step in trace.steps}
    edges = Counter((names[e.effect], names[e.cause], e.origin) for e in trace.causes)
    assert edges == {
        ("plan", "__start__", "checkpoint_write"): 1,
        ("work", "plan", "checkpoint_write"): 4,
        ("reduce", "work", "checkpoint_write"): 4,
    }


@pytest.mark.parametrize("release", _RELEASES)
def test_parallel_tools(release: str) -> None:
    trace = _traces(release)["prebuilt_parallel"]
    tools = [step for step in trace.steps if step.kind == "TOOL"]
    assert Counter(step.name for step in tools) == {"weather": 2, "add": 1}
    assert {(step.status, step.args_digest is None) for step in tools} == {("ok", False)}
    origins = Counter((e.origin, e.evidence) for e in trace.causes)
    assert origins["tool_call_id", "declared"] == 3
    assert origins["tool_call_id", "derived"] == 3
    models = [step for step in trace.steps if step.kind == "LLM"]
    assert [(s.model, s.tokens_total) for s in models] == [("scripted-1", 17), ("scripted-1", 57)]


@pytest.mark.parametrize("release", ["0.2.20", "0.2.76"])
def test_a_tool_that_raises(release: str) -> None:
    trace = _traces(release)["react_raising"]
    assert trace.status == "error"
    step = list(trace.steps)[-1]
    assert (step.kind, step.name, step.error_type) == ("TOOL", "weather", "ValueError")
    assert ("weather", "agent", "protocol", "derived") in causes(trace)


def test_the_first_releases_stored_no_failure() -> None:
    trace = _traces("0.1.19")["react_raising"]
    assert trace.status == "unset"
    assert gaps(trace) == {"unfinished_run": 1}


@pytest.mark.parametrize("release", _RELEASES)
def test_writes_from_outside_are_one_step_each(release: str) -> None:
    trace = _traces(release)["update_state"]
    assert gaps(trace) == {}
    assert [step.name for step in trace.steps if not step.wrapper] == ["two", "two"]
    assert [step.name for step in trace.steps] == [
        "__start__",
        "one",
        "two",
        "two",
        "two",
        "three",
    ]


def test_the_newest() -> None:
    traces = _traces("1.2.24")
    assert {name: trace.status for name, trace in traces.items()} == {
        "fork_time_travel": "ok",
        "interrupt_resume": "ok",
        "map_reduce_send": "ok",
        "nested_subgraphs": "ok",
        "parallel_tools": "ok",
        "supervisor_prebuilt": "ok",
        "tool_error_fatal": "error",
        "tool_error_recover": "ok",
    }
    errors = {n: sum(s.status == "error" for s in t.steps) for n, t in traces.items()}
    assert {name for name, count in errors.items() if count} == {
        "parallel_tools",
        "tool_error_fatal",
        "tool_error_recover",
    }
