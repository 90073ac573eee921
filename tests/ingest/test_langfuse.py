import json
from typing import Any

import pytest
from hypothesis import given, settings

from damage import damaged, damages_of, is_consistent
from shared_data import fixture
from trace_view import gaps, the
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.langfuse.adapter import LangfuseAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.digest import digest_value
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Row = dict[str, Any]
REAL = fixture("langfuse/agentprism_langfuse-1.json")


def read_draft(data: bytes, *, strict: bool = False, **options: Any) -> Draft:
    source = Source("x.json", data)
    assert LangfuseAdapter().sniff(source)
    (draft,) = LangfuseAdapter().read([source], ReadOptions(True, strict, **options))
    return draft


def read(value: Any, *, strict: bool = False) -> Trace:
    (trace,) = iterate(seal(read_draft(json.dumps(value).encode(), strict=strict)))
    return trace


def edges(trace: Trace, *origins: str) -> list[tuple[str, str]]:
    return [(c.cause, c.effect) for c in trace.causes if c.origin in origins]


def observed(key: str, number: int, kind: str = "SPAN", **fields: Any) -> Row:
    return {
        "id": key,
        "traceId": "t",
        "type": kind,
        "name": key,
        "parentObservationId": "root",
        "startTime": f"2026-11-29T18:00:0{number}.500Z",
        "endTime": f"2026-11-29T18:00:0{number}.900Z",
        "level": "DEFAULT",
        "statusMessage": None,
        **fields,
    }


def exported(*observations: Row, **trace: Any) -> Row:
    root = observed("root", 0, "AGENT", parentObservationId=None)
    return {"trace": {"id": "t", **trace}, "observations": [root, *observations]}


def test_a_real_download_holds_what_plain_json_counts() -> None:
    raw = json.loads(REAL.read_text())
    (trace,) = iterate(seal(read_draft(REAL.read_bytes(), strict=True)))
    kinds = {"GENERATION": "LLM", "SPAN": "UNKNOWN"}
    assert {s.step_id: (s.name, s.kind) for s in trace.steps} == {
        o["id"]: (o["name"], kinds[o["type"]]) for o in raw["observations"]
    }
    assert edges(trace, "span_parent") == [
        (o["parentObservationId"], s.step_id)
        for s in trace.steps
        for o in raw["observations"]
        if o["id"] == s.step_id and o["parentObservationId"]
    ]
    assert (trace.trace_id, trace.session_id) == (raw["trace"]["id"], raw["trace"]["sessionId"])
    used = {o["id"]: o["totalUsage"] or None for o in raw["observations"]}
    assert {s.step_id: s.tokens_total for s in trace.steps} == used
    costs = {o["id"]: o["totalCost"] or None for o in raw["observations"]}
    assert {s.step_id: s.cost and float(s.cost) for s in trace.steps} == costs
    scores = [(score["name"], score["value"]) for score in raw["trace"]["scores"]]
    assert [(e["name"], e["score"]) for e in trace.attributes["evaluations"]] == scores
    assert (trace.status, trace.fidelity, gaps(trace)) == ("ok", "parent_only", {})
    for step in trace.steps:
        record = next(o for o in raw["observations"] if o["id"] == step.step_id)
        assert (step.input, step.output) == (record.get("input"), record.get("output"))
        assert step.attributes["metadata"] == record["metadata"]
    said = "".join(seal(read_draft(REAL.read_bytes())).vocabulary)
    assert "politely redirects" not in said  # comments on scores are text of a model


def test_a_score_that_no_double_holds_is_none() -> None:
    raw = json.loads(REAL.read_text())
    first, *rest = raw["trace"]["scores"]
    first["value"] = 10**400
    (trace,) = iterate(seal(read_draft(json.dumps(raw).encode())))
    scores = [each.get("score") for each in trace.attributes["evaluations"]]
    assert scores == [None, *(score["value"] for score in rest)]


