"""Spans nested in spans, as in the traces of the TRAIL benchmark; made by hand after its shape."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_data import fixture
from tracegraph.errors import StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.source import Source
from tracegraph.ingest.times import UNREADABLE
from tracegraph.ingest.trail.adapter import TrailAdapter
from tracegraph.ingest.trail.duration import duration_of
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Row = dict[str, Any]
TRACE = "4b" * 16
NESTED = fixture("trail") / "made_nested.json"
REDUCED = fixture("trail") / "made_reduced.jsonl"
START = 1_796_032_800_000_000_000


def read_all(data: Any, **options: Any) -> list[Trace]:
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    source = Source("x.json", text)
    assert TrailAdapter().sniff(source)
    (draft,) = TrailAdapter().read([source], ReadOptions(**options))
    assert not draft.file_gaps
    return list(iterate(seal(draft)))


def read(data: Any, **options: Any) -> Trace:
    (trace,) = read_all(data, **options)
    return trace


def gaps(trace: Trace) -> dict[str, int]:
    return {gap.code.removeprefix("trail."): gap.count for gap in trace.gaps}


def parents(trace: Trace) -> dict[str, str]:
    return {c.effect: c.cause for c in trace.causes if c.origin == "span_parent"}


def span(number: int, *held: Row, **fields: Any) -> Row:
    return {
        "span_id": f"{number:016x}",
        "span_name": f"step {number}",
        "timestamp": "2026-11-30T10:00:00.000001Z",
        "duration": "PT1M2.5S",
        "status_code": "Unset",
        "span_attributes": {},
        "child_spans": list(held),
    } | fields


def document(*spans: Row) -> Row:
    return {"trace_id": TRACE, "spans": list(spans)}


def flattened(value: Row) -> Iterator[tuple[Row, str | None]]:
    """Yield (span, id of the one that holds it) of a document, by recursion."""

    def below(spans: list[Row], holder: str | None) -> Iterator[tuple[Row, str | None]]:
        for each in spans:
            yield each, holder
            yield from below(each["child_spans"], each["span_id"])

    yield from below(value["spans"], None)


def test_every_span_is_there_however_deep_it_lies() -> None:
    raw = json.loads(NESTED.read_bytes())
    rows = {row["span_id"]: holder for row, holder in flattened(raw)}
    trace = read(raw, strict=True)
    assert len(raw["spans"]) == 1
    assert {step.step_id for step in trace.steps} == rows.keys()
    assert parents(trace) == {key: holder for key, holder in rows.items() if holder}
    assert (trace.trace_id, trace.session_id, trace.fidelity) == (raw["trace_id"], "trip-7", "full")
    failed = [step for step in trace.steps if step.status == "error"]
    assert [(s.name, s.kind, s.error_type) for s in failed] == [
        ("get_weather", "TOOL", "LookupError")
    ]
    assert {c.origin for c in trace.causes} == {"span_parent", "span_link", "tool_call_id"}
    assert trace.attributes == {"service.name": "trip-planner", "service.version": "2.1.0"}


def test_steps_of_one_time_are_in_the_order_of_the_document() -> None:
    value = document(span(9, span(4, span(7)), span(2)), span(1))
    trace = read(value)
    assert [int(step.step_id, 16) for step in trace.steps] == [9, 4, 7, 2, 1]
    assert gaps(trace) == {}


def test_reduced_copies_say_the_same_but_for_what_they_leave_out() -> None:
    whole, (first, second) = read(NESTED.read_bytes()), read_all(REDUCED.read_bytes())
    assert first.trace_id != second.trace_id
    for trace in (first, second):
        assert parents(trace) == parents(whole)
        for step, other in zip(trace.steps, whole.steps, strict=True):
            for field in ("step_id", "kind", "name", "status", "start", "end", "error_message"):
                assert getattr(step, field) == getattr(other, field)


def test_times_and_counts_are_text() -> None:
    attributes = {"openinference.span.kind": "LLM", "llm.token_count.prompt": "12"}
    trace = read(document(span(1, span_attributes=attributes)))
    (step,) = trace.steps
    assert (step.kind, step.tokens_prompt, step.status) == ("LLM", 12, "ok")
    assert (step.start, step.end) == (START + 1000, START + 1000 + 62_500_000_000)


def test_a_parent_that_is_named_wins_and_the_contradiction_is_disclosed() -> None:
    value = document(
        span(1, span(2, parent_span_id=f"{1:016x}"), span(3, parent_span_id=f"{2:016x}")),
        span(4, parent_span_id=f"{1:016x}"),
    )
    trace = read(value, strict=True)
    assert {int(k, 16): int(v, 16) for k, v in parents(trace).items()} == {2: 1, 3: 2, 4: 1}
    assert gaps(trace) == {"contradictory_nesting": 1}


def test_a_trace_that_is_named_wins() -> None:
    other = "5c" * 16
    traces = read_all(document(span(1), span(2, trace_id=other)))
    assert {t.trace_id: (len(t), gaps(t)) for t in traces} == {
        TRACE: (1, {}),
        other: (1, {"contradictory_nesting": 1}),
    }


def test_an_unset_status_is_ok_and_one_that_is_not_recorded_is_unset() -> None:
    statuses = {"Unset": "ok", "Ok": "ok", "Error": "error", None: "unset", "Fine": "unset"}
    spans = [span(i, status_code=code) for i, code in enumerate(statuses, 1)]
    trace = read(document(*spans))
    assert {int(s.step_id, 16): s.status for s in trace.steps} == dict(
        enumerate(statuses.values(), 1)
    )
    assert gaps(trace) == {"unreadable_status": 1}


def test_events_and_links_in_either_spelling() -> None:
    raised = {
        "Name": "exception",
        "Attributes": {"exception.type": "a.B", "exception.message": "m"},
    }
    linked = {"trace_id": TRACE, "span_id": f"{1:016x}"}
    capital = {"TraceId": TRACE}
    trace = read(document(span(1), span(2, events=[raised], links=[linked])))
    assert [(s.status, s.error_type) for s in trace.steps] == [("ok", None), ("error", "a.B")]
    assert [c.origin for c in trace.causes] == ["span_link"]
    assert gaps(read(document(span(1, links=[capital])))) == {"unresolved_span_link": 1}


def test_five_thousand_levels() -> None:
    levels = 5_000
    opening = "".join(
        f'{{"span_id":"{n:016x}","span_name":"s","span_attributes":{{}},"child_spans":['
        for n in range(1, levels + 1)
    )
    text = f'{{"trace_id":"{TRACE}","spans":[{opening}{"]}" * levels}]}}'
    trace = read(text.encode(), keep_content=True, strict=True)
    assert len(trace) == levels
    expected = {f"{n + 1:016x}": f"{n:016x}" for n in range(1, levels)}
    assert parents(trace) == expected


def test_a_span_that_cannot_be_used_costs_itself() -> None:
    value = document(span(1, span(2, span(3), span_id=None), "no span"))  # type: ignore[arg-type]
    source = Source("x.json", json.dumps(value).encode())
    (draft,) = TrailAdapter().read([source], ReadOptions())
    assert draft.file_gaps == {"trail.unreadable_span": 2}
    assert sorted(draft.steps.step_id) == [f"{1:016x}", f"{3:016x}"]
    with pytest.raises(StrictError, match=r"^x\.json: span 2: .*trail\.unreadable_span"):
        list(TrailAdapter().read([source], ReadOptions(strict=True)))


PARTS = st.tuples(st.integers(0, 400), st.integers(0, 30), st.integers(0, 90), st.integers(0, 90))


@given(PARTS, st.text("0123456789", max_size=9))
def test_durations(parts: tuple[int, int, int, int], fraction: str) -> None:
    days, hours, minutes, seconds = parts
    text = f"P{days}DT{hours}H{minutes}M{seconds}{'.' * bool(fraction)}{fraction}S"
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    assert duration_of(text) == int(f"{whole}{fraction:0<9}")


@pytest.mark.parametrize("text", ["P", "PT", "P1M", "1.5", "PT-1S", "PT1S ", "PT1.S", "P1Y"])
def test_what_is_no_duration(text: str) -> None:
    assert duration_of(text) == UNREADABLE
    trace = read(document(span(1, duration=text)))
    assert [(s.start, s.end) for s in trace.steps] == [(START + 1000, None)]
    assert gaps(trace) == {"unreadable_timestamp": 1}
