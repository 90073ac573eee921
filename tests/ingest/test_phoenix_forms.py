"""All forms that a Phoenix server gives of one trace are read to the same trace.

The fixtures are answers of one real server (tests/fixtures/README.md says how they were made).
"""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from phoenix_data import LINKS, MADE, causes, facts, made_database, one, read
from shared_data import fixture, shared
from trace_view import gaps
from tracegraph.errors import InputError, UnknownFormatError
from tracegraph.ingest.phoenix.adapter import PhoenixAdapter
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.model.trace import Trace

FORMS = [
    "made_frame_columns.json",
    "made_frame_lines.jsonl",
    "made_frame_records.json",
    "made_otlpv1.jsonl",
    "made_otlpv1_page.json",
    "made_px_trace_get.json",
    "made_px_trace_list.json",
    "made_spans.jsonl",
    "made_spans_page.json",
]
ONLY_MILLISECONDS = "made_frame"
GAPS = {"phoenix.no_span_links": 1, "phoenix.missing_parent": 1}
EVALUATIONS: list[dict[str, Any]] = [
    {"name": "overall", "label": "bad", "score": 0.25, "annotator_kind": "HUMAN"},
    {"step_id": "3", "name": "correct", "label": "no", "score": 0.0, "annotator_kind": "HUMAN"},
    {"step_id": "3", "name": "latency", "score": 1.5, "annotator_kind": "CODE"},
    {"step_id": "6", "name": "hallucination", "label": "factual", "annotator_kind": "LLM"},
]
RELEVANCE = {
    "step_id": "a",
    "document": 1,
    "name": "relevance",
    "label": "relevant",
    "score": 1.0,
    "annotator_kind": "LLM",
}


def form(name: str) -> Trace:
    return one(fixture(f"phoenix/{name}"))


def of_database(folder: Path) -> Trace:
    found = {trace.trace_id: trace for trace in read(made_database(folder / "phoenix.db"))}
    assert len(found) == 5
    return found[MADE]


def shortened(evaluations: Any) -> Any:
    return [e | {"step_id": e["step_id"].lstrip("0")} if "step_id" in e else e for e in evaluations]


def test_the_trace_as_it_was_sent() -> None:
    trace = form("made_spans_page.json")
    assert (trace.trace_id, trace.source, trace.fidelity) == (MADE, "phoenix", "parent_only")
    assert (trace.session_id, trace.agent, trace.status) == ("s-1", "planner", "ok")
    assert gaps(trace) == GAPS
    told = {int(s.step_id, 16): (s.kind, s.name, s.status, s.status_source) for s in trace.steps}
    assert told == {
        1: ("AGENT", "agent", "ok", "recorded"),
        2: ("LLM", "plan", "ok", "recorded"),
        3: ("TOOL", "search", "error", "exception"),
        4: ("LLM", "plan", "ok", "recorded"),
        5: ("TOOL", "search", "ok", "recorded"),
        6: ("LLM", "plan", "ok", "recorded"),
        7: ("UNKNOWN", "paused", "unset", "control_flow"),
        8: ("UNKNOWN", "odd", "ok", "default"),
        9: ("CHAIN", "orphan", "ok", "default"),
        10: ("RETRIEVER", "retrieve", "ok", "default"),
        11: ("CHAIN", "plain", "ok", "default"),
    }
    steps = {int(s.step_id, 16): s for s in trace.steps}
    assert (steps[3].error_type, steps[3].error_message) == ("ValueError", "boom")
    assert (steps[4].cost, steps[4].tokens_total, steps[4].model) == ("0.00125", 43, "gpt-4o")
    assert [n for n, s in steps.items() if s.cost is not None] == [4]
    assert (steps[10].docs, steps[9].orphan) == (2, True)
    assert steps[2].start == 1764000002123457000  # 123456789 ns were sent; Phoenix keeps µs
    messages = {
        (int(e, 16), int(c, 16)) for e, c, origin, _ in causes(trace) if origin != "span_parent"
    }
    assert messages == {(3, 2), (4, 3), (5, 4), (6, 5)}
    assert {o for _, _, o, _ in causes(trace)} == {"span_parent", "tool_call_id"}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_gives_the_same_trace(name: str) -> None:
    trace, other = form("made_spans_page.json"), form(name)
    assert detect(Source.open(fixture(f"phoenix/{name}"), name)).name == "phoenix"
    assert facts(other) == facts(trace)
    assert causes(other) == causes(trace)
    assert gaps(other) == GAPS
    unit = 10**6 if name.startswith(ONLY_MILLISECONDS) else 10**3
    for step, same in zip(other.steps, trace.steps, strict=True):
        for time, exact in ((step.start, same.start), (step.end, same.end)):
            assert time is not None
            assert exact is not None
            assert time == exact // unit * unit
    assert (other.session_id, other.agent, other.status) == ("s-1", "planner", "ok")


