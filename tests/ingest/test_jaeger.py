"""Jaeger's JSON: what its query service gives, and the documents of its storage."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_data import fixture, shared
from trace_view import view
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.jaeger.adapter import JaegerAdapter
from tracegraph.ingest.jaeger.fields import span_id_of, trace_id_of
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace, iterate

Row = dict[str, Any]
TRACE = "4b" * 16
PAGE = fixture("jaeger") / "made_page.json"
START = 1_764_500_000_000_000
"""Microseconds."""


def read_all(*data: bytes | Any, **options: Any) -> list[Trace]:
    texts = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in data]
    sources = [Source(f"x{i}.json", text) for i, text in enumerate(texts)]
    assert all(map(JaegerAdapter().sniff, sources))
    (draft,) = JaegerAdapter().read(sources, ReadOptions(**options))
    assert not draft.file_gaps
    return list(iterate(seal(draft)))


def read(*data: bytes | Any, **options: Any) -> Trace:
    (trace,) = read_all(*data, **options)
    return trace


def gaps(trace: Trace) -> dict[str, int]:
    return {gap.code.removeprefix("jaeger."): gap.count for gap in trace.gaps}


def edges(trace: Trace, origin: str) -> set[tuple[int, int]]:
    return {(int(c.effect, 16), int(c.cause, 16)) for c in trace.causes if c.origin == origin}


def tag(key: str, value: Any, kind: str = "string") -> Row:
    return {"key": key, "type": kind, "value": value}


def span(number: int, *references: tuple[str, str, int], **fields: Any) -> Row:
    return {
        "traceID": TRACE,
        "spanID": f"{number:016x}",
        "operationName": f"step {number}",
        "references": [
            {"refType": kind, "traceID": trace, "spanID": f"{of:016x}"}
            for kind, trace, of in references
        ],
        "startTime": START + number,
        "duration": 10,
        "tags": [],
        "logs": [],
        "processID": "p1",
        "warnings": None,
    } | fields


def page(*spans: Row) -> Row:
    processes = {"p1": {"serviceName": "planner", "tags": []}}
    return {"data": [{"traceID": TRACE, "spans": list(spans), "processes": processes}]}


def step(**fields: Any) -> Step:
    (only,) = read(page(span(1, **fields))).steps
    return only


def test_a_real_run() -> None:
    path = shared("traces/jaeger_json_genai/agentevals_k8s.json")
    (raw,) = json.loads(path.read_bytes())["data"]
    trace = read(path.read_bytes())
    rows = {row["spanID"]: row for row in raw["spans"]}
    assert len(trace) == len(rows) == 73
    assert trace.trace_id == raw["traceID"]
    parents = {
        (key, reference["spanID"]) for key, row in rows.items() for reference in row["references"]
    }
    assert len(parents) == 72
    assert {(c.effect, c.cause) for c in trace.causes if c.origin == "span_parent"} == parents
    tags = {key: {t["key"]: t["value"] for t in row["tags"]} for key, row in rows.items()}
    raised = {
        key: {f["key"]: f["value"] for log in row["logs"] for f in log["fields"]}
        for key, row in rows.items()
    }
    for found in trace.steps:
        row, said = rows[found.step_id], tags[found.step_id]
        assert found.start == row["startTime"] * 1000
        assert found.end == (row["startTime"] + row["duration"]) * 1000
        status = said.get("otel.status_code", "ERROR" if raised[found.step_id] else "OK").lower()
        assert found.status == status
        assert found.error_type == raised[found.step_id].get("exception.type")
    models = [key for key, said in tags.items() if "gen_ai.request.model" in said]
    assert {s.step_id for s in trace.steps if s.kind == "LLM"} == set(models)
    prompts = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
    counts = {tags[key][name] for key in models for name in prompts if name in tags[key]}
    assert {s.tokens_prompt for s in trace.steps if s.kind == "LLM"} == counts
    assert trace.attributes == {"service.name": raw["processes"]["p1"]["serviceName"]}
    assert trace.fidelity == "full"
    assert gaps(trace) == {"warning": sum(1 for row in raw["spans"] if row["warnings"])}


def test_an_answer_of_the_service_and_the_documents_of_the_storage_say_the_same() -> None:
    whole = json.loads(PAGE.read_bytes())
    whole["data"][0]["spans"][0]["warnings"] = None
    bare = {"file": None, "file_digest": None}
    expected = view(read(whole, keep_content=True)) | bare
    assert expected["steps"][0]["bodies"][2]
    one, several = whole["data"][0], whole["data"]
    for form in (one, several, (fixture("jaeger") / "made_stored.jsonl").read_bytes()):
        assert view(read(form)) | bare == view(read(whole)) | bare
    stored = (fixture("jaeger") / "made_stored.jsonl").read_text().splitlines()
    dumped = "".join(json.dumps({"_index": "i", "_source": json.loads(x)}) + "\n" for x in stored)
    assert view(read(dumped.encode())) | bare == view(read(whole)) | bare


def test_the_parent_is_the_first_child_of_and_all_else_are_links() -> None:
    other = "5c" * 16
    spans = [
        span(1),
        span(2, ("FOLLOWS_FROM", TRACE, 1)),
        span(3, ("FOLLOWS_FROM", TRACE, 2), ("CHILD_OF", TRACE, 1), ("CHILD_OF", TRACE, 2)),
        span(4, ("CHILD_OF", other, 1)),
        span(5, ("CHILD_OF", TRACE, 9)),
        span(6, ("CHILD_OF", TRACE, 1), ("CHILD_OF", TRACE, 1), parentSpanID="1"),
        span(7, ("CHILD_OF", TRACE, 2), parentSpanID="1"),
    ]
    trace = read(page(*spans))
    assert edges(trace, "span_parent") == {(3, 1), (6, 1), (7, 1)}
    assert edges(trace, "span_link") == {(2, 1), (3, 2), (7, 2)}
    assert gaps(trace) == {"foreign_trace_link": 1, "missing_parent": 1}
    assert [s.step_id for s in trace.steps if s.orphan] == [f"{5:016x}"]


@pytest.mark.parametrize(
    ("tags", "status", "source"),
    [
        ([], "ok", "default"),
        ([tag("error", False, "bool")], "ok", "default"),
        ([tag("error", True, "bool")], "error", "recorded"),
        ([tag("error", "true")], "error", "recorded"),
        ([tag("error", "true", "bool")], "error", "recorded"),
        ([tag("otel.status_code", "ERROR"), tag("error", True, "bool")], "error", "recorded"),
        ([tag("otel.status_code", "STATUS_CODE_ERROR")], "error", "recorded"),
        ([tag("otel.status_code", "OK")], "ok", "recorded"),
        ([tag("otel.status_code", "UNSET"), tag("error", True, "bool")], "error", "recorded"),
    ],
)
def test_status(tags: list[Row], status: str, source: str) -> None:
    found = step(tags=[*tags, tag("otel.status_description", "what is said of it")])
    assert (found.status, found.status_source) == (status, source)
    assert found.error_message == ("what is said of it" if status == "error" else None)


def test_an_ok_beside_an_error_and_a_status_that_is_none() -> None:
    both = page(span(1, tags=[tag("otel.status_code", "OK"), tag("error", True, "bool")]))
    assert gaps(read(both, strict=True)) == {"status_contradicts_error": 1}
    assert [s.status for s in read(both).steps] == ["ok"]
    for odd in (
        [tag("error", "maybe")],
        [tag("otel.status_code", "FINE")],
        [tag("error", 2, "int64")],
    ):
        trace = read(page(span(1, tags=odd)))
        assert ([s.status for s in trace.steps], gaps(trace)) == (
            ["unset"],
            {"unreadable_status": 1},
        )


def test_logs_are_events() -> None:
    fields = [tag("event", "exception"), tag("exception.type", "builtins.ValueError")]
    logs = [{"timestamp": START, "fields": [tag("event", "retry")]}]
    logs.append({"timestamp": START, "fields": [*fields, tag("exception.message", "no")]})
    found = step(logs=logs)
    assert (found.status, found.status_source) == ("error", "exception")
    assert (found.error_type, found.error_message) == ("builtins.ValueError", "no")
    assert step(logs=logs[:1]).status == "ok"


def test_a_list_is_text_in_a_tag() -> None:
    model = [tag("gen_ai.operation.name", "chat"), tag("gen_ai.request.model", "m")]
    model.append(tag("gen_ai.output.messages", '[{"role":"assistant","parts":[]}]'))
    assert (
        "truncated"
        in step(tags=[*model, tag("gen_ai.response.finish_reasons", '["length"]')]).signals
    )
    assert (
        "truncated"
        not in step(tags=[*model, tag("gen_ai.response.finish_reasons", '["stop"]')]).signals
    )


def test_a_value_that_is_not_of_its_type_is_disclosed() -> None:
    tags = [tag("gen_ai.request.model", "m"), tag("gen_ai.usage.input_tokens", "12", "int64")]
    trace = read(page(span(1, tags=tags)), strict=True)
    assert [s.tokens_prompt for s in trace.steps] == [12]
    for odd in (True, {"x": 5}, "twelve", 1.5):
        tags[1] = tag("gen_ai.usage.input_tokens", odd, "int64")
        trace = read(page(span(1, tags=tags)))
        assert [s.tokens_prompt for s in trace.steps] == [None]
        assert gaps(trace)["unreadable_field"] == 1
        with pytest.raises(StrictError, match=r"^x0\.json: .*jaeger\.unreadable_field"):
            read(page(span(1, tags=tags)), strict=True)


def test_what_says_of_the_span_in_jaeger_is_no_attribute() -> None:
    frame = "otel.scope.name otel.scope.version span.kind internal.span.format w3c.tracestate"
    tags = [*(tag(key, "x") for key in frame.split()), tag("mine", 1, "int64")]
    (found,) = read(page(span(1, tags=tags)), keep_content=True).steps
    assert found.attributes == {"mine": 1}


@given(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.integers(0, 8))
def test_zeros_in_front_of_ids_do_not_matter(trace_id: int, span_id: int, zeros: int) -> None:
    assert int(trace_id_of("0" * zeros + f"{trace_id:X}") or "", 16) == trace_id
    assert len(trace_id_of(f"{trace_id:x}") or "") == (16 if trace_id < 2**64 else 32)
    assert span_id_of("0" * zeros + f"{span_id:x}") == f"{span_id:016x}"


def test_ids_without_their_zeros_join_what_belongs_together() -> None:
    cut = span(2, traceID="b", references=[{"refType": "CHILD_OF", "traceID": "0b", "spanID": "1"}])
    trace = read(page(span(1, traceID="000000000000000b"), cut))
    assert trace.trace_id == "000000000000000b"
    assert edges(trace, "span_parent") == {(2, 1)}
    assert trace_id_of("0" * 32) is span_id_of("0") is span_id_of("") is None


@pytest.mark.parametrize(
    ("fields", "start", "end", "lost"),
    [
        ({"startTime": 0}, None, None, 0),
        ({"duration": None}, (START + 1) * 1000, None, 0),
        ({"duration": 0}, (START + 1) * 1000, (START + 1) * 1000, 0),
        ({"startTime": str(START), "duration": "10"}, START * 1000, (START + 10) * 1000, 0),
        ({"startTime": "x"}, None, None, 1),
        ({"startTime": 2**62}, None, None, 1),
        ({"duration": -1}, (START + 1) * 1000, None, 1),
        ({"duration": 2**53}, (START + 1) * 1000, None, 1),
    ],
)
def test_times(fields: Row, start: int | None, end: int | None, lost: int) -> None:
    trace = read(page(span(1, **fields)))
    assert [(s.start, s.end) for s in trace.steps] == [(start, end)]
    assert gaps(trace).get("unreadable_timestamp", 0) == lost


def test_two_downloads_of_a_trace_are_one() -> None:
    first, second = page(span(1), span(2, ("CHILD_OF", TRACE, 1))), page(span(1), span(3))
    trace = read(first, second)
    assert len(trace) == 3
    assert gaps(trace) == {"duplicate_identical": 1}


def test_an_answer_without_a_trace_is_refused() -> None:
    empty = Source("x.json", b'{"data": null, "errors": [{"code": 404, "msg": "not found"}]}')
    assert not JaegerAdapter().sniff(empty)
    with pytest.raises(InputError, match=r"^x\.json: holds no span"):
        list(JaegerAdapter().read([empty], ReadOptions()))


@pytest.mark.parametrize(("second", "lost"), [(12, 0), (13, 1)])
def test_a_key_with_two_values_is_disclosed(second: int, lost: int) -> None:
    tags = [tag("gen_ai.usage.input_tokens", n, "int64") for n in (12, second)]
    trace = read(page(span(1, tags=tags)))
    assert gaps(trace).get("unreadable_tag", 0) == lost
