"""``--map-template``: a mapping to start from assigns what is plainly meant, and nothing else."""

import csv
import io
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapped_logs import drafts, lines
from shared_data import ROOT, fixture
from tracegraph.errors import InputError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.mapped.adapter import MappedAdapter
from tracegraph.ingest.mapped.load import parse_map
from tracegraph.ingest.mapped.template import template
from tracegraph.ingest.mapped.words import FIELDS, NAMES
from tracegraph.ingest.source import Source

Row = dict[str, Any]


def decided(text: str) -> str:
    """The template with the choice made that it leaves open."""
    return text.replace('# is = "container"', 'is = "container"')


def made(data: bytes) -> dict[str, Any]:
    """The mapping of a log, as TOML says it; it is a mapping, and the same every time."""
    text = template(Source("log.x", data))
    assert template(Source("log.x", data)) == text
    assert max(map(len, text.splitlines())) <= 120
    if tomllib.loads(text)["fields"]:
        parse_map(decided(text), "m")
    return tomllib.loads(text)


def test_the_log_of_the_readme() -> None:
    found = made((ROOT / "examples/home-made/steps.jsonl").read_bytes())
    assert found == {
        "version": 1,
        "unused": ["retries"],
        "fields": {
            "step_id": "id",
            "parent": "parent",
            "name": "name",
            "status": "ok",
            "error_message": "error",
            "duration": "ms",
            "args": "prompt",
        },
        "parent": {"is": "container"},
        "units": {"duration": "ms"},
        "status": {"ok": [True], "error": [False]},
    }


def test_the_mapping_in_the_examples_is_the_template_of_its_log() -> None:
    source = Source.open(ROOT / "examples/home-made/calls.csv", "calls.csv")
    shown = (ROOT / "examples/home-made/calls.map.toml").read_text(encoding="utf-8")
    assert template(source) == shown


@pytest.mark.parametrize("name", ["made_all.jsonl", "made_all.csv", "made_array.json"])
def test_what_is_assigned_is_read_without_loss(name: str) -> None:
    source = Source.open(fixture(f"mapped/{name}"), name)
    mapping = parse_map(template(source), "m")
    *_, last = MappedAdapter().read([source], ReadOptions(strict=True, mapping=mapping))
    assert last.unmapped is not None
    whole = tomllib.loads(template(source))
    assert set(last.unmapped.columns) == set(whole["unused"])


def test_the_list_of_records_in_a_document_is_found() -> None:
    found = made(fixture("mapped_document/made_document.json").read_bytes())
    assert found["source"] == {"records": "steps"}
    assert found["fields"] == {
        "step_id": "step",
        "causes": "after",
        "name": "tool",
        "status": "state",
        "error_message": "err",
        "duration": "took_s",
    }
    assert found["kind"] == {"default": "TOOL"}


@pytest.mark.parametrize("field", [field for field in FIELDS if field not in ("kind", "status")])
def test_each_field_goes_by_its_own_name(field: str) -> None:
    values: dict[str, Any] = dict.fromkeys(("start", "end"), "2026-11-30T10:00:00Z")
    values |= dict.fromkeys(("tokens_prompt", "tokens_completion", "tokens_total", "docs"), 7)
    values |= {"duration": 1.5, "cost": 0.01}
    column = NAMES[field].split()[0]
    ids = {"event_id": "text 0"} if field in ("parent", "causes") else {}
    rows = [ids | {column: values.get(field, f"text {n}")} for n in range(3)]
    if ids:
        rows[1]["event_id"], rows[2]["event_id"] = "text 1", "text 2"
    assert made(lines(*rows))["fields"][field] == column


@pytest.mark.parametrize("column", ["spanId", "span_id", "SPAN-ID", "Span Id"])
def test_names_are_compared_without_case_and_signs(column: str) -> None:
    assert made(lines({column: 1}, {column: 2}))["fields"]["step_id"] == column


