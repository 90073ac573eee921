"""GenAI events that were recorded as log records beside the spans that they name."""

import json
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from otlp_data import TRACE, any_value, by_number, edges, export, read, span
from otlp_encodings import (
    base64_of_hex,
    collector_frame,
    one_each,
    protobuf,
    varint_frame,
    with_ids,
)
from shared_data import fixture
from trace_view import gaps
from tracegraph.errors import InputError
from tracegraph.export.artifact import write_artifact
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.otlp.adapter import OtlpAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Json = dict[str, Any]
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"q": "x"}'}}
TOLD: list[tuple[int, str, Json]] = [
    (2, "gen_ai.user.message", {"content": "question"}),
    (
        2,
        "gen_ai.choice",
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {"role": "assistant", "tool_calls": [CALL]},
        },
    ),
    (4, "gen_ai.user.message", {"content": "question"}),
    (4, "gen_ai.assistant.message", {"tool_calls": [CALL]}),
    (4, "gen_ai.tool.message", {"id": "call_1", "content": "found"}),
    (
        4,
        "gen_ai.choice",
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "answer"},
        },
    ),
]
"""(number of the span, name of the event, its body) as instrumentations of OpenAI write them."""


def value(plain: Any) -> Json:
    """Return a Python value as OTLP writes it, maps too."""
    if isinstance(plain, dict):
        return {"kvlistValue": {"values": _pairs(plain)}}
    if isinstance(plain, list):
        return {"arrayValue": {"values": [value(item) for item in plain]}}
    return any_value(plain)


def _pairs(values: Json) -> list[Json]:
    return [{"key": key, "value": value(item)} for key, item in values.items()]


def spans() -> list[Json]:
    offered = json.dumps([{"type": "function", "name": "f"}])
    chat = {"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": offered}
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "f",
        "gen_ai.tool.call.id": "call_1",
    }
    return [
        span(1, "invoke_agent", None, attributes={"gen_ai.operation.name": "invoke_agent"}),
        span(2, "chat m", None, attributes=chat, parent=1),
        span(3, "execute_tool f", None, attributes=tool, parent=1),
        span(4, "chat m", None, attributes=chat, parent=1),
    ]


def record(number: int, name: str, body: Json | None, **attributes: Any) -> Json:
    found: Json = {
        "timeUnixNano": "5",
        "eventName": name,
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "attributes": _pairs(attributes),
    }
    return found if body is None else found | {"body": value(body)}


def logs(*records: Json) -> Json:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}


def lines(*values: Json) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def found(data: bytes, **options: Any) -> tuple[list[Trace], Counter[str]]:
    drafts = list(OtlpAdapter().read([Source("x", data)], ReadOptions(**options)))
    told = sum((draft.file_gaps for draft in drafts), Counter[str]())
    return [trace for draft in drafts for trace in iterate(seal(draft))], told


def artifact(trace: Trace) -> Json:
    made: Json = json.loads(write_artifact(trace, "content"))
    for key in ("file", "file_digest", "gaps"):
        made["trace"].pop(key)
    return made


RECORDS = [record(*told) for told in TOLD]
LOGS, SPANS = logs(*RECORDS), export(*spans())
EXPECTED_CAUSES = {(3, 2, "tool_call_id", "declared"), (4, 3, "tool_call_id", "declared")}


def of_span_events() -> Json:
    """Return the artifact of the trace whose spans carry the events themselves."""
    made = spans()
    for number, name, body in TOLD:
        content = {"key": "gen_ai.event.content", "value": {"stringValue": json.dumps(body)}}
        event = {"name": name, "attributes": [content]}
        made[number - 1].setdefault("events", []).append(event)
    (trace,), _ = found(json.dumps(export(*made)).encode(), keep_content=True)
    return artifact(trace)


def _protobuf_logs() -> bytes:
    coded = with_ids(LOGS, base64_of_hex)
    return bytes(json_format.ParseDict(coded, LogsData()).SerializeToString())


def _snake(request: Json, kind: Any) -> Json:
    message = json_format.ParseDict(with_ids(request, base64_of_hex), kind)
    made: Json = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return made


def _named_by_attribute(made: Json) -> Json:
    named = {"key": "event.name", "value": {"stringValue": made["eventName"]}}
    kept = {key: item for key, item in made.items() if key != "eventName"}
    return kept | {"attributes": [*made["attributes"], named]}


