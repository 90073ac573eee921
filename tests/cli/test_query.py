import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from cli_runner import Invoke, Ran

RECOVER = "a: TOOL where status == error -> LLM -> b: TOOL where name == $a.name and status == ok"
TRACES = "examples/traces"


def _matches(ran: Ran) -> list[dict[str, object]]:
    return list(json.loads(ran.out)["matches"])


def test_a_preset_over_a_folder_says_where_and_how_many(invoke: Invoke) -> None:
    ran = invoke("query", "tool-failure", TRACES)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["trace", "certainty", "evidence", "steps", "tool"]
    assert len(lines) == 1 + 6
    assert "t=fetch_page(TOOL,error)@183f92407e2c3a38" in ran.out
    assert ran.err == "6 confirmed matches in 4 of 7 traces (66 steps)\n"


def test_nothing_found_exits_1_with_an_empty_answer(invoke: Invoke) -> None:
    ran = invoke("query", "tool-retry-failure", TRACES)
    assert ran.code == 1
    assert len(ran.out.splitlines()) == 1
    assert ran.err == "0 confirmed matches in 7 traces (66 steps)\n"


def test_only_possible_matches_exit_1_with_their_number(invoke: Invoke, folder: Path) -> None:
    artifact = json.loads((folder / "examples/made/retry_marker.json").read_text())
    del artifact["steps"][2]["name"]
    (folder / "unnamed.json").write_text(json.dumps(artifact))
    ran = invoke("query", "tool-retry-failure", "unnamed.json", "--format", "json")
    assert ran.code == 1
    assert [match["certainty"] for match in _matches(ran)] == ["possible"]
    assert "0 confirmed matches in 1 trace (5 steps); 1 possible match" in ran.err


def test_patterns_come_as_preset_file_or_text(invoke: Invoke) -> None:
    text = invoke("query", "-e", RECOVER, TRACES, "--format", "json")
    file = invoke("query", "examples/patterns/recovered-by-model.tgp", TRACES, "--format", "json")
    assert text.code == file.code == 0
    (from_text,), (from_file,) = _matches(text), _matches(file)
    assert [step["step_id"] for step in from_text["steps"]] == [  # type: ignore[attr-defined]
        step["step_id"]
        for step in from_file["steps"]  # type: ignore[attr-defined]
    ]
    assert from_text["evidence"] == "derived"
    assert json.loads(text.out)["pattern"]["id"] == "adhoc"
    assert from_file["values"] == {"tool": "get_weather", "error": "ValueError"}


def test_a_file_of_several_patterns_needs_an_id(invoke: Invoke, folder: Path) -> None:
    first = (folder / "examples/patterns/recovered-by-model.tgp").read_text()
    (folder / "two.tgp").write_text(first + "\npattern other v3\nmatch\n  TOOL\n")
    ran = invoke("query", "two.tgp", TRACES)
    assert ran.code == 2
    assert "two.tgp#recovered-by-model@1, two.tgp#other@3" in ran.err
    assert "two.tgp: holds 2 patterns; name one: " in ran.err
    assert invoke("query", "two.tgp#other", TRACES).code == 0
    ran = invoke("query", "two.tgp#othr", TRACES)
    assert ran.code == 2
    assert "two.tgp: holds no pattern 'othr'; name one: two.tgp#recovered-by-model@1" in ran.err


@pytest.mark.parametrize(
    ("condition", "keep", "note"),
    [
        (
            'input contains "x"',
            "errors",
            "input: not kept, so unknown in every step; --keep content",
        ),
        ('attr["k"] == "x"', "errors", "attr: not kept"),
        ('error.message contains "x"', "structure", "error.message: not kept, so unknown in every"),
        ('input contains "x"', "content", ""),
        ('error.message contains "x"', "errors", ""),
    ],
)
def test_a_field_that_is_not_kept_is_said_to_be_unknown(
    invoke: Invoke, condition: str, keep: str, note: str
) -> None:
    ran = invoke("query", "-e", f"TOOL where {condition}", TRACES, "--keep", keep)
    assert note in ran.err
    assert ("not kept" in ran.err) == bool(note)