def test_the_database_gives_the_same_trace_and_what_phoenix_reckoned(tmp_path: Path) -> None:
    trace, other = form("made_spans_page.json"), of_database(tmp_path)
    told, recorded = facts(other), facts(trace)
    reckoned = {i for i in told if told[i]["cost"] != recorded[i]["cost"]}
    assert {int(i, 16) for i in reckoned} == {2, 6}
    # 25 and 7 tokens at its prices for a million of them, 2.50 and 10, reckoned in floats
    assert float(told["0000000000000002"]["cost"]) == pytest.approx(0.0001325)
    for i in reckoned:
        assert recorded[i]["cost"] is None
        told[i]["cost"] = None
    assert told == recorded
    assert causes(other) == causes(trace)
    assert [(s.start, s.end) for s in other.steps] == [(s.start, s.end) for s in trace.steps]
    assert gaps(other) == GAPS | {"phoenix.cost_from_price_list": 2}
    assert other.attributes["openinference.project.name"] == "made"


def test_a_trace_that_only_lists_its_spans_knows_no_attribute() -> None:
    trace, listed = form("made_spans_page.json"), form("made_traces_with_spans.json")
    assert gaps(listed) == GAPS | {"phoenix.no_attributes": 11}
    full, thin = facts(trace), facts(listed)
    for i in full:
        for field in ("seq", "orphan", "depth"):
            assert thin[i][field] == full[i][field]
        assert thin[i]["unknown_fields"][:3] == ("agent", "args", "attr")
        assert thin[i]["args_digest"] is None
    assert {e for e in causes(trace) if e[2] == "span_parent"} == causes(listed)
    # No event is listed, so that no exception is known of is no sign of success.
    assert {int(i, 16): s["status"] for i, s in thin.items()} == {
        **dict.fromkeys((1, 2, 4, 5, 6), "ok"),
        **dict.fromkeys((3, 7, 8, 9, 10, 11), "unset"),
    }


@pytest.mark.parametrize("name", ["made_px_trace_get.json", "made_px_trace_list.json"])
def test_annotations_are_evaluations_and_their_texts_are_content(name: str) -> None:
    whole = [e for e in EVALUATIONS if "step_id" in e or name == "made_px_trace_list.json"]
    trace = form(name)
    assert shortened(trace.attributes["evaluations"]) == whole
    for text in trace.columns.vocabulary:
        assert "never looked" not in text
        assert "look at this one" not in text
    kept = one(fixture(f"phoenix/{name}"), keep_content=True)
    step = next(s for s in kept.steps if s.step_id == "0000000000000003")
    said = json.dumps(step.attributes["annotations"])
    assert "it never looked" in said
    assert "look at this one" in said
    if name == "made_px_trace_list.json":
        assert "too slow" in json.dumps(next(iter(kept.steps)).attributes["trace_annotations"])


def test_annotations_of_the_database(tmp_path: Path) -> None:
    trace = of_database(tmp_path)
    evaluations = shortened(trace.attributes["evaluations"])
    assert sorted(evaluations, key=str) == sorted([*EVALUATIONS, RELEVANCE], key=str)
    kept = {t.trace_id: t for t in read(tmp_path / "phoenix.db", keep_content=True)}[MADE]
    said = json.dumps([step.attributes for step in kept.steps])
    for text in ("it never looked", "look at this one", "too slow"):
        assert text in said


