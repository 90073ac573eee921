"""AgentDiff files that are damaged, huge or hostile: each costs what is damaged, and says so."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damage import damaged, damages_of, is_consistent, json_values
from shared_data import fixture
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.agentdiff.adapter import AgentdiffAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

FAILING = json.loads(fixture("agentdiff/failing.json").read_text())
ENVELOPE = json.loads(fixture("agentdiff/envelope.json").read_text())


def read(data: bytes, *, strict: bool = False) -> Draft:
    (draft,) = AgentdiffAdapter().read([Source("x.json", data)], ReadOptions(True, strict))
    return draft


def the_trace(value: Any) -> tuple[Trace, dict[str, int]]:
    (trace,) = iterate(seal(read(json.dumps(value).encode())))
    return trace, {gap.code: gap.count for gap in trace.gaps}


@pytest.mark.parametrize("name", ["step_id", "step_index", "step_type", "name"])
def test_a_step_without_a_required_field_stays_a_step(name: str) -> None:
    damaged = copy.deepcopy(FAILING)
    del damaged["steps"][2][name]
    trace, gaps = the_trace(damaged)
    assert len(trace) == 6
    expected = {"agentdiff.missing_field": 1}
    if name == "step_id":  # the step after names it
        expected["agentdiff.missing_parent"] = 1
    assert gaps == expected
    with pytest.raises(StrictError, match=rf"^x\.json: .* has no {name} \(agentdiff\.missing"):
        read(json.dumps(damaged).encode(), strict=True)


@pytest.mark.parametrize("name", ["trace_id", "agent_name", "task_input"])
def test_a_run_without_a_required_field_stays_a_run(name: str) -> None:
    damaged = {key: value for key, value in FAILING.items() if key != name}
    assert AgentdiffAdapter().sniff(Source("x.json", json.dumps(damaged).encode()))
    trace, gaps = the_trace(damaged)
    assert (len(trace), gaps) == (6, {"agentdiff.missing_field": 1})
    assert trace.trace_id == ("x" if name == "trace_id" else "run-102")


@pytest.mark.parametrize(
    ("name", "value", "gaps"),
    [
        ("steps", None, {}),
        ("steps", 5, {"agentdiff.unreadable_step": 1}),
        ("steps", [5, None], {"agentdiff.unreadable_step": 2}),
        ("agent_name", 5, {"agentdiff.unreadable_field": 1, "agentdiff.missing_field": 1}),
        ("total_tokens", [], {"agentdiff.unreadable_field": 1}),
        ("metadata", "x", {"agentdiff.unreadable_field": 1}),
        ("total_tokens", {"total_tokens": -1}, {"agentdiff.unreadable_field": 1}),
    ],
)
def test_a_field_of_the_wrong_type_is_unknown(
    name: str, value: object, gaps: dict[str, int]
) -> None:
    trace, found = the_trace({**FAILING, name: value})
    assert found == gaps
    assert trace.trace_id == "run-102"


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("step_type", "dance", "unknown_step_type"),
        ("latency_ms", "fast", "unreadable_field"),
        ("latency_ms", -5, None),
        ("tokens", {"prompt_tokens": "many"}, "unreadable_field"),
        ("tokens", {"estimated_cost_usd": "dear"}, "unreadable_field"),
        ("input_payload", [1, 2], None),
        ("output_payload", "text", None),
        ("step_id", 7, None),
        ("step_index", 1.5, None),
    ],
)
def test_a_step_with_an_odd_field_costs_that_field(
    name: str, value: object, code: str | None
) -> None:
    damaged = copy.deepcopy(FAILING)
    damaged["steps"][5][name] = value
    trace, gaps = the_trace(damaged)
    assert len(trace) == 6
    assert gaps.get(f"agentdiff.{code}", 0) == (0 if code is None else 1)
    kinds = [step.kind for step in trace.steps]
    assert kinds.count("UNKNOWN") == (name == "step_type")


def test_a_run_that_is_none_costs_itself() -> None:
    draft = read(json.dumps({**ENVELOPE, "runs": [5, *ENVELOPE["runs"]]}).encode())
    assert draft.file_gaps == {"agentdiff.unreadable_trace": 1}
    assert draft.traces.trace_id == ["run-101", "run-101b"]


def test_a_truncated_file_is_refused_with_its_place() -> None:
    data = fixture("agentdiff/ok.json").read_bytes()
    assert AgentdiffAdapter().sniff(Source("x.json", data[:1500]))
    with pytest.raises(InputError, match=r"^x\.json: line \d+, column \d+: not JSON"):
        read(data[:1500])


def test_a_truncated_line_costs_that_line() -> None:
    line = json.dumps(FAILING).encode()
    draft = read(line + b"\n" + line[:700])
    assert draft.traces.trace_id == ["run-102"]
    assert draft.file_gaps == {"agentdiff.unreadable_trace": 1}


def test_bytes_that_are_no_text_are_replaced_and_counted() -> None:
    data = fixture("agentdiff/failing.json").read_bytes().replace(b"HTTP 429", b"HTTP \xff", 1)
    (trace,) = iterate(seal(read(data)))
    assert {gap.code: gap.count for gap in trace.gaps} == {"text.invalid_utf8": 1}
    assert any(step.error_message == "HTTP \ufffd" for step in trace.steps)


def with_levels(place: str, levels: int) -> bytes:
    """Return the failing run; a body of its last step has so many levels."""
    value = copy.deepcopy(FAILING)
    value["steps"][5][place] = "DEEP"
    deep = '{"a":' * levels + "1" + "}" * levels
    return json.dumps(value).replace('"DEEP"', deep).encode()


@pytest.mark.parametrize("place", ["input_payload", "output_payload", "metadata"])
def test_a_body_of_5000_levels_costs_that_body(place: str) -> None:
    (trace,) = iterate(seal(read(with_levels(place, 5000))))
    assert len(trace) == 6
    assert {gap.code: gap.count for gap in trace.gaps} == {"agentdiff.unreadable_field": 1}


@pytest.mark.parametrize("levels", [400, 900, 960, 980, 990, 1000])
def test_a_body_near_the_limit_of_the_decoder_is_read_or_disclosed(levels: int) -> None:
    (trace,) = iterate(seal(read(with_levels("input_payload", levels))))
    has_gap = any(gap.code == "agentdiff.unreadable_field" for gap in trace.gaps)
    assert has_gap == (list(trace.steps)[-1].input is None)


def test_5000_steps_in_a_chain() -> None:
    steps = [
        {
            "step_id": f"s{n}",
            "step_index": n,
            "step_type": "tool_call",
            "name": "t",
            "parent_id": f"s{n - 1}" if n else None,
        }
        for n in range(5000)
    ]
    trace, gaps = the_trace({**FAILING, "steps": steps, "total_tokens": None})
    assert (len(trace), gaps) == (5000, {})
    assert list(trace.steps)[-1].depth == 4999


def test_10000_children_of_one_container_that_pass_values_on() -> None:
    def children() -> Iterator[dict[str, Any]]:
        yield {"step_id": "root", "step_index": 0, "step_type": "routing", "name": "r"}
        for n in range(1, 10_001):
            yield {
                "step_id": f"s{n}",
                "step_index": n,
                "step_type": "tool_call",
                "name": "t",
                "parent_id": "root",
                "input_payload": {"of": f"value-number-{n - 1}"},
                "output_payload": {"made": f"value-number-{n}", "same": "said by each of them, 1"},
            }

    trace, gaps = the_trace({**FAILING, "steps": list(children()), "total_tokens": None})
    assert (len(trace), gaps) == (10_001, {})
    flows = [(c.cause, c.effect) for c in trace.causes if c.origin == "data_flow"]
    assert flows == [(f"s{n - 1}", f"s{n}") for n in range(2, 10_001)]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["failing.json", "envelope.json", "converted_langgraph.json"]).flatmap(
        lambda name: st.tuples(
            st.just(name),
            damages_of(json.loads(fixture(f"agentdiff/{name}").read_text())),
        )
    )
)
def test_damaged_files_are_read_or_refused_in_words(
    made: tuple[str, list[tuple[tuple[Any, ...], Any]]],
) -> None:
    name, damages = made
    value = json.loads(fixture(f"agentdiff/{name}").read_text())
    value = damaged(value, damages)
    try:
        columns = seal(read(json.dumps(value).encode()))
    except InputError as error:
        assert str(error).startswith("x.json: ")
        return
    is_consistent(columns)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(FAILING)), json_values))
def test_random_members_are_read_or_refused_in_words(members: dict[str, Any]) -> None:
    try:
        is_consistent(seal(read(json.dumps(members).encode())))
    except InputError as error:
        assert str(error).startswith("x.json: ")
