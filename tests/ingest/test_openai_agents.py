import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared_data import fixture
from trace_view import gaps, named, view
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.openai_agents.adapter import OpenaiAgentsAdapter
from tracegraph.ingest.otlp.adapter import OtlpAdapter
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace, iterate

Item = dict[str, Any]
FILES = sorted(fixture("openai_agents").glob("*.json*"))
EACH = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
CHATS = [path for path in FILES if path.name.startswith("chat_")]
KINDS = {
    "agent": "AGENT",
    "function": "TOOL",
    "handoff": "TOOL",
    "generation": "LLM",
    "response": "LLM",
    "guardrail": "GUARDRAIL",
    "mcp_tools": "CHAIN",
    "task": "CHAIN",
    "turn": "CHAIN",
    "speech_group": "CHAIN",
    "custom": "CHAIN",
}


def items_of(path: Path) -> list[Item]:
    """Return the traces and spans of a fixture, those that ended only."""
    text = path.read_text()
    if path.suffix == ".jsonl":
        items = [json.loads(line) for line in text.splitlines()]
    else:
        value = json.loads(text)
        items = value.get("data") or [value, *value["spans"]]
    ended = {item["id"] for item in items if item.get("ended_at")}
    return [item for item in items if item.get("ended_at") or item["id"] not in ended]


def spans_of(path: Path) -> list[Item]:
    return [item for item in items_of(path) if item["object"] == "trace.span"]


def work(span: Item) -> str:
    data = span["span_data"]
    own = data.get("data", {}).get("sdk_span_type") if data["type"] == "custom" else None
    return str(own or data["type"])


def lines(items: list[Item]) -> bytes:
    return "".join(json.dumps(item) + "\n" for item in items).encode()


def read_all(data: bytes, *, strict: bool = False, keep: bool = True) -> list[Trace]:
    source = Source("x.json", data)
    assert detect(source).name == "openai_agents"
    (draft,) = OpenaiAgentsAdapter().read([source], ReadOptions(keep, strict))
    return list(iterate(seal(draft)))


def read(items: list[Item] | Path, *, strict: bool = False) -> Trace:
    data = items.read_bytes() if isinstance(items, Path) else lines(items)
    (trace,) = read_all(data, strict=strict)
    return trace


def loop_edges(trace: Trace) -> set[tuple[str, str]]:
    return {(c.cause, c.effect) for c in trace.causes if c.origin == "protocol"}


def agent_of(span: Item, by_id: dict[str, Item]) -> Item | None:
    """Return the agent whose loop a span is in: its own parent, or that of its turn."""
    above = by_id.get(span["parent_id"] or "")
    if above is not None and work(above) == "turn":
        above = by_id.get(above["parent_id"] or "")
    return above if above is not None and work(above) == "agent" else None


def expected_edges(spans: list[Item]) -> set[tuple[str, str]]:
    """Return (cause, effect) by comparing every pair of spans of one agent's loop in time."""
    by_id = {span["id"]: span for span in spans}
    models = [s for s in spans if work(s) in ("response", "generation")]
    handoffs = [s for s in spans if work(s) == "handoff"]
    found: set[tuple[str, str]] = set()
    for tool in (s for s in spans if work(s) in ("function", "handoff")):
        agent = agent_of(tool, by_id)
        assert agent is not None
        own = [m for m in models if agent_of(m, by_id) is agent]
        asked = [m for m in own if not m["error"] and m["ended_at"] <= tool["started_at"]]
        if asked:
            found.add((max(asked, key=lambda m: m["started_at"])["id"], tool["id"]))
        after = [m for m in own if m["started_at"] >= tool["ended_at"]]
        for handoff in handoffs:
            if not after and agent_of(handoff, by_id) is agent:
                to = handoff["span_data"]["to_agent"]
                (agent,) = (s for s in spans if work(s) == "agent" and s["span_data"]["name"] == to)
                found.add((handoff["id"], agent["id"]))
                after = [m for m in models if agent_of(m, by_id) is agent]
        last = min((m["started_at"] for m in after if not m["error"]), default="never")
        found |= {(tool["id"], m["id"]) for m in after if m["started_at"] <= last}
    return found


