"""OTLP/JSON in every shape of file, and files that are broken."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from otlp_data import TRACE, any_value, by_number, export, only, read, source, span, traces
from trace_view import gaps
from tracegraph.errors import InputError, RecordLimitError, StrictError, UnknownFormatError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.otlp.adapter import OtlpAdapter
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.model.trace import Trace, iterate

AGENT = span(1, "agent", "AGENT")
TOOL = span(2, "search", "TOOL", parent=1)
OTHER = span(3, "other", "CHAIN", traceId="aa" * 16)


def shape(found: list[Trace]) -> list[tuple[str, list[tuple[str, str, str | None]]]]:
    return [(t.trace_id, [(s.step_id, s.kind, s.name) for s in t.steps]) for t in found]


EXPECTED = shape(traces(export(AGENT, TOOL, OTHER)))
PRETTY = json.dumps(export(AGENT), indent=2) + "\n" + json.dumps(export(TOOL, OTHER), indent=2)


def _renamed(old: str, new: str) -> str:
    return json.dumps(export(AGENT, TOOL, OTHER)).replace(old, new)


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(export(AGENT, TOOL, OTHER), indent=1),
        [export(AGENT), export(TOOL, OTHER)],
        [AGENT, TOOL, OTHER],
        "\n".join(json.dumps(s) for s in (AGENT, TOOL, OTHER)),
        "\r\n".join(json.dumps(export(s)) for s in (AGENT, TOOL, OTHER)) + "\r\n",
        "\n".join(json.dumps(export(s)["resourceSpans"][0]) for s in (AGENT, TOOL, OTHER)),
        _renamed("resourceSpans", "batches"),
        _renamed("scopeSpans", "instrumentationLibrarySpans"),
        PRETTY,
        json.dumps(export(AGENT)) + json.dumps(export(TOOL, OTHER)),
        b"\xef\xbb\xbf" + json.dumps(export(AGENT, TOOL, OTHER)).encode(),
        '{"resourceMetrics": []}\n{}\n\n' + json.dumps(export(AGENT, TOOL, OTHER)),
    ],
    ids=[
        "object",
        "array of requests",
        "array of spans",
        "a span a line",
        "a request a line",
        "a resource a line",
        "tempo batches",
        "tempo library spans",
        "pretty documents",
        "documents without a break",
        "byte-order mark",
        "other signals",
    ],
)
def test_every_shape_reads_the_same(data: Any) -> None:
    made = source(data)
    assert detect(made).name == "otlp"
    found = list(iterate(read(made)))
    assert shape(found) == EXPECTED
    assert [gaps(trace) for trace in found] == [{}, {}]


def test_phoenix_values_carry_every_key() -> None:
    value = dict.fromkeys(
        (
            "stringValue",
            "intValue",
            "doubleValue",
            "boolValue",
            "arrayValue",
            "kvlistValue",
            "bytesValue",
        )
    )
    made = span(1, "x", None)
    made["attributes"] = [
        {"key": "openinference.span.kind", "value": value | {"stringValue": "LLM"}},
        {"key": "llm.token_count.prompt", "value": value | {"intValue": 7}},
        {"key": "nothing", "value": value},
        {"key": "null", "value": None},
        {"key": "absent"},
    ]
    (step,) = only(made).steps
    assert (step.kind, step.tokens_prompt) == ("LLM", 7)


@pytest.mark.parametrize("data", ["[1, 2, 3]", '{"kind": "x"}', "hello", ""])
def test_other_content_is_not_otlp(data: str) -> None:
    with pytest.raises(UnknownFormatError, match=r"input\.json"):
        detect(source(data))


def test_traces_split_over_files_are_united_whatever_the_order() -> None:
    a, b = source(export(AGENT, OTHER), "a.json"), source(export(TOOL), "b.json")
    for sources in ((a, b), (b, a)):
        found = {trace.trace_id: trace for trace in iterate(read(*sources))}
        assert sorted(by_number(found[TRACE])) == [1, 2]
        assert found[TRACE].file == sources[0].name
        assert gaps(found[TRACE]) == {}


def test_only_reads_the_traces_asked_for() -> None:
    found = traces(export(AGENT, TOOL, OTHER), only=frozenset({"aa" * 16}))
    assert shape(found) == EXPECTED[1:]


def test_equal_spans_of_two_files_are_one() -> None:
    (trace,) = iterate(read(source(export(AGENT), "a"), source(export(AGENT), "b")))
    assert (len(trace), gaps(trace)) == (1, {"otlp.duplicate_identical": 1})


def test_a_span_in_another_spelling_of_protobuf_json_is_the_same_span() -> None:
    attributes = [{"key": "n", "value": {"intValue": "50"}}]
    link = {"traceId": TRACE, "spanId": "00" * 7 + "09"}
    hexadecimal = span(1, "a", "LLM", status={"code": 2, "message": "m"}, links=[link])
    hexadecimal["attributes"] += attributes
    coded = {
        **hexadecimal,
        "traceId": base64.b64encode(bytes.fromhex(TRACE)).decode(),
        "spanId": base64.b64encode(bytes.fromhex(hexadecimal["spanId"])).decode(),
        "startTimeUnixNano": int(hexadecimal["startTimeUnixNano"]),
        "status": {"code": "STATUS_CODE_ERROR", "message": "m"},
        "events": [],
        "links": [{k: base64.b64encode(bytes.fromhex(v)).decode() for k, v in link.items()}],
    }
    coded["attributes"] = [*hexadecimal["attributes"][:-1], {"key": "n", "value": {"intValue": 50}}]
    trace = only(hexadecimal, coded)
    assert gaps(trace)["otlp.duplicate_identical"] == 1
    assert "otlp.duplicate_conflict" not in gaps(trace)
    changes: list[dict[str, Any]] = [{"status": {"code": 1}}, {"links": []}, {"name": "b"}]
    for change in changes:
        assert gaps(only(hexadecimal, {**coded, **change}))["otlp.duplicate_conflict"] == 1


def test_every_span_twice_in_one_document() -> None:
    made = [span(n, f"step {n}", "CHAIN") for n in range(1, 60)]
    trace = only(*made, *made)
    assert (len(trace), gaps(trace)) == (59, {"otlp.duplicate_identical": 59})


def test_truncated_document_is_refused_with_name_and_place() -> None:
    whole = json.dumps(export(AGENT, TOOL), indent=1)
    with pytest.raises(InputError, match=r"^cut\.json: byte 0: not JSON: .*line \d+ column \d+"):
        read(source(whole[: len(whole) // 2], "cut.json"))


@pytest.mark.parametrize(
    "torn", ['{"resourceSpans": [{"scop', "null and void", '"x"}]}]}]}', "{}}"]
)
def test_torn_line_costs_itself(torn: str) -> None:
    lines = [torn, json.dumps(export(AGENT)), json.dumps(export(TOOL))]
    for order in (lines, lines[::-1]):
        assert detect(source("\n".join(order))).name == "otlp"
        made = source("\n".join(order), "x.jsonl")
        (draft,) = OtlpAdapter().read([made], ReadOptions())
        assert draft.file_gaps == {"otlp.unreadable_record": 1}
        assert len(draft.steps.step_id) == 2
        with pytest.raises(StrictError, match=rf"^x\.jsonl: line {order.index(torn) + 1}: "):
            read(made, strict=True)


def test_file_of_torn_lines_only_is_refused() -> None:
    with pytest.raises(InputError, match=r"^x\.jsonl: "):
        read(source('{"resourceSpans": [1\n{"resourceSpans": [2\n', "x.jsonl"))


def test_empty_export_holds_no_trace() -> None:
    assert traces({"resourceSpans": []}) == []
    assert traces({"resourceSpans": [{"scopeSpans": [{"spans": []}]}]}) == []


def test_odd_span_costs_itself() -> None:
    odd = span(9, "odd", "TOOL", links={"not": "a list"})
    made = source(export(AGENT, odd, TOOL, {"name": "no ids"}))
    (draft,) = OtlpAdapter().read([made], ReadOptions())
    assert draft.file_gaps == {"otlp.unreadable_span": 2}
    assert draft.steps.step_id == [AGENT["spanId"], TOOL["spanId"]]
    with pytest.raises(StrictError, match=r"^input\.json: byte 0: 1 spans cannot be read"):
        read(made, strict=True)


def test_span_without_span_id_is_lost_and_told() -> None:
    made = source(export(AGENT, TOOL | {"spanId": "0" * 16}))
    (draft,) = OtlpAdapter().read([made], ReadOptions())
    assert draft.file_gaps == {"otlp.unreadable_span": 1}
    assert draft.steps.step_id == [AGENT["spanId"]]


def test_opaque_ids_still_join() -> None:
    trace = only(AGENT | {"spanId": "root"}, TOOL | {"parentSpanId": "root"})
    assert [(e.effect, e.cause) for e in trace.causes] == [(TOOL["spanId"], "root")]
    assert gaps(trace) == {"otlp.nonstandard_id_encoding": 1}


def test_zero_parent_is_a_root() -> None:
    (step,) = only(AGENT | {"parentSpanId": "0" * 16}).steps
    assert (step.orphan, step.depth) == (False, 0)


def test_nan_and_odd_values_cost_only_themselves() -> None:
    made = span(1, "x", "LLM", attributes={"llm.model_name": "m"})
    made["attributes"].append({"key": "score", "value": {"doubleValue": float("nan")}})
    made["attributes"].append({"key": "llm.token_count.prompt", "value": {"intValue": "7"}})
    (trace,) = traces(json.dumps(export(made)))
    (step,) = trace.steps
    assert (step.model, step.tokens_prompt, gaps(trace)) == ("m", 7, {})


def test_deep_nesting_is_survived() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]
    made = span(1, "x", "TOOL", attributes={"input.value": "1"})
    made["attributes"].append({"key": "deep", "value": any_value(deep)})
    (step,) = only(made, keep_content=True).steps
    assert step.args_digest is not None

    bottomless = '{"arrayValue":{"values":[' * 50_000 + "]}}" * 50_000
    line = json.dumps(export(TOOL)).replace('{"stringValue": "TOOL"}', bottomless)
    made_file = source(json.dumps(export(AGENT)) + "\n" + line)
    (draft,) = OtlpAdapter().read([made_file], ReadOptions())
    assert draft.steps.step_id == [AGENT["spanId"]]
    assert draft.file_gaps == {"otlp.unreadable_record": 1}


def test_record_over_the_limit_is_refused_by_name_and_variable() -> None:
    data = json.dumps(export(AGENT)) + "\n" + json.dumps(export(TOOL))
    with pytest.raises(RecordLimitError, match=r"x\.jsonl line 1.*TRACEGRAPH_MAX_RECORD_BYTES"):
        read(source(data, "x.jsonl", limit=100))
    assert read(source(data, limit=0)).step_count == 2


@pytest.mark.parametrize("read_up_to", [0, 1 << 20])
def test_mapped_file_reads_like_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_up_to: int
) -> None:
    monkeypatch.setattr("tracegraph.ingest.source._SMALL", read_up_to)
    path = tmp_path / "x.json"
    path.write_text(PRETTY)
    assert shape(list(iterate(read(Source.open(path, "x.json"))))) == EXPECTED


def test_unreadable_values_are_told_and_refused_under_strict() -> None:
    made = span(1, "x", "LLM", attributes={"llm.token_count.prompt": -3, "llm.cost.total": "much"})
    made |= {"startTimeUnixNano": "soon", "status": {"code": 7}}
    (step,) = (trace := only(made)).steps
    assert (step.start, step.tokens_prompt, step.cost, step.status) == (None, None, None, "unset")
    assert gaps(trace) == {
        "otlp.unreadable_cost": 1,
        "otlp.unreadable_status": 1,
        "otlp.unreadable_timestamp": 1,
        "otlp.unreadable_token_count": 1,
    }
    with pytest.raises(StrictError, match=r"0000000000000001 .*otlp\.unreadable_"):
        read(source(export(made)), strict=True)


def test_content_is_kept_only_when_asked_for() -> None:
    made = span(1, "x", "TOOL", attributes={"input.value": "a", "output.value": "b", "n": [1, "y"]})
    (kept,) = only(made, keep_content=True).steps
    assert (kept.input, kept.output) == ("a", "b")
    assert kept.attributes["n"] == [1, "y"]
    trace = only(made)
    (dropped,) = trace.steps
    assert (dropped.input, dropped.output, dropped.attributes) == (None, None, {})
    assert not {"a", "b"} & set(trace.columns.vocabulary)
    assert dropped.args_digest == kept.args_digest


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{"stringValue": ""}', ""),
        ('{"intValue": "9223372036854775807"}', 2**63 - 1),
        ('{"intValue": -9223372036854775808}', -(2**63)),
        ('{"intValue": "seven"}', "seven"),
        ('{"doubleValue": 1}', 1.0),
        ('{"doubleValue": "0.5"}', 0.5),
        ('{"doubleValue": 12345678901234567890123}', 12345678901234567890123.0),
        ('{"doubleValue": "NaN"}', "NaN"),
        ('{"doubleValue": NaN}', "NaN"),
        ('{"doubleValue": "-Infinity"}', "-Infinity"),
        ('{"doubleValue": Infinity}', "Infinity"),
        ('{"doubleValue": "much"}', "much"),
        ('{"boolValue": false}', False),
        ('{"bytesValue": "AP8="}', "AP8="),
        ('{"arrayValue": {}}', []),
        ('{"arrayValue": {"values": [{"intValue": "1"}, {}]}}', [1, None]),
        ('{"kvlistValue": {}}', {}),
        ('{"kvlistValue": {"values": [{"key": "a", "value": {"boolValue": true}}]}}', {"a": True}),
        ('{"kvlistValue": {"values": [{"key": "a"}]}}', {"a": None}),
        ("{}", None),
        ("null", None),
        ('{"a new kind of value": 1}', None),
        ('"bare"', None),
    ],
)
def test_attribute_values(written: str, expected: Any) -> None:
    made = span(1, "x", "TOOL", attributes={"tool.name": "t"})
    made["attributes"].append({"key": "n", "value": "HERE"})
    data = json.dumps(export(made)).replace('"HERE"', written)
    (trace,) = traces(data, keep_content=True)
    (step,) = trace.steps
    assert (step.name, gaps(trace)) == ("t", {})
    found = step.attributes["n"]
    assert (found, type(found)) == (expected, type(expected))
    json.dumps(step.attributes, allow_nan=False)
