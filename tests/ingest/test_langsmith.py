import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared_data import fixture, shared
from trace_view import gaps, named, view
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.langsmith.adapter import LangsmithAdapter
from tracegraph.ingest.otlp.adapter import OtlpAdapter
from tracegraph.ingest.raised import raised_by
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Row = dict[str, Any]
TRACEBACK = "Traceback (most recent call last):\n\n\n"
NESTED = sorted(fixture("langsmith").glob("nested_[mtu]*.json"))


def read_all(data: bytes, *, strict: bool = False) -> list[Trace]:
    source = Source("x.json", data)
    assert LangsmithAdapter().sniff(source)
    (draft,) = LangsmithAdapter().read([source], ReadOptions(True, strict))
    assert not draft.file_gaps
    return list(iterate(seal(draft)))


def read(value: Any, *, strict: bool = False) -> Trace:
    (trace,) = read_all(json.dumps(value).encode(), strict=strict)
    return trace


def edges(trace: Trace, *origins: str) -> list[tuple[str | None, str | None]]:
    names = {step.step_id: step.name for step in trace.steps}
    return [(names[c.cause], names[c.effect]) for c in trace.causes if c.origin in origins]


def flattened(run: Row) -> Iterator[Row]:
    """Yield a nested run and all below it, by recursion."""
    yield run
    for child in run.get("child_runs") or ():
        yield from flattened(child)


def run(name: str, number: int, kind: str = "chain", **fields: Any) -> Row:
    return {
        "id": f"id-{name}",
        "name": name,
        "run_type": kind,
        "start_time": f"2026-11-29T18:00:0{number}.5+00:00",
        "end_time": f"2026-11-29T18:00:0{number}.9+00:00",
        "inputs": {},
        "outputs": {},
        **fields,
    }


def nested(*children: Row, **fields: Any) -> Row:
    return run("root", 0, trace_id="t", child_runs=list(children), **fields)


@pytest.mark.parametrize("path", NESTED, ids=lambda path: path.name)
def test_nested_runs_are_the_steps_that_plain_json_counts(path: Path) -> None:
    runs = list(flattened(json.loads(path.read_text())))
    (trace,) = read_all(path.read_bytes(), strict=True)
    kinds = {"chain": "CHAIN", "llm": "LLM", "tool": "TOOL"}
    assert {s.step_id: (s.name, s.kind) for s in trace.steps} == {
        r["id"]: (r["name"], kinds[r["run_type"]]) for r in runs
    }
    assert [s.step_id for s in trace.steps if s.status == "error"] == [
        r["id"] for r in runs if r["error"]
    ]
    contained = {(c.effect, c.cause) for c in trace.causes if c.origin == "span_parent"}
    assert contained == {(r["id"], r["parent_run_id"]) for r in runs if r["parent_run_id"]}
    assert trace.session_id == runs[0]["extra"]["metadata"]["thread_id"]
    assert gaps(trace) == {}
    for step in trace.steps:
        record = next(r for r in runs if r["id"] == step.step_id)
        assert json.loads(step.input or "null") == record["inputs"]
        assert json.loads(step.output or "null") == record["outputs"]
        assert step.attributes["extra"] == record["extra"]


def test_messages_make_the_chain_of_calls() -> None:
    (trace,) = read_all(fixture("langsmith/nested_tool_error_recover.json").read_bytes())
    models = [s for s in trace.steps if s.kind == "LLM"]
    failed, again = (s for s in trace.steps if s.kind == "TOOL")
    found = [(c.cause, c.effect) for c in trace.causes if c.origin == "tool_call_id"]
    assert found == [
        (models[0].step_id, failed.step_id),
        (failed.step_id, models[1].step_id),
        (models[1].step_id, again.step_id),
        (again.step_id, models[2].step_id),
    ]
    assert edges(trace, "graph_step") == [
        ("agent", "tools"),
        ("tools", "agent"),
        ("agent", "tools"),
        ("tools", "agent"),
    ]
    assert (failed.status, failed.error_type) == ("error", "ValueError")
    assert failed.error_message == "unknown city: Atlantis"
    assert models[2].signals == ("final_answer",)
    assert (models[0].model, models[0].tokens_total) == ("fake-scripted-1", 60)
    assert trace.status == "ok"


def test_a_tool_that_was_never_offered_is_a_signal_of_the_model() -> None:
    (trace,) = read_all(fixture("langsmith/nested_unknown_tool.json").read_bytes())
    first = next(s for s in trace.steps if s.kind == "LLM")
    assert first.signals == ("unknown_tool",)
    assert not any(s.kind == "TOOL" or s.status == "error" for s in trace.steps)


def test_a_handoff_that_is_recorded_as_an_error_is_control_flow() -> None:
    raw = json.loads(fixture("langsmith/page_handoff.json").read_text())["runs"]
    (trace,) = read_all(fixture("langsmith/page_handoff.json").read_bytes(), strict=True)
    assert sum(bool(r.get("error")) for r in raw) == 3
    assert Counter((s.status, s.status_source) for s in trace.steps) == {
        ("unset", "control_flow"): 3,
        ("ok", "default"): 2,
    }
    assert trace.status == "ok"
    assert edges(trace, "graph_step") == [("team", "other")]


