"""Home-made logs read by a mapping: what is counted here is counted from the raw file."""

import json
from typing import Any

import pytest

from mapped_logs import MADE, SIMPLE, Row, drafts, edges, fields, lines, read, read_all
from shared_data import fixture
from trace_view import View, gaps, views
from tracegraph.errors import StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.mapped.adapter import MappedAdapter
from tracegraph.ingest.mapped.words import FIELDS
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate


def made_rows() -> list[Row]:
    text = fixture("mapped/made_all.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def made(name: str) -> list[Trace]:
    source = Source.open(fixture(f"mapped/{name}"), name)
    found = MappedAdapter().read([source], ReadOptions(mapping=MADE))
    return [trace for draft in found for trace in iterate(seal(draft))]


def test_the_fixture_holds_every_field() -> None:
    assert set(MADE.fields) == set(FIELDS)


def test_every_record_is_a_step_of_its_trace() -> None:
    by_trace: dict[str, list[str]] = {}
    for row in made_rows():
        by_trace.setdefault(row["trace"], []).append(row["id"])
    found = {t.trace_id: sorted(s.step_id for s in t.steps) for t in made("made_all.jsonl")}
    assert found == {trace: sorted(ids) for trace, ids in by_trace.items()}


def test_values_arrive_as_they_are_written() -> None:
    rows = {row["id"]: row for row in made_rows()}
    kinds = {"agent": "AGENT", "llm": "LLM", "tool": "TOOL", "retriever": "RETRIEVER"}
    for each in (step for trace in made("made_all.jsonl") for step in trace.steps):
        row = rows[each.step_id]
        usage = row.get("usage", {})
        error = row.get("error") or {}
        assert each.name == row["name"]
        assert each.kind == kinds[row["type"]]
        assert (each.status == "ok") == (row["ok"] in (True, "success"))
        assert each.status_source == "recorded"
        assert (each.agent, each.model) == (row.get("agent"), row.get("model"))
        assert each.duration_ns == row["ms"] * 1e6
        assert (each.error_type, each.error_message) == (error.get("type"), error.get("message"))
        assert (each.tokens_prompt, each.tokens_completion) == (usage.get("in"), usage.get("out"))
        summed = usage["in"] + usage["out"] if usage else None
        assert each.tokens_total == row.get("tokens", summed)
        assert (each.cost is None) == ("usd" not in row)
        assert each.tool_call_id == row.get("call_id")
        assert each.docs == (len(row["documents"]) if "documents" in row else None)
        assert (each.args_digest is None) == ("input" not in row)
        assert (each.result_digest is None) == (row.get("output") is None)


def test_causes_and_containers_are_told_apart() -> None:
    rows = made_rows()
    for trace in made("made_all.jsonl"):
        own = [row for row in rows if row["trace"] == trace.trace_id]
        assert edges(trace, "span_parent") == {(r["parent"], r["id"]) for r in own if r["parent"]}
        assert edges(trace, "edge") == {(c, r["id"]) for r in own for c in r.get("causes", [])}
        assert {(c.origin, c.evidence) for c in trace.causes} <= {
            ("span_parent", "containment"),
            ("edge", "declared"),
        }
        assert trace.fidelity == "full"


def test_what_is_said_of_the_trace() -> None:
    one, two = made("made_all.jsonl")
    assert (one.run_id, one.session_id, one.agent, one.status) == ("r1", "s1", "planner", "ok")
    assert (two.run_id, two.session_id, two.agent) == (None, None, None)
    assert one.attributes == {"labels": {"env": "test"}}
    assert not two.attributes
    assert (one.source, one.file) == ("mapped", "made_all.jsonl")


def test_one_mapping_reads_both_kinds_of_files_alike() -> None:
    found = {name: _views(name) for name in ("made_all.jsonl", "made_all.csv")}
    assert found["made_all.jsonl"] == found["made_all.csv"]


def _views(name: str) -> list[View]:
    source = Source.open(fixture(f"mapped/{name}"), name)
    read = MappedAdapter().read([source], ReadOptions(mapping=MADE))
    whole = [one for draft in read for one in views(seal(draft))]
    return [one | {"file": "", "file_digest": ""} for one in whole]


# --- ids, parents, causes ------------------------------------------------------------------------


def test_a_parent_can_be_a_predecessor() -> None:
    mapping = SIMPLE.replace("container", "cause")
    trace = read(
        lines({"id": 1, "ok": True}, {"id": 2, "parent": 1, "name": "b", "ms": 1}), mapping
    )
    assert edges(trace, "edge") == {("1", "2")}
    assert not edges(trace, "span_parent")


@pytest.mark.parametrize(("is_contained", "status"), [(True, "error"), (False, "ok")])
def test_a_run_ends_as_its_root_does_or_where_none_contains_it_as_its_last_step(
    is_contained: bool, status: str
) -> None:
    rows = [
        {"id": 1, "ok": False, "name": "a", "ms": 1, "parent": None},
        {"id": 2, "ok": True, "parent": 1 if is_contained else None},
    ]
    assert read(lines(*rows)).status == status


def test_without_ids_a_record_has_its_number() -> None:
    data = lines({"name": "a"}, 7, {"name": "b"})
    (draft,) = drafts(data, fields(name="name"))
    (trace,) = iterate(seal(draft))
    assert [step.step_id for step in trace.steps] == ["1", "3"]
    assert draft.file_gaps == {"mapped.unreadable_record": 1}
    assert trace.fidelity == "order_only"
    assert not list(trace.causes)
    assert trace.trace_id == "log"


def test_a_made_id_never_takes_the_place_of_a_recorded_one() -> None:
    mapping = fields(step_id="id", name="name", parent="up")
    rows = [{"name": "a"}, {"id": "row-1", "name": "b"}, {"id": "c", "up": "row-1"}]
    trace = read(lines(*rows), mapping)
    named = {step.step_id: step.name for step in trace.steps}
    assert named["row-1"] == "b"
    assert edges(trace, "span_parent") == {("row-1", "c")}
    assert gaps(trace) == {"mapped.missing_id": 1}


def test_records_that_say_the_same_are_one_step() -> None:
    row = {"id": 1, "parent": None, "name": "a", "ok": True, "ms": 1}
    trace = read(lines(row, row, {"id": 2, "parent": 1}))
    assert (len(trace), gaps(trace)) == (2, {"mapped.duplicate_identical": 1})
    assert edges(trace, "span_parent") == {("1", "2")}


def test_records_with_one_id_that_differ_are_all_kept_and_named_by_none() -> None:
    rows = [{"id": 1, "name": "a", "ms": 1}, {"id": 1, "name": "b", "ok": False}]
    trace = read(lines(*rows, {"id": 2, "parent": 1}))
    assert {s.step_id for s in trace.steps} == {"1", "1~2", "2"}
    assert gaps(trace) == {"mapped.duplicate_step": 1, "mapped.ambiguous_parent": 1}
    assert not list(trace.causes)
    with pytest.raises(StrictError, match=r"^log\.x: line 2: .*mapped\.duplicate_step"):
        read(lines(*rows), strict=True)


def test_a_parent_that_is_not_here_or_the_step_itself() -> None:
    rows = [{"id": 1, "parent": 1, "name": "a", "ok": True, "ms": 1}, {"id": 2, "parent": 9}]
    trace = read(lines(*rows), strict=True)  # a fact of the record, no loss
    assert gaps(trace) == {"mapped.self_parent": 1, "mapped.missing_parent": 1}
    assert [step.orphan for step in trace.steps] == [True, True]


def test_whole_numbers_that_pandas_wrote_as_floats_are_the_same_ids() -> None:
    data = b"id,parent,name,ok,ms\n1,,a,True,1.0\n2,1.0,b,False,2.0\n"
    trace = read(data)
    assert edges(trace, "span_parent") == {("1", "2")}
    assert [s.duration_ns for s in trace.steps] == [1e6, 2e6]
    versions = read(
        lines({"id": "1.0", "ok": True, "ms": 1}, {"id": "2.0", "parent": "1.0", "name": "x"})
    )
    assert edges(versions, "span_parent") == {("1.0", "2.0")}


def test_words_for_no_parent() -> None:
    mapping = SIMPLE.replace('is = "container"', 'is = "container"\nnone = [-1, "root"]')
    rows = [{"id": 1, "parent": -1, "name": "a"}, {"id": 2, "parent": "ROOT", "ok": True, "ms": 1}]
    assert gaps(read(lines(*rows), mapping)) == {}


@pytest.mark.parametrize("value", [["a", "b"], '["a","b"]', "a;b", "a ; b;", ["a", "b", "a"]])
def test_causes_in_every_form(value: Any) -> None:
    mapping = fields(step_id="id", causes="from") + '[causes]\nseparator = ";"\n'
    trace = read(lines({"id": "a"}, {"id": "b"}, {"id": "c", "from": value}), mapping)
    assert edges(trace, "edge") == {("a", "c"), ("b", "c")}


def test_without_a_separator_a_text_is_one_id() -> None:
    mapping = fields(step_id="id", causes="from")
    trace = read(lines({"id": "a;b"}, {"id": "c", "from": "a;b"}), mapping)
    assert edges(trace, "edge") == {("a;b", "c")}


def test_causes_that_are_none() -> None:
    mapping = fields(step_id="id", causes="from")
    rows = [{"id": "a"}, {"id": "b", "from": ["a", {"x": 1}, "gone"]}, {"id": "c", "from": "c"}]
    trace = read(lines(*rows), mapping)
    assert edges(trace, "edge") == {("a", "b")}
    assert gaps(trace) == {
        "mapped.unreadable_field": 1,
        "mapped.missing_cause": 1,
        "causes.self": 1,
    }


def test_traces_that_are_mixed_in_one_log() -> None:
    rows = [{"t": n % 3, "id": n, "up": n - 3 if n > 2 else None} for n in range(30)]
    traces = read_all(lines(*rows), fields(step_id="id", trace_id="t", parent="up"))
    assert [t.trace_id for t in traces] == ["0", "1", "2"]
    for trace in traces:
        own = [row for row in rows if str(row["t"]) == trace.trace_id]
        assert [int(s.step_id) for s in trace.steps] == [row["id"] for row in own]
        assert len(list(trace.causes)) == len(own) - 1


def test_records_without_a_trace_are_one_together() -> None:
    traces = read_all(lines({"t": "x", "n": 1}, {"n": 2}, {"n": 3}), fields(trace_id="t", name="n"))
    assert {t.trace_id: len(t) for t in traces} == {"x": 1, "log": 2}
    assert gaps(traces[1]) == {"mapped.missing_trace_id": 2}
