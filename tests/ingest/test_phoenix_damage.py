"""Damaged Phoenix exports: a fault costs what it touches and is disclosed, nothing else."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otlp_data import by_number
from phoenix_data import GAP_PREFIXES, LINKS, MADE, facts, one, page, read
from shared_data import ROOT, fixture
from trace_view import gaps
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.phoenix.adapter import PhoenixAdapter
from tracegraph.ingest.registry import adapters
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

SPANS: list[dict[str, Any]] = json.loads(fixture("phoenix/made_spans_page.json").read_bytes())[
    "data"
]
PX: dict[str, Any] = json.loads(fixture("phoenix/made_px_trace_list.json").read_bytes())[0]
FRAME: list[Any] = json.loads(fixture("phoenix/made_frame_records.json").read_bytes())
OTLPV1: dict[str, Any] = json.loads(fixture("phoenix/made_otlpv1_page.json").read_bytes())
TEXT = st.text(st.characters(exclude_categories=[]), max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
NESTED = 5_000


def made(number: int) -> dict[str, Any]:
    """Return a copy of a span of the fixture."""
    wanted = f"{number:016x}"
    return copy.deepcopy(next(s for s in SPANS if s["context"]["span_id"] == wanted))


def with_change(number: int, **fields: Any) -> Trace:
    """Read the fixture with some members of one span changed; ... takes a member out."""
    spans = copy.deepcopy(SPANS)
    (span,) = (s for s in spans if s["context"]["span_id"] == f"{number:016x}")
    span |= fields
    for name, value in fields.items():
        if value is ...:
            del span[name]
    return one({"data": spans, "next_cursor": None})


def others(trace: Trace, number: int) -> dict[str, Any]:
    """Return what is known of all steps but one, apart from order."""
    known = facts(trace)
    known.pop(f"{number:016x}", None)
    return {i: {k: v for k, v in s.items() if k not in ("seq", "depth")} for i, s in known.items()}


@pytest.mark.parametrize("name", ["name", "start_time", "end_time", "status_code"])
def test_a_member_that_is_missing_is_unknown_and_counted(name: str) -> None:
    trace = with_change(10, **{name: ...})
    assert gaps(trace)["phoenix.missing_field"] == 1
    step = by_number(trace)[10]
    told = {"name": step.name, "start_time": step.start, "end_time": step.end}
    assert told.get(name) is None
    if name in ("status_code", "end_time"):
        assert (step.status, step.status_source) == ("unset", None)
    assert others(trace, 10) == others(one(page(SPANS[::-1])), 10)


@pytest.mark.parametrize(
    "context", [..., None, {}, {"trace_id": MADE}, {"span_id": "01"}, "x", {"trace_id": 1}]
)
def test_a_span_without_its_ids_costs_itself(context: Any) -> None:
    spans = copy.deepcopy(SPANS)
    (span,) = (s for s in spans if s["context"]["span_id"] == f"{10:016x}")
    span["context"] = context
    if context is ...:
        del span["context"]
    source = Source("x.json", json.dumps({"data": spans}).encode())
    (draft,) = PhoenixAdapter().read([source], ReadOptions())
    assert draft.file_gaps["phoenix.unreadable_span"] == 1
    (trace,) = iterate(seal(draft))
    assert others(trace, 10) == others(one(page(SPANS[::-1])), 10)
    with pytest.raises(StrictError, match=r"^x\.json: "):
        list(PhoenixAdapter().read([source], ReadOptions(strict=True)))


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"name": 5}, "phoenix.unreadable_field"),
        ({"attributes": []}, "phoenix.unreadable_field"),
        ({"attributes": "x"}, "phoenix.unreadable_field"),
        ({"events": {}}, "phoenix.unreadable_field"),
        ({"events": [{"name": 1}]}, "phoenix.unreadable_field"),
        ({"span_kind": 7}, "phoenix.unreadable_field"),
        ({"parent_id": 7}, "phoenix.unreadable_field"),
        ({"start_time": "yesterday"}, "phoenix.unreadable_timestamp"),
        ({"end_time": -5}, "phoenix.unreadable_timestamp"),
        ({"end_time": 1e300}, "phoenix.unreadable_timestamp"),
        ({"end_time": "9" * 30}, "phoenix.unreadable_timestamp"),
        ({"status_code": "FINE"}, "phoenix.unreadable_status"),
        ({"attributes": {"llm.token_count.total": "many"}}, "phoenix.unreadable_token_count"),
        ({"attributes": {"llm.cost": {"total": "free"}}}, "phoenix.unreadable_cost"),
        ({"annotations": [{"name": None}]}, "phoenix.unreadable_annotation"),
        ({"annotations": ["x"]}, "phoenix.unreadable_annotation"),
        ({"annotations": [{"name": "n", "label": "l" * 999}]}, "phoenix.unreadable_annotation"),
    ],
)
def test_a_member_of_the_wrong_type_is_unknown_and_a_loss(
    fields: dict[str, Any], code: str
) -> None:
    trace = with_change(2, **fields)
    assert gaps(trace)[code] >= 1
    assert len(trace) == 11
    spans = copy.deepcopy(SPANS)
    (span,) = (s for s in spans if s["context"]["span_id"] == f"{2:016x}")
    with pytest.raises(StrictError, match=rf"^input\.json: .*\({code}\)"):
        read({"data": [*spans[:-2], span | fields, spans[-1]]}, strict=True)


def test_lost_events_and_attributes_are_no_sign_of_success() -> None:
    changes: list[dict[str, Any]] = [{"events": {}}, {"events": None}, {"status_code": "FINE"}]
    for fields in changes:
        assert by_number(with_change(8, **fields))[8].status == "unset"
    step = by_number(with_change(10, attributes="x"))[10]
    assert step.docs is None
    assert "docs" in step.unknown_fields


def test_times_in_all_units_are_the_same_time() -> None:
    ns = 1_764_000_001_500_000_000
    for value in (
        ns,
        ns // 10**3,
        ns // 10**6,
        ns / 10**9,
        ns / 10**6,
        str(ns),
        "2025-11-24T16:00:01.5Z",
    ):
        assert by_number(with_change(8, start_time=value))[8].start == ns


def test_many_evaluations_are_bounded_and_counted() -> None:
    many = [{"name": f"n{i}", "annotator_kind": "CODE", "result": {"score": i}} for i in range(500)]
    trace = with_change(2, annotations=many)
    assert len(trace.attributes["evaluations"]) == 200
    assert gaps(trace)["phoenix.evaluations_left_out"] == 300


@pytest.mark.parametrize("cut", [1, 2_000, 5_000])
def test_a_torn_line_costs_itself_and_a_torn_document_is_refused(cut: int) -> None:
    lines = b"".join(json.dumps(span).encode() + b"\n" for span in SPANS)
    found = read(lines[:-cut], "x.jsonl")
    assert len(found[0]) == lines[:-cut].count(b"\n") + (cut == 1)
    document = json.dumps(page(SPANS)).encode()
    with pytest.raises(InputError, match=r"^x\.json: .*not JSON") as refused:
        read(document[:-cut], "x.json")
    assert "\n" not in str(refused.value)


def test_a_torn_first_line_is_told_from_a_broken_document() -> None:
    lines = b"".join(json.dumps(span).encode() + b"\n" for span in SPANS)
    source = Source("x.jsonl", lines[40:])
    assert [a.name for a in adapters() if a.sniff(source)] == ["phoenix"]
    (draft,) = PhoenixAdapter().read([source], ReadOptions())
    assert draft.file_gaps == {"phoenix.unreadable_record": 1}
    assert len(draft.steps.step_id) == 10


def nested(levels: int, leaf: Any = 1) -> Any:
    value = leaf
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("shape", ["object", "list", "dotted", "metadata", "annotation"])
def test_five_thousand_levels_cost_the_value_that_has_them(shape: str) -> None:
    deep = '{"a":' * NESTED + "1" + "}" * NESTED
    if shape == "list":
        deep = "[" * NESTED + "1" + "]" * NESTED
    key = {"dotted": "tool.parameters" + ".a" * NESTED, "metadata": "metadata"}.get(shape, "deep")
    span = made(3)
    if shape == "dotted":
        span["attributes"][key] = 1
    elif shape == "annotation":
        span["annotations"] = [{"name": "n", "result": {"label": "l"}, "metadata": "DEEP"}]
    else:
        span["attributes"][key] = "DEEP"
    text = json.dumps(page([made(1), span])).replace('"DEEP"', deep)
    for keep in (False, True):
        trace = one(text, keep_content=keep)
        step = by_number(trace)[3]
        assert (step.name, step.status, step.error_message) == ("search", "error", "boom")
        if shape not in ("dotted", "annotation"):
            assert gaps(trace)["phoenix.unreadable_field"] == 1


def test_five_thousand_levels_of_spans_and_ten_thousand_children() -> None:
    chain = [
        made(8)
        | {
            "context": {"trace_id": MADE, "span_id": f"{n + 100:016x}"},
            "parent_id": f"{n + 99:016x}" if n else None,
        }
        for n in range(NESTED)
    ]
    trace = one(page(chain))
    assert max(step.depth or 0 for step in trace.steps) == NESTED - 1
    root = made(1)
    wide = [
        made(8) | {"context": {"trace_id": MADE, "span_id": f"{n + 100:016x}"}}
        for n in range(10_000)
    ]
    trace = one(page([root, *wide]))
    assert len(list(trace.causes)) == 10_000
    assert gaps(trace) == LINKS


def replaced(value: Any, data: st.DataObject) -> Any:
    """Put something random in place of some part of a value."""
    whole = [copy.deepcopy(value)]
    holder: Any = whole
    key: Any = 0
    while data.draw(st.booleans() if isinstance(holder[key], dict | list) else st.just(False)):
        inner = holder[key]
        keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        if not keys:
            break
        holder, key = inner, data.draw(st.sampled_from(keys))
    holder[key] = data.draw(JSON)
    return whole[0]


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from([page(SPANS), PX, FRAME, OTLPV1, [PX], SPANS]), st.booleans())
def test_whatever_is_damaged_is_read_or_refused_in_one_line(
    data: st.DataObject, base: Any, keep: bool
) -> None:
    value = base
    for _ in range(data.draw(st.integers(1, 4))):
        value = replaced(value, data)
    text = json.dumps(value)
    try:
        found = read(text, "x", keep_content=keep)
    except InputError as error:
        assert str(error).startswith("x")
        assert "\n" not in str(error)
        return
    for trace in found:
        ids = {step.step_id for step in trace.steps}
        assert len(ids) == len(trace)
        assert all({e.effect, e.cause} <= ids for e in trace.causes)
        assert {gap.code.partition(".")[0] for gap in trace.gaps} <= GAP_PREFIXES
        for word in trace.columns.vocabulary:
            word.encode()


@settings(max_examples=150, deadline=None)
@given(st.lists(JSON, max_size=4), st.booleans())
def test_random_json_is_no_error_of_ours(values: list[Any], wrapped: bool) -> None:
    text = json.dumps({"data": values, "next_cursor": None} if wrapped else values)
    source = Source("x", text.encode())
    PhoenixAdapter().sniff(source)
    with pytest.raises(InputError, match=r"^x: "):
        list(PhoenixAdapter().read([source], ReadOptions()))


def test_other_formats_are_left_to_others() -> None:
    own = {"phoenix", "phoenix_without_spans"}
    for folder in sorted((ROOT / "tests" / "fixtures").iterdir()):
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_file() and folder.name not in own:
                assert not PhoenixAdapter().sniff(Source.open(path, path.name)), path


@pytest.mark.parametrize(
    "name",
    [
        "phoenix/made_spans_page.json",
        "phoenix/made_otlpv1.jsonl",
        "phoenix/made_frame_columns.json",
    ],
)
def test_its_exports_are_left_to_it(name: str) -> None:
    source = Source.open(fixture(name), name)
    assert [adapter.name for adapter in adapters() if adapter.sniff(source)] == ["phoenix"]


def test_json_of_the_sdk_is_not_taken() -> None:
    span: dict[str, Any] = {
        "name": "x",
        "context": {"trace_id": "0x" + "4f" * 16, "span_id": "0x" + "01" * 8, "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": None,
        "start_time": "2026-01-01T00:00:00Z",
        "status": {"status_code": "OK"},
        "attributes": {"openinference.span.kind": "LLM"},
        "events": [],
        "links": [],
        "resource": {"attributes": {}, "schema_url": ""},
    }
    for text in (
        json.dumps(span),
        json.dumps(span, indent=4),
        json.dumps(span) + "\n" + json.dumps(span),
    ):
        assert not PhoenixAdapter().sniff(Source("x", text.encode()))
