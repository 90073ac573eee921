"""Files in which a Collector mixes spans with other signals, and files of those only."""

import json
from collections import Counter
from typing import Any

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    Gauge,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.proto.profiles.v1development.profiles_pb2 import (
    Profile,
    ProfilesData,
    ResourceProfiles,
    ScopeProfiles,
)

from otlp_data import by_number, export, span
from otlp_encodings import collector_frame, one_each, protobuf, varint_frame
from shared_data import fixture
from trace_view import gaps
from tracegraph.errors import InputError, StrictError, UnknownFormatError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.losses import is_loss
from tracegraph.ingest.otlp.adapter import OtlpAdapter
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

SPANS = [span(n, f"step {n}", "CHAIN", parent=n - 1 or None) for n in range(1, 5)]
REQUEST = export(*SPANS)
ONE_EACH = [protobuf(one) for one in one_each(REQUEST)]
FRAMES = (collector_frame, varint_frame)
OTHERS: list[dict[str, Any]] = [
    {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "x"}}]}]}]},
    {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m"}]}]}]},
    {"resourceProfiles": [], "dictionary": {}},
    {"resource_logs": []},
]
REFUSAL = r"^x\.jsonl: holds no spans, only other signals of OTLP \(logs, metrics, profiles\)$"


def found(data: bytes, **options: Any) -> tuple[list[Trace], Counter[str]]:
    """Return the traces of a file and what was counted outside them."""
    drafts = list(OtlpAdapter().read([Source("x.jsonl", data)], ReadOptions(**options)))
    told = sum((draft.file_gaps for draft in drafts), Counter[str]())
    return [trace for draft in drafts for trace in iterate(seal(draft))], told


def numbers(found: list[Trace]) -> list[int]:
    return sorted(number for trace in found for number in by_number(trace))


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def test_lines_of_other_signals_are_facts_that_are_counted() -> None:
    first, second, third, fourth = one_each(REQUEST)
    data = lines(OTHERS[0], first, {}, OTHERS[1], second, third, OTHERS[2], {}, fourth, OTHERS[3])
    assert detect(Source("x", data)).name == "otlp"
    got, told = found(data, strict=True)
    assert (numbers(got), gaps(got[0])) == ([1, 2, 3, 4], {})
    assert told == {"otlp.other_signal": 4, "otlp.empty_record": 2}
    assert not any(map(is_loss, told))


def test_the_fixture_by_its_raw_lines() -> None:
    path = fixture("otlp/made_signals.jsonl")
    raw = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    spans = {
        s["spanId"]
        for line in raw
        for group in line.get("resourceSpans", [])
        for scope in group["scopeSpans"]
        for s in scope["spans"]
    }
    signals = Counter(next(iter(line), "") for line in raw)
    got, told = found(path.read_bytes())
    assert {step.step_id for trace in got for step in trace.steps} == spans
    assert told == {
        "otlp.other_signal": signals.total() - signals["resourceSpans"] - signals[""],
        "otlp.empty_record": signals[""],
    }


@pytest.mark.parametrize("other", OTHERS)
def test_a_file_of_other_signals_only_is_refused_in_words(other: dict[str, Any]) -> None:
    for data in (
        json.dumps(other).encode(),
        json.dumps(other, indent=1).encode(),
        lines(other, other),
        lines({}, other, {}),
        json.dumps([other, {}]).encode(),
        lines(other, {"resourceSpans": []}),
    ):
        assert detect(Source("x", data)).name == "otlp"
        with pytest.raises(InputError, match=REFUSAL):
            found(data)


def test_a_lost_span_beside_other_signals_is_a_span() -> None:
    got, told = found(lines(OTHERS[0], export({"name": "without ids"})))
    assert (got, told) == ([], {"otlp.other_signal": 1, "otlp.unreadable_span": 1})


@pytest.mark.parametrize(
    "empty",
    [
        {},
        {"resourceSpans": []},
        {"batches": []},
        {"resource_spans": []},
        {"resourceSpans": [{"scopeSpans": [{"spans": []}], "resource": {}}]},
        {"resourceSpans": [], "new in a later version": 1},
    ],
)
def test_records_that_hold_nothing_are_counted(empty: dict[str, Any]) -> None:
    first, *_ = one_each(REQUEST)
    for data in (lines(first, empty), json.dumps([first, empty]).encode()):
        got, told = found(data, strict=True)
        assert (numbers(got), told) == ([1], {"otlp.empty_record": 1})


@pytest.mark.parametrize("foreign", [{"level": "info", "msg": "x"}, {"traceId": "ab", "name": "x"}])
def test_a_record_of_something_else_is_lost_and_told(foreign: dict[str, Any]) -> None:
    first, second, *_ = one_each(REQUEST)
    for data in (lines(first, foreign, second), json.dumps([first, foreign, second]).encode()):
        got, told = found(data)
        assert (numbers(got), told) == ([1, 2], {"otlp.unreadable_span": 1})
        with pytest.raises(StrictError, match=r"^x\.jsonl: (line 2|byte 0): "):
            found(data, strict=True)


def test_what_only_names_a_signal_is_no_otlp() -> None:
    for data in (b'{"text": "\\"resourceLogs\\""}', b"resourceLogs", b"{}\n{}\n"):
        with pytest.raises(UnknownFormatError):
            detect(Source("x", data))


def _logs() -> bytes:
    record = LogRecord(time_unix_nano=5, trace_id=b"t" * 16, span_id=b"s" * 8)
    scope = ScopeLogs(log_records=[record, LogRecord(observed_time_unix_nano=5)])
    return bytes(LogsData(resource_logs=[ResourceLogs(scope_logs=[scope])]).SerializeToString())


def _metrics() -> bytes:
    points = [NumberDataPoint(time_unix_nano=5, as_int=1)]
    metrics = [  # the lengths of the ids of a span
        Metric(name="m" * 16, description="d" * 8, unit="1", gauge=Gauge(data_points=points)),
        Metric(name="m" * 16, description="d" * 8, sum=Sum(data_points=points)),
    ]
    scope = ScopeMetrics(metrics=metrics)
    found = ResourceMetrics(scope_metrics=[scope])
    return bytes(MetricsData(resource_metrics=[found]).SerializeToString())


def _profiles() -> bytes:
    scope = ScopeProfiles(profiles=[Profile(time_unix_nano=5, duration_nano=6)])
    found = ResourceProfiles(scope_profiles=[scope])
    return bytes(ProfilesData(resource_profiles=[found]).SerializeToString())


@pytest.mark.parametrize("other", [_logs(), _metrics(), _profiles()])
def test_other_signals_are_counted_and_give_no_spans(other: bytes) -> None:
    for frame in FRAMES:
        data = frame(other) + b"".join(map(frame, ONE_EACH)) + frame(other)
        assert detect(Source("x", data)).name == "otlp"
        got, told = found(data, strict=True)
        assert (numbers(got), told) == ([1, 2, 3, 4], {"otlp.other_signal": 2})
    for data in (other, collector_frame(other) * 2, varint_frame(other)):
        assert detect(Source("x", data)).name == "otlp"
        with pytest.raises(InputError, match=REFUSAL):
            found(data)