@pytest.mark.parametrize(
    ("column", "values", "field"),
    [
        ("start", [0.0, 1.5, 3.0], "start"),  # since the program began
        ("duration", [1, 2, 3], "duration"),  # of which unit is not said
        ("type", ["one", "two", "three"], "kind"),
        ("status_code", [200, 404, 500], "status"),
        ("tokens", ["a", "b", "c"], "tokens_total"),
        ("cost", ["cheap", "dear", "free"], "cost"),
        ("id", [1, 1, 1], "step_id"),
        ("name", [True, False, True], "name"),
        ("error", [0, 1, 2], "status"),
    ],
)
def test_a_column_whose_values_do_not_fit_is_left(
    column: str, values: list[Any], field: str
) -> None:
    found = made(lines(*({column: value} for value in values)))
    assert field not in found["fields"]
    assert found["unused"] == [column]


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("ok", [True, False], {"ok": [True], "error": [False]}),
        ("ok", [1, 0], {"ok": [1], "error": [0]}),
        ("ok", [True, "done"], {"ok": [True, "done"]}),
        ("error", [True, False], {"ok": [False], "error": [True]}),
        ("failed", ["True", "False"], {"ok": ["False"], "error": ["True"]}),
        ("status", ["ok", "error"], {"ok": ["ok"], "error": ["error"]}),
        ("state", ["DONE", "running", "odd"], {"ok": ["DONE"], "unset": ["running"]}),
    ],
)
def test_words_of_statuses(column: str, values: list[Any], words: dict[str, list[Any]]) -> None:
    found = made(lines(*({column: value, "n": n} for n, value in enumerate(values))))
    assert found["fields"]["status"] == column
    assert found["status"] == words


def test_the_ids_are_where_the_parents_are() -> None:
    rows = [{"id": n * 7, "span": f"s{n}", "parent": f"s{n - 1}" if n else None} for n in range(9)]
    found = made(lines(*rows))
    assert found["fields"] == {"step_id": "span", "parent": "parent"}
    assert found["unused"] == ["id"]
    assert made(lines(*({"parent": f"s{n}", "name": "a"} for n in range(3))))["unused"] == [
        "parent"
    ]


@pytest.mark.parametrize(
    ("column", "is_guessed"),
    [("parent", True), ("parentId", True), ("parent_span_id", True), ("parent_step", False),
     ("parent_step_id", False)],
)  # fmt: skip
def test_what_a_parent_is_is_asked_where_its_name_leaves_it_open(
    column: str, is_guessed: bool
) -> None:
    log = lines({"id": 1, column: None}, {"id": 2, column: 1}, {"id": 3, column: 2})
    text = template(Source("log.x", log))
    assert tomllib.loads(text)["parent"] == ({"is": "container"} if is_guessed else {})
    if not is_guessed:
        assert '\n# is = "container"' in text and '\n# is = "cause"' in text
        with pytest.raises(InputError, match=r"^m: parent\.is: write "):
            parse_map(text, "m")


def test_members_of_spans() -> None:
    rows = [
        {"span": {"id": n, "parent_id": n - 1 if n else None, "kind": "llm", "name": "a"},
         "usage": {"cost_usd": 0.5}} for n in range(3)
    ]  # fmt: skip
    found = made(lines(*rows))
    assert found["unused"] == []
    assert set(found["fields"]) == {"step_id", "parent", "kind", "name", "cost"}


def test_epoch_milliseconds_in_the_name() -> None:
    rows = [{"id": n, "start_ms": 1764460800000 + n, "end_ms": 1764460801000 + n} for n in range(3)]
    found = made(lines(*rows))
    assert (found["fields"]["start"], found["fields"]["end"]) == ("start_ms", "end_ms")
    (draft,) = drafts(lines(*rows), template(Source("log.x", lines(*rows))))
    assert draft.steps.start == [row["start_ms"] * 10**6 for row in rows]


def test_records_in_pairs_are_parts_of_one_step() -> None:
    pairs = [
        ({"event": "tool_start", "id": n, "tool": "t", "ts": f"2026-11-30T10:00:0{n}Z"},
         {"event": "tool_end", "id": n, "tool": "t", "ts": f"2026-11-30T10:00:0{n + 1}Z"})
        for n in range(4)
    ]  # fmt: skip
    found = made(lines(*(row for pair in pairs for row in pair)))
    assert found["rows"] == {"same_id": "parts"}
    assert found["fields"] == {"step_id": "id", "name": "tool", "start": "ts", "end": "ts"}
    filled = [row for n in range(4) for row in ({"id": n, "args": "a"}, {"id": n, "ok": True})]
    assert made(lines(*filled))["rows"] == {"same_id": "parts"}


def test_ids_that_repeat_for_no_known_reason_are_left_to_you() -> None:
    log = lines(*({"id": n % 4, "tool": f"t{n}"} for n in range(8)))
    found, text = made(log), template(Source("log.x", log))
    assert "rows" not in found and "step_id" not in found["fields"]
    assert '# same_id = "parts"' in text and "one value of id;" in text


