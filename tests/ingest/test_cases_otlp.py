"""The OTLP cases of ../shared/cases by their expected.md, as far as reading shows them.

Lines about presets, checks and reports belong to the tests of those parts.
"""

import json
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest

from case_files import case as path_of
from case_files import write_huge_case
from otlp_data import by_number, edges, read, source, traces
from shared_data import fixture, shared
from trace_view import gaps
from tracegraph.errors import StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.artifact.adapter import ArtifactAdapter
from tracegraph.ingest.otlp.adapter import OtlpAdapter
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.model.trace import Trace, iterate

ALL = ["hex", "upper", "base64", "mangled", "tempo-batches"]


def case(number: str, name: str = "input.json") -> bytes:
    return path_of(number, name).read_bytes()


def one(number: str, name: str = "input.json") -> Trace:
    (trace,) = traces(case(number, name))
    return trace


@pytest.mark.parametrize("coding", ALL)
def test_case_01_ids_in_every_coding(coding: str) -> None:
    trace = one("01", f"input.{coding}.json")
    assert trace.trace_id == "5b8efff798038103d269b633813fc60c"
    agent, search = trace.steps
    assert (agent.step_id, agent.kind, agent.name) == ("eee19b7ec3c1b173", "AGENT", "agent")
    assert (search.step_id, search.kind, search.status) == ("eee19b7ec3c1b174", "TOOL", "error")
    assert [(e.effect, e.cause) for e in trace.causes] == [(search.step_id, agent.step_id)]
    assert not [step for step in trace.steps if step.orphan]
    standard = coding in ("hex", "upper")
    assert gaps(trace) == ({} if standard else {"otlp.nonstandard_id_encoding": 4})


@pytest.mark.parametrize("coding", ["base64", "mangled", "tempo-batches"])
def test_case_01_strict_refuses(coding: str) -> None:
    data = source(case("01", f"input.{coding}.json"), f"input.{coding}.json")
    with pytest.raises(StrictError, match=rf"^input\.{coding}\.json: byte 0: .*hex"):
        read(data, strict=True)
    assert read(source(case("01", "input.hex.json")), strict=True).step_count == 2


def test_case_01_five_files_are_one_trace() -> None:
    sources = [source(case("01", f"input.{coding}.json"), coding) for coding in ALL]
    (trace,) = iterate(read(*sources))
    assert len(trace) == 2
    assert trace.file == "hex"
    assert gaps(trace)["otlp.duplicate_identical"] == 8


def test_case_02_integers_as_text() -> None:
    trace = one("02")
    told = {n: (s.tokens_prompt, s.tokens_completion) for n, s in by_number(trace).items()}
    assert told[2] == told[3] == (25, 7)
    assert told[4] == (25, 9007199254740993)
    assert told[5] == (None, 7)
    assert gaps(trace) == {"otlp.unreadable_token_count": 1}
    prompts = [told[n][0] for n in (2, 3, 4, 5)]
    assert (sum(p for p in prompts if p is not None), prompts.count(None)) == (75, 1)


def test_case_03_missing_middle_parent() -> None:
    trace = one("03")
    steps = by_number(trace)
    assert sorted(steps) == [1, 3, 4, 5]
    assert {n for n, s in steps.items() if s.orphan} == {3, 5}
    assert edges(trace) == {(4, 3, "span_parent", "containment")}
    assert gaps(trace) == {"otlp.missing_parent": 1, "otlp.self_parent": 1}
    assert {n: s.depth for n, s in steps.items()} == {1: 0, 3: None, 4: None, 5: None}


def test_case_04_clocks() -> None:
    trace = one("04")
    steps = by_number(trace)
    assert steps[2].start == 1764000007000000000
    assert (steps[3].start, steps[3].end) == (1764000015000000000, 1764000014500000000)
    assert steps[3].duration_ns is None
    assert (steps[4].start, steps[4].duration_ns) == (None, None)
    assert gaps(trace) == {"clock.child_before_parent": 1, "clock.end_before_start": 1}
    assert {(e, c) for e, c, _, _ in edges(trace)} == {(2, 1), (3, 1), (4, 1)}
    row = steps[4].row
    assert trace.columns.steps.o0[row] == -1