def test_attributes_are_kept_under_the_names_of_opentelemetry(tmp_path: Path) -> None:
    sources = [fixture(f"phoenix/{n}") for n in FORMS if not n.startswith("made_px")]
    sources.append(made_database(tmp_path / "phoenix.db"))
    for path in sources:
        kept = {trace.trace_id: trace for trace in read(path, keep_content=True)}[MADE]
        step = {int(s.step_id, 16): s for s in kept.steps}
        assert step[5].attributes["tool.parameters"] == {"q": "y", "page": {"from": 1}}
        assert step[11].attributes["metadata"] == {"a": {"b": [1, 2]}}
        assert step[3].attributes["input.value"] == step[3].input == '{"q":"x"}'
        names = {name for name in step[2].attributes if name.startswith("llm.output_messages")}
        assert names == {
            f"llm.output_messages.0.message.tool_calls.0.tool_call.{name}"
            for name in ("id", "function.name", "function.arguments")
        }


def test_the_parts_of_a_trace_unite_over_pages_and_forms() -> None:
    document = json.loads(fixture("phoenix/made_spans_page.json").read_bytes())
    pages = [
        Source(f"{n}.json", json.dumps({"data": part, "next_cursor": "x"}).encode())
        for n, part in enumerate((document["data"][:4], document["data"][4:]))
    ]
    (united,) = read(pages)
    assert facts(united) == facts(form("made_spans_page.json"))
    px = Source("px.json", fixture("phoenix/made_px_trace_list.json").read_bytes())
    (twice,) = read([*pages, px])
    assert facts(twice) == facts(united)
    assert gaps(twice) == GAPS | {"phoenix.duplicate_identical": 11}
    assert shortened(twice.attributes["evaluations"]) == EVALUATIONS


@pytest.mark.parametrize("keep", [False, True])
def test_a_page_and_the_database_say_the_same(keep: bool, tmp_path: Path) -> None:
    database = made_database(tmp_path / "phoenix.db")
    pages = [fixture(f"phoenix/{name}_spans_page.json") for name in ("made", "agents")]
    sources = [Source.open(path, path.name) for path in (*pages, database)]
    for order in (sources, sources[::-1]):
        found = read(order, keep_content=keep)
        counts = [gaps(trace).get("phoenix.duplicate_identical") for trace in found]
        assert counts == [len(trace) for trace in found]
        assert not any("phoenix.duplicate_conflict" in gaps(trace) for trace in found)
        costs = {s.step_id: s.cost for t in found for s in t.steps if s.cost is not None}
        assert len(costs) == 3
        assert sum(gaps(t).get("phoenix.cost_from_price_list", 0) for t in found) == 2


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("empty_page", "nothing"),
        ("projects", "projects"),
        ("sessions", "sessions"),
        ("span_annotations", "annotations of spans"),
        ("trace_annotations", "annotations of traces"),
        ("traces_page", "traces without their spans"),
    ],
)
def test_a_page_without_spans_is_refused_by_what_it_is(name: str, held: str) -> None:
    path = fixture(f"phoenix_without_spans/{name}.json")
    assert detect(Source.open(path, path.name)).name == "phoenix"
    with pytest.raises(UnknownFormatError) as refused:
        read(path)
    message = str(refused.value)
    assert message.startswith(f"{name}.json: holds no spans, it is a Phoenix page of {held}; ")
    assert "px trace list --format raw" in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["rest_h3_traces_page1.json", "rest_projects.json"])
def test_shared_pages_without_spans_are_refused(name: str) -> None:
    with pytest.raises(UnknownFormatError, match="holds no spans"):
        read(shared(f"traces/phoenix_export/{name}"))


def test_spans_in_the_shape_of_other_tools() -> None:
    trace = one(shared("traces/agentdiff/adapters/openinference.json"))
    agent, model, tool = trace.steps
    assert trace.trace_id == "t1"
    assert (agent.kind, agent.status, agent.start) == ("AGENT", "ok", 1767225600000000000)
    assert (model.status, model.status_source) == ("unset", None)  # neither status nor events
    assert (model.start, model.duration_ns) == (1767225600000000000, 10**9)
    assert (tool.kind, tool.status, tool.error_message) == ("TOOL", "error", "Boom")
    assert gaps(trace) == LINKS | {"phoenix.missing_field": 3}


def test_a_database_of_something_else_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE spans (id, trace_rowid, span_id)")
    connection.close()
    assert not PhoenixAdapter().sniff(Source.open(path, "x.db"))


def test_a_server_without_any_span_is_refused(tmp_path: Path) -> None:
    path = made_database(tmp_path / "phoenix.db", "DELETE FROM spans;")
    with pytest.raises(InputError, match=r"^phoenix\.db: .* without any span"):
        read(path)
