"""``tracegraph why``: an honest account on one screen."""

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cli_runner import Invoke, run
from shared_data import ROOT, fixture, shared

FATAL = "examples/traces/tool_error_fatal.otlp.json"
SCREEN = 24


def _artifact(steps: list[dict[str, Any]], **header: Any) -> None:
    document = {
        "kind": "tracegraph.trace",
        "schema_version": 1,
        "trace": {"trace_id": "x", **header},
        "steps": steps,
    }
    Path("x.json").write_text(json.dumps(document), encoding="utf-8")


def test_a_failure_is_told_with_its_causes_and_what_to_run_next(invoke: Invoke) -> None:
    ran = invoke("why", FATAL)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "c510f81de578c81de5f6a89169c5e199 failed: 3 of 6 steps failed, 1 incident (1 fatal)",
        "it began in TOOL fetch_page @183f92407e2c3a38 "
        "<TimeoutError: timed out after 30s: http://example.test/a>",
        "passed on by CHAIN tools @d7b478d7a02ea0fa, CHAIN LangGraph @3e12a103456b6174",
        "It ended the run.",
        "because of LLM Scripted @861b46530a8b9b4d [derived: protocol]",
        "because of AGENT agent @a07564e04faced33 [containment: span_parent] for @861b46530a8b9b4d",
        "where to look first (by structure alone, not known to be the cause):",
        "1. LLM Scripted @861b46530a8b9b4d: led to TOOL fetch_page @183f92407e2c3a38, "
        "which failed, and nothing made up for it",
        f"next: tracegraph explain {FATAL} 183f92407e2c3a38",
    ]


@pytest.mark.parametrize("trace", [FATAL, "examples/traces#6f3d", "examples/langgraph/trace.db#A"])
def test_the_next_command_runs_as_it_is_printed(trace: str, invoke: Invoke) -> None:
    told = json.loads(invoke("why", trace, "--format", "json").out)
    *_, last = invoke("why", trace).out.splitlines()
    assert last == f"next: {told['next']}"
    program, *arguments = shlex.split(told["next"])
    assert program == "tracegraph"
    assert told["incident"]["origin"]["step_id"] in arguments
    assert invoke(*arguments).code == 0


def test_what_was_piped_in_is_to_be_saved_before_the_next_command(tmp_path: Path) -> None:
    ran = run("why", "-", cwd=tmp_path, stdin=(ROOT / FATAL).read_text("utf-8"))
    assert ran.out.splitlines()[-1] == (
        "next (with what was piped in saved as FILE): tracegraph explain FILE 183f92407e2c3a38"
    )


def test_odd_paths_and_ids_are_quoted_in_the_next_command(invoke: Invoke) -> None:
    step = {"step_id": "-a b'", "kind": "TOOL", "status": "error"}
    _artifact([step])
    Path("o d$d.json").write_bytes(Path("x.json").read_bytes())
    told = json.loads(invoke("why", "o d$d.json", "--format", "json").out)
    assert invoke(*shlex.split(told["next"])[1:]).code == 0


def test_a_healthy_run_takes_one_line(invoke: Invoke) -> None:
    ran = invoke("why", "examples/traces/react_ok.otlp.json")
    assert ran.out == "93b2117217ca0c0ac0340db0a1a7c725 ended ok: no step failed in 9 steps\n"
    assert ran.err == ""
    assert ran.code == 0


def test_a_sign_is_told_of_a_run_in_which_nothing_failed(invoke: Invoke) -> None:
    path = str(fixture("otlp/openinference_loop_bounded.json"))
    assert invoke("why", path).out.splitlines()[1:3] == [
        "where to look first (by structure alone, not known to be the cause):",
        "1. LLM Scripted @0b94863c73df91f0: led to TOOL search @5c58e034d97c87ce, "
        "the first of 6 in a row with equal arguments and results",
    ]
    told = json.loads(invoke("why", path, "--format", "json").out)
    assert told["incident"] is None
    assert [each["reason"] for each in told["candidates"]] == ["repeated", "last_model_step"]
    assert told["candidates"][0]["about"]["step_id"] == "5c58e034d97c87ce"
    assert invoke(*shlex.split(told["next"])[1:]).code == 0


