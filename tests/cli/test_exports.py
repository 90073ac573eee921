"""What leaves the place of the traces: candidates for a review, and incident memos."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cli_runner import Invoke
from shared_data import ROOT

CANARY = "CANARY me@example.org sk-123"
FATAL = "examples/traces/tool_error_fatal.otlp.json"


def _validator(contract: str) -> Draft202012Validator:
    path = ROOT / "contracts" / f"{contract}.v1.schema.json"
    return Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))


def _tool(step_id: str, name: str | None, status: str = "error") -> dict[str, Any]:
    step = {"step_id": step_id, "kind": "TOOL", "status": status, "error_message": CANARY}
    return step if name is None else {**step, "name": name}


def _write(name: str, *steps: dict[str, Any], **header: Any) -> None:
    document = {
        "kind": "tracegraph.trace",
        "schema_version": 1,
        "trace": {"trace_id": f"trace-{name}", **header},
        "steps": list(steps),
    }
    Path("t").mkdir(exist_ok=True)
    Path("t", f"{name}.json").write_text(json.dumps(document), encoding="utf-8")


def _export(invoke: Invoke, *more: str) -> Any:
    ran = invoke("export-review-candidates", "tool-failure", "t", "-o", "c.json", *more)
    assert ran.code == 0, ran.err
    assert ran.out == ""
    document = json.loads(Path("c.json").read_text(encoding="utf-8"))
    assert [e.message for e in _validator("review-candidates").iter_errors(document)] == []
    return document


# Candidates for a review.


def test_findings_are_sorted_and_stand_once(invoke: Invoke) -> None:
    _write("b", _tool("1", "s::b"), _tool("2", "s::a"), _tool("3", "s::b"), run_id="r2")
    _write("a", _tool("1", "s::b"), _tool("2", "other", "ok"), run_id="r3")
    _write("c", _tool("1", "s::b", "ok"))
    found = _export(invoke)["candidates"]
    assert [(each["run_id"], each["tool_key"]) for each in found] == [
        ("r2", "s::a"),
        ("r2", "s::b"),
        ("r3", "s::b"),
    ]
    assert {(each["pattern_id"], each["pattern_version"]) for each in found} == {
        ("tool-failure", 1)
    }
    digests = {each["run_id"]: each["artifact_digest"] for each in found}
    assert digests["r3"] == invoke("digest", "t/a.json").out.strip()


def test_the_same_traces_make_the_same_bytes(invoke: Invoke) -> None:
    _write("a", _tool("1", "s::b"), run_id="r1")
    _write("b", _tool("1", "s::b"), run_id="r2")
    _export(invoke)
    first = Path("c.json").read_bytes()
    _export(invoke, "--no-cache")
    assert Path("c.json").read_bytes() == first
    ran = invoke("export-review-candidates", "tool-failure", "t/b.json", "t/a.json", "-o", "d.json")
    assert ran.code == 0
    assert Path("d.json").read_bytes() == first


def test_nothing_but_the_allowlist_is_in_it(invoke: Invoke) -> None:
    _write("x", {**_tool("step-1", "s::b"), "agent": CANARY}, run_id="r", session_id=CANARY)
    _export(invoke)
    text = Path("c.json").read_text(encoding="utf-8")
    for secret in ("CANARY", "trace-x", "step-1", "x.json", str(Path.cwd())):
        assert secret not in text


def test_a_mutated_report_breaks_the_contract(invoke: Invoke) -> None:
    _write("a", _tool("1", "s::b"), run_id="r1")
    document = _export(invoke)
    validator = _validator("review-candidates")
    (candidate,) = document["candidates"]
    for key, value in candidate.items():
        less = {k: v for k, v in candidate.items() if k != key}
        odd = {**candidate, key: [value]}
        for changed in (less, odd, {**candidate, "step_id": "1"}):
            assert not validator.is_valid({**document, "candidates": [changed]})
    for key, value in (("run_id", "a b"), ("tool_key", "b"), ("artifact_digest", "00")):
        changed = {**candidate, key: value}
        assert not validator.is_valid({**document, "candidates": [changed]})
    assert not validator.is_valid({**document, "candidates": [candidate, candidate]})


def test_no_match_is_a_report(invoke: Invoke) -> None:
    _write("a", _tool("1", "s::b", "ok"))
    assert _export(invoke)["candidates"] == []
    ran = invoke(
        "export-review-candidates", "tool-retry-failure", "examples/traces", "-o", "none.json"
    )
    assert ran.code == 0
    assert json.loads(Path("none.json").read_text(encoding="utf-8"))["candidates"] == []


@pytest.mark.parametrize(
    ("step", "header", "said"),
    [
        (
            _tool("1", "s::b"),
            {},
            "trace-z: matches and has no run_id: nothing is exported; its record has to name",
        ),
        (_tool("1", "s::b"), {"run_id": "a b"}, "trace-z: matches and has a run_id"),
        (_tool("1", "s::b"), {"run_id": "x" * 257}, "trace-z: matches and has a run_id"),
        (_tool("1", "s::b"), {"run_id": ""}, "trace-z: matches and has a run_id"),
        (_tool("1", "b"), {"run_id": "r"}, "'b' is no server::tool name"),
        (_tool("1", None), {"run_id": "r"}, "None is no server::tool name"),
        (_tool("1", "::b"), {"run_id": "r"}, "'::b' is no server::tool name"),
        (_tool("1", "s::"), {"run_id": "r"}, "'s::' is no server::tool name"),
        (_tool("1", "s::look it up"), {"run_id": "r"}, "is no server::tool name"),
        (_tool("1", "s::" + "b" * 510), {"run_id": "r"}, "is no server::tool name"),
    ],
)
def test_one_trace_without_identity_fails_the_batch_and_leaves_the_output(
    step: dict[str, Any], header: dict[str, Any], said: str, invoke: Invoke
) -> None:
    _write("a", _tool("1", "s::b"), run_id="r1")
    _write("z", step, **header)
    Path("c.json").write_text("as it was", encoding="utf-8")
    ran = invoke("export-review-candidates", "tool-failure", "t", "-o", "c.json")
    assert ran.code == 2
    assert said in ran.err
    assert Path("c.json").read_text(encoding="utf-8") == "as it was"


def test_only_presets_for_review_are_exported(invoke: Invoke) -> None:
    for preset in ("error", "timeout", "gate-failure-after-success", "tool-retry-failure-near"):
        ran = invoke("export-review-candidates", preset, "examples/made", "-o", "c.json")
        assert ran.code == 2
        assert "is not for review" in ran.err
    assert not Path("c.json").exists()


def test_a_pattern_of_ones_own_may_be_for_review_under_an_id_of_its_own(invoke: Invoke) -> None:
    own = (
        "pattern {}\n  confidence exact\n  export review\nmatch\n"
        '  t: TOOL "s::*" where status == error\nreturn $t.name as tool\n'
    )
    _write("a", _tool("1", "s::b"), _tool("2", "q::c"), run_id="r1")
    Path("own.tgp").write_text(own.format("my-tools v3"), encoding="utf-8")
    ran = invoke("export-review-candidates", "own.tgp", "t", "-o", "c.json")
    assert ran.code == 0, ran.err
    (found,) = json.loads(Path("c.json").read_text(encoding="utf-8"))["candidates"]
    assert (found["pattern_id"], found["pattern_version"]) == ("my-tools", 3)
    Path("own.tgp").write_text(own.format("tool-failure v1"), encoding="utf-8")
    ran = invoke("export-review-candidates", "own.tgp", "t", "-o", "c.json")
    assert ran.code == 2
    assert "a preset of another meaning" in ran.err


def test_a_possible_match_is_no_finding_and_is_said(invoke: Invoke) -> None:
    first, last = _tool("1", "s::b", "ok"), _tool("3", None)
    retry = {"step_id": "2", "kind": "CHAIN", "name": "retry:s::b", "status": "ok"}
    _write("a", first, retry, last, run_id="r1")
    document = json.loads(Path("t/a.json").read_text(encoding="utf-8"))
    causes = [{"effect": effect, "cause": cause} for effect, cause in ("21", "32")]
    Path("t/a.json").write_text(json.dumps({**document, "causes": causes}), encoding="utf-8")
    ran = invoke("export-review-candidates", "tool-retry-failure", "t", "-o", "c.json")
    assert ran.code == 0
    assert "1 possible match not exported" in ran.err
    assert json.loads(Path("c.json").read_text(encoding="utf-8"))["candidates"] == []


def test_what_cannot_be_read_is_skipped_or_fails_the_batch(invoke: Invoke) -> None:
    _write("a", _tool("1", "s::b"), run_id="r1")
    Path("t", "bad.json").write_text('{"kind": "tracegraph.trace", ', encoding="utf-8")
    assert len(_export(invoke)["candidates"]) == 1
    before = Path("c.json").read_bytes()
    ran = invoke("export-review-candidates", "tool-failure", "t", "-o", "c.json", "--strict")
    assert ran.code == 2
    assert Path("c.json").read_bytes() == before


def test_an_input_is_no_output(invoke: Invoke) -> None:
    _write("a", _tool("1", "s::b"), run_id="r1")
    before = Path("t/a.json").read_bytes()
    assert invoke("export-review-candidates", "tool-failure", "t", "-o", "t/a.json").code == 2
    assert invoke("export-incident-memo", "t/a.json", "-o", "t/a.json").code == 2
    assert Path("t/a.json").read_bytes() == before
    assert invoke("export-review-candidates", "tool-failure", "t").code == 2
    assert invoke("export-incident-memo", "t/a.json").code == 2


# Incident memos.


def _memo(invoke: Invoke, place: str) -> tuple[dict[str, Any], str]:
    ran = invoke("export-incident-memo", place, "-o", "m.md")
    assert ran.code == 0, ran.err
    assert ran.out == ""
    text = Path("m.md").read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)
    lines = [line.partition(": ") for line in front.splitlines()]
    matter = {key: json.loads(value) for key, _, value in lines}
    assert [e.message for e in _validator("incident-memo").iter_errors(matter)] == []
    return matter, body


def test_a_memo_tells_a_failure_by_place_and_kind(invoke: Invoke) -> None:
    matter, body = _memo(invoke, FATAL)
    assert (matter["status"], matter["fatal"], matter["error_count"]) == ("error", 1, 3)
    assert matter["name"] == f"incident_{matter['artifact_digest'][:12]}"
    assert body == (
        "\n# Incident memo\n\n"
        "## 1. fatal: began at step_5_tool\n\n"
        "- passed on by step_4_chain, step_0_chain\n"
        "- step_5_tool caused by step_2_llm (derived, protocol)\n"
        "- step_2_llm preceded by step_1_agent (containment only)\n\n"
        "## Patterns\n\n"
        "- error@1: 3 confirmed matches\n"
        "- timeout@1: 3 confirmed matches\n"
        "- tool-failure@1: 1 confirmed match\n"
    )


def test_a_memo_holds_no_text_and_no_id_of_the_source(invoke: Invoke) -> None:
    step = {**_tool("secret-step", CANARY), "error_type": CANARY, "agent": CANARY}
    _write(
        "x",
        step,
        source="secret-source",
        run_id="secret-run",
        session_id="secret-session",
        gaps=[{"code": CANARY}],
        attributes={"evaluations": [{"name": "secret-name", "label": "secret-label"}]},
    )
    matter, _ = _memo(invoke, "t/x.json")
    assert matter["source"] == "other"
    assert len(matter["run_digest"]) == 16
    text = Path("m.md").read_text(encoding="utf-8")
    for secret in ("CANARY", "secret", "trace-x", "x.json"):
        assert secret not in text


def test_a_memo_of_a_healthy_run_says_so(invoke: Invoke) -> None:
    matter, body = _memo(invoke, "examples/traces/react_ok.otlp.json")
    assert (matter["fatal"], matter["outcomes_known"]) == (0, True)
    assert body == "\n# Incident memo\n\nNo step failed in 9 steps.\n"


def test_a_memo_of_many_failures_is_bounded_and_says_so(invoke: Invoke) -> None:
    _write("x", *(_tool(str(n), f"t{n}") for n in range(300)))
    matter, body = _memo(invoke, "t/x.json")
    assert matter["unresolved"] + matter["fatal"] == 300
    assert body.count("## ") < 30
    assert "more incidents, not described here." in body


def test_a_mutated_front_matter_breaks_the_contract(invoke: Invoke) -> None:
    matter, _ = _memo(invoke, FATAL)
    validator = _validator("incident-memo")
    for key, value in matter.items():
        assert not validator.is_valid({k: v for k, v in matter.items() if k != key})
        assert not validator.is_valid({**matter, key: [value]})
    assert not validator.is_valid({**matter, "agent": "a"})
