"""Spans as OpenTelemetry's SDK for Python prints them, amid whatever else a program prints."""

import json
import random
from collections import Counter, defaultdict
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_data import fixture, shared
from trace_view import named, view
from tracegraph.errors import InputError, RecordLimitError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.otel_sdk.adapter import OtelSdkAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Row = dict[str, Any]
CONSOLE = fixture("otel_sdk") / "console_output.txt"
LINES = fixture("otel_sdk") / "lines.jsonl"
KILLED = fixture("otel_sdk") / "console_killed.txt"
TRACE = "4b" * 16


def draft_of(*data: str | bytes, limit: int = 0, **options: Any) -> Draft:
    texts = [text.encode() if isinstance(text, str) else text for text in data]
    sources = [Source(f"out{i}.txt", text, limit) for i, text in enumerate(texts)]
    (draft,) = OtelSdkAdapter().read(sources, ReadOptions(**options))
    return draft


def read(*data: str | bytes, **options: Any) -> Trace:
    (trace,) = iterate(seal(draft_of(*data, **options)))
    return trace


def gaps(trace: Trace) -> dict[str, int]:
    return {gap.code.removeprefix("otel_sdk."): gap.count for gap in trace.gaps}


def printed(text: str) -> list[Row]:
    """Decode the documents among a text one by one, as Python's decoder finds them."""
    decoder, found, at = json.JSONDecoder(), list[Row](), 0
    while (at := text.find('{\n    "name"', at)) >= 0:
        value, at = decoder.raw_decode(text, at)
        found.append(value)
    return found


def span(number: int, parent: int | None = None, **fields: Any) -> Row:
    return {
        "name": f"step {number}",
        "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{number:016x}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": None if parent is None else f"0x{parent:016x}",
        "start_time": f"2026-11-30T10:00:{number:02}.000001Z",
        "end_time": f"2026-11-30T10:01:{number:02}.000001Z",
        "status": {"status_code": "UNSET"},
        "attributes": {},
        "events": [],
        "links": [],
        "resource": {"attributes": {"service.name": "x"}, "schema_url": ""},
    } | fields


def console(*spans: Row) -> str:
    return "".join(json.dumps(each, indent=4) + "\n" for each in spans)


def test_a_console_amid_other_output() -> None:
    text = CONSOLE.read_text(encoding="utf-8")
    raw = {row["context"]["span_id"][2:]: row for row in printed(text)}
    draft = draft_of(text)
    # One before, four between, where two prints follow on each other, and one behind.
    assert draft.file_gaps == {"otel_sdk.other_output": 6}
    (trace,) = iterate(seal(draft))
    assert {step.step_id for step in trace.steps} == raw.keys()
    assert len(raw) == text.count('"SpanKind.INTERNAL"') == 7
    parents = {(f"{k}", v["parent_id"][2:]) for k, v in raw.items() if v["parent_id"]}
    assert {(c.effect, c.cause) for c in trace.causes if c.origin == "span_parent"} == parents
    for step in trace.steps:
        started = datetime.fromisoformat(raw[step.step_id]["start_time"])
        assert step.start is not None
        assert step.start == round(started.timestamp() * 1_000_000) * 1000
    tool = named(trace, "get_weather")
    assert (tool.status, tool.status_source, tool.error_type) == (
        "error",
        "recorded",
        "LookupError",
    )
    assert tool.error_message == "no such station"
    assert (trace.session_id, trace.agent, trace.run_id) == ("trip-7", "planner", "run-2026-11")
    assert gaps(trace) == {}


def test_the_same_run_in_every_form() -> None:
    lines = read(LINES.read_bytes())
    for path in (CONSOLE, fixture("otel_sdk") / "made_array.json"):
        other = view(read(path.read_bytes())) | {"file": None, "file_digest": None}
        assert other == view(lines) | {"file": None, "file_digest": None}