def test_a_run_is_shown_by_its_ends_and_length(invoke: Invoke) -> None:
    ran = invoke("query", "-e", "xs: TOOL {3,} same name, args", TRACES)
    assert ran.code == 0
    assert "xs=fetch_page(TOOL,error)@ee9a7d02ff874ec7..051213d0f3601fd1 (run of 3)" in ran.out


def test_rows_of_having_carry_their_members(invoke: Invoke) -> None:
    text = "TOOL where status == error having count >= 3 by name return name"
    ran = invoke("query", "-e", text, TRACES, "--format", "json")
    (row,) = _matches(ran)
    assert row["steps"] == []
    assert len(row["members"]) == 3  # type: ignore[arg-type]
    assert row["values"] == {"name": "fetch_page"}
    assert "(3 matches)" in invoke("query", "-e", text, TRACES).out


def test_limit_shortens_the_list_and_not_the_count(invoke: Invoke) -> None:
    ran = invoke("query", "tool-failure", TRACES, "--limit", "2", "--format", "json")
    assert json.loads(ran.out)["match_count"] == 6
    assert json.loads(ran.out)["limit"] == 2
    assert len(_matches(ran)) == 2
    assert "6 confirmed matches" in ran.err
    assert ran.err.endswith("; 2 listed\n")


def test_a_table_lists_50_and_says_the_total(invoke: Invoke) -> None:
    ran = invoke("query", "-e", "ANY", TRACES)
    assert len(ran.out.splitlines()) == 1 + 50
    assert ran.err == "66 confirmed matches in 7 of 7 traces (66 steps); 50 listed\n"
    assert len(invoke("query", "-e", "ANY", TRACES, "--format", "csv").out.splitlines()) == 1 + 66


def test_exists_stops_at_the_first_and_counts_nothing(invoke: Invoke) -> None:
    ran = invoke("query", "tool-failure", TRACES, "--exists", "--format", "json")
    result = json.loads(ran.out)
    assert ran.code == 0
    assert [result[key] for key in ("trace_count", "match_count", "possible_count")] == [None] * 3
    assert len(result["matches"]) == 1
    assert invoke("query", "tool-retry-failure", TRACES, "--exists").code == 1