@EACH
def test_spans_are_the_steps_that_plain_json_counts(path: Path) -> None:
    spans = spans_of(path)
    trace = read(path, strict=True)
    assert {s.step_id: s.kind for s in trace.steps} == {
        span["id"]: KINDS.get(work(span), "UNKNOWN") for span in spans
    }
    contained = {(c.effect, c.cause) for c in trace.causes if c.origin == "span_parent"}
    assert contained == {(s["id"], s["parent_id"]) for s in spans if s["parent_id"]}
    recorded = {s.step_id for s in trace.steps if s.status == "error" and s.error_message}
    assert recorded == {span["id"] for span in spans if span["error"]}
    for span in spans:
        step = next(s for s in trace.steps if s.step_id == span["id"])
        usage = span["span_data"].get("usage") or {}
        total = usage.get("total_tokens", usage.get("details", {}).get("total_tokens"))
        if step.kind == "LLM" and total is not None:
            assert step.tokens_total == total
        assert (step.start is None) == (span["started_at"] is None)
        assert (step.end is None) == (span["ended_at"] is None)
        assert step.model == (span["span_data"].get("model") or None)
        if step.kind == "TOOL" and work(span) == "function":
            assert step.input == span["span_data"]["input"]
            assert step.output == span["span_data"]["output"]


@EACH
def test_causes_are_those_of_the_runners_loop(path: Path) -> None:
    assert loop_edges(read(path)) == expected_edges(spans_of(path))


@pytest.mark.parametrize("path", CHATS, ids=lambda path: path.name)
def test_messages_and_the_order_of_the_loop_tell_the_same(path: Path) -> None:
    silent = items_of(path)
    for item in silent:
        data = item.get("span_data", {})
        if data.get("type") == "generation":
            data["input"] = data["output"] = None
    assert loop_edges(read(silent)) == loop_edges(read(path))


@pytest.mark.parametrize(
    "path", sorted(fixture("openai_agents_spans").glob("*.json")), ids=lambda path: path.name
)
def test_the_same_runs_exported_with_their_messages_tell_the_same(path: Path) -> None:
    """OpenInference sees the responses themselves, and its spans know nothing of the loop's order.

    It has no message of a response that failed, and none of a handoff goes by the handoff's name.
    """
    (draft,) = OtlpAdapter().read([Source("x", path.read_bytes())], ReadOptions())
    (other,) = iterate(seal(draft))
    trace = read(fixture(f"openai_agents/{path.stem}.jsonl"))
    held = by_time(step for step in other.steps if step.parent is not None)
    assert [(s.kind, s.name) for s in held] == [(s.kind, s.name) for s in by_time(trace.steps)]
    told, derived = called(other), called(trace)
    assert told
    assert {edge for edge in derived if "handoff" not in str(edge)} == told


def by_time(steps: Iterable[Step]) -> list[Step]:
    return sorted(steps, key=lambda step: (step.start is None, step.start))


def called(trace: Trace) -> set[tuple[str, str]]:
    """Return what models and tools cause of each other, each by its name and place in time."""
    count: Counter[str | None] = Counter()
    places: dict[str, str] = {}
    for step in by_time(trace.steps):
        count[step.name] += 1
        if step.kind in ("LLM", "TOOL") and not (step.kind == "LLM" and step.status == "error"):
            places[step.step_id] = f"{step.name} {count[step.name]}"
    found = ((c.cause, c.effect) for c in trace.causes if c.origin in ("tool_call_id", "protocol"))
    return {(places[c], places[e]) for c, e in found if {c, e} <= places.keys()}


@EACH
def test_the_same_items_in_every_form_are_the_same_trace(path: Path) -> None:
    items = items_of(path)
    about = next(item for item in items if item["object"] == "trace")
    whole = {**about, "spans": [item for item in items if item is not about]}
    about.pop("spans", None)
    forms = ({"data": items}, items, whole, {"data": [whole]})
    expected = view(read(items))
    for form in forms:
        (trace,) = read_all(json.dumps(form).encode(), strict=True)
        assert {**view(trace), "file_digest": None} == {**expected, "file_digest": None}


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(FILES), st.integers(0, 2**32))
def test_the_order_of_the_items_tells_nothing(path: Path, seed: int) -> None:
    items = items_of(path)
    before = read(items)
    random.Random(seed).shuffle(items)
    after = read(items)
    assert {(s.step_id, s.status, s.agent) for s in before.steps} == {
        (s.step_id, s.status, s.agent) for s in after.steps
    }
    assert set(before.causes) == set(after.causes)
    assert before.status == after.status


def test_a_span_that_was_written_twice_is_read_as_it_ended() -> None:
    path = fixture("openai_agents/responses_starts_and_ends.jsonl")
    raw = [json.loads(line) for line in path.read_text().splitlines()]
    assert (
        Counter(item["id"] for item in raw if item["object"] != "trace").most_common()[-1][1] == 2
    )
    trace = read(path, strict=True)
    assert gaps(trace) == {}
    assert all(step.end is not None for step in trace.steps)


