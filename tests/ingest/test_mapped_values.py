"""Status, single values and paths of home-made logs."""

import json
from typing import Any

import pytest

from mapped_logs import Row, drafts, fields, first, left, lines, read, step
from trace_view import gaps
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.mapped.load import parse_map
from tracegraph.model.digest import digest_text, digest_value
from tracegraph.model.seal import seal
from tracegraph.model.step import Step
from tracegraph.model.trace import iterate


def outcome(row: Row) -> Step:
    """The step of a record beside another one that has every column."""
    mapping = fields(name="n", status="s", error_message="e", error_type="t", result="r")
    table = "[status]\nok = [true, 'done', 1]\nerror = [false, 'bad']\n"
    whole = {"n": "y", "s": True, "e": "z", "t": "z", "r": "z"}
    return first(lines({"n": "x"} | row, whole), mapping + table)


@pytest.mark.parametrize("word", [True, "true", "TRUE", " done ", 1, 1.0, "1"])
def test_words_of_success(word: Any) -> None:
    found = outcome({"s": word})
    assert (found.status, found.status_source) == ("ok", "recorded")


@pytest.mark.parametrize("word", [False, "False", "bad"])
def test_words_of_failure(word: Any) -> None:
    assert outcome({"s": word}).status == "error"


@pytest.mark.parametrize("word", ["maybe", 0, 2, [], {"ok": True}, "fine"])
def test_a_word_that_the_mapping_does_not_know_is_never_success(word: Any) -> None:
    assert outcome({"s": word}).status == "unset"
    row = {"name": "a", "ok": word}
    assert gaps(read(lines({"id": 1, "ms": 1, "parent": None} | row))) == {
        "mapped.unknown_status": 1
    }


def test_without_a_status_it_is_unset_everywhere() -> None:
    trace = read(lines({"n": "a"}, {"n": "b"}), fields(name="n"))
    assert {s.status for s in trace.steps} == {"unset"}
    assert trace.status == "unset"


def test_truth_is_no_word_unless_the_mapping_says_so() -> None:
    trace = read(lines({"n": 1, "failed": True}), fields(name="n", status="failed"))
    assert next(trace.steps).status == "unset"
    assert gaps(trace) == {"mapped.unknown_status": 1}


@pytest.mark.parametrize(
    ("row", "source"),
    [
        ({"e": "boom"}, "error_message"),
        ({"e": {"code": 7}}, "error_message"),
        ({"t": "ValueError"}, "error_type"),
        ({"r": {"isError": True, "content": "x"}}, "result.isError"),
    ],
)
def test_a_recorded_error_is_one_where_no_status_is(row: Row, source: str) -> None:
    found = outcome(row)
    assert (found.status, found.status_source) == ("error", source)


@pytest.mark.parametrize("none", [None, "", False, "false", {}, []])
def test_what_says_that_there_is_no_error(none: Any) -> None:
    assert outcome({"e": none}).status == "unset"


def test_text_of_a_result_is_not_searched_for_failure() -> None:
    assert outcome({"r": "error: it failed badly"}).status == "unset"


def test_success_with_an_error_stays_and_is_counted() -> None:
    mapping = fields(name="n", status="s", error_message="e") + "[status]\nok = [true]\n"
    trace = read(lines({"n": 1, "s": True, "e": "but"}), mapping, strict=True)
    assert (next(trace.steps).status, next(trace.steps).error_message) == ("ok", "but")
    assert gaps(trace) == {"mapped.status_contradicts_error": 1}


