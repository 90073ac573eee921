import json
from pathlib import Path
from typing import Any

import pytest

from shared_data import fixture, shared
from trace_view import gaps, the
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.agentdiff.adapter import AgentdiffAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.digest import digest_value
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace, iterate

Row = dict[str, Any]


def step(step_id: str, index: int, kind: str = "tool_call", **fields: Any) -> Row:
    return {"step_id": step_id, "step_index": index, "step_type": kind, "name": step_id, **fields}


def run(*steps: Row, **fields: Any) -> Row:
    return {
        "trace_id": "t",
        "agent_name": "a",
        "task_input": {"query": "q"},
        "final_output": {"answer": "x"},
        "steps": list(steps),
        **fields,
    }


def read_draft(data: bytes, *, strict: bool = False, keep: bool = True, **options: Any) -> Draft:
    source = Source("x.json", data)
    assert AgentdiffAdapter().sniff(source)
    (draft,) = AgentdiffAdapter().read([source], ReadOptions(keep, strict, **options))
    return draft


def read_all(data: bytes, *, strict: bool = False) -> list[Trace]:
    draft = read_draft(data, strict=strict)
    assert not draft.file_gaps
    return list(iterate(seal(draft)))


def read(value: Row, *, strict: bool = False) -> Trace:
    (trace,) = read_all(json.dumps(value).encode(), strict=strict)
    return trace


def read_fixture(name: str) -> Trace:
    (trace,) = read_all(fixture(f"agentdiff/{name}").read_bytes())
    return trace


def edges(trace: Trace, *origins: str) -> list[tuple[str, str]]:
    return [(c.cause, c.effect) for c in trace.causes if not origins or c.origin in origins]


def first(trace: Trace) -> Step:
    return next(iter(trace.steps))


def test_a_written_trace_names_the_step_before_as_parent() -> None:
    trace = read_fixture("ok.json")
    assert (trace.trace_id, trace.run_id, trace.source) == ("run-101", "run-101", "agentdiff")
    assert (trace.agent, trace.fidelity, trace.status) == ("WeatherAgent", "parent_only", "ok")
    assert [(s.step_id, s.kind, s.name) for s in trace.steps] == [
        ("step-1", "CHAIN", "planner"),
        ("step-2", "TOOL", "geocode_city"),
        ("step-3", "TOOL", "get_forecast"),
        ("step-4", "LLM", "generate_report"),
    ]
    assert edges(trace) == [("step-1", "step-2"), ("step-2", "step-3"), ("step-3", "step-4")]
    assert {(c.origin, c.evidence) for c in trace.causes} == {("edge", "declared")}
    assert gaps(trace) == {}
    report = the(trace, "step-4")
    assert (report.tokens_prompt, report.tokens_completion, report.tokens_total) == (150, 80, 230)
    assert (report.cost, report.duration_ns, report.start) == ("0.0035", 1_100_000_000, None)
    tool = the(trace, "step-3")
    assert tool.args_digest == digest_value({"lng": -74, "lat": 40.71})
    assert tool.result_digest == digest_value({"sky": "sunny", "f": 75})
    assert json.loads(tool.output or "") == {"sky": "sunny", "f": 75}
    assert trace.attributes["total_tokens"] == 230
    assert the(trace, "step-1").attributes["run.task_input"] == {"query": "weather in NYC"}


def test_failed_attempts_stay_apart_and_a_run_without_answer_has_failed() -> None:
    trace = read_fixture("failing.json")
    tries = [the(trace, step_id) for step_id in ("s2", "s3", "s4")]
    assert [(s.status, s.status_source) for s in tries] == [
        ("error", "recorded"),
        ("error", "recorded.retry"),
        ("error", "recorded.abandoned"),
    ]
    assert [s.error_message for s in tries] == ["HTTP 429", "HTTP 429", "gave up"]
    assert len({s.args_digest for s in tries}) == 1
    assert trace.status == "error"
    assert edges(trace) == [(f"s{n}", f"s{n + 1}") for n in range(1, 6)]