def test_a_run_of_langgraph_on_the_console() -> None:
    text = shared("traces/otlp_variants/openinference_console_exporter_stdout.txt").read_text()
    raw: defaultdict[str, dict[str, Row]] = defaultdict(dict)
    for row in printed(text):
        raw[row["context"]["trace_id"][2:]][row["context"]["span_id"][2:]] = row
    draft = draft_of(text)
    assert not draft.file_gaps
    traces = {trace.trace_id: trace for trace in iterate(seal(draft))}
    assert traces.keys() == raw.keys()
    assert sum(len(trace) for trace in traces.values()) == 40
    for trace_id, rows in raw.items():
        trace = traces[trace_id]
        assert {step.step_id for step in trace.steps} == rows.keys()
        for step in trace.steps:
            row = rows[step.step_id]
            assert step.kind == row["attributes"]["openinference.span.kind"]
            assert step.status == row["status"]["status_code"].lower()
        missing = (
            {row["parent_id"] for row in rows.values()} - {f"0x{key}" for key in rows} - {None}
        )
        orphans = [row for row in rows.values() if row["parent_id"] in missing]
        assert gaps(trace) == ({"missing_parent": len(orphans)} if orphans else {})


def test_every_span_twice_and_snapshots_of_those_that_had_not_ended() -> None:
    text = shared("traces/otlp_variants/SYNTHETIC_dup_and_open_spans_console.jsonl").read_text()
    rows = printed(text)
    ends = Counter((row["context"]["span_id"], row["end_time"] is None) for row in rows)
    snapshots = sum(count for (_, is_open), count in ends.items() if is_open)
    spans = {row["context"]["span_id"] for row in rows}
    draft = draft_of(text, strict=True)
    traces = list(iterate(seal(draft)))
    found = Counter[str]()
    for trace in traces:
        found.update(gaps(trace))
        assert all(step.end is not None and step.status != "unset" for step in trace.steps)
    assert sum(map(len, traces)) == len(spans) == 40
    assert found["snapshot_replaced"] == snapshots == 12
    assert found["duplicate_identical"] == len(rows) - snapshots - len(spans) == 28
    assert "duplicate_conflict" not in found


def test_what_never_ended_is_a_step_without_a_status() -> None:
    trace = read(KILLED.read_bytes(), strict=True)
    assert [(s.name, s.status, s.end is None) for s in trace.steps] == [
        ("planner", "unset", True),
        ("scripted-1", "ok", False),
        ("get_weather", "unset", True),
    ]
    assert gaps(trace) == {"snapshot_replaced": 1}
    assert (trace.status, named(trace, "scripted-1").tokens_prompt) == ("unset", 21)


def test_a_span_that_was_printed_twice_and_never_ended() -> None:
    same = read(console(span(1, end_time=None), span(1, end_time=None)))
    assert gaps(same) == {"duplicate_identical": 1}
    grown = span(1, end_time=None, attributes={"gen_ai.request.model": "m"})
    assert gaps(read(console(span(1, end_time=None), grown))) == {"duplicate_conflict": 1}


def test_a_span_without_an_end_keeps_its_place() -> None:
    start = span(1)["start_time"]
    rows = [span(number, start_time=start) for number in (5, 3, 4)]
    rows[1]["end_time"] = None
    trace = read(console(*rows))
    assert [int(step.step_id, 16) for step in trace.steps] == [5, 3, 4]


@given(st.permutations(range(4)), st.integers(1, 3))
def test_the_order_and_the_files_of_snapshots_do_not_matter(order: list[int], cut: int) -> None:
    rows = [
        span(1, end_time=None),
        span(1, attributes={"gen_ai.request.model": "m"}),
        span(2, 1, end_time=None),
        span(3, 1),
    ]
    shuffled = [rows[i] for i in order]
    trace = read(console(*shuffled[:cut]), console(*shuffled[cut:]))
    assert [(s.name, s.status, s.model) for s in trace.steps] == [
        ("step 1", "ok", "m"),
        ("step 2", "unset", None),
        ("step 3", "ok", None),
    ]
    assert gaps(trace) == {"snapshot_replaced": 1}


@pytest.mark.parametrize(
    "other",
    [
        {"parent_id": f"0x{7:016x}"},
        {"start_time": "2026-11-30T10:00:00Z"},
        {"attributes": {"gen_ai.request.model": "m"}},
        {"links": [{"context": span(9)["context"], "attributes": {}}]},
    ],
)
def test_a_snapshot_that_the_ended_span_contradicts_is_a_conflict(other: Row) -> None:
    rows = [span(1), span(1, end_time=None, **other)]
    for both in (rows, rows[::-1]):
        trace = read(console(*both))
        assert [(s.status, s.start) for s in trace.steps] == [("ok", 1796032801000001000)]
        assert gaps(trace) == {"duplicate_conflict": 1}
        with pytest.raises(StrictError, match="two different records of span 0000000000000001"):
            read(console(*both), strict=True)