def test_case_05_duplicates_do_not_depend_on_the_order_of_lines() -> None:
    lines = case("05", "input.jsonl").decode().splitlines()
    for order in permutations(lines):
        found = {trace.trace_id: trace for trace in traces("\n".join(order))}
        assert len(found) == 2
        trace = found["4f" * 16]
        assert [(s.name, s.status, s.error_message) for s in trace.steps] == [
            ("agent", "ok", None),
            ("pay", "error", "declined"),
        ]
        assert gaps(trace) == {"otlp.duplicate_identical": 1, "otlp.duplicate_conflict": 1}
        assert trace.attributes["notes"] == [
            "span 0000000000000002: different records, the one that ends last is kept"
        ]
        assert [s.name for s in found["aa" * 16].steps] == ["pay"]


def test_case_05_strict_names_span_and_lines() -> None:
    with pytest.raises(StrictError) as refused:
        read(source(case("05", "input.jsonl"), "input.jsonl"), strict=True)
    for told in ("0000000000000002", "input.jsonl line 1", "input.jsonl line 3"):
        assert told in str(refused.value)


def test_case_05_lines_over_two_files() -> None:
    lines = case("05", "input.jsonl").decode().splitlines()
    first, second = source(lines[0], "a.jsonl"), source("\n".join(lines[1:]), "b.jsonl")
    found = {trace.trace_id: trace for trace in iterate(read(first, second))}
    assert {t.file for t in found.values()} == {"a.jsonl", "b.jsonl"}
    assert gaps(found["4f" * 16]) == {"otlp.duplicate_identical": 1, "otlp.duplicate_conflict": 1}


def test_case_07_text() -> None:
    trace = one("07")
    steps = by_number(trace)
    assert len(steps) == 6
    assert gaps(trace) == {"text.lone_surrogate": 2, "text.unicode_form": 1}
    assert steps[2].error_message == "bad \ufffd tail"
    assert steps[3].args_digest == steps[4].args_digest is not None
    assert (steps[5].name, steps[6].name) == ("cafe\u0301", "caf\u00e9")
    assert steps[3].name == "sea\0rch"


def test_case_07_invalid_utf8() -> None:
    data = case("07", "input.badutf8.json")
    offset = data.index(b"\xff")
    trace = one("07", "input.badutf8.json")
    assert by_number(trace)[2].name == "search\ufffd\ufffd"
    assert gaps(trace) == {"text.invalid_utf8": 1}
    assert trace.attributes["notes"] == [f"input.json: first invalid UTF-8 at byte {offset}"]
    with pytest.raises(StrictError, match=rf"^bad\.json: byte {offset}: "):
        read(source(data, "bad.json"), strict=True)


def test_case_07_bad_bytes_cost_their_line_at_most() -> None:
    good = json.dumps(json.loads(case("01", "input.hex.json")))
    bad = case("07", "input.badutf8.json").replace(b"\n", b"")
    found = traces(good.encode() + b"\n" + bad + b"\n{torn")
    assert [len(trace) for trace in found] == [2, 2]
    assert gaps(found[0]) == {}
    (draft,) = OtlpAdapter().read([source(good.encode() + b"\n{torn\n")], ReadOptions())
    assert draft.file_gaps == {"otlp.unreadable_record": 1}


def test_case_08_tool_errors_as_data() -> None:
    trace = one("08")
    told = {s.name: (s.status, s.status_source) for s in trace.steps if s.kind == "TOOL"}
    assert told == {
        "search": ("ok", "recorded"),
        "fetch": ("error", "result.isError"),
        "calc": ("error", "error.type"),
        "read": ("ok", "default"),
        "query": ("ok", "recorded"),
    }
    assert gaps(trace) == {"otlp.status_contradicts_tool_status": 1}
    soft = [s.name for s in trace.steps if s.status == "ok" and "tool_error" in s.signals]
    assert soft == ["search"]