@pytest.mark.parametrize("name", ["ok.json", "failing.json", "envelope.json"])
def test_nothing_that_the_samples_hold_is_lost(name: str) -> None:
    path = shared(f"traces/agentdiff/{name}")
    raw = json.loads(path.read_text())
    runs = raw.get("runs", [raw])
    traces = read_all(path.read_bytes(), strict=True)
    assert [t.trace_id for t in traces] == [r["trace_id"] for r in runs]
    for trace, record in zip(traces, runs, strict=True):
        assert [s.step_id for s in trace.steps] == [s["step_id"] for s in record["steps"]]
        for found, made in zip(trace.steps, record["steps"], strict=True):
            assert found.name == made["name"]
            assert (found.status == "ok") == (made["status"] == "success")
            assert found.error_message == made.get("error_message")
            assert found.duration_ns == (round(made["latency_ms"] * 1e6) or None)
            assert (found.tokens_total or 0) == made["tokens"]["total_tokens"]
            assert float(found.cost or 0) == made["tokens"]["estimated_cost_usd"]
            assert json.loads(found.input or "null") == made["input_payload"]
            assert json.loads(found.output or "null") == made["output_payload"]
            parent = found.parent.step_id if found.parent else None
            assert parent == made.get("parent_id")
        assert first(trace).attributes["run.metadata"] == record["metadata"]


def test_an_envelope_holds_runs() -> None:
    traces = read_all(fixture("agentdiff/envelope.json").read_bytes())
    assert [t.trace_id for t in traces] == ["run-101", "run-101b"]
    assert {t.attributes["scenario"] for t in traces} == {"default"}


def test_runs_of_one_id_stay_apart() -> None:
    traces = read_all(fixture("agentdiff/recorded_envelope.json").read_bytes())
    first, second = (t.trace_id for t in traces)
    assert second == f"{first}~2"
    assert {t.run_id for t in traces} == {first}
    assert {t.status for t in traces} == {"ok"}


def test_only_the_wanted_runs_are_read() -> None:
    data = fixture("agentdiff/envelope.json").read_bytes()
    assert read_draft(data, only=frozenset({"run-101b"})).traces.trace_id == ["run-101b"]


def test_a_recorded_exception_is_the_runs_failure() -> None:
    trace = read_fixture("recorded_failure.json")
    assert (trace.status, trace.fidelity) == ("error", "order_only")
    assert first(trace).error_message == "TimeoutError: no answer from the weather service"


def test_of_spans_the_parent_is_the_container_and_data_tells_the_causes() -> None:
    trace = read_fixture("converted_langsmith.json")
    raw = json.loads(fixture("agentdiff/converted_langsmith.json").read_text())
    ids = [s["step_id"] for s in raw["steps"]]
    assert [s.step_id for s in trace.steps] == ids  # every index is zero: the list is the order
    assert gaps(trace) == {"agentdiff.repeated_index": 1}
    root, agent, model, condition, tools, tool, again, model2, condition2 = ids
    assert edges(trace, "span_parent") == [
        (root, agent),
        (agent, model),
        (agent, condition),
        (root, tools),
        (root, again),
        (again, model2),
        (again, condition2),
    ]
    assert edges(trace, "edge") == [(tools, tool)]
    # agent -> tools -> agent; that the second agent reads the whole state again is no cause.
    assert edges(trace, "data_flow") == [
        (model, condition),
        (agent, tools),
        (tools, again),
        (model2, condition2),
    ]
    assert trace.status == "ok"


def test_a_container_that_gave_the_answer_speaks_for_the_run() -> None:
    trace = read_fixture("converted_openinference.json")
    assert [s.status for s in trace.steps] == ["ok", "ok", "ok", "error", "error"]
    assert trace.status == "ok"  # the listed order is that of the spans' ends, retries come last
    assert not edges(trace, "data_flow")