def test_all_forms_hold_the_same_matches(invoke: Invoke) -> None:
    whole = _matches(invoke("query", "tool-failure", TRACES, "--format", "json"))
    lines = invoke("query", "tool-failure", TRACES, "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == whole
    rows = list(
        csv.DictReader(io.StringIO(invoke("query", "tool-failure", TRACES, "--format", "csv").out))
    )
    assert [row["trace"] for row in rows] == [match["trace_id"] for match in whole]
    assert {row["tool"] for row in rows} == {"get_weather", "fetch_page"}
    markdown = invoke("query", "tool-failure", TRACES, "--format", "md").out.splitlines()
    assert len(markdown) == 2 + len(whole)


def test_output_goes_to_a_file_in_the_form_of_its_suffix(invoke: Invoke, folder: Path) -> None:
    ran = invoke("query", "tool-failure", TRACES, "-o", "out.csv")
    assert ran.out == ""
    assert (folder / "out.csv").read_text().startswith("trace,certainty,evidence,steps,tool\n")
    invoke("query", "tool-failure", TRACES, "--json-out", "out.txt")
    assert json.loads((folder / "out.txt").read_text())["kind"] == "tracegraph.query-result"


def test_an_input_is_never_overwritten(invoke: Invoke, folder: Path) -> None:
    source = folder / TRACES / "react_ok.otlp.json"
    before = source.read_bytes()
    ran = invoke("query", "error", TRACES, "-o", str(source))
    assert ran.code == 2
    assert "is an input" in ran.err
    assert source.read_bytes() == before


@pytest.mark.parametrize("backend", ["matcher", "cypher", "ladybug"])
def test_backends_give_the_same_answer(invoke: Invoke, backend: str) -> None:
    auto = invoke("query", "-e", RECOVER, TRACES, "--format", "json")
    asked = invoke("query", "-e", RECOVER, TRACES, "--format", "json", "--backend", backend)
    assert _matches(asked) == _matches(auto)
    wanted = "matcher" if backend == "matcher" else "cypher"
    assert json.loads(asked.out)["plan"]["backend"] == wanted


def test_the_plan_is_explained_without_running(invoke: Invoke) -> None:
    ran = invoke("query", "tool-failure", TRACES, "--explain-plan")
    assert ran.code == 0
    assert ran.out.startswith("backend: matcher\nreason: ")
    ran = invoke("query", "tool-failure", TRACES, "--explain-plan", "--backend", "cypher")
    assert "MATCH (" in ran.out
    assert "$p1 = 2" in ran.out


def test_cypher_says_why_it_cannot(invoke: Invoke) -> None:
    text = "a: LLM ->> [no TOOL] b: LLM"
    ran = invoke("query", "-e", text, TRACES, "--backend", "cypher")
    assert ran.code == 2
    assert "Cypher cannot answer this pattern exactly" in ran.err
    assert invoke("query", "-e", text, TRACES).code in {0, 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tool-failur", TRACES], "no preset 'tool-failur'; did you mean 'tool-failure'?"),
        (
            ["-e", "a: TOOL where statu == error", TRACES],
            "line 1, column 15: unknown field 'statu'",
        ),
        (["-e", "TOOL where name matches /(/", TRACES], "line 1, column"),
        (["-e", "TOOL where tokens.total > @n", TRACES], "--param n="),
        (["-e", "TOOL ->{3,2} TOOL", TRACES], "line 1, column"),
        (["tool-failure"], "no traces are named: tracegraph query tool-failure PATHS"),
        (["-e", "TOOL"], "no traces are named: tracegraph query -e TEXT PATHS"),
        ([TRACES], f"no pattern is named: tracegraph query PATTERN {TRACES}"),
        ([], "no pattern is named: tracegraph query PATTERN PATHS"),
        (["a: TOOL", TRACES], "a: TOOL: no preset and no .tgp file; a pattern as text needs -e"),
        (["tool-failure", "nowhere"], "nowhere: cannot be read: No such file"),
        (["nowhere.tgp", TRACES], "nowhere.tgp: cannot be read"),
        (["tool-failure", TRACES, "--param", "n"], "write it as NAME=VALUE"),
        (["tool-failure", TRACES, "--param", "n=1"], "no param '@n'"),
        (["tool-failure", TRACES, "--json-out", "a", "-o", "b"], "give one or the other"),
        (["tool-failure", TRACES, "--explain-plan", "--format", "json"], "prints text"),
        (["tool-failure", TRACES, "--backend", "spark"], "spark"),
        (["tool-failure", TRACES, "-o", "missing/out.json"], "cannot be written"),
    ],
)
def test_wrong_use_exits_2_with_one_line(
    invoke: Invoke, arguments: list[str], message: str
) -> None:
    ran = invoke("query", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_parameters_reach_the_pattern(invoke: Invoke) -> None:
    text = "TOOL where name == @tool"
    ran = invoke("query", "-e", text, TRACES, "--param", "tool=slow", "--format", "json")
    assert json.loads(ran.out)["match_count"] == 2


def test_what_is_no_trace_is_skipped_and_disclosed(invoke: Invoke, folder: Path) -> None:
    for number in range(7):
        (folder / TRACES / f"note{number}.txt").write_text("no trace")
    ran = invoke("query", "tool-failure", TRACES, "--format", "json")
    assert ran.code == 0
    assert ran.err.count("skipped note") == 5
    assert "skipped 2 more files" in ran.err
    assert {"code": "files.skipped", "count": 7} in json.loads(ran.out)["gaps"]
    shutil.rmtree(folder / TRACES)
    (folder / TRACES).mkdir()
    (folder / TRACES / "note.txt").write_text("no trace")
    assert invoke("query", "tool-failure", TRACES).code == 2


def test_a_file_of_a_presets_name_does_not_hide_the_preset(invoke: Invoke, folder: Path) -> None:
    (folder / "error").write_text("match\n  LLM\n")
    assert json.loads(invoke("query", "error", TRACES, "--format", "json").out)["match_count"] == 8
    (folder / "sub").mkdir()
    (folder / "sub" / "mine").write_text("pattern mine v1\nmatch\n  LLM\n")
    ran = invoke("query", "sub/mine", TRACES, "--format", "json")
    assert json.loads(ran.out)["match_count"] == 13