def test_where_a_step_failed_a_mere_place_is_listed_beside_no_sign(invoke: Invoke) -> None:
    ran = invoke("why", "examples/traces/tool_error_recover.otlp.json")
    told = json.loads(
        invoke("why", "examples/traces/tool_error_recover.otlp.json", "--format", "json").out
    )
    assert [each["reason"] for each in told["candidates"]] == [
        "led_to_recovered_failure",
        "last_model_step",
    ]
    assert "look first (1 of 2, all with --format json; by structure alone, " in ran.out
    assert "which failed and was made up for later" in ran.out
    assert "only its place" not in ran.out


def test_a_verdict_on_the_run_is_told_and_changes_no_status(invoke: Invoke) -> None:
    verdicts = [
        {"name": "is_correct", "label": "false"},
        {"name": "x", "score": 0.5, "step_id": "a"},
    ]
    attributes = {"evaluations": verdicts}
    _artifact([{"step_id": "a", "kind": "LLM", "status": "ok"}], attributes=attributes)
    lines = invoke("why", "x.json").out.splitlines()
    assert lines == [
        "x ended ok: no step failed in 1 step",
        "judged afterwards: is_correct false",
        "judged afterwards: x 0.5 @a",
        "where to look first (by structure alone, not known to be the cause):",
        "1. LLM (no name) @a: no sign, only its place: the first model step, on which all others "
        "build",
        "next: tracegraph explain x.json a",
    ]
    told = json.loads(invoke("why", "x.json", "--format", "json").out)
    assert told["evaluations"] == [
        {"step_id": None, "name": "is_correct", "label": "false", "score": None},
        {"step_id": "a", "name": "x", "label": None, "score": 0.5},
    ]


def test_judgements_that_are_not_shown_are_counted(invoke: Invoke) -> None:
    verdicts = [{"name": f"v{n} {'long ' * 99}", "label": "x"} for n in range(9)]
    step = {"step_id": "a", "kind": "LLM", "status": "ok"}
    _artifact([step], attributes={"evaluations": verdicts})
    lines = invoke("why", "x.json").out.splitlines()
    assert [line[:21] for line in lines[1:4]] == [f"judged afterwards: v{n}" for n in range(3)]
    assert max(map(len, lines)) < 300
    assert lines[4] == "and 6 more judgements: tracegraph analyze lists them"


def test_every_shared_log_of_who_and_when_has_an_answer(invoke: Invoke) -> None:
    paths = sorted(shared("traces/whowhen").glob("*.json"))
    assert len(paths) == 23
    contract = Draft202012Validator(
        json.loads((ROOT / "contracts/why.v1.schema.json").read_text(encoding="utf-8"))
    )
    for path in paths:
        ran = invoke("why", str(path))
        lines = ran.out.splitlines()
        assert (ran.code, ran.err) == (0, "")
        assert len(lines) <= SCREEN
        (at,) = (n for n, line in enumerate(lines) if line.startswith("where to look first ("))
        assert lines[at + 1].startswith("1. LLM ")
        assert any(
            re.fullmatch(r"judged afterwards: is_correct(ed)? false", each) for each in lines
        )
        messages = json.loads(path.read_text(encoding="utf-8"))["history"]
        place = re.search(r"@(\d+): ", lines[at + 1])
        assert place is not None
        author = messages[int(place[1])].get("name") or messages[int(place[1])]["role"]
        assert lines[at + 1].startswith(f"1. LLM {author} @")
        told = json.loads(invoke("why", str(path), "--format", "json").out)
        assert not list(contract.iter_errors(told))
        assert told["candidates"][0]["step"]["step_id"] == place[1]