def test_both_halves_of_a_call_from_a_chat_are_paired_by_its_id() -> None:
    trace = read_fixture("converted_langgraph.json")
    assert [(c.cause, c.effect, c.origin) for c in trace.causes] == [
        ("c1#decision", "c1#result", "tool_call_id")
    ]
    tool = the(trace, "c1#result")
    assert (tool.tool_call_id, tool.status, tool.error_message) == ("c1", "error", "Boom")
    assert tool.args_digest == digest_value({"q": 1})
    assert the(trace, "role_step_2").signals == ("final_answer",)
    assert (trace.status, trace.fidelity) == ("ok", "order_only")


def test_two_calls_with_one_id_are_told_apart_by_their_tools() -> None:
    decisions = [
        step("x#decision", at, "routing", name=name, input_payload={"arguments": {"of": name}})
        for at, name in enumerate(("fine", "broken"))
    ]
    results = [
        step("x#result", at, name=name, status=status)
        for at, (name, status) in enumerate((("fine", "success"), ("broken", "error")), 2)
    ]
    trace = read(run(*decisions, *results))
    asked = {one.step_id: one.name for one in trace.steps}
    tools = [one for one in trace.steps if one.kind == "TOOL"]
    assert [(tool.name, tool.status) for tool in tools] == [("fine", "ok"), ("broken", "error")]
    for tool in tools:
        assert tool.args_digest == digest_value({"of": tool.name})
        ((cause, _),) = [pair for pair in edges(trace, "tool_call_id") if pair[1] == tool.step_id]
        assert asked[cause] == tool.name


def test_two_tools_under_a_planner_are_no_causes_of_each_other() -> None:
    trace = read(
        run(
            step("plan", 0, "routing", output_payload={"plan": ["a", "b"]}),
            step("a", 1, parent_id="plan", output_payload={"n": 1}),
            step("b", 2, parent_id="plan", input_payload={"n": 1}),
            step("c", 3, parent_id="b"),
        )
    )
    assert edges(trace, "span_parent") == [("plan", "a"), ("plan", "b")]
    assert edges(trace, "edge") == [("b", "c")]
    assert not edges(trace, "data_flow")


def test_a_sibling_that_was_given_what_another_made_has_it_as_cause() -> None:
    trace = read(
        run(
            step("plan", 0, "routing"),
            step("find", 1, parent_id="plan", output_payload={"order": "ORD-2291-7764-A"}),
            step("other", 2, parent_id="plan", output_payload={"total": 12}),
            step("cancel", 3, parent_id="plan", input_payload={"id": "ORD-2291-7764-A"}),
        )
    )
    assert edges(trace, "data_flow") == [("find", "cancel")]
    assert the(trace, "cancel").lossy


def test_what_the_task_held_is_nobodys_product() -> None:
    order = {"order": "ORD-2291-7764-A"}
    steps = [
        step("plan", 0, "routing"),
        step("find", 1, parent_id="plan", output_payload=order),
        step("cancel", 2, parent_id="plan", input_payload=order),
    ]
    assert edges(read(run(*steps)), "data_flow") == [("find", "cancel")]
    assert not edges(read(run(*steps, task_input={"about": order})), "data_flow")
    steps[0]["input_payload"] = order
    assert not edges(read(run(*steps)), "data_flow")


def test_order_is_that_of_the_indexes_where_they_differ() -> None:
    rows = [step("c", 3, parent_id="b"), step("a", 1), step("b", 2, parent_id="a")]
    trace = read(run(*rows))
    assert [s.step_id for s in trace.steps] == ["a", "b", "c"]
    assert gaps(trace) == {}


def test_equal_indexes_leave_the_order_of_the_list() -> None:
    trace = read(run(step("b", 1), step("a", 1), step("c", 0)))
    assert [s.step_id for s in trace.steps] == ["b", "a", "c"]
    assert gaps(trace) == {"agentdiff.repeated_index": 1}
    assert trace.fidelity == "order_only"


