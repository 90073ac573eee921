"""``tracegraph summarize``: matches by shape, counted by hand, and what may hide more."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from cli_runner import Invoke


def _summary(invoke: Invoke, *arguments: str, code: int = 0) -> Any:
    ran = invoke("summarize", *arguments, "--format", "json")
    assert ran.code == code, ran.err
    return json.loads(ran.out)


def _write(name: str, steps: list[dict[str, Any]], causes: Any = (), **header: Any) -> None:
    document = {
        "kind": "tracegraph.trace",
        "schema_version": 1,
        "trace": {"trace_id": name, **header},
        "steps": steps,
        "causes": list(causes),
    }
    Path("t").mkdir(exist_ok=True)
    Path("t", f"{name}.json").write_text(json.dumps(document), encoding="utf-8")


def test_shapes_are_those_of_the_matches(invoke: Invoke) -> None:
    listed = json.loads(invoke("query", "error", "examples", "--format", "json").out)
    steps = [match["steps"][0] for match in listed["matches"]]
    wanted = Counter((step["kind"], step["name"]) for step in steps)
    found = _summary(invoke, "error", "examples")
    shapes = {
        (shape["steps"][0]["kind"], shape["steps"][0]["name"], shape["source"]): shape
        for shape in found["shapes"]
    }
    counted: Counter[Any] = Counter()
    for (kind, name, _), shape in shapes.items():
        counted[kind, name] += shape["match_count"]
    assert counted == wanted
    coverage = found["coverage"]
    assert coverage["match_count"] == listed["match_count"] == len(steps)
    assert coverage["traces_matched"] == listed["trace_count"]
    assert coverage["traces_scanned"] == listed["traces_scanned"]
    counts = [shape["match_count"] for shape in found["shapes"]]
    assert counts == sorted(counts, reverse=True)


def test_how_steps_hang_together_is_part_of_a_shape(invoke: Invoke) -> None:
    steps = [
        {"step_id": "a", "kind": "TOOL", "name": "x", "status": "ok"},
        {"step_id": "b", "kind": "CHAIN", "name": "retry:x", "status": "ok"},
        {"step_id": "c", "kind": "TOOL", "name": "x", "status": "error"},
    ]
    for number, origin in enumerate(["edge", "edge", "edge", "edge", "span_link"]):
        causes = [{"effect": e, "cause": c, "origin": origin} for e, c in ("ba", "cb")]
        _write(f"r{number}", steps, causes)
    often, once = _summary(invoke, "tool-retry-failure", "t")["shapes"]
    assert (often["match_count"], often["trace_count"], once["match_count"]) == (4, 4, 1)
    assert [step["links"] for step in often["steps"]] == [
        [],
        *[[{"origin": "edge", "evidence": "declared"}]] * 2,
    ]
    assert [example["trace_id"] for example in often["examples"]] == ["r0", "r1", "r2"]
    assert once["examples"][0]["step_ids"] == ["a", "b", "c"]
    table = invoke("summarize", "tool-retry-failure", "t").out
    assert "TOOL x ok -[edge]-> CHAIN retry:x ok -[edge]-> TOOL x error" in table


def test_a_run_of_any_length_is_one_shape(invoke: Invoke) -> None:
    Path("runs.tgp").write_text(
        "pattern runs v1\nmatch\n  xs: TOOL {2,} same name\n", encoding="utf-8"
    )
    for length in (2, 3, 5):
        steps = [
            {"step_id": str(n), "kind": "TOOL", "name": "x", "status": "ok"} for n in range(length)
        ]
        _write(f"r{length}", steps)
    (shape,) = _summary(invoke, "runs.tgp", "t")["shapes"]
    assert shape["match_count"] == 3
    assert [step["repeated"] for step in shape["steps"]] == [True]


def test_what_may_hide_a_match_is_counted(invoke: Invoke) -> None:
    _write("matched", [{"step_id": "a", "status": "error", "error_message": "timeout"}])
    _write("unset", [{"step_id": "a", "kind": "TOOL"}])
    _write("on-purpose", [{"step_id": "a", "status_source": "control_flow"}])
    _write("no-message", [{"step_id": "a", "kind": "LLM", "status": "error"}])
    _write("lossy", [{"step_id": "a", "status": "ok"}], gaps=[{"code": "otlp.unreadable_span"}])
    _write("noticed", [{"step_id": "a", "status": "ok"}], gaps=[{"code": "clock.skew"}])
    Path("t", "note.txt").write_text("no trace", encoding="utf-8")
    coverage = _summary(invoke, "timeout", "t")["coverage"]
    assert coverage == {
        "files_read": 6,
        "files_skipped": 1,
        "traces_scanned": 6,
        "traces_matched": 1,
        "traces_possible": 1,
        "traces_not_evaluable": 0,
        "traces_with_losses": 1,
        "traces_with_unknown_outcomes": 1,
        "match_count": 1,
        "possible_count": 1,
    }
    said = invoke("summarize", "timeout", "t").err
    assert "1 confirmed match in 1 of 6 traces; 1 trace with possible matches alone" in said
    assert "1 trace with steps of unknown outcome" in said


def test_no_match_exits_with_1(invoke: Invoke) -> None:
    found = _summary(invoke, "tool-retry-failure", "examples/traces", code=1)
    assert found["shapes"] == []
    assert found["coverage"]["traces_scanned"] == 7


def test_names_are_matched_as_recorded_and_shown_as_aliases(invoke: Invoke) -> None:
    steps = [
        {"step_id": "a", "kind": "TOOL", "name": "search the web", "status": "error"},
        {"step_id": "b", "kind": "TOOL", "name": "ask the user", "status": "error"},
    ]
    _write("x", steps)
    Path("named.tgp").write_text(
        'pattern named v1\nmatch\n  t: TOOL "search the web" where status == error\n',
        encoding="utf-8",
    )
    ran = invoke("summarize", "named.tgp", "t", "--format", "json")
    assert "search" not in ran.out
    (shape,) = json.loads(ran.out)["shapes"]
    assert shape["match_count"] == 1
    assert shape["steps"][0]["name"].startswith("redacted:")


def test_the_cache_does_not_change_the_answer(invoke: Invoke) -> None:
    for number in range(5):
        _write(f"r{number}", [{"step_id": "a", "kind": "TOOL", "status": "error"}])
        grown = invoke("summarize", "tool-failure", "t", "--format", "json").out
    _write("a-first", [{"step_id": "a", "kind": "TOOL", "status": "error"}])
    grown = invoke("summarize", "tool-failure", "t", "--format", "json").out
    fresh = invoke("summarize", "tool-failure", "t", "--format", "json", "--no-cache").out
    assert grown == fresh
    first = json.loads(fresh)["shapes"][0]["examples"][0]
    assert first["trace_id"] == "a-first"
