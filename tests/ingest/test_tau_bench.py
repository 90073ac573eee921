"""tau-bench trajectories, counted from the raw records."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damage import damaged, damages_of, is_consistent
from shared_data import fixture, shared
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.source import Source
from tracegraph.ingest.tau_bench.adapter import TauBenchAdapter
from tracegraph.model.columns import Columns
from tracegraph.model.digest import digest_text, digest_value
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Run = dict[str, Any]
THREE = json.loads(fixture("tau_bench/airline_three_runs.json").read_text())


def columns_of(data: bytes, *, strict: bool = False) -> Columns:
    source = Source("x.json", data)
    (draft,) = TauBenchAdapter().read([source], ReadOptions(keep_content=True, strict=strict))
    return seal(draft)


def read(runs: list[Run], *, strict: bool = False) -> list[Trace]:
    return list(iterate(columns_of(json.dumps(runs).encode(), strict=strict)))


def real_files() -> Iterator[list[Run]]:
    yield THREE
    yield json.loads((shared("traces/tau_bench") / "gpt-4o-airline-trials-0-1.json").read_text())


def pairs(run: Run) -> list[tuple[int, int, Any, Any]]:
    """Return (asking message, answering message, call, content), by position from 1.

    tau-bench carries out one call at a time, and writes its result right behind the request.
    """
    found = []
    for at, (before, message) in enumerate(zip(run["traj"], run["traj"][1:], strict=False), 1):
        if message["role"] == "tool":
            (call,) = before["tool_calls"]
            found.append((at, at + 1, call, message["content"]))
    return found


def test_steps_calls_results_and_labels_are_those_of_the_records() -> None:
    for runs in real_files():
        traces = read(runs, strict=True)
        assert len(traces) == len(runs)
        for trace, run in zip(traces, runs, strict=True):
            roles = Counter(message["role"] for message in run["traj"])
            assert trace.trace_id == f"task-{run['task_id']}.trial-{run['trial']}"
            kinds = Counter(step.kind for step in trace.steps)
            assert (kinds["LLM"], kinds["TOOL"]) == (roles["assistant"], roles["tool"])
            reward = [{"name": "reward", "score": run["reward"]}]
            labels = {key: run[key] for key in ("task_id", "trial")}
            assert trace.attributes == {**labels, "evaluations": reward}
            steps = {step.step_id: step for step in trace.steps}
            for _, answer, call, content in pairs(run):
                step = steps[f"message-{answer}"]
                assert (step.name, step.tool_call_id) == (call["function"]["name"], call["id"])
                assert step.args_digest == digest_value(json.loads(call["function"]["arguments"]))
                assert step.result_digest == (digest_text(content) if content else None)


def test_an_id_that_repeats_within_a_run_pairs_with_its_own_result() -> None:
    repeating = 0
    for runs in real_files():
        for trace, run in zip(read(runs), runs, strict=True):
            calls = [call["id"] for _, _, call, _ in pairs(run)]
            repeating += len(set(calls)) < len(calls)
            asked = {
                (cause.effect, cause.cause)
                for cause in trace.causes
                if cause.effect in {f"message-{answer}" for _, answer, _, _ in pairs(run)}
            }
            assert asked == {(f"message-{b}", f"message-{a}") for a, b, _, _ in pairs(run)}
    assert repeating >= 2  # one in the fixture, 24 of the 100 runs that it comes from


def test_order_is_all_that_relates_messages_beside_the_calls() -> None:
    for trace, run in zip(read(THREE), THREE, strict=True):
        assert trace.fidelity == "order_only"
        assert all(step.start is None and step.end is None for step in trace.steps)
        causes = {(c.effect, c.cause): (c.origin, c.evidence) for c in trace.causes}
        expected = {}
        for asker, answer, _, _ in pairs(run):
            expected[f"message-{answer}", f"message-{asker}"] = ("tool_call_id", "declared")
            following = run["traj"][answer : answer + 1]
            if following and following[0]["role"] == "assistant":
                key = (f"message-{answer + 1}", f"message-{answer}")
                expected[key] = ("tool_call_id", "derived")
        assert causes == expected
        assert [s.status for s in trace.steps if s.kind == "TOOL"] == ["unset"] * len(pairs(run))


def test_first_form_of_calls_and_one_id_for_two_of_them() -> None:
    data = fixture("tau_bench/made_runs.jsonl").read_bytes()
    crashed, trace = iterate(columns_of(data, strict=True))
    assert (crashed.status, [s.error_message for s in crashed.steps]) == (
        "error",
        ["RateLimitError: too many requests"],
    )
    assert {(c.effect, c.cause, c.origin) for c in trace.causes} == {
        ("message-3", "message-2", "protocol"),
        ("message-4", "message-3", "protocol"),
        ("message-5", "message-4", "tool_call_id"),
        ("message-6", "message-4", "tool_call_id"),
        ("message-7", "message-5", "tool_call_id"),
        ("message-7", "message-6", "tool_call_id"),
    }
    steps = {step.step_id: step for step in trace.steps}
    assert steps["message-5"].args_digest == digest_value({"expression": "42"})
    assert steps["message-6"].args_digest == digest_value({"thought": "hm"})
    assert steps["message-6"].result_digest is None  # blank is unknown
    assert steps["message-7"].signals == ("unanswered_call",)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"role": "tool", "tool_call_id": "call_x", "content": "1"}, "result_without_call"),
        ({"role": ["assistant"], "content": "1"}, "unreadable_message"),
        ("text", "unreadable_message"),
        ({"role": "assistant", "tool_calls": {"id": 1}}, "unreadable_field"),
        ({"role": "assistant", "tool_calls": [{"function": {}}]}, "unreadable_field"),
        ({"role": "assistant", "tool_calls": [7]}, "unreadable_field"),
    ],
)
def test_one_bad_message_costs_itself(message: Any, code: str) -> None:
    runs = json.loads(json.dumps(THREE))
    runs[1]["traj"].append(message)
    whole, traces = read(THREE), read(runs)
    assert {gap.code for gap in traces[1].gaps} == {f"tau_bench.{code}"}
    ids = [step.step_id for step in traces[1].steps]
    assert ids[: len(whole[1])] == [step.step_id for step in whole[1].steps]
    if code != "result_without_call":
        with pytest.raises(StrictError, match=f"tau_bench.{code}"):
            read(runs, strict=True)


def test_a_run_without_a_trajectory_costs_itself() -> None:
    (draft,) = TauBenchAdapter().read(
        [Source("x.json", json.dumps([{"task_id": 1, "reward": 0.0}, THREE[0]]).encode())],
        ReadOptions(),
    )
    assert draft.file_gaps == {"tau_bench.unreadable_trace": 1}
    assert [trace.trace_id for trace in iterate(seal(draft))] == [
        f"task-{THREE[0]['task_id']}.trial-{THREE[0]['trial']}"
    ]
    with pytest.raises(InputError, match=r"x.json: item 1: a run without a trajectory"):
        read([{"task_id": 1, "reward": 0.0}])


def test_a_reward_that_no_double_holds_costs_itself() -> None:
    (trace,) = read([{**THREE[0], "reward": 10**400}])
    assert "evaluations" not in trace.attributes
    assert {gap.code: gap.count for gap in trace.gaps} == {"tau_bench.unreadable_field": 1}


def test_a_task_tried_twice_under_one_number_gives_two_traces() -> None:
    ids = [trace.trace_id for trace in read([THREE[0], THREE[0]])]
    assert ids == [ids[0], f"{ids[0]}~2"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_anywhere(data: st.DataObject) -> None:
    runs = damaged(THREE, data.draw(damages_of(THREE)))
    try:
        is_consistent(columns_of(json.dumps(runs).encode()))
    except InputError as error:
        assert str(error).startswith("x.json")


@pytest.mark.parametrize("crash", [{"code": 1}, 7, ["boom"], True])
def test_a_crash_of_any_form_is_a_failed_run(crash: Any) -> None:
    run = {**THREE[0], "info": {"error": crash}}
    (trace,) = read([run])
    (step,) = (step for step in trace.steps if step.step_id == "run")
    assert (trace.status, step.status, step.error_message) == ("error", "error", None)
    assert [gap.code for gap in trace.gaps] == ["tau_bench.unreadable_field"]


@pytest.mark.parametrize("info", [None, "crashed", 3])
def test_a_run_that_may_have_crashed_is_not_known_to_be_ok(info: Any) -> None:
    (trace,) = read([{**THREE[0], "info": info}])
    assert trace.status == "unset"


def test_a_run_that_ends_with_a_call_is_not_known_to_be_ok() -> None:
    ask = {"role": "assistant", "tool_calls": [{"id": 1, "function": {"name": "f"}}]}
    answer = {"role": "tool", "tool_call_id": 1, "name": "f", "content": "x"}
    traces = read([{**THREE[0], "traj": traj} for traj in ([ask], [ask, answer, ask])])
    assert [trace.status for trace in traces] == ["unset", "unset"]
    assert [len(list(trace.causes)) for trace in traces] == [0, 2]  # ids may be numbers


def test_answers_without_ids_go_to_no_request_that_names_another_tool() -> None:
    ask = {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}
    answers = [{"role": "function", "name": name, "content": "x"} for name in ("g", "f")]
    (trace,) = read([{**THREE[0], "traj": [ask, *answers]}])
    assert [(step.name, step.orphan) for step in trace.steps if step.kind == "TOOL"] == [
        ("g", True),
        ("f", False),
    ]
