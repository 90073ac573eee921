"""What presets and reports say of steps with known faults: statuses, signals, arguments."""

import json
import re

from case_files import case
from cli.case_answers import FAILURES, answer, matches_of, reports
from cli_runner import Invoke

# 08


def test_08_a_contradiction_is_found_and_counted(invoke: Invoke) -> None:
    path = case("08")
    steps = {s["name"]: int(s["step_id"], 16) for s in answer(invoke, "inspect", path)["steps"]}
    assert matches_of(invoke, path, "soft-tool-error") == [("confirmed", [steps["search"]])]
    checked = invoke(
        "check", str(path), "--baseline", str(case("01", "input.hex.json")), *FAILURES
    ).out
    assert "otlp.status_contradicts_tool_status 1" in checked


# 11


def test_11_the_value_of_an_interrupt_reaches_no_report(invoke: Invoke) -> None:
    path = case("11")
    assert "approve?" in path.read_text()
    for name, told in reports(invoke, path, str(case("01", "input.hex.json"))).items():
        assert "approve?" not in told, name
    found = answer(invoke, "query", "interrupt", path)
    assert [m["steps"][0]["name"] for m in found["matches"]] == ["human_review"]
    assert answer(invoke, "presets", "show", "interrupt")["severity"] == "info"
    assert answer(invoke, "traces", path)["error_count"] == 1


# 13


def test_13_equal_arguments_are_found_and_without_results_no_loop_is_told(invoke: Invoke) -> None:
    path = case("13")
    found = answer(invoke, "query", "-e", "xs: TOOL {3,} same name, args", path)
    assert (found["match_count"], found["trace_count"]) == (1, 1)
    (match,) = [m for m in found["matches"] if m["certainty"] == "confirmed"]
    assert [int(step["step_id"], 16) for step in match["steps"]] == [2, 3, 4]
    looped = answer(invoke, "query", "tool-loop", path, code=1)
    assert (looped["match_count"], looped["possible_count"]) == (0, 0)
    (lacking,) = looped["not_evaluable"]
    assert lacking["needs"] == ["results"]
    same = matches_of(invoke, path, "-e", "a: TOOL ~>> b: TOOL where args == $a.args")
    certain = {tuple(steps) for certainty, steps in same if certainty == "confirmed"}
    assert certain == {(2, 3), (2, 4), (3, 4)}  # neither the blank ones nor the unparsed two


def test_13_no_report_shows_arguments(invoke: Invoke) -> None:
    path = case("13")
    recorded = {
        attribute["value"]["stringValue"]
        for resource in json.loads(path.read_text())["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
        for attribute in span["attributes"]
        if attribute["key"] in ("input.value", "tool.parameters")
        and attribute["value"]["stringValue"].strip()
    }
    values = {word for text in recorded for word in re.findall(r'"(\w{4,})\\*"(?!:)', text)}
    assert values
    for name, told in reports(invoke, path, str(case("01", "input.hex.json"))).items():
        assert not [value for value in {*recorded, *values} if value in told], name


# 18


def test_18_a_contradiction_is_disclosed(invoke: Invoke) -> None:
    ran = invoke("traces", str(case("18")))
    assert ran.code == 0
    assert "otlp.status_contradicts_escaped_exception 1" in ran.err
    assert matches_of(invoke, case("18"), "error") == [("confirmed", [2]), ("confirmed", [6])]
