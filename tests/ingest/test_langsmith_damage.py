"""LangSmith files that are damaged, huge or hostile: each costs what is damaged, and says so."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damage import damaged, damages_of, is_consistent
from shared_data import fixture
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.langsmith.adapter import LangsmithAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

NESTED = json.loads(fixture("langsmith/nested_tool_error_recover.json").read_text())
PAGE = json.loads(fixture("langsmith/page_handoff.json").read_text())


def read(data: bytes, *, strict: bool = False) -> Draft:
    (draft,) = LangsmithAdapter().read([Source("x.json", data)], ReadOptions(True, strict))
    return draft


def the_trace(value: Any) -> tuple[Trace, dict[str, int]]:
    (trace,) = iterate(seal(read(json.dumps(value).encode())))
    return trace, {gap.code: gap.count for gap in trace.gaps}


def with_child(**fields: Any) -> Any:
    """Return the nested run; the tool that failed in it has other fields."""
    value = copy.deepcopy(NESTED)
    value["child_runs"][1]["child_runs"][0].update(fields)
    return value


@pytest.mark.parametrize(
    ("field", "gaps"),
    [
        ("name", {}),
        ("run_type", {"langsmith.unknown_run_type": 1}),
        ("start_time", {}),
        ("end_time", {}),
        ("status", {}),
        ("trace_id", {}),
        ("parent_run_id", {}),
        ("dotted_order", {}),
        ("extra", {}),
        ("inputs", {}),
        ("outputs", {}),
    ],
)
def test_a_run_without_a_field_stays_a_step(field: str, gaps: dict[str, int]) -> None:
    value = with_child()
    del value["child_runs"][1]["child_runs"][0][field]
    trace, found = the_trace(value)
    assert (len(trace), found) == (14, gaps)
    step = next(
        s for s in trace.steps if s.step_id == NESTED["child_runs"][1]["child_runs"][0]["id"]
    )
    assert step.status == "error"
    assert step.parent is not None


def test_a_run_without_an_id_costs_itself() -> None:
    value = with_child()
    del value["child_runs"][1]["child_runs"][0]["id"]
    draft = read(json.dumps(value).encode())
    assert draft.file_gaps == {"langsmith.unreadable_span": 1}
    assert len(draft.steps.step_id) == 13
    with pytest.raises(StrictError, match=r"^x\.json: run 6: cannot be used without its id"):
        read(json.dumps(value).encode(), strict=True)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"name": 5}, "unreadable_field"),
        ({"extra": []}, "unreadable_field"),
        ({"error": {"message": "x"}}, None),
        ({"status": 5}, "unreadable_status"),
        ({"run_type": "dance"}, "unknown_run_type"),
        ({"start_time": "yesterday"}, "unreadable_timestamp"),
        ({"end_time": 1e300}, "unreadable_timestamp"),
        ({"status": "dancing"}, "unreadable_status"),
        ({"run_type": "llm", "total_tokens": "many"}, "unreadable_token_count"),
        ({"run_type": "llm", "total_cost": "dear"}, "unreadable_cost"),
        ({"run_type": "llm", "inputs": 5, "outputs": [[5]]}, None),
        ({"inputs": "text", "outputs": "text"}, None),
        ({"child_runs": "none"}, None),
        ({"dotted_order": "no order"}, None),
    ],
)
def test_a_field_of_the_wrong_type_costs_that_field(
    fields: dict[str, Any], code: str | None
) -> None:
    trace, gaps = the_trace(with_child(**fields))
    assert (len(trace), gaps) == (14, {f"langsmith.{code}": 1} if code else {})
    if code is not None:
        with pytest.raises(StrictError, match=rf"^x\.json: .*\(langsmith\.{code}\)"):
            read(json.dumps(with_child(**fields)).encode(), strict=True)


def test_a_truncated_file_is_refused_and_a_truncated_line_costs_itself() -> None:
    data = json.dumps(PAGE["runs"][0]).encode()
    with pytest.raises(InputError, match=r"^x\.json: line \d+, column \d+: not JSON"):
        read(data[:500])
    draft = read(data + b"\n" + data[:500])
    assert len(draft.steps.step_id) == 1
    assert draft.file_gaps == {"langsmith.unreadable_record": 1}


def test_5000_nested_runs_are_steps() -> None:
    opening = '{{"id": "r{0}", "name": "n", "run_type": "chain", "trace_id": "t", "child_runs": ['
    text = "".join(opening.format(n) for n in range(5000)) + "]}" * 5000
    (trace,) = iterate(seal(read(text.encode())))
    assert len(trace) == 5000
    assert list(trace.steps)[-1].depth == 4999


def test_10000_children_of_one_run() -> None:
    children = [
        {
            "id": f"c{n}",
            "name": "t",
            "run_type": "tool",
            "inputs": {"n": n},
            "outputs": {"output": n},
        }
        for n in range(10_000)
    ]
    root = {"id": "r", "name": "root", "run_type": "chain", "child_runs": children}
    trace, gaps = the_trace(root)
    assert (len(trace), gaps) == (10_001, {})


@pytest.mark.parametrize("levels", [900, 980, 5000])
@pytest.mark.parametrize("kind", ["llm", "tool", "chain"])
def test_a_body_that_is_nested_deeply_costs_that_body_at_most(levels: int, kind: str) -> None:
    deep = '{"a":' * levels + "1" + "}" * levels
    text = json.dumps(with_child(run_type=kind, inputs="DEEP")).replace('"DEEP"', deep)
    (trace,) = iterate(seal(read(text.encode())))
    assert len(trace) == 14
    step = next(
        s for s in trace.steps if s.step_id == NESTED["child_runs"][1]["child_runs"][0]["id"]
    )
    lost = any(gap.code == "langsmith.unreadable_field" for gap in trace.gaps)
    assert lost == (step.input is None)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([NESTED, PAGE]).flatmap(
        lambda value: st.tuples(
            st.just(value),
            damages_of(value),
        )
    )
)
def test_damaged_exports_are_read_or_refused_in_words(made: tuple[Any, list[Any]]) -> None:
    value = damaged(made[0], made[1])
    try:
        columns = seal(read(json.dumps(value).encode()))
    except InputError as error:
        assert str(error).startswith("x.json: ")
        return
    is_consistent(columns)


@pytest.mark.parametrize("blank", ["", " ", "\t"])
def test_a_run_with_a_blank_id_costs_itself(blank: str) -> None:
    run = {"run_type": "chain", "name": "n", "trace_id": "t", "start_time": "2026-01-01T00:00:00Z"}
    data = json.dumps({"runs": [{**run, "id": "a"}, {**run, "id": blank}]}).encode()
    (draft,) = LangsmithAdapter().read([Source("f", data)], ReadOptions())
    assert draft.steps.step_id == ["a"]
    assert draft.file_gaps["langsmith.unreadable_span"] == 1