def test_a_trace_of_the_api_lists_its_observations_in_any_order() -> None:
    (trace,) = iterate(seal(read_draft(fixture("langfuse/api_trace.json").read_bytes())))
    assert [(s.step_id, s.kind, s.status) for s in trace.steps] == [
        ("o1", "LLM", "ok"),
        ("o2", "UNKNOWN", "error"),
    ]
    assert (trace.trace_id, the(trace, "o1").tokens_total) == ("lf1", 15)
    assert the(trace, "o2").error_message == "Boom"


def test_pages_of_observations_and_of_traces() -> None:
    export = exported(observed("a", 1))
    flat = read({"data": export["observations"], "meta": {"page": 1}})
    held = read({"data": [{**export["trace"], "observations": export["observations"]}]})
    listed = read(export["observations"])
    for trace in (flat, held, listed):
        assert (trace.trace_id, [s.step_id for s in trace.steps]) == ("t", ["root", "a"])


def test_messages_make_the_chain_of_calls() -> None:
    asked = {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}
        ],
    }
    answer = {"role": "tool", "tool_call_id": "c1", "content": "found"}
    question = {"role": "user", "content": "find it"}
    tools = [{"type": "function", "function": {"name": "find"}}]
    trace = read(
        exported(
            observed("m1", 1, "GENERATION", input=[question], output=asked, model="m"),
            observed("find", 2, "TOOL", input={"q": 1}, output="found"),
            observed(
                "m2",
                3,
                "GENERATION",
                input=json.dumps({"messages": [question, asked, answer], "tools": tools}),
                output={"role": "assistant", "content": "here"},
            ),
        )
    )
    assert edges(trace, "tool_call_id", "protocol") == [("m1", "find"), ("find", "m2")]
    tool = the(trace, "find")
    assert (tool.args_digest, tool.result_digest) == (digest_value({"q": 1}), digest_value("found"))
    assert the(trace, "m2").signals == ("final_answer",)
    assert the(trace, "m1").model == "m"


@pytest.mark.parametrize(
    ("fields", "status", "source", "message", "code"),
    [
        ({}, "ok", "default", None, None),
        ({"level": "ERROR", "statusMessage": "boom"}, "error", "recorded", "boom", None),
        ({"level": "ERROR"}, "error", "recorded", None, None),
        ({"level": "WARNING", "statusMessage": "slow"}, "ok", "default", None, None),
        ({"level": None}, "ok", "default", None, None),
        ({"endTime": None}, "unset", None, None, None),
        ({"level": "ODD"}, "unset", None, None, "unreadable_status"),
        ({"level": 5}, "unset", None, None, "unreadable_status"),
        ({"type": "EVENT", "endTime": None}, "ok", "default", None, None),
        ({"type": "DANCE"}, "ok", "default", None, "unknown_type"),
        ({"startTime": "yesterday"}, "ok", "default", None, "unreadable_timestamp"),
        ({"name": 5}, "ok", "default", None, "unreadable_field"),
    ],
)
def test_status_and_odd_fields(
    fields: Row, status: str, source: str | None, message: str | None, code: str | None
) -> None:
    export = exported(observed("a", 1, **fields))
    step = the(read(export), "a")
    assert (step.status, step.status_source, step.error_message) == (status, source, message)
    assert gaps(read(export)) == ({f"langfuse.{code}": 1} if code else {})
    if code is not None:
        with pytest.raises(StrictError, match=rf"^x\.json: .*\(langfuse\.{code}\)"):
            read(export, strict=True)


@pytest.mark.parametrize(
    ("fields", "tokens", "cost"),
    [
        ({"usageDetails": {"input": 10, "output": 5, "total": 15}}, (10, 5, 15), None),
        ({"usage": {"promptTokens": 10, "completionTokens": 5}}, (10, 5, 15), None),
        ({"usageDetails": {"input": 10, "output": 0}}, (10, 0, 10), None),
        ({"usageDetails": {}, "totalCost": 0}, (None, None, None), None),
        ({"usage": {"input": 0, "output": 0, "total": 0}}, (None, None, None), None),
        ({"costDetails": {"total": 0.25}, "totalCost": 0.5}, (None, None, None), "0.25"),
        ({"calculatedTotalCost": 0.5}, (None, None, None), "0.5"),
    ],
)
def test_usage(fields: Row, tokens: tuple[int | None, ...], cost: str | None) -> None:
    step = the(read(exported(observed("a", 1, "GENERATION", **fields))), "a")
    assert (step.tokens_prompt, step.tokens_completion, step.tokens_total) == tokens
    assert step.cost == cost