def test_what_is_not_recorded_is_not_called_healthy(invoke: Invoke) -> None:
    _artifact([{"step_id": "a", "kind": "TOOL"}])
    lines = invoke("why", "x.json").out.splitlines()
    assert lines[0] == "x has no recorded outcome: no failure is recorded in 1 step"
    assert "not known: how 1 step ended is not recorded: a failure may be among them" in lines
    _artifact([{"step_id": "a", "status": "ok"}], gaps=[{"code": "otlp.unreadable_span"}])
    assert "no failure is recorded" in invoke("why", "x.json").out


def test_an_account_stays_on_one_screen(invoke: Invoke) -> None:
    long = "boom " * 1000
    steps = [
        {
            "step_id": f"t{n}",
            "kind": "TOOL",
            "name": f"t{n}",
            "status": "error",
            "error_message": f"{n} {long}",
        }
        for n in range(300)
    ]
    _artifact(steps)
    ran = invoke("why", "x.json")
    lines = ran.out.splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) < 400
    assert "and 296 more incidents: tracegraph analyze lists them" in lines
    told = json.loads(invoke("why", "x.json", "--format", "json").out)
    assert len(told["other_incidents"]) == 3
    assert told["incident"]["origin"]["error_message"] == f"0 {long}"


def test_a_failure_without_causes_says_so(invoke: Invoke) -> None:
    _artifact([{"step_id": "a", "kind": "TOOL", "status": "error"}])
    lines = invoke("why", "x.json").out.splitlines()
    assert lines[1] == "it began in TOOL (no name) @a (no error recorded)"
    assert "because of: no cause is recorded" in lines


def test_control_characters_act_on_no_terminal(invoke: Invoke) -> None:
    _artifact([{"step_id": "a", "name": "\x1b[31m", "status": "error", "error_message": "\r\n"}])
    out = invoke("why", "x.json").out
    assert "\x1b" not in out
    assert r"\x1b[31m" in out
    assert r"<\r\n>" in out


def test_a_recovered_early_failure_does_not_hide_a_fatal_one(invoke: Invoke) -> None:
    """Weakness W1 of agent-tracegraph: it took the retried search for the cause of the failure."""
    ok, bad = {"status": "ok"}, {"status": "error"}
    steps = [
        {"step_id": "root", "kind": "AGENT", "name": "agent", **bad},
        {"step_id": "m1", "kind": "LLM", "name": "m", **ok},
        {"step_id": "s1", "kind": "TOOL", "name": "a::search", **bad, "error_message": "busy"},
        {"step_id": "m2", "kind": "LLM", "name": "m", **ok},
        {"step_id": "s2", "kind": "TOOL", "name": "a::search", **ok},
        {"step_id": "m3", "kind": "LLM", "name": "m", **ok},
        {"step_id": "w", "kind": "TOOL", "name": "b::write", **bad, "error_message": "disk full"},
    ]
    steps[0]["error_message"] = "disk full"
    chain = [step["step_id"] for step in steps[1:]]
    causes = [
        {"effect": effect, "cause": cause, "origin": "tool_call_id"}
        for cause, effect in pairwise(chain)
    ]
    causes += [{"effect": each, "cause": "root", "origin": "span_parent"} for each in chain]
    _artifact(steps)
    document = json.loads(Path("x.json").read_text(encoding="utf-8"))
    Path("x.json").write_text(json.dumps({**document, "causes": causes}), encoding="utf-8")
    told = json.loads(invoke("why", "x.json", "--format", "json").out)
    assert told["incident"]["state"] == "fatal"
    assert told["incident"]["origin"]["step_id"] == "w"
    assert [other["state"] for other in told["other_incidents"]] == ["recovered"]


def test_every_failed_trace_here_has_an_account(invoke: Invoke) -> None:
    listed = invoke("traces", str(shared("traces/langsmith")), "--format", "jsonl")
    failed = [t for t in map(json.loads, listed.out.splitlines()) if t["error_count"]]
    assert failed
    for trace in failed[:5]:
        ran = invoke("why", f"{shared('traces/langsmith')}#{trace['label']}")
        assert ran.code == 0
        assert len(ran.out.splitlines()) <= SCREEN
        assert "it began in" in ran.out