def test_an_interrupt_is_a_signal_and_its_thread_joins_the_runs() -> None:
    paused, resumed = read_all(fixture("langsmith/page_interrupt.json").read_bytes(), strict=True)
    assert named(paused, "ask").signals == ("interrupt",)
    assert (named(paused, "ask").status, named(resumed, "ask").status) == ("unset", "ok")
    assert paused.session_id == resumed.session_id == "th-1"
    assert {paused.status, resumed.status} == {"ok"}


def test_a_page_and_nested_files_agree_on_the_runs_that_both_hold() -> None:
    page = read_all(shared("traces/langsmith/runs_list_response.json").read_bytes(), strict=True)
    raw = json.loads(shared("traces/langsmith/runs_list_response.json").read_text())["runs"]
    assert Counter({t.trace_id: len(t) for t in page}) == Counter(r["trace_id"] for r in raw)
    by_id = {trace.trace_id: trace for trace in page}
    both = 0
    for path in sorted(shared("traces/langsmith/nested_by_trace").glob("*.json")):
        (trace,) = read_all(path.read_bytes(), strict=True)
        if trace.trace_id in by_id:
            both += 1
            one, other = view(trace), view(by_id[trace.trace_id])
            for each in (one, other):
                del each["file_digest"]
                for step in each["steps"]:
                    step["bodies"] = step["bodies"][:2]
            assert one == other
    assert both >= 2


def told(trace: Trace) -> list[Any]:
    """Return what both formats tell of a run: calls, their failures, message causes, signals."""
    steps = [step for step in trace.steps if step.kind in ("TOOL", "LLM")]
    place = {step.step_id: i for i, step in enumerate(steps)}
    return [
        [
            (s.kind, s.name if s.kind == "TOOL" else None, s.status, s.error_type, s.error_message)
            for s in steps
        ],
        [(s.args_digest, s.result_digest, s.signals, s.model, s.tokens_total) for s in steps],
        sorted((place[c.cause], place[c.effect]) for c in trace.causes if c.origin in TOLD),
    ]


TOLD = ("tool_call_id", "protocol")


@pytest.mark.parametrize(
    "scenario", ["tool_error_recover", "unknown_tool", "react_ok", "supervisor_handoff"]
)
def test_the_same_scenario_gives_what_otlp_gives(scenario: str) -> None:
    """They are separate executions of one program."""
    smith = shared(f"traces/langsmith/nested_by_trace/{scenario}.json").read_bytes()
    otlp = shared(f"traces/otlp_json_openinference/langgraph_gen/{scenario}.otlp.json").read_bytes()
    (draft,) = OtlpAdapter().read([Source("o.json", otlp)], ReadOptions(True))
    (other,) = iterate(seal(draft))
    (trace,) = read_all(smith)
    assert told(trace) == told(other)
    assert len(trace) == len(other)


@pytest.mark.parametrize(
    ("error", "type_", "message"),
    [
        ("boom", None, "boom"),
        ("ValueError('x')", "ValueError", "ValueError('x')"),
        ("Refused (by the server)", None, "Refused (by the server)"),
        (
            f"A('x'){TRACEBACK}  File \"f\"\n\n\nm.n.A: x\ny\n\n\nDuring task",
            "m.n.A",
            "x\ny",
        ),
        (
            f"A('B: no'){TRACEBACK}B: no\n\n\nDuring handling\n\n\nA: B: no",
            "A",
            "B: no",
        ),
        (f"A(){TRACEBACK}m.A", "m.A", None),
        (f"A(){TRACEBACK}cut", "A", "A()"),
    ],
)
def test_what_langchains_tracer_makes_of_an_exception(
    error: str, type_: str | None, message: str | None
) -> None:
    found = raised_by(error)
    assert (found.type, found.message) == (type_, message)


def test_control_flow_is_told_by_the_qualified_type_only() -> None:
    error = (
        "GraphInterrupt('x')Traceback (most recent call last):\n\n\nacme.queue.GraphInterrupt: x"
    )
    trace = read(nested(run("a", 1, error=error), run("b", 2, error="GraphInterrupt('x')")))
    assert [named(trace, name).status for name in "ab"] == ["error", "error"]
    assert gaps(trace) == {"langsmith.unqualified_control_flow": 1}


@pytest.mark.parametrize(
    ("fields", "status", "source", "code"),
    [
        ({}, "ok", "default", None),
        ({"status": "success"}, "ok", "recorded", None),
        ({"status": "error"}, "error", "recorded", None),
        ({"error": "boom"}, "error", "recorded", None),
        ({"error": " "}, "ok", "default", None),
        ({"status": "pending"}, "unset", None, None),
        ({"end_time": None}, "unset", None, None),
        ({"end_time": None, "error": "boom"}, "error", "recorded", None),
        ({"status": "dancing"}, "unset", None, "unreadable_status"),
        ({"status": 5}, "unset", None, "unreadable_status"),
        ({"error": {"message": "boom"}}, "error", "recorded", None),
        ({"status": "success", "error": "boom"}, "ok", "recorded", "status_contradicts_error"),
    ],
)
def test_status(fields: Row, status: str, source: str | None, code: str | None) -> None:
    trace = read(nested(run("a", 1, **fields)))
    step = named(trace, "a")
    assert (step.status, step.status_source) == (status, source)
    assert gaps(trace) == ({f"langsmith.{code}": 1} if code else {})


