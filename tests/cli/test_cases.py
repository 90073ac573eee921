"""What commands say of records with known faults: ids, numbers, times, parents, text.

The right answer of each is the expected.md of ../shared/cases. What reading shows of them is in
ingest/test_cases_otlp.py, what rules say in analysis/check/test_cases.py.
"""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

from case_files import case
from cli.case_answers import FAILURES, answer, matches_of
from cli_runner import Invoke

LINE = re.compile(r"line (\d)")
CODINGS = ("hex", "upper", "base64", "mangled", "tempo-batches")
TRACE = "4f" * 16


# 01


def test_01_artifacts_of_all_codings_are_equal_but_for_source_and_disclosures(
    invoke: Invoke, folder: Path
) -> None:
    made = []
    for coding in CODINGS:
        path = case("01", f"input.{coding}.json")
        assert invoke("ingest", str(path), "-o", f"{coding}.artifact").code == 0
        artifact = json.loads((folder / f"{coding}.artifact").read_text())
        header = artifact["trace"]
        assert header.pop("file") == path.name
        assert header.pop("file_digest")
        gaps = header.pop("gaps")
        assert gaps == (
            []
            if coding in ("hex", "upper")
            else [{"code": "otlp.nonstandard_id_encoding", "count": 4}]
        )
        header.get("attributes", {}).pop("notes", None)  # where the coding was met
        made.append(json.dumps(artifact))
        strict = invoke("traces", str(path), "--strict")
        assert strict.code == (0 if coding in ("hex", "upper") else 2)
        assert "Traceback" not in strict.err
    assert len(set(made)) == 1


# 02


def test_02_a_threshold_on_an_unreadable_count_is_unknown(invoke: Invoke) -> None:
    path = case("02")
    found = matches_of(invoke, path, "-e", "LLM where tokens.prompt > 10")
    assert found == [("confirmed", [2]), ("confirmed", [3]), ("confirmed", [4]), ("possible", [5])]
    assert matches_of(invoke, path, "-e", "LLM where tokens.prompt == 0") == [("possible", [5])]
    totals = answer(invoke, "analyze", path)["metrics"]
    assert totals["tokens_prompt"] == {"value": 75, "covered": 3, "of": 4}
    steps = {int(s["step_id"], 16): s for s in answer(invoke, "inspect", path)["steps"]}
    assert steps[4]["tokens_completion"] == 9007199254740993
    assert steps[5].get("tokens_prompt") is None


# 03


def test_03_what_a_missing_parent_leaves_unknown(invoke: Invoke) -> None:
    path = case("03")
    names = {int(s["step_id"], 16): s["name"] for s in answer(invoke, "inspect", path)["steps"]}
    found = matches_of(invoke, path, "-e", "ANY where depth == 0")
    assert {names[n]: certainty for certainty, (n,) in found} == {
        "agent": "confirmed",
        "search": "possible",
        "summarise": "possible",
        "loner": "possible",
    }
    search = next(n for n, name in names.items() if name == "search")
    told = invoke("explain", str(path), f"{search:016x}").out
    assert "cause not in this export" in told
    assert "root" not in told
    rules = ("topology-unchanged", "pattern-not-increased:plan-then-tool-failure")
    for rule in (*rules, "pattern-not-increased:tool-retry-failure-near"):
        checked = answer(invoke, "check", path, "--baseline", path, "--rule", rule, code=3)
        assert checked["verdict"] == "INSUFFICIENT_EVIDENCE"


# 04


def test_04_order_holds_where_both_starts_are_known(invoke: Invoke) -> None:
    path = case("04")
    result = answer(invoke, "query", "-e", "a: ANY ~> b: ANY", path)
    found = {
        tuple(int(step["step_id"], 16) for step in match["steps"]): match
        for match in result["matches"]
    }
    assert found[2, 3]["certainty"] == "confirmed"
    assert found[2, 3]["evidence"] == "heuristic"
    for pair in ((2, 4), (3, 4)):
        assert found[pair]["certainty"] == "possible"
    causes = answer(invoke, "inspect", path)["causes"]
    assert {(int(e["effect"], 16), int(e["cause"], 16)) for e in causes} == {(2, 1), (3, 1), (4, 1)}
    wall = answer(invoke, "analyze", path)["metrics"]["wall_ms"]
    assert wall["value"] is None or wall["value"] >= 0
    assert wall["covered"] < wall["of"] == 4


# 05


def test_05_one_payment_is_one_step_in_any_order_of_lines(invoke: Invoke, folder: Path) -> None:
    lines = case("05", "input.jsonl").read_text().splitlines()
    answers, refusals = set(), set()
    for at in range(len(lines)):
        path = folder / "input.jsonl"
        path.write_text("\n".join(lines[at:] + lines[:at]))
        result = answer(invoke, "query", "-e", 't: TOOL where name == "pay"', path)
        found = {m["trace_id"]: m["steps"][0]["status"] for m in result["matches"]}
        assert len(found) == result["match_count"] == 2
        assert found[TRACE] == "error"
        answers.add(json.dumps(found, sort_keys=True))
        twice = 'TOOL where name == "pay" having count >= 2 by name'
        assert answer(invoke, "query", "-e", twice, path, code=1)["match_count"] == 0
        strict = invoke("traces", str(path), "--strict")
        assert strict.code == 2
        told = {int(line): lines[(int(line) + at - 1) % 4] for line in LINE.findall(strict.err)}
        refusals.add(LINE.sub("line", strict.err))
        assert len(told) == 2
        assert all(f"{2:016x}" in line and TRACE in line for line in told.values())
        assert f"{2:016x}" in strict.err
    assert len(answers) == len(refusals) == 1


# 07


def test_07_hostile_text_is_loaded_into_the_graph_and_shown_escaped(
    invoke: Invoke, folder: Path
) -> None:
    path = case("07")
    result = answer(invoke, "cypher", "MATCH (s:Step) RETURN s.name AS name", path)
    names = {row["name"] if isinstance(row, dict) else row[0] for row in result["rows"]}
    assert {"sea\x00rch", "cafe\u0301", "caf\u00e9"} <= names
    assert "\ufffd" in str(answer(invoke, "inspect", path)["steps"])
    assert "text.unicode_form 1" in invoke("traces", str(path)).err
    (clean,) = {str(case("01", "input.hex.json"))}
    for form in ("table", "md", "junit", "sarif", "github"):
        ran = invoke("check", str(path), "--baseline", clean, *FAILURES, "--format", form)
        assert ran.code in (0, 1, 3)
        assert "\x00" not in ran.out
        if form == "junit":
            ElementTree.fromstring(ran.out)
    bad = invoke("traces", str(case("07", "input.badutf8.json")), "--strict")
    offset = case("07", "input.badutf8.json").read_bytes().index(b"\xff")
    assert bad.code == 2
    assert bad.err.startswith(f"tracegraph: input.badutf8.json: byte {offset}: ")
    assert len(bad.err.splitlines()) == 1
