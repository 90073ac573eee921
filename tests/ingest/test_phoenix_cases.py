"""The cases of ../shared/cases as Phoenix would hold them, by their expected.md.

Left out are the cases that only OTLP can have: ids in other codings (01), attributes that the
producer says it dropped (part of 15), none of which gets through a Phoenix server.
"""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from case_files import case, write_huge_case
from otlp_data import by_number, edges
from phoenix_data import LINKS, from_otlp, one, page, read
from trace_view import gaps
from tracegraph.errors import RecordLimitError, StrictError
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.model.trace import Trace


def spans_of(number: str) -> list[dict[str, Any]]:
    return from_otlp(json.loads(case(number).read_bytes()))


def of_case(number: str) -> Trace:
    return one(page(spans_of(number)))


def test_case_02_integers_as_text() -> None:
    spans = spans_of("02")
    for span in spans:  # as text again, which spans that were posted to the REST API may hold
        held = span["attributes"].items()
        span["attributes"] = {k: str(v) if isinstance(v, int) else v for k, v in held}
    trace = one(page(spans))
    told = {n: (s.tokens_prompt, s.tokens_completion) for n, s in by_number(trace).items()}
    assert told[2] == told[3] == (25, 7)
    assert told[4] == (25, 9007199254740993)
    assert told[5] == (None, 7)
    assert gaps(trace) == LINKS | {"phoenix.unreadable_token_count": 1}


def test_case_03_missing_middle_parent() -> None:
    trace = of_case("03")
    steps = by_number(trace)
    assert {n for n, s in steps.items() if s.orphan} == {3, 5}
    assert edges(trace) == {(4, 3, "span_parent", "containment")}
    assert gaps(trace) == LINKS | {"phoenix.missing_parent": 1, "phoenix.self_parent": 1}
    assert {n: s.depth for n, s in steps.items()} == {1: 0, 3: None, 4: None, 5: None}


def test_case_04_clocks() -> None:
    trace = of_case("04")
    steps = by_number(trace)
    assert steps[2].start == 1764000007000000000
    assert (steps[3].start, steps[3].end) == (1764000015000000000, 1764000014500000000)
    assert steps[3].duration_ns is None
    assert (steps[4].start, steps[4].duration_ns) == (None, None)  # the epoch is no time
    found = {"clock.child_before_parent": 1, "clock.end_before_start": 1}
    assert gaps(trace) == LINKS | found
    assert {(e, c) for e, c, _, _ in edges(trace)} == {(2, 1), (3, 1), (4, 1)}


def test_case_05_duplicates_do_not_depend_on_their_order() -> None:
    lines = [json.loads(line) for line in case("05", "input.jsonl").read_text().splitlines()]
    for order in permutations(from_otlp(*lines)):
        text = "".join(json.dumps(span) + "\n" for span in order)
        found = {trace.trace_id: trace for trace in read(text, "input.jsonl")}
        trace = found["4f" * 16]
        assert [(s.name, s.status, s.error_message) for s in trace.steps] == [
            ("agent", "ok", None),
            ("pay", "error", "declined"),
        ]
        told = {"phoenix.duplicate_identical": 1, "phoenix.duplicate_conflict": 1}
        assert gaps(trace) == LINKS | told
        assert [s.name for s in found["aa" * 16].steps] == ["pay"]
        with pytest.raises(StrictError) as refused:
            read(text, "input.jsonl", strict=True)
        assert "0000000000000002" in str(refused.value)
        assert str(refused.value).count("input.jsonl line ") == 2


def test_case_07_text() -> None:
    trace = of_case("07")
    steps = by_number(trace)
    assert len(steps) == 6
    assert gaps(trace) == LINKS | {"text.lone_surrogate": 2, "text.unicode_form": 1}
    assert steps[2].error_message == "bad \ufffd tail"
    assert steps[3].args_digest == steps[4].args_digest is not None
    assert (steps[5].name, steps[6].name) == ("cafe\u0301", "caf\u00e9")
    assert steps[3].name == "sea\0rch"
    with pytest.raises(StrictError, match=r"^input\.json: item \d: .*surrogate"):
        one(page(spans_of("07")), strict=True)


def test_case_07_bad_bytes_cost_no_other_span() -> None:
    data = json.dumps(page(spans_of("03"))).encode().replace(b'"search"', b'"sea\xff\xfech"')
    trace = one(data)
    assert by_number(trace)[3].name == "sea\ufffd\ufffdch"
    assert gaps(trace)["text.invalid_utf8"] == 2
    with pytest.raises(StrictError, match=r"^bad\.json: item \d: byte \d+ is no UTF-8"):
        one(data, name="bad.json", strict=True)


def test_case_08_tool_errors_as_data() -> None:
    trace = of_case("08")
    told = {s.name: (s.status, s.status_source) for s in trace.steps if s.kind == "TOOL"}
    assert told == {
        "search": ("ok", "recorded"),
        "fetch": ("error", "result.isError"),
        "calc": ("error", "error.type"),
        "read": ("ok", "default"),
        "query": ("ok", "recorded"),
    }
    assert gaps(trace) == LINKS | {"phoenix.status_contradicts_tool_status": 1}


def test_case_09_no_cause_is_invented_between_traces() -> None:
    found = read(page(spans_of("09")))
    assert len(found) == 5
    assert sorted(s.status for t in found for s in t.steps) == ["error"] * 4 + ["ok"]
    assert not [edge for trace in found for edge in trace.causes]
    assert {trace.session_id for trace in found} == {"th-1"}


def test_case_11_control_flow_is_told_by_the_qualified_type() -> None:
    trace = of_case("11")
    told = {s.name: (s.status, s.status_source, s.signals) for s in trace.steps}
    assert told["human_review"] == ("unset", "control_flow", ("interrupt",))
    assert told["router"] == ("unset", "control_flow", ())
    assert told["my_tool"] == ("error", "recorded", ())
    assert not any("approve?" in (step.error_message or "") for step in trace.steps)


def test_case_13_arguments() -> None:
    args = {n: s.args_digest for n, s in by_number(of_case("13")).items()}
    assert args[2] == args[3] == args[4] is not None
    assert args[6] is args[7] is None
    raw = {args[5], args[8]}
    assert len(raw) == 2
    assert all(digest is not None and digest.startswith("raw:") for digest in raw)


def test_case_15_huge_payload_and_thousands_of_siblings(tmp_path: Path) -> None:
    made = write_huge_case(tmp_path / "input.json")
    spans = from_otlp(json.loads(made.read_bytes()))
    path = tmp_path / "page.json"
    path.write_text(json.dumps(page(spans)))
    before = path.read_bytes()
    assert detect(Source.open(path, "page.json")).name == "phoenix"
    steps = by_number(trace := one(path))
    assert len(steps) == 5003
    assert (steps[3].args_digest or "").startswith("raw:")
    assert steps[2].result_size == 40 << 20
    assert [text for text in trace.columns.vocabulary if len(text) > 10_000] == []
    assert path.read_bytes() == before
    with pytest.raises(RecordLimitError, match=r"^p: .*TRACEGRAPH_MAX_RECORD_BYTES"):
        read(Source("p", before, 1 << 20))


def test_case_18_statuses() -> None:
    trace = of_case("18")
    told = {n: (s.status, s.status_source) for n, s in by_number(trace).items()}
    assert told[2] == ("error", "exception")
    assert told[3] == told[4] == ("ok", "recorded")
    assert told[5] == ("ok", "default")
    assert told[6] == ("error", "recorded")
    assert gaps(trace) == LINKS | {"phoenix.status_contradicts_escaped_exception": 1}