def test_what_is_doubtful_about_a_file_is_said() -> None:
    numbers = template(Source("my log.csv", b"1,2.5\n3,4\n"))
    assert "# Its first line holds numbers only." in numbers
    assert "tracegraph ingest 'my log.csv' --map" in numbers
    assert "no UTF-8" in template(Source("log.x", b"id,name\n1,\xfc\n"))
    usual = template(Source("log.x", b"id,1\n1,2\n"))
    assert "first line" not in usual and "UTF-8" not in usual


def test_words_that_nothing_is_known_of_are_named_in_a_comment() -> None:
    rows = [{"type": "llm"}, {"type": "tool_call"}, {"type": "kaput"}, {"type": "model"}]
    text = template(Source("log.x", lines(*rows)))
    assert tomllib.loads(text)["kind"] == {"LLM": ["model"], "TOOL": ["tool_call"]}
    assert '# seen and not assigned: "kaput"' in text


def test_a_log_that_has_runs_and_no_traces_has_a_trace_a_run() -> None:
    found = made(lines({"run_id": "a", "step": 1}, {"run_id": "b", "step": 1}))
    assert found["fields"] == {"step_id": "step", "trace_id": "run_id", "run_id": "run_id"}


def test_members_of_objects() -> None:
    row = {"usage": {"input_tokens": 1, "other": 2}, "error": {"type": "E", "message": "m"}}
    found = made(lines(row | {"user": {"name": "n", "id": 1}}, row))
    assert found["fields"] == {
        "error_type": "error.type",
        "error_message": "error.message",
        "tokens_prompt": "usage.input_tokens",
    }
    assert found["unused"] == ["usage.other", "user"]


def test_what_stands_for_nothing_and_for_no_parent() -> None:
    data = b"id,parent,model,after\n1,-1,None,\n2,1,m,1\n3,1,NaN,1|2\n"
    found = made(data)
    assert found["source"] == {"null": ["NaN", "None"]}
    assert found["parent"] == {"is": "container", "none": ["-1"]}
    assert found["causes"] == {"separator": "|"}


def test_no_text_of_the_log_is_in_it() -> None:
    secret = "the quick brown fox, password hunter2"
    rows = [
        {"id": n, "prompt": f"{secret} {n}", "output": secret, "error": secret, "odd": secret,
         "status": f"{secret} {n}", "type": "llm"} for n in range(30)
    ]  # fmt: skip
    text = template(Source("log.x", lines(*rows, {"id": 31, "status": "ok"})))
    assert "hunter2" not in text and "quick" not in text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"a,b\n", "holds no record"),
        (b"{", "line 1, column 2: not JSON"),
        (b"\xff\xfea\0", "no text in UTF-8"),
        (b"\xfcber,id\n1,2\n", "no text in UTF-8; save it as UTF-8"),
    ],
)
def test_what_holds_no_record_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(InputError) as raised:
        template(Source("log.x", data))
    assert str(raised.value).startswith(f"log.x: {reason}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
COLUMN = st.sampled_from([name for names in NAMES.values() for name in names.split()]) | st.text(
    max_size=4
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(COLUMN, JSON, max_size=6), min_size=1, max_size=5))
def test_any_records_have_a_template_that_is_a_mapping_and_reads_them(rows: list[Row]) -> None:
    source = Source("log.x", lines(*rows))
    try:
        text = template(source)
    except InputError as error:
        assert str(error).startswith("log.x: ")
        return
    if not tomllib.loads(text)["fields"]:
        return
    mapping = parse_map(decided(text), "m")
    *_, last = MappedAdapter().read([source], ReadOptions(mapping=mapping))
    assert last.unmapped is not None
    absent = [each for each in last.unmapped.values if each.code == "mapped.absent_column"]
    assert not absent  # every column that is assigned is there


@settings(max_examples=60, deadline=None)
@given(
    st.lists(COLUMN, min_size=2, max_size=5, unique=True),
    st.lists(st.lists(st.text(max_size=4), min_size=2, max_size=5), min_size=1, max_size=5),
)
def test_any_csv_has_a_template_that_is_a_mapping(header: list[str], rows: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    try:
        found = template(Source("log.x", text.getvalue().encode("utf-8", "replace")))
    except InputError as error:
        assert str(error).startswith("log.x: ")
        return
    if tomllib.loads(found)["fields"]:
        parse_map(decided(found), "m")
