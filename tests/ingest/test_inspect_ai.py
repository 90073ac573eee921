"""Inspect logs: what their samples become, counted again from their JSON."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from inspect_logs import (
    HERE,
    POOL,
    Row,
    calls_in,
    edges,
    events,
    gaps,
    given_to,
    load,
    log_of,
    read,
    read_one,
)
from shared_data import fixture, shared
from trace_view import named
from tracegraph.model.digest import digest_value

LOGS = [path for path in HERE if path.name not in ("tool_call_error.json", "made_messages.json")]


def pairs(sample: Row) -> Iterator[tuple[str, str]]:
    """Yield (effect, cause) of what was asked for, and of what was read first, by uuid."""
    models, tools = events(sample, "model"), events(sample, "tool")
    for tool in tools:
        same = [m for m in models if m["span_id"] == tool["span_id"]]
        asking = [m for m in same if tool["id"] in [call["id"] for call in calls_in(m)]]
        yield tool["uuid"], asking[-1]["uuid"]
        reading = [
            m
            for m in same
            if m["timestamp"] > tool["timestamp"]
            and tool["id"] in [message.get("tool_call_id") for message in given_to(sample, m)]
        ]
        if reading:
            yield reading[0]["uuid"], tool["uuid"]


def ns(text: str) -> int:
    """Return the nanoseconds of a time with microseconds."""
    return round(datetime.fromisoformat(text).timestamp() * 1e6) * 1_000


def count_steps(sample: Row) -> dict[str, int]:
    """Count what has to be a step of each kind."""
    begun = events(sample, "span_begin") + [
        event for event in events(sample, "step") if event["action"] == "begin"
    ]
    kinds = Counter(span.get("type") for span in begun)
    of_calls = kinds.pop("tool", 0) + kinds.pop("handoff", 0)  # the same steps as their calls
    assert of_calls <= 2 * len(events(sample, "tool"))
    agents, scorers = kinds.pop("agent", 0), kinds.pop("scorer", 0)
    return {
        "LLM": len(events(sample, "model")),
        "TOOL": len(events(sample, "tool")),
        "AGENT": agents,
        "EVALUATOR": scorers,
        "CHAIN": kinds.total() + 1,  # the sample itself
    }


def is_as_plain_json_counts(path: Path) -> None:
    log = log_of(path)
    traces = read(path)
    assert [trace.trace_id for trace in traces] == [
        f"{sample['id']}_epoch_{sample['epoch']}" for sample in log["samples"]
    ]
    for sample, trace in zip(log["samples"], traces, strict=True):
        counted = Counter(step.kind for step in trace.steps)
        assert dict(counted) == {kind: n for kind, n in count_steps(sample).items() if n}
        assert trace.run_id == log["eval"]["run_id"]
        assert trace.fidelity == "parent_only"
        assert trace.attributes["eval_status"] == log["status"]
        tools = [step for step in trace.steps if step.kind == "TOOL"]
        recorded = events(sample, "tool")
        assert sorted(step.tool_call_id or "" for step in tools) == sorted(
            event["id"] for event in recorded
        )
        failing = [event for event in recorded if event.get("error") or event.get("failed")]
        assert sum(step.status == "error" for step in tools) == len(failing)
        for key, name in (("total_tokens", "tokens_total"), ("output_tokens", "tokens_completion")):
            usages = [event["output"].get("usage") or {} for event in events(sample, "model")]
            told = [getattr(step, name) for step in trace.steps if step.kind == "LLM"]
            assert sum(n or 0 for n in told) == sum(usage.get(key, 0) for usage in usages)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_events_are_the_steps_that_plain_json_counts(path: Path) -> None:
    is_as_plain_json_counts(path)


def test_all_shared_logs_with_events_are_as_plain_json_counts() -> None:
    paths = sorted(shared("traces/inspect_ai").iterdir())
    for path in paths:
        if "tool_call_error" not in path.name:
            is_as_plain_json_counts(path)
    assert len(paths) == 11


@pytest.mark.parametrize(
    "name", ["generated_tools.json", "generated_agents.json", "generated_limit.json", POOL]
)
def test_calls_have_the_model_that_asked_and_the_first_that_was_given_the_result(name: str) -> None:
    log = load(name)
    (trace,) = read(fixture(f"inspect_ai/{name}"))
    (sample,) = log["samples"]
    expected = set(pairs(sample))
    assert len(expected) >= 2 * len(events(sample, "tool")) - 1
    # A handoff's agent is given a result too: that it was transferred.
    extra = edges(trace, "tool_call_id") - expected
    assert expected <= edges(trace, "tool_call_id")
    assert len(extra) == (1 if name == "generated_agents.json" else 0)
    assert not edges(trace, "protocol", "order")


def test_ids_that_every_agent_counts_from_one_pair_with_their_own() -> None:
    (trace,) = read(fixture("inspect_ai/generated_agents.json"))
    tools = [step for step in trace.steps if step.kind == "TOOL"]
    assert [(step.tool_call_id, step.name) for step in tools] == [
        ("1", "transfer_to_meteorologist"),
        ("1", "weather"),
        ("2", "meteorologist"),
        ("1", "weather"),
    ]
    asked_by = dict(edges(trace, "tool_call_id"))
    agents = {step.step_id: step.agent for step in trace.steps}
    assert [(step.agent, agents[asked_by[step.step_id]]) for step in tools] == [
        (None, None),
        ("meteorologist", "meteorologist"),
        (None, None),
        ("meteorologist", "meteorologist"),
    ]


def test_what_a_tool_runs_is_inside_of_its_call() -> None:
    (trace,) = read(fixture("inspect_ai/generated_agents.json"))
    names = {step.step_id: (step.kind, step.name) for step in trace.steps}
    held = {names[effect]: names[cause] for effect, cause in edges(trace, "span_parent")}
    agents = [names[e] for e, c in edges(trace, "span_parent") if names[e][0] == "AGENT"]
    assert agents == [("AGENT", "meteorologist")] * 2
    assert held["AGENT", "meteorologist"][0] == "TOOL"
    assert held["CHAIN", "generate"] == ("CHAIN", "solvers")
    assert held["CHAIN", "solvers"] == ("CHAIN", "weather_agents")
    assert len(edges(trace, "span_parent")) == len(trace) - 1


def test_errors_of_tools_are_recorded_those_of_unknown_tools_too() -> None:
    (sample,) = load("generated_tools.json")["samples"]
    (trace,) = read(fixture("inspect_ai/generated_tools.json"), strict=True)
    tools = [step for step in trace.steps if step.kind == "TOOL"]
    for step, event in zip(tools, events(sample, "tool"), strict=True):
        error = event.get("error") or {}
        assert (step.name, step.error_type, step.error_message) == (
            event["function"],
            error.get("type"),
            error.get("message"),
        )
        assert step.status == ("error" if error else "ok")
        assert step.status_source == ("recorded" if error else "default")
        assert ("tool_error" in step.signals) == bool(error)
        assert step.args_digest == digest_value(event["arguments"])
        assert (step.result_digest is None) == (event["result"] == "")
    assert named(trace, "forecast").status == "error"  # nobody offered it, and a step says so
    last = [step for step in trace.steps if step.kind == "LLM"][-1]
    assert last.signals == ("final_answer",)
    assert trace.status == "ok"
    assert trace.attributes["evaluations"] == [{"name": "includes", "label": "C"}]


def test_a_sample_that_an_error_ended_has_failed() -> None:
    (sample,) = load("generated_crash.json")["samples"]
    (trace,) = read(fixture("inspect_ai/generated_crash.json"))
    root = named(trace, "weather_crash")
    assert (trace.status, root.status, root.error_type) == ("error", "error", "RuntimeError")
    assert root.error_message == sample["error"]["message"]
    tool = named(trace, "weather")
    assert (tool.status, tool.error_type, tool.error_message) == ("error", None, None)
    assert gaps(trace) == {"inspect_ai.earlier_attempts": len(sample["error_retries"])}
    assert "burnt" not in json.dumps(trace.attributes)


def test_a_limit_is_neither_success_nor_failure() -> None:
    (sample,) = load("generated_limit.json")["samples"]
    (trace,) = read(fixture("inspect_ai/generated_limit.json"), strict=True)
    assert trace.status == "unset"
    limit = sample["limit"]
    assert trace.attributes["ended_by"] == {"limit": limit["type"], "limit_value": limit["limit"]}


def test_an_answer_that_was_cut_off_is_told_in_the_packed_form_too() -> None:
    first, second = read(fixture("inspect_ai/generated_cut.eval"), strict=True)
    answers = [step.signals for trace in (first, second) for step in trace.steps]
    assert [signals for signals in answers if signals] == [("truncated",), ("final_answer",)]


def test_times_are_those_of_the_events_and_none_is_made_up() -> None:
    (sample,) = load("generated_tools.json")["samples"]
    (trace,) = read(fixture("inspect_ai/generated_tools.json"))
    recorded = {e["uuid"]: e for e in events(sample, "model", "tool")}
    for step in trace.steps:
        if step.step_id in recorded:
            event = recorded[step.step_id]
            assert (step.start, step.end) == (ns(event["timestamp"]), ns(event["completed"]))
    old = read(fixture("inspect_ai/steps.json"))[0]  # in 2024 models had no ends
    models = [step for step in old.steps if step.kind == "LLM"]
    assert [(step.end, step.duration_ns) for step in models] == [(None, None)] * 2


def test_messages_are_all_there_is_without_events() -> None:
    (sample,) = load("made_messages.json")["samples"]
    (trace,) = read(fixture("inspect_ai/made_messages.json"), strict=True)
    messages = [m for m in sample["messages"] if m["role"] in ("assistant", "tool")]
    assert [step.step_id for step in trace.steps] == [m["id"] for m in messages]
    assert (trace.fidelity, trace.status) == ("order_only", "ok")
    assert not any(step.start or step.end for step in trace.steps)
    asking = {call["id"]: m["id"] for m in messages for call in m.get("tool_calls") or ()}
    results = {m["id"]: m for m in messages if m["role"] == "tool"}
    declared = {(c.effect, c.cause) for c in trace.causes if c.evidence == "declared"}
    assert declared == {(key, asking[m["tool_call_id"]]) for key, m in results.items()}
    for step in trace.steps:
        if step.step_id in results:
            error = results[step.step_id].get("error") or {}
            assert (step.error_type, step.error_message) == (
                error.get("type"),
                error.get("message"),
            )


def test_results_without_their_calls_are_steps_and_disclosed() -> None:
    log = load("tool_call_error.json")
    (trace,) = read(fixture("inspect_ai/tool_call_error.json"), strict=True)
    messages = log["samples"][0]["messages"]
    assert [(s.name, s.error_type, s.tool_call_id) for s in trace.steps] == [
        (m["function"], m["error"]["type"], m["tool_call_id"]) for m in messages
    ]
    assert all(step.orphan for step in trace.steps)
    assert gaps(trace) == {"inspect_ai.result_without_call": len(messages)}


def test_a_failed_sample_of_messages_keeps_its_error_in_a_step() -> None:
    log = load("made_messages.json")
    log["samples"][0]["error"] = {"message": "ValueError('no')", "traceback": ""}
    trace = read_one(log)
    assert trace.status == "error"
    last = list(trace.steps)[-1]
    assert (last.kind, last.name, last.error_type) == ("CHAIN", "weather_messages", "ValueError")