@pytest.mark.parametrize(
    ("rows", "expected", "orphans"),
    [
        ([step("a", 0, parent_id="gone")], {"agentdiff.missing_parent": 1}, ["a"]),
        ([step("a", 0, parent_id="a")], {"agentdiff.self_parent": 1}, ["a"]),
        (
            [step("a", 0), step("a", 1), step("b", 2, parent_id="a")],
            {"agentdiff.duplicate_step": 1, "agentdiff.ambiguous_parent": 1},
            ["b"],
        ),
        ([step("b", 0, parent_id="a"), step("a", 1)], {"agentdiff.parent_after_child": 1}, []),
        ([step("a", 0, parent_id=""), step("b", 1, parent_id=None)], {}, []),
    ],
)
def test_doubtful_parents(rows: list[Row], expected: dict[str, int], orphans: list[str]) -> None:
    trace = read(run(*rows))
    assert gaps(trace) == expected
    assert [s.step_id for s in trace.steps if s.orphan] == orphans


def test_a_cycle_is_kept_and_disclosed() -> None:
    trace = read(run(step("a", 0, parent_id="b"), step("b", 1, parent_id="a"), step("c", 2)))
    assert edges(trace) == [("b", "a"), ("a", "b")]
    assert trace.cyclic
    assert gaps(trace) == {"agentdiff.parent_after_child": 1, "causes.cycle": 1}


def test_repeated_ids_are_numbered_and_never_take_a_recorded_one() -> None:
    trace = read(run(step("a", 0), step("a", 1), step("a~2", 2), step("a", 3)))
    assert [s.step_id for s in trace.steps] == ["a", "a~3", "a~2", "a~4"]
    assert gaps(trace) == {"agentdiff.duplicate_step": 2}
    with pytest.raises(StrictError, match=r"x\.json: .*'a'.*agentdiff\.duplicate_step"):
        read(run(step("a", 0), step("a", 1)), strict=True)


@pytest.mark.parametrize(
    ("fields", "status", "source", "code"),
    [
        ({}, "ok", "default", None),
        ({"status": "success"}, "ok", "recorded", None),
        ({"status": None}, "unset", None, None),
        ({"status": "timeout"}, "unset", None, "unknown_status"),
        ({"status": 5}, "unset", None, "unknown_status"),
        ({"status": ["error"]}, "unset", None, "unknown_status"),
        ({"status": "error"}, "error", "recorded", None),
        ({"error_message": "boom"}, "error", "error_message", None),
        ({"error_message": {"code": 5}}, "error", "error_message", None),
        ({"error_message": " "}, "ok", "default", None),
        (
            {"status": "timeout", "error_message": "boom"},
            "error",
            "error_message",
            "unknown_status",
        ),
        ({"output_payload": {"isError": True}}, "error", "result.isError", None),
        (
            {"status": "success", "error_message": "boom"},
            "ok",
            "recorded",
            "status_contradicts_error_message",
        ),
    ],
)
def test_status(fields: Row, status: str, source: str | None, code: str | None) -> None:
    trace = read(run(step("a", 0, **fields)))
    found = first(trace)
    assert (found.status, found.status_source) == (status, source)
    assert gaps(trace) == ({f"agentdiff.{code}": 1} if code else {})


def test_a_contradiction_and_a_failed_result_are_signals() -> None:
    trace = read(
        run(
            step("a", 0, status="success", error_message="boom"),
            step("b", 1, status="success", output_payload={"isError": True}),
            step("c", 2, status="success"),
        )
    )
    assert [s.signals for s in trace.steps] == [("tool_error",), ("tool_error",), ()]


@pytest.mark.parametrize(
    ("rows", "answer", "status"),
    [
        ([step("a", 0, status="error"), step("b", 1)], None, "error"),
        ([step("a", 0, status="error"), step("b", 1)], {}, "error"),
        ([step("a", 0, status="error"), step("b", 1)], {"answer": 1}, "ok"),
        ([step("a", 0, status="error"), step("a2", 1, name="a"), step("b", 2)], None, "ok"),
        ([step("a", 0), step("b", 1)], None, "ok"),
        ([step("a", 0), step("b", 1, status="error")], {"answer": 1}, "error"),
        ([step("a", 0), step("b", 1, status=None)], {"answer": 1}, "unset"),
        ([], {"answer": 1}, "unset"),
    ],
)
def test_status_of_a_run(rows: list[Row], answer: object, status: str) -> None:
    assert read(run(*rows, final_output=answer)).status == status