def test_a_child_says_by_itself_or_by_its_place_who_its_parent_is() -> None:
    order = "20261129T180000000000Zid-root.20261129T180001000000Zid-a"
    flat = [
        run("root", 0, trace_id="id-root"),
        run("a", 1, dotted_order=order),
        run("b", 2, parent_run_id="id-a"),
        run("c", 3, parent_run_id="id-b"),
    ]
    trace = read(flat)
    assert edges(trace, "span_parent") == [("root", "a"), ("a", "b"), ("b", "c")]
    assert (trace.trace_id, gaps(trace)) == ("id-root", {})


def test_a_dotted_order_that_says_otherwise_is_disclosed() -> None:
    order = "20261129T180000000000Zid-root.20261129T180001000000Z"
    children = [
        run("a", 1, dotted_order=order + "id-a", parent_run_id="id-root"),
        run("b", 2, dotted_order=order + "id-x"),
        run("c", 3, dotted_order=order + "id-a.20261129T180001000000Zid-c", parent_run_id="id-b"),
    ]
    trace = read(run("root", 0, trace_id="id-root", child_runs=children))
    assert gaps(trace) == {"langsmith.dotted_order_differs": 2}
    assert ("b", "c") in edges(trace, "span_parent")
    read(run("root", 0, trace_id="id-root", child_runs=children), strict=True)


def test_runs_below_a_missing_parent_are_one_trace() -> None:
    flat = [run("a", 1, parent_run_id="gone"), run("b", 2, parent_run_id="gone")]
    trace = read(flat)
    assert (trace.trace_id, len(trace)) == ("gone", 2)
    assert gaps(trace) == {"langsmith.missing_parent": 2}


def test_parents_in_a_circle_are_disclosed() -> None:
    flat = [run("a", 1, parent_run_id="id-b"), run("b", 2, parent_run_id="id-a")]
    trace = read(flat)
    assert trace.cyclic
    assert gaps(trace)["causes.cycle"] == 1


def test_only_model_runs_keep_usage_since_the_platform_sums_it_up_to_the_root() -> None:
    used = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "total_cost": "0.25"}
    trace = read(nested(run("a", 1, "llm", **used), **used))
    assert [s.tokens_total for s in trace.steps] == [None, 15]
    assert [s.cost for s in trace.steps] == [None, "0.25"]


def test_a_retriever_has_documents_and_an_unknown_type_is_disclosed() -> None:
    found = run("r", 1, "retriever", outputs={"documents": [{"page_content": "x"}] * 3})
    trace = read(nested(found, run("x", 2, "dance")))
    assert [(s.kind, s.docs) for s in trace.steps] == [
        ("CHAIN", None),
        ("RETRIEVER", 3),
        ("UNKNOWN", None),
    ]
    assert gaps(trace) == {"langsmith.unknown_run_type": 1}


def test_arguments_that_an_older_tracer_wrote_as_text_equal_those_of_a_newer_one() -> None:
    trace = read(
        nested(
            run("a", 1, "tool", inputs={"input": "{'city': 'Oslo'}"}, outputs={"output": "cold"}),
            run("b", 2, "tool", inputs={"city": "Oslo"}, outputs={"output": {"content": "cold"}}),
        )
    )
    assert named(trace, "a").args_digest == named(trace, "b").args_digest
    assert named(trace, "a").args_digest is not None


def test_a_run_twice_is_read_once_and_two_different_ones_are_disclosed() -> None:
    same = run("a", 1, trace_id="t")
    assert gaps(read([same, same])) == {"langsmith.duplicate_identical": 1}
    other = run("a", 2, trace_id="t")
    trace = read([same, other])
    assert gaps(trace) == {"langsmith.duplicate_conflict": 1}
    assert named(trace, "a").start == 1_795_975_202_500_000_000
    with pytest.raises(StrictError, match=r"^x\.json run 1 and x\.json run 2: two different"):
        read([same, other], strict=True)


def test_only_the_wanted_traces_are_read() -> None:
    source = Source.open(fixture("langsmith/page_interrupt.json"), "x.json")
    (draft,) = LangsmithAdapter().read([source], ReadOptions())
    first, second = draft.traces.trace_id
    (draft,) = LangsmithAdapter().read([source], ReadOptions(only=frozenset({second})))
    assert draft.traces.trace_id == [second] != [first]


def test_a_file_without_a_run_is_refused() -> None:
    with pytest.raises(InputError, match=r"^x\.json: holds no run"):
        list(LangsmithAdapter().read([Source("x.json", b'{"runs": []}')], ReadOptions()))