def test_case_09_no_cause_is_invented_between_traces() -> None:
    found = traces(case("09"))
    assert len(found) == 5
    steps = [step for trace in found for step in trace.steps]
    assert [step.status for step in steps] == ["error"] * 4 + ["ok"]
    assert not [edge for trace in found for edge in trace.causes]
    assert {trace.session_id for trace in found} == {"th-1"}
    kept = traces(case("09"), keep_content=True)
    tags = [step.attributes.get("tag.tags") for trace in kept for step in trace.steps]
    assert tags == [None, *(f"retry:attempt:{n}" for n in (2, 3, 4, 5))]


def test_case_11_control_flow_is_told_by_the_qualified_type() -> None:
    trace = one("11")
    told = {s.name: (s.status, s.status_source, s.signals) for s in trace.steps}
    assert told["human_review"] == ("unset", "control_flow", ("interrupt",))
    assert told["router"] == ("unset", "control_flow", ())
    assert told["my_tool"] == ("error", "recorded", ())
    assert sum(step.status == "error" for step in trace.steps) == 1
    assert not any("approve?" in (step.error_message or "") for step in trace.steps)


def test_case_13_arguments() -> None:
    args = {n: s.args_digest for n, s in by_number(one("13")).items()}
    assert args[2] == args[3] == args[4] is not None
    assert args[6] is args[7] is None
    raw = {args[5], args[8]}
    assert len(raw) == 2
    assert all(digest is not None and digest.startswith("raw:") for digest in raw)


def test_case_15_huge_payload_and_thousands_of_siblings(tmp_path: Path) -> None:
    path = write_huge_case(tmp_path / "input.json")
    assert detect(Source.open(path, "input.json")).name == "otlp"
    (trace,) = iterate(read(Source.open(path, "input.json")))
    steps = by_number(trace)
    assert len(steps) == 5003
    edit = steps[3]
    assert edit.args_digest is not None
    assert edit.args_digest.startswith("raw:")
    assert gaps(trace) == {"otlp.dropped_attributes": 2}
    assert {"result", "attr", "tool_call_id"} <= set(edit.unknown_fields)
    assert edit.args_size == 1000
    assert steps[2].result_digest is not None
    assert steps[2].result_size == 40 << 20
    assert steps[1].args_size is steps[1].result_size is None
    held = [text for text in trace.columns.vocabulary if len(text) > 10_000]
    assert held == []


def test_case_18_statuses() -> None:
    trace = one("18")
    told = {n: (s.status, s.status_source) for n, s in by_number(trace).items()}
    assert told[2] == ("error", "exception")
    assert told[3] == told[4] == ("ok", "recorded")
    assert told[5] == ("ok", "default")
    assert told[6] == ("error", "recorded")
    assert gaps(trace) == {"otlp.status_contradicts_escaped_exception": 1}


def test_the_copies_are_the_cases(tmp_path: Path) -> None:
    for folder in sorted(shared("cases").iterdir()):
        for path in sorted(folder.glob("input*")):
            assert path_of(folder.name[:2], path.name).read_bytes() == path.read_bytes()
    (script,) = shared("cases").glob("15-*/make_input.py")
    subprocess.run([sys.executable, str(script)], cwd=tmp_path, check=True)
    made = write_huge_case(tmp_path / "made.json")
    assert made.read_bytes() == (tmp_path / "input.json").read_bytes()


def test_no_case_is_taken_by_another_adapter() -> None:
    for path in sorted(fixture("cases").glob("*/input*.json*")):
        assert not ArtifactAdapter().sniff(Source.open(path, path.name))
        assert detect(Source.open(path, path.name)).name == "otlp"