def test_equal_calls_of_one_model_have_its_cause() -> None:
    trace = read(fixture("openai_agents/chat_parallel.jsonl"))
    asker, reader = (s for s in trace.steps if s.kind == "LLM")
    tools = [s.step_id for s in trace.steps if s.kind == "TOOL"]
    assert loop_edges(trace) == {(asker.step_id, t) for t in tools} | {
        (t, reader.step_id) for t in tools
    }
    assert gaps(trace) == {"openai_agents.ambiguous_tool_call": 2}
    assert named(trace, "get_weather").signals == ()
    assert reader.signals == ("final_answer",)


def test_a_handoff_joins_two_agents() -> None:
    for name in ("chat_handoff", "responses_handoff"):
        trace = read(fixture(f"openai_agents/{name}.jsonl"))
        handoff, spanish = named(trace, "handoff to Spanish"), named(trace, "Spanish")
        first, second, _ = (s for s in trace.steps if s.kind == "LLM")
        assert (handoff.kind, handoff.agent, handoff.status) == ("TOOL", "Triage", "ok")
        assert {(e, c) for c, e in loop_edges(trace) if handoff.step_id in (c, e)} == {
            (handoff.step_id, first.step_id),
            (spanish.step_id, handoff.step_id),
            (second.step_id, handoff.step_id),
        }
        assert [s.agent for s in trace.steps if s.kind == "LLM"] == ["Triage", "Spanish", "Spanish"]


@pytest.mark.parametrize(
    ("name", "failing", "message"),
    [
        ("responses_max_turns", ["task", "agent"], "Max turns exceeded"),
        ("responses_tool_fatal", ["task", "agent", "function"], "Error in agent run: "),
        ("responses_model_error", ["task", "agent", "response"], "Error in agent run: "),
        ("guardrail_input", ["task", "agent", "turn"], "Guardrail tripwire triggered"),
        ("chat_unknown_tool", ["task", "agent", "turn"], "Tool not found"),
        ("chat_two_handoffs", ["handoff"], "Multiple handoffs requested"),
        ("chat_tool_error", ["function"], "Error running tool (non-fatal): "),
    ],
)
def test_what_ended_a_run_is_told_of_what_it_ran_in(
    name: str, failing: list[str], message: str
) -> None:
    path = fixture(f"openai_agents/{name}.jsonl")
    works = {span["id"]: work(span) for span in spans_of(path)}
    trace = read(path)
    assert sorted(works[s.step_id] for s in trace.steps if s.status == "error") == sorted(failing)
    assert trace.status == ("error" if "agent" in failing else "ok")
    assert any((s.error_message or "").startswith(message) for s in trace.steps)
    sources = {works[s.step_id]: s.status_source for s in trace.steps if s.status == "error"}
    recorded = {work(span) for span in spans_of(path) if span["error"]}
    assert {w: "recorded" if w in recorded else "inner_error" for w in failing} == sources


def test_the_end_of_a_turn_in_which_a_run_failed_is_not_known() -> None:
    trace = read(fixture("openai_agents/responses_model_error.jsonl"))
    assert [s.status for s in trace.steps if s.name == "turn"] == ["ok", "unset"]


def test_a_guardrail_that_trips_did_not_fail() -> None:
    guardrail = named(read(fixture("openai_agents/guardrail_input.jsonl")), "no_maths")
    assert (guardrail.kind, guardrail.status) == ("GUARDRAIL", "ok")
    assert guardrail.output == '{"triggered":true}'


def test_a_model_that_asks_for_what_its_agent_has_not() -> None:
    trace = read(fixture("openai_agents/chat_unknown_tool.jsonl"))
    assert named(trace, "generation").signals == ("unknown_tool",)


def test_a_failed_attempt_was_given_the_result_too() -> None:
    path = fixture("openai_agents/responses_retry.jsonl")
    trace = read(path)
    tool = named(trace, "get_weather").step_id
    readers = [effect for cause, effect in loop_edges(trace) if cause == tool]
    statuses = {s.step_id: s.status for s in trace.steps}
    assert sorted(statuses[r] for r in readers) == ["error", "ok"]


def test_what_is_said_of_a_trace() -> None:
    trace = read(fixture("openai_agents/made_spans_of_a_trace.json"))
    assert trace.session_id == "made-thread"
    assert trace.attributes == {"environment": "test", "workflow": "weather desk"}
    told = named(trace, "Agent workflow").attributes["trace"]
    assert told["metadata"]["note"] == "not to be told"
    (bare,) = read_all(fixture("openai_agents/made_spans_of_a_trace.json").read_bytes(), keep=False)
    assert "not to be told" not in str(view(bare))