def test_nulls_are_unknown() -> None:
    nothing: Row = dict.fromkeys(
        ["parent_id", "output_payload", "error_message", "latency_ms", "tokens", "metadata"]
    )
    totals: Row = dict.fromkeys(["total_latency_ms", "total_tokens", "metadata", "agent_version"])
    empty = {"prompt_tokens": None, "total_tokens": None}
    trace = read(run(step("a", 0, **nothing), step("b", 1, tokens=empty), **totals), strict=True)
    assert [s.tokens_total for s in trace.steps] == [None, None]
    assert gaps(trace) == {}


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ((0, 0, 0), (None, None, None)),
        ((10, 5, 15), (10, 5, 15)),
        ((10, 0, 10), (10, 0, 10)),
        ((10, 5, 0), (10, 5, 15)),
        ((10, 0, 0), (10, None, None)),
        ((0, 0, 30), (None, None, 30)),
        (("10", 5.0, 15), (10, 5, 15)),
    ],
)
def test_a_zero_is_unknown_unless_a_total_bears_it_out(
    recorded: tuple[object, ...], expected: tuple[int | None, ...]
) -> None:
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    usage = dict(zip(names, recorded, strict=True)) | {"estimated_cost_usd": 0.0}
    found = first(read(run(step("a", 0, "llm_call", tokens=usage, latency_ms=0.0))))
    assert (found.tokens_prompt, found.tokens_completion, found.tokens_total) == expected
    assert (found.cost, found.duration_ns) == (None, None)


def test_totals_are_checked_against_the_steps() -> None:
    def used(prompt: int, cost: float) -> Row:
        return {"prompt_tokens": prompt, "total_tokens": prompt, "estimated_cost_usd": cost}

    steps = [step("a", 0, tokens=used(10, 0.1)), step("b", 1, tokens=used(20, 0.2))]
    assert gaps(read(run(*steps, total_tokens=used(30, 0.1 + 0.2)))) == {}
    assert gaps(read(run(*steps, total_tokens=used(31, 0.3)))) == {"agentdiff.rollup_differs": 2}
    assert gaps(read(run(*steps, total_tokens=used(30, 0.4)))) == {"agentdiff.rollup_differs": 1}
    assert gaps(read(run(*steps))) == {}
    assert gaps(read(run(step("a", 0), total_tokens=used(30, 0.3)))) == {}  # nothing to check with


def test_the_model_and_the_session_are_read_where_they_have_their_usual_name() -> None:
    trace = read(
        run(
            step("a", 0, "llm_call", metadata={"llm.model_name": "m"}),
            step("b", 1, metadata={"model": "of a tool"}),
            metadata={"thread_id": "s"},
        )
    )
    assert [s.model for s in trace.steps] == ["m", None]
    assert trace.session_id == "s"


def test_bodies_leave_with_the_content() -> None:
    data = json.dumps(run(step("a", 0, input_payload={"secret": "s3cr3t"}))).encode()
    columns = seal(read_draft(data, keep=False))
    assert columns.content is None
    assert not any("s3cr3t" in text or "query" in text for text in columns.vocabulary)


@pytest.mark.parametrize("path", sorted(fixture("agentdiff").glob("*.json")), ids=lambda p: p.name)
def test_a_strict_reading_refuses_no_fixture(path: Path) -> None:
    assert read_all(path.read_bytes(), strict=True)


def test_what_agentdiff_reads_from_other_tools_is_left_to_their_adapters() -> None:
    for path in sorted(shared("traces/agentdiff/adapters").glob("*.json")):
        assert not AgentdiffAdapter().sniff(Source.open(path, path.name))


def test_a_file_without_a_run_is_refused() -> None:
    empty = json.dumps({"kind": "agentdiff_baseline_envelope", "runs": []}).encode()
    with pytest.raises(InputError, match=r"^x\.json: holds no AgentDiff trace"):
        read_draft(empty)