def test_the_text_between_documents_may_be_anything_but_a_part_of_one() -> None:
    one, two = console(span(1)), console(span(2, 1))
    noise = [
        "INFO ready {not json}\n",
        "[2026-11-30 10:00:00] starting\n",
        "{'a': 1, 'b': 2}\n",
        '{"level": "info", "trace_id": "abc", "span_id": "def"}\n',
        '{\n    "resource_metrics": []\n}\n',
        "{\n  a block of code\n}\n",
        "}\n{\n",
        "unended line ",
    ]
    random.Random(7).shuffle(noise)
    for text in noise:
        draft = draft_of(text + one + text + two + text, strict=True)
        assert draft.file_gaps == {"otel_sdk.other_output": 3}
        assert draft.steps.step_id == [f"{1:016x}", f"{2:016x}"]


def test_a_document_that_is_torn_off_is_a_loss_and_costs_itself() -> None:
    whole = console(span(1))
    for end in range(2, len(whole) - 2, 7):
        draft = draft_of(whole[:end] + "\n" + console(span(2)))
        assert draft.steps.step_id == [f"{2:016x}"]
        assert draft.file_gaps in (
            {"otel_sdk.unreadable_record": 1},
            {"otel_sdk.other_output": 1},  # not even the key of the first member is there
        )
        if end > len('{\n    "name": '):
            assert "otel_sdk.unreadable_record" in draft.file_gaps
            with pytest.raises(StrictError, match=r"^out0\.txt: .*otel_sdk\.unreadable_record"):
                draft_of(whole[:end] + "\n" + console(span(2)), strict=True)


def test_lines_of_windows_and_a_byte_order_mark() -> None:
    text = "\ufeff" + ("hello\n" + console(span(1), span(2, 1))).replace("\n", "\r\n")
    draft = draft_of(text)
    assert draft.file_gaps == {"otel_sdk.other_output": 1}
    assert len(draft.steps.step_id) == 2


def test_the_resource_of_old_releases_is_nothing_but_its_attributes() -> None:
    old = span(1, resource={"service.name": "planner", "telemetry.sdk.language": "python"})
    assert read(json.dumps(old)).attributes == {"service.name": "planner"}


def test_a_document_over_the_limit_is_refused() -> None:
    big = console(span(1, attributes={"input.value": "x" * 5000}))
    with pytest.raises(RecordLimitError, match=r"^out0\.txt: byte 3: .*TRACEGRAPH_MAX_RECORD"):
        draft_of("hi\n" + big, limit=4096)
    small = console(*(span(number) for number in range(1, 50)))
    assert len(draft_of(small, limit=4096).steps.step_id) == 49  # the limit is one of a record


@pytest.mark.parametrize(
    "text",
    [
        "{ name: 'chat', id: '0x1', traceId: 'abc', kind: 0, status: { code: 0 } }\n",  # JavaScript
        '{"Name":"chat","SpanContext":{"TraceID":"ab","SpanID":"cd"},"SpanKind":1}\n',  # Go
        json.dumps({"resource": {}, "spans": [span(1)]}),
        json.dumps({"text": json.dumps(span(1))}),
    ],
)
def test_other_files_are_not_taken(text: str) -> None:
    assert not OtelSdkAdapter().sniff(Source("x", text.encode()))
    with pytest.raises(InputError, match=r"^out0\.txt: "):
        draft_of(text)


def test_a_console_where_each_span_stands_behind_text_that_did_not_end_its_line() -> None:
    items = json.loads((fixture("otel_sdk") / "made_array.json").read_text())
    text = "".join("step done... " + json.dumps(item, indent=4) + "\n" for item in items)
    source = Source("out.txt", text.encode())
    assert OtelSdkAdapter().sniff(source)
    drafts = list(OtelSdkAdapter().read([source], ReadOptions()))
    assert sum(len(draft.steps.step_id) for draft in drafts) == len(
        {(item["context"]["trace_id"], item["context"]["span_id"]) for item in items}
    )
