"""``tracegraph why`` and ``analyze``: how a run ended, and what was said of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cli_runner import Invoke
from shared_data import ROOT, fixture, shared

Document = dict[str, Any]


def _told(invoke: Invoke, command: str, place: str) -> Document:
    told: Document = json.loads(invoke(command, place, "--format", "json").out)
    schema = ROOT / "contracts" / f"{told['kind'].removeprefix('tracegraph.')}.v1.schema.json"
    Draft202012Validator(json.loads(schema.read_text(encoding="utf-8"))).validate(told)
    return told


def test_a_reward_of_nothing_is_told_beside_a_good_end(invoke: Invoke) -> None:
    path = shared("traces/tau_bench") / "gpt-4o-airline-trials-0-1.json"
    (run,) = (
        run
        for run in json.loads(path.read_text(encoding="utf-8"))
        if (run["task_id"], run["trial"]) == (1, 0)
    )
    assert run["reward"] == 0.0
    place = f"{path}#task-1.trial-0"
    lines = invoke("why", place).out.splitlines()
    assert lines[0].startswith("task-1.trial-0 ended ok: no step failed")
    assert lines[1] == "judged afterwards: reward 0.0"
    said = [{"step_id": None, "name": "reward", "label": None, "score": 0.0}]
    assert _told(invoke, "why", place)["evaluations"] == said
    assert _told(invoke, "analyze", place)["metrics"]["evaluations"] == said


@pytest.mark.parametrize(
    ("name", "status"), [("generated_limit", "unset"), ("generated_tools", "ok")]
)
def test_the_grades_of_a_sample_are_told_and_change_no_status(
    name: str, status: str, invoke: Invoke
) -> None:
    path = fixture(f"inspect_ai/{name}.json")
    (sample,) = json.loads(path.read_text(encoding="utf-8"))["samples"]
    grade = sample["scores"]["includes"]["value"]
    assert f"judged afterwards: includes {grade}" in invoke("why", str(path)).out.splitlines()
    told = _told(invoke, "why", str(path))
    assert told["trace"]["status"] == status
    assert [(each["name"], each["label"]) for each in told["evaluations"]] == [("includes", grade)]


@pytest.mark.parametrize(
    ("place", "how"),
    [
        ("inspect_ai/generated_limit.json", "limit message, limit_value 5.0"),
        ("swe_agent/generated_mini_limit.json", "exit_status LimitsExceeded"),
        ("swe_agent/warmup.json", "exit_status exit_cost"),
    ],
)
def test_how_a_run_stopped_is_told_where_it_is_recorded(
    place: str, how: str, tmp_path: Path, invoke: Invoke
) -> None:
    text = fixture(place).read_text(encoding="utf-8")
    if place == "swe_agent/warmup.json":  # no run here ended by its cost
        text = text.replace('"exit_status": "submitted"', '"exit_status": "exit_cost"')
    path = str(tmp_path / "run.json")
    Path(path).write_text(text, encoding="utf-8")
    first, *lines = invoke("why", path).out.splitlines()
    assert f" stopped ({how}): " in first
    sentence = f"whether the run ended well is not recorded, only how it stopped ({how})"
    assert f"not known: {sentence}" in lines
    assert f"not known: {sentence}" in invoke("analyze", path).out.splitlines()
    told = _told(invoke, "why", path)
    assert told["trace"]["status"] == "unset"
    assert {"code": "run.end_unknown", "text": sentence} in told["not_known"]


def _artifact(place: Path, attributes: Document, **members: Any) -> str:
    step = {"step_id": "a", "kind": "LLM", **members}
    header = {"trace_id": "x", "fidelity": "order_only", "attributes": attributes}
    document = {"kind": "tracegraph.trace", "schema_version": 1, "trace": header, "steps": [step]}
    path = place / "x.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def test_a_word_of_the_end_is_told_by_any_source_on_a_short_line(
    tmp_path: Path, invoke: Invoke
) -> None:
    many = {f"n{number}": "long " * 99 for number in range(9)}
    path = _artifact(tmp_path, {"ended_by": {"why": "a person", "list": [1], **many}})
    first = invoke("why", path).out.splitlines()[0]
    assert first.startswith("x stopped (why a person, n0 long long")
    assert len(first) < 300
    assert "a person" not in invoke("analyze", path).out  # of a report it may be free text
    unsaid: list[Document] = [{}, {"ended_by": {}}, {"ended_by": "text"}, {"ended_by": None}]
    for nothing in unsaid:
        lines = invoke("why", _artifact(tmp_path, nothing)).out.splitlines()
        assert lines[0].startswith("x has no recorded outcome: ")
        assert "not known: whether the run ended well is not recorded" in lines


def test_a_known_end_is_told_by_the_status_alone(tmp_path: Path, invoke: Invoke) -> None:
    path = _artifact(tmp_path, {"ended_by": {"exit_status": "submitted"}}, status="ok")
    out = invoke("why", path).out
    assert out.startswith("x ended ok: ")
    assert "submitted" not in out


def test_no_causes_are_called_derived_where_there_are_none(tmp_path: Path, invoke: Invoke) -> None:
    alone = invoke("why", _artifact(tmp_path, {}, status="ok")).out
    assert "not known: the source records the order of steps: causes may be missing\n" in alone
    assert "derived" not in alone
    whole = str(fixture("swe_agent/generated_mini_limit.json"))
    assert "not known: the source records the order of steps: their causes are derived" in (
        invoke("why", whole).out
    )


def test_a_cause_of_two_steps_is_told_once(invoke: Invoke) -> None:
    path = str(fixture("openai_agents/responses_tool_fatal.jsonl"))
    edges = _told(invoke, "why", path)["incident"]["causes"]
    (turn,) = {e["cause"]["step_id"] for e in edges if e["cause"]["name"] == "turn"}
    assert sum(edge["cause"]["step_id"] == turn for edge in edges) == 2
    for command in ("why", "analyze"):
        lines = [line.strip() for line in invoke(command, path).out.splitlines()]
        (line,) = (each for each in lines if each.startswith("because of CHAIN turn "))
        assert line.endswith(", also for @span_484325995cfc4e15938eae78")