FORMS: dict[str, Callable[[], bytes]] = {
    "before": lambda: lines(LOGS, SPANS),
    "behind": lambda: lines(SPANS, LOGS),
    "between": lambda: lines(*one_each(SPANS), LOGS, {}),
    "a record a line": lambda: lines(*(logs(each) for each in RECORDS), *one_each(SPANS)),
    "array": lambda: json.dumps([LOGS, SPANS]).encode(),
    "named by an attribute": lambda: lines(logs(*map(_named_by_attribute, RECORDS)), SPANS),
    "base64 ids": lambda: lines(with_ids(LOGS, base64_of_hex), SPANS),
    "snake_case": lambda: lines(_snake(LOGS, LogsData()), SPANS),
    "protobuf": lambda: collector_frame(_protobuf_logs()) + collector_frame(protobuf(SPANS)),
    "protobuf, delimited": lambda: b"".join(
        map(varint_frame, [*map(protobuf, one_each(SPANS)), _protobuf_logs()])
    ),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_events_in_the_log_are_those_of_the_span(form: Callable[[], bytes]) -> None:
    (trace,), told = found(form(), keep_content=True, strict=True)
    assert edges(trace, "tool_call_id") == EXPECTED_CAUSES
    assert by_number(trace)[4].signals == ("final_answer",)
    assert "otlp.other_signal" not in told
    assert artifact(trace) == of_span_events()


def test_messages_as_attributes_of_one_event() -> None:
    """The newer convention: all that was told and said in one event."""
    asked = [{"role": "user", "parts": [{"type": "text", "content": "question"}]}]
    call = {"type": "tool_call", "id": "call_1", "name": "f", "arguments": {"q": "x"}}
    said = [{"role": "assistant", "parts": [call], "finish_reason": "tool_call"}]
    answer = {"type": "tool_call_response", "id": "call_1", "response": "found"}
    name = "gen_ai.client.inference.operation.details"
    first = {"gen_ai.input.messages": asked, "gen_ai.output.messages": said}
    second = {"gen_ai.input.messages": [*asked, *said, {"role": "tool", "parts": [answer]}]}
    data = lines(logs(record(2, name, None, **first), record(4, name, None, **second)), SPANS)
    (trace,), told = found(data, strict=True)
    assert (edges(trace, "tool_call_id"), told) == (EXPECTED_CAUSES, {})


def test_a_real_run_of_the_openai_instrumentation() -> None:
    path = fixture("otlp/genai_log_events.jsonl")
    raw_logs, raw_spans = (json.loads(line) for line in path.read_text().splitlines())
    kinds = {
        s["name"].partition(" ")[0]: s["spanId"]
        for group in raw_spans["resourceSpans"]
        for scope in group["scopeSpans"]
        for s in scope["spans"]
    }
    records = raw_logs["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    first, second = dict.fromkeys(each["spanId"] for each in records)
    (trace,), told = found(path.read_bytes(), strict=True)
    assert (told, gaps(trace)) == ({}, {})
    causes = {(e.effect, e.cause) for e in trace.causes if e.origin == "tool_call_id"}
    assert causes == {(kinds["execute_tool"], first), (second, kinds["execute_tool"])}


def test_what_is_no_such_event_is_another_signal() -> None:
    plain = {"timeUnixNano": "5", "body": {"stringValue": "started"}}
    scored = record(2, "gen_ai.evaluation.result", None, **{"gen_ai.evaluation.name": "good"})
    without_span = RECORDS[0] | {"spanId": ""}
    odd = {"traceId": 7, "attributes": "none"}
    for other in (plain, scored, without_span, odd):
        got, told = found(lines(logs(other), logs(*RECORDS), SPANS))
        assert told == {"otlp.other_signal": 1}
        assert edges(got[0], "tool_call_id") == EXPECTED_CAUSES
    got, told = found(lines(logs(plain, *RECORDS), SPANS))
    assert told == {"otlp.other_signal": 1}
    assert edges(got[0], "tool_call_id") == EXPECTED_CAUSES


def test_an_event_whose_span_is_not_there_is_counted() -> None:
    elsewhere = [RECORDS[0] | {"spanId": "0" * 15 + "9"}, RECORDS[1] | {"traceId": "ab" * 16}]
    data = lines(logs(*RECORDS, *elsewhere), SPANS)
    got, told = found(data, strict=True)
    assert (len(got), told) == (1, {"otlp.event_without_span": 2})
    assert found(data, only=frozenset({TRACE}))[1] == {"otlp.event_without_span": 1}
    with pytest.raises(InputError, match="holds no spans, only other signals"):
        found(lines(LOGS))


def test_copies_of_a_span_have_its_events_too() -> None:
    sources = [Source("a", lines(SPANS)), Source("b", lines(LOGS)), Source("c", protobuf(SPANS))]
    with_logs = [sources[0], Source("b", lines(LOGS, SPANS)), sources[2]]
    for order in permutations(with_logs):
        (trace,) = iterate(read(*order))
        assert gaps(trace) == {"otlp.duplicate_identical": 8}
        assert edges(trace, "tool_call_id") == EXPECTED_CAUSES


def test_an_attribute_of_the_span_outweighs_its_events() -> None:
    made = spans()
    messages = [{"role": "user", "parts": [{"type": "text", "content": "q"}]}]
    made[1]["attributes"] += _pairs({"gen_ai.input.messages": json.dumps(messages)})
    (trace,), _ = found(lines(LOGS, export(*made)))
    assert edges(trace, "tool_call_id") == EXPECTED_CAUSES - {(3, 2, "tool_call_id", "declared")}