def test_tools_inside_of_a_tool_belong_to_the_inner_agent() -> None:
    trace = read(fixture("openai_agents/posted_agent_as_tool.json"))
    assert named(trace, "get_weather").agent == "Expert"
    assert named(trace, "ask_expert").agent == "Boss"
    assert gaps(trace) == {}


def span(number: int, parent: int | None = None, **fields: Any) -> Item:
    return {
        "object": "trace.span",
        "id": f"span_{number:024d}",
        "trace_id": "trace_1",
        "parent_id": f"span_{parent:024d}" if parent is not None else None,
        "started_at": f"2026-11-30T03:00:{number:02d}+00:00",
        "ended_at": f"2026-11-30T03:00:{number:02d}.5+00:00",
        "span_data": {"type": "custom", "name": f"n{number}", "data": {}},
        "error": None,
        **fields,
    }


def test_a_span_without_a_trace_is_put_where_its_parents_are() -> None:
    outer, inner = span(1), span(2, 1)
    del inner["trace_id"]
    (trace,) = read_all(lines([outer, inner, span(3, trace_id="trace_2")]))[:1]
    assert {s.name for s in trace.steps} == {"n1", "n2"}
    assert gaps(trace) == {"openai_agents.missing_trace_id": 1}


def test_a_trace_without_spans_is_disclosed() -> None:
    source = Source(
        "x.jsonl",
        lines([{"object": "trace", "id": "trace_0", "workflow_name": "w"}, span(1)]),
    )
    (draft,) = OpenaiAgentsAdapter().read([source], ReadOptions())
    assert draft.file_gaps == {"openai_agents.trace_without_spans": 1}
    assert draft.traces.trace_id == ["trace_1"]


def test_what_cannot_be_read_costs_itself_and_is_refused_when_strict() -> None:
    odd = span(2, 1, span_data={"type": "dream", "name": 7}, started_at="yesterday")
    (trace,) = read_all(lines([span(1), odd]))
    assert gaps(trace) == {
        "openai_agents.unknown_type": 1,
        "openai_agents.unreadable_field": 1,
        "openai_agents.unreadable_timestamp": 1,
    }
    with pytest.raises(StrictError, match=r"x\.json: span span_0+2"):
        read_all(lines([span(1), odd]), strict=True)


def test_two_records_of_one_span() -> None:
    later = span(1, span_data={"type": "custom", "name": "other", "data": {}})
    later["ended_at"] = "2026-11-30T03:01:00+00:00"
    (trace,) = read_all(lines([later, span(1)]))
    assert [s.name for s in trace.steps] == ["other"]
    assert gaps(trace) == {"openai_agents.duplicate_conflict": 1}


def test_a_file_without_a_span_is_refused() -> None:
    with pytest.raises(InputError, match=r"^x\.json: holds no span"):
        list(OpenaiAgentsAdapter().read([Source("x.json", b'{"data": []}')], ReadOptions()))


def test_a_tool_that_still_ran_gave_the_next_model_nothing() -> None:
    response = {"type": "response", "response_id": "r"}
    spans = [
        span(1, span_data={"type": "agent", "name": "A"}),
        span(2, 1, span_data=response),
        span(3, 1, span_data={"type": "function", "name": "f"}, ended_at="2026-11-30T03:00:06Z"),
        span(4, 1, span_data={"type": "function", "name": "g"}),
        span(5, 1, span_data=response),
        span(7, 1, span_data=response),
    ]
    names = {item["id"]: int(item["id"][-2:]) for item in spans}
    found = {(names[cause], names[effect]) for cause, effect in loop_edges(read(spans))}
    assert found == {(2, 3), (2, 4), (4, 5), (3, 7)}


def test_an_agent_that_follows_the_handoffs_of_two_runs_is_of_neither_for_sure() -> None:
    handoff = {"type": "handoff", "from_agent": "A", "to_agent": "B"}
    ran: Item = {"started_at": "2026-11-30T03:00:00Z", "ended_at": "2026-11-30T03:00:30Z"}
    spans = [
        span(1, span_data={"type": "agent", "name": "A"}, **ran),
        span(2, span_data={"type": "agent", "name": "A"}, **ran),
        span(3, 1, span_data=handoff),
        span(4, 2, span_data=handoff),
        span(5, span_data={"type": "agent", "name": "B"}),
        span(6, span_data={"type": "agent", "name": "B"}),
    ]
    assert loop_edges(read(spans)) == set()
    assert len(loop_edges(read([each for each in spans if each is not spans[3]]))) == 1