NS = 1_796_036_400_250_000_000  # 2026-11-30T11:00:00.25Z


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        ("2026-11-30T11:00:00.250Z", None),
        ("2026-11-30 11:00:00,25", None),
        ("2026-11-30T12:00:00.25+01:00", "iso"),
        (1796036400.25, None),
        ("1796036400.25", "s"),
        (1796036400250, None),
        ("1796036400250", "ms"),
        (1796036400250000, None),
        (1796036400250000000, None),
        ("1796036400250000000", "ns"),
    ],
)
def test_times_in_every_form(value: Any, unit: str | None) -> None:
    mapping = fields(start="ts") + (f'[units]\nstart = "{unit}"\n' if unit else "")
    (draft,) = drafts(lines({"ts": value}), mapping)
    assert draft.steps.start == [NS]


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (0.25, None),
        (12, None),
        (20261130, None),
        ("2026-11-30", None),
        ("noon: sharp", None),
        (-1, "s"),
        (True, None),
        ("NaN", "s"),
        (1e300, "s"),
        (10**30, None),
        ([NS], None),
        (1796036400, "iso"),
    ],
)
def test_what_is_no_time_stays_unknown(value: Any, unit: str | None) -> None:
    mapping = fields(name="n", start="ts") + (f'[units]\nstart = "{unit}"\n' if unit else "")
    trace = read(lines({"n": "x", "ts": value}), mapping)
    assert next(trace.steps).start is None
    assert gaps(trace) == {"mapped.unreadable_timestamp": 1}


@pytest.mark.parametrize(
    ("value", "ns"),
    [
        (10**8, 10**17),
        (9 * 10**9, 9 * 10**18),
        (10**11, 10**17),
        (10**14 - 1, -1),  # beyond the year 2262
        (10**14, 10**17),
        (10**17 - 1, -1),
        (10**17, 10**17),
    ],
)
def test_the_unit_of_a_number_is_told_by_its_size(value: int, ns: int) -> None:
    (draft,) = drafts(lines({"ts": value}), fields(start="ts"))
    assert draft.steps.start == [ns]


@pytest.mark.parametrize(("unit", "ms"), [("s", 1500.0), ("ms", 1.5), ("us", 0.0015)])
def test_durations_have_the_unit_that_the_mapping_says(unit: str, ms: float) -> None:
    mapping = fields(duration="d") + f'[units]\nduration = "{unit}"\n'
    assert step({"d": 1.5}, mapping).duration_ns == ms * 1e6
    assert step({"d": "1.5"}, mapping).duration_ns == ms * 1e6


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("duration", -1, "duration"),
        ("duration", "1.5s", "duration"),
        ("tokens_prompt", 1.5, "token_count"),
        ("tokens_total", -3, "token_count"),
        ("tokens_total", True, "token_count"),
        ("cost", "$3", "cost"),
        ("cost", True, "cost"),
        ("cost", -0.1, "cost"),
        ("name", {"a": 1}, "field"),
        ("model", ["x"], "field"),
        ("docs", "many", "field"),
        ("error_message", True, "field"),
    ],
)
def test_what_a_field_cannot_take_is_unknown_and_counted(field: str, value: Any, code: str) -> None:
    mapping = fields(run_id="r", **{field: "v"}) + '[units]\nduration = "ms"\n'
    data = lines({"r": "x", "v": None}, {"r": "x", "v": value})
    (trace,) = iterate(seal(drafts(data, mapping)[-1]))
    assert gaps(trace) == {f"mapped.unreadable_{code}": 1}
    (item,) = left(data, mapping).values
    assert (item.field, item.column, item.count, item.place) == (field, "v", 1, "line 2")
    with pytest.raises(StrictError, match=rf"^log\.x: line 2: {field} \(mapped\."):
        drafts(data, mapping, strict=True)


@pytest.mark.parametrize("value", [7, 7.0, "7", "7.0", " 7 "])
def test_counts_in_every_form(value: Any) -> None:
    assert step({"v": value}, fields(tokens_total="v")).tokens_total == 7


@pytest.mark.parametrize(("value", "docs"), [([1, 2], 2), ('[{"id": 1}]', 1), ("3", 3), ([], 0)])
def test_documents_are_counted_or_listed(value: Any, docs: int) -> None:
    assert step({"v": value, "n": 1}, fields(docs="v", name="n")).docs == docs


def test_digests_are_those_of_the_content() -> None:
    mapping = fields(args="a", result="r")
    found = step({"a": {"q": 1.0}, "r": "done"}, mapping)
    assert found.args_digest == digest_value({"q": 1})
    assert found.result_digest == digest_text("done")
    assert step({"a": '{"q": 1}', "r": "done"}, mapping).args_digest == found.args_digest