def test_what_opentelemetry_recorded_is_read_too() -> None:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "search", "session.id": "s"}
    metadata = json.dumps({"attributes": attributes})
    trace = read(exported(observed("a", 1, metadata=metadata, input='{"q": 1}')))
    step = the(trace, "a")
    assert (step.kind, step.name, step.args_digest) == ("TOOL", "search", digest_value({"q": 1}))
    assert trace.session_id == "s"


def test_a_parent_that_is_not_there_is_disclosed() -> None:
    trace = read(exported(observed("a", 1, parentObservationId="gone")))
    assert gaps(trace) == {"langfuse.missing_parent": 1}
    assert the(trace, "a").orphan


def test_an_observation_without_an_id_costs_itself() -> None:
    bad = observed("a", 1)
    del bad["id"]
    draft = read_draft(json.dumps(exported(bad, observed("b", 2))).encode())
    assert draft.steps.step_id == ["root", "b"]
    assert draft.file_gaps == {"langfuse.unreadable_span": 1}


def test_more_scores_than_a_trace_keeps_are_counted() -> None:
    scores = [{"name": f"s{n}", "value": n} for n in range(250)]
    trace = read(exported(observed("a", 1), scores=scores))
    assert len(trace.attributes["evaluations"]) == 200
    assert gaps(trace) == {"langfuse.scores_left_out": 50}


def test_only_the_wanted_traces_are_read() -> None:
    items = [observed("a", 1, traceId="one"), observed("b", 2, traceId="two")]
    draft = read_draft(json.dumps(items).encode(), only=frozenset({"two"}))
    assert draft.traces.trace_id == ["two"]


def test_a_truncated_file_is_refused_in_words() -> None:
    with pytest.raises(InputError, match=r"^x\.json: line \d+, column \d+: not JSON"):
        read_draft(REAL.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"^x\.json: holds no observation"):
        list(LangfuseAdapter().read([Source("x.json", b'{"observations": []}')], ReadOptions()))


@pytest.mark.parametrize("levels", [900, 5000])
@pytest.mark.parametrize("kind", ["GENERATION", "TOOL", "SPAN", "RETRIEVER"])
def test_a_body_that_is_nested_deeply_costs_that_body_at_most(levels: int, kind: str) -> None:
    deep = '{"a":' * levels + "1" + "}" * levels
    text = json.dumps(exported(observed("a", 1, kind, input="DEEP"))).replace('"DEEP"', deep)
    (trace,) = iterate(seal(read_draft(text.encode())))
    assert len(trace) == 2
    assert gaps(trace) == ({} if the(trace, "a").input else {"langfuse.unreadable_field": 1})


def test_10000_observations_and_5000_levels() -> None:
    wide = read(exported(*(observed(f"o{n}", 1, "TOOL", input={"n": n}) for n in range(10_000))))
    assert len(wide) == 10_001
    chain = [observed(f"o{n}", 1, parentObservationId=f"o{n - 1}") for n in range(1, 5_000)]
    deep = read(exported(observed("o0", 1), *chain))
    assert the(deep, "o4999").depth == 5_000
    assert gaps(deep) == gaps(wide) == {}


SMALL = exported(
    observed("m", 1, "GENERATION", input=[{"role": "user", "content": "x"}], usage={"input": 1}),
    observed("r", 2, "RETRIEVER", metadata={"attributes": {"a": 1}}),
    scores=[{"name": "n", "value": 1}],
)


@settings(max_examples=150, deadline=None)
@given(
    damages_of(SMALL),
)
def test_damaged_exports_are_read_or_refused_in_words(damages: list[Any]) -> None:
    value = damaged(SMALL, damages)
    source = Source("x.json", json.dumps(value).encode())
    try:
        (draft,) = LangfuseAdapter().read([source], ReadOptions(True))
    except InputError as error:
        assert str(error).startswith("x.json: ")
        return
    columns = seal(draft)
    is_consistent(columns)
