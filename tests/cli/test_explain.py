import json
import re
import shutil

from cli_runner import Invoke
from shared_data import fixture

FATAL = "examples/traces/tool_error_fatal.otlp.json"
TOOL = "183f92407e2c3a38"


def test_the_chain_reads_from_the_failure_to_the_root(invoke: Invoke) -> None:
    ran = invoke("explain", FATAL, TOOL)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[1].startswith("   0 TOOL fetch_page error <TimeoutError: timed out after 30s")
    assert lines[2] == "       <- 2 LLM Scripted [derived: protocol]"
    assert lines[3] == "       <- 1 CHAIN tools [containment: span_parent]"
    assert lines[-2] == "       -- nothing recorded caused it"
    assert lines[-1] == "4 steps led to it, 1 where nothing recorded caused it"


def test_a_step_is_named_by_the_start_or_the_end_of_its_id(invoke: Invoke) -> None:
    whole = invoke("explain", FATAL, TOOL).out
    assert invoke("explain", FATAL, TOOL[:4]).out == whole
    assert invoke("explain", FATAL, TOOL[-5:]).out == whole
    missing = invoke("explain", FATAL, "zzz")
    assert (missing.code, missing.out) == (2, "")
    assert "tool_error_fatal.otlp.json#" in missing.err
    assert "no step 'zzz'" in missing.err
    near = invoke("explain", FATAL, f"{TOOL[:-1]}~")
    assert near.err.endswith(f"did you mean {TOOL}?\n")
    assert "is ambiguous" in invoke("explain", FATAL, "").err


def test_what_was_not_asked_for_is_counted(invoke: Invoke) -> None:
    ran = invoke("explain", FATAL, TOOL, "--depth", "1", "--format", "json")
    result = json.loads(ran.out)
    assert result["edges_beyond_depth"] == 3
    assert {root["end"] for root in result["roots"]} == {"cut"}
    declared = json.loads(
        invoke("explain", FATAL, TOOL, "--evidence", "declared", "--format", "json").out
    )
    assert declared["edges_of_weaker_evidence"] == 2
    assert declared["steps"][0]["end"] == "cut"


def test_a_cause_that_was_not_exported_is_named_as_unknown(invoke: Invoke) -> None:
    shutil.copy(fixture("cases/03-missing-middle-parent/input.json"), "case.json")
    listing = json.loads(invoke("inspect", "case.json", "--format", "json").out)
    search = next(step["step_id"] for step in listing["steps"] if step["name"] == "search")
    ran = invoke("explain", "case.json", search)
    assert "-- cause not in this export" in ran.out
    assert "nothing recorded caused it" not in ran.out


def test_drawings_hold_every_step_and_arrow_and_nothing_ends_a_label(invoke: Invoke) -> None:
    listing = json.loads(invoke("inspect", FATAL, "--format", "json").out)
    for form, arrow in (("mermaid", "-->"), ("dot", " -> ")):
        drawn = invoke("inspect", FATAL, "--format", form).out
        assert drawn.count(arrow) == len(listing["causes"])
        assert all(step["step_id"] in drawn for step in listing["steps"])
    hostile = '"]; evil"|x|<b>\n%%'
    step = {"step_id": "s", "kind": "TOOL", "name": hostile, "status": "ok"}
    head = {"trace_id": "t", "source": "made"}
    artifact = {"kind": "tracegraph.trace", "schema_version": 1, "trace": head, "steps": [step]}
    with open("hostile.json", "w", encoding="utf-8") as file:
        json.dump(artifact, file)
    mermaid = invoke("inspect", "hostile.json", "--format", "mermaid").out
    assert re.fullmatch(r'flowchart TD\n  s0\["[^"|<>\]]*"\]\n', mermaid)
    dot = invoke("inspect", "hostile.json", "--format", "dot").out
    assert re.search(r'label="(?:[^"\\]|\\.)*"\]\n}\n$', dot)


def test_errors_leaves_failing_paths_and_counts_the_rest(invoke: Invoke) -> None:
    ran = invoke("inspect", FATAL, "--errors")
    assert len([line for line in ran.out.splitlines() if "──" in line]) == 3
    assert "(3 steps outside failing paths left out)" in ran.out
    assert invoke("inspect", FATAL, "--errors", "--format", "json").code == 2