def test_bodies_are_kept_only_on_purpose() -> None:
    mapping = fields(name="n", args="a", result="r")
    row = {"n": "x", "a": {"q": "secret"}, "r": "body", "other": {"z": 1}}
    (bare,) = read(lines(row), mapping).steps
    assert (bare.input, bare.output, bare.attributes) == (None, None, {})
    (kept,) = read(lines(row), mapping, keep=True).steps
    assert (json.loads(kept.input or ""), kept.output) == ({"q": "secret"}, "body")
    assert kept.attributes == {"n": "x", "other": {"z": 1}}


def test_labels_are_short_texts_of_the_trace() -> None:
    mapping = 'labels = ["env", "deep.v", "body"]\n' + fields(name="n")
    rows = [
        {"n": 1, "env": "a", "deep": {"v": 2}, "body": "x" * 300},
        {"n": 2, "env": "b"},
    ]
    trace = read(lines(*rows), mapping)
    assert trace.attributes == {"labels": {"env": "a", "deep.v": "2"}}
    assert gaps(trace) == {"mapped.unreadable_field": 1, "mapped.conflicting_label": 1}


def test_runs_and_sessions_that_contradict_each_other() -> None:
    mapping = fields(name="n", run_id="r", session_id="s")
    trace = read(lines({"n": 1, "r": "a", "s": "x"}, {"n": 2, "r": "b", "s": "y"}), mapping)
    assert (trace.run_id, trace.session_id) == (None, "x")
    assert gaps(trace) == {"mapped.conflicting_run_id": 1, "sessions.conflicting_id": 1}


def test_kinds_by_word_and_by_default() -> None:
    mapping = fields(name="n", kind="k") + '[kind]\nTOOL = ["call", 3]\ndefault = "CHAIN"\n'
    rows = [{"n": n, "k": k} for n, k in enumerate(["call", 3, "LLM", None, "odd"])]
    trace = read(lines(*rows), mapping)
    kinds = [s.kind for s in trace.steps]
    assert kinds == ["TOOL", "TOOL", "LLM", "CHAIN", "UNKNOWN"]
    assert gaps(trace) == {"mapped.unknown_kind": 1}


@pytest.mark.parametrize(
    ("path", "row"),
    [
        ("a", {"a": "x"}),
        ("a.b", {"a": {"b": "x"}}),
        ("a.b", {"a.b": "x", "a": {"b": "y"}}),
        ('"a.b"', {"a.b": "x"}),
        ('"a.b".c', {"a.b": {"c": "x"}}),
        ("a[1].b", {"a": [0, {"b": "x"}]}),
        ("a[0][1]", {"a": [[0, "x"]]}),
        ("a.b", {"a": '{"b": "x"}'}),
        ('"a\\"b"', {'a"b': "x"}),
        ("ä ö", {"ä ö": "x"}),
        ("$x", {"$x": "x"}),
    ],
)
def test_a_path_leads_to_its_value(path: str, row: Row) -> None:
    assert step(row, fields(name=path)).name == "x"


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "a[", "a[x]", "a]", '"a', 'a"b"'])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(InputError, match=r"^a\.map\.toml: fields\.name: "):
        parse_map(fields(name=path), "a.map.toml")


@pytest.mark.parametrize("value", [{"b": 1}, 7, "text"])
def test_a_way_into_a_list_that_is_none_is_counted(value: Any) -> None:
    trace = read(lines({"n": 1, "a": ["x"]}, {"n": 2, "a": value}), fields(name="n", model="a[0]"))
    assert gaps(trace) == {"mapped.unreadable_field": 1}


@pytest.mark.parametrize("value", ["text", 7, [1], True])
def test_a_way_that_is_blocked_is_counted(value: Any) -> None:
    trace = read(
        lines({"n": 1, "a": {"b": 1}}, {"n": 2, "a": value}), fields(name="n", model="a.b")
    )
    assert gaps(trace) == {"mapped.unreadable_field": 1}


def test_cells_of_a_csv_file_can_be_looked_into() -> None:
    data = b'name,usage\na,"{""in"": 3, ""out"": 4}"\n'
    mapping = fields(name="name", tokens_prompt="usage.in", tokens_completion="usage.out")
    assert first(data, mapping).tokens_total == 7
