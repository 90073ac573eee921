"""What agent-tracegraph 0.9.0 gets wrong, fault by fault, and the test that shows ours right.

The faults are those that were measured against the real program: its numbers are kept, so that W5
here is W5 there. A fault whose test needed a place of its own has it in this file.
"""

import json
import re
import shutil
import tracemalloc
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cli_runner import run
from otlp_files import span, write_spans
from shared_data import ROOT, fixture
from tracegraph.cli.main import main

FAULTS = {
    "W1 a recovered failure masks the fatal one": """
        analysis/test_incidents.py::test_a_recovered_failure_does_not_mask_a_later_fatal_one
        analysis/test_incidents.py::test_an_error_ancestor_does_not_demote_a_failure_of_its_own
        cli/test_why.py::test_a_recovered_early_failure_does_not_hide_a_fatal_one""",
    "W2 a tree is cut at the width of the terminal": """
        test_peer_faults.py::test_w2_no_level_and_no_failure_vanishes_at_the_edge
        cli/test_streams.py::test_no_terminal_is_too_narrow_for_any_column""",
    "W3 a fan-out of LangGraph is one step": """
        langgraph_runs/test_causes.py::test_a_join_has_three_causes
        langgraph_runs/test_causes.py::test_a_join_of_plain_edges_has_three_causes
        langgraph_runs/test_steps.py::test_every_task_is_one_step_and_every_answer_one_more""",
    "W4 the failure of a subgraph counts twice": """
        langgraph_runs/test_failures.py::test_error_steps_are_the_tasks_that_failed_first
        langgraph_runs/test_failures.py::test_what_contains_the_failing_task_is_not_at_fault
        analysis/test_incidents.py::test_one_failure_in_several_error_spans_is_one_incident""",
    "W5 a lost join, another kind, traded statuses are identical": """
        analysis/diff/test_faults.py::test_a_lost_join_is_a_difference_of_causal_edges_alone
        analysis/diff/test_faults.py::test_a_tool_that_becomes_a_model_is_a_difference
        analysis/diff/test_faults.py::test_two_steps_of_one_name_that_trade_their_status_are_a_difference
        analysis/diff/test_faults.py::test_another_order_of_siblings_is_disclosed
        analysis/check/test_topology.py::test_a_lost_join_is_a_change_that_the_tree_does_not_show""",
    "W6 one odd record refuses the whole file": """
        test_peer_faults.py::test_w6_a_file_with_every_small_damage_is_answered_from
        ingest/test_every_adapter.py::test_one_value_removed_of_the_wrong_type_or_of_5000_levels""",
    "W7 one trace a call, and no list of them": """
        cli/test_ingest_sqlite.py::test_all_threads_when_none_is_named
        cli/test_other_commands.py::test_traces_lists_what_is_there
        cli/test_other_commands.py::test_ingest_into_makes_a_corpus_that_answers""",
    "W8 built-in patterns only, and an engine that is slower": """
        cli/test_query.py::test_patterns_come_as_preset_file_or_text
        cli/test_other_commands.py::test_cypher_answers_with_rows
        parity/test_parity.py::test_three_evaluators_agree""",
    "W9 no JSON, and an account without origins": """
        export/test_contracts.py::test_output_holds_its_contract
        cli/test_determinism.py::test_every_command_is_here
        cli/test_process.py::test_nothing_is_folded_or_coloured_in_a_pipe
        analysis/test_explain.py::test_what_led_to_a_step_comes_before_what_it_ran_in""",
    "W10 one id in two files is fatal": """
        test_peer_faults.py::test_w10_two_databases_with_the_same_threads_are_asked_together
        cli/test_other_commands.py::test_one_id_of_two_files_is_told_apart""",
    "W11 a timeout in other words, a retry with a step between": """
        test_peer_faults.py::test_w11_a_timeout_is_one_in_any_usual_words
        analysis/test_incidents.py::test_attempts_under_one_parent
        analysis/test_incidents.py::test_the_model_that_read_a_failure_may_ask_again_later""",
    "W12 formats that are not read": """
        ingest/test_otlp_fields.py::test_genai_messages
        ingest/test_every_adapter.py::test_a_file_is_taken_by_its_own_adapter_only""",
    "W13 success that nothing recorded": """
        ingest/test_cases_otlp.py::test_case_18_statuses
        ingest/test_phoenix_cases.py::test_case_18_statuses
        analysis/check/test_failures.py::test_the_table_of_evidence""",
    "W14 two digests, and a forged artifact that is valid": """
        test_peer_faults.py::test_w14_what_is_changed_or_added_shows
        cli/test_digest.py::test_every_report_shows_the_same
        cli/test_digest.py::test_a_change_changes_it""",
    "W15 names that are hidden do not match": """
        test_peer_faults.py::test_w15_a_name_of_several_words_matches_like_any_other
        analysis/test_report.py::test_patterns_match_by_names_that_reports_do_not_show
        cli/test_summarize.py::test_names_are_matched_as_recorded_and_shown_as_aliases""",
    "W16 no budgets, no rules, no topology of LangGraph": """
        test_peer_faults.py::test_w16_the_topology_of_a_langgraph_run_can_be_judged
        analysis/check/test_budgets.py::test_the_table_of_evidence
        cli/test_check.py::test_a_pattern_of_ones_own_is_a_rule""",
    "W17 code is run, workers stay unnamed": """
        ingest/test_langgraph_graph.py::test_without_graph_no_code_runs
        langgraph_runs/test_causes.py::test_packets_come_from_who_sent_them
        langgraph_runs/test_steps.py::test_every_node_has_a_name_where_task_paths_are_saved""",
    "W18 a refusal without a place, a list that repeats itself": """
        cli/test_validate.py::test_a_line_names_the_field_that_is_wrong
        cli/test_analyze.py::test_people_see_three_incidents_and_json_all
        cli/test_analyze.py::test_failures_do_not_change_the_exit_code_and_the_next_command_works""",
    "W19 all matches are held": """
        test_peer_faults.py::test_w19_a_report_on_many_traces_does_not_hold_them
        workflows/test_query.py::test_exists_leaves_the_rest_unread""",
    "W20 who closes the pipe loses the files": """
        cli/test_analyze.py::test_the_report_is_written_before_anything_is_shown
        phoenix/test_px.py::test_outputs_are_written_before_anything_is_shown""",
    "W21 a declared link to the own parent is containment": """
        test_peer_faults.py::test_w21_a_link_to_the_own_parent_stays_declared
        ingest/test_causes_adversarial.py::test_links_to_the_own_parent_and_both_ways""",
}
TOOL = {"key": "openinference.span.kind", "value": {"stringValue": "TOOL"}}
TESTS = [test for tests in FAULTS.values() for test in tests.split()]


def test_every_fault_has_its_tests() -> None:
    assert [int(name.split()[0][1:]) for name in FAULTS] == list(range(1, 22))
    missing = []
    for test in TESTS:
        file, _, name = test.partition("::")
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        if not re.search(rf"^def {name}\(", text, re.MULTILINE):
            missing.append(test)
    assert missing == []


def _artifact(
    path: Path,
    steps: Sequence[dict[str, Any]],
    causes: Sequence[tuple[str, str]] = (),
    **header: Any,
) -> Path:
    """Write a trace; a cause is (effect, cause)."""
    document = {
        "kind": "tracegraph.trace",
        "schema_version": 1,
        "trace": {"trace_id": path.stem, **header},
        "steps": list(steps),
        "causes": [
            {"effect": effect, "cause": cause, "origin": "span_parent"} for effect, cause in causes
        ],
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_w2_no_level_and_no_failure_vanishes_at_the_edge(tmp_path: Path) -> None:
    """The peer shows 17 of 502 steps at 80 columns, and no error at level 60."""
    steps = [
        {"step_id": f"s{n}", "kind": "CHAIN", "name": f"n{n}", "status": "ok"} for n in range(500)
    ]
    steps[450] |= {"status": "error", "error_message": "deep below"}
    file = _artifact(
        tmp_path / "x.json", steps, [(f"s{b}", f"s{a}") for a, b in pairwise(range(500))]
    )
    shown = run("inspect", str(file), cwd=tmp_path).out.splitlines()
    assert [
        sum(f"@s{n}" in line.split() or f"@s{n} " in line for line in shown) for n in range(500)
    ] == [1] * 500
    assert any("deep below" in line and "@s450" in line for line in shown)
    assert "@s450" in run("inspect", str(file), "--errors", cwd=tmp_path).out


def test_w6_a_file_with_every_small_damage_is_answered_from(tmp_path: Path) -> None:
    """Each of these alone makes the peer refuse the file."""
    zero, other = "0" * 16, f"{1:032x}"
    spans = [
        span(0, 0),
        span(0, 1, 99),  # a parent that is not there
        {**span(0, 2), "parentSpanId": zero},
        span(0, 3, 0),
        span(0, 3, 0, name="again"),  # a second span of that id
        {**span(0, 4, 0), "links": [{"traceId": other, "spanId": f"{6:016x}"}]},
        {**span(0, 5, 4), "links": [{"traceId": other, "spanId": f"{5:016x}"}]},  # in a circle
        {**span(0, 11, 0), "spanId": f"{12:016X}", "parentSpanId": f"{1:016X}"},  # upper case
        span(0, 12, 11, status={"code": 2, "message": "broken"}),
    ]
    file = write_spans(tmp_path / "a.jsonl", spans)
    text = file.read_text(encoding="utf-8")
    file.write_text(f'\ufeff{text}{{"traceId": "cut o', encoding="utf-8")
    ran = run("analyze", str(file), "--format", "json", cwd=tmp_path)
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    assert report["trace"]["step_count"] == 8
    assert report["incident_counts"] == {"fatal": 0, "unresolved": 1, "recovered": 0}
    assert {gap["code"] for gap in report["gaps"]} == {
        "causes.cycle",
        "otlp.duplicate_conflict",
        "otlp.missing_parent",
    }
    read = json.loads(run("ingest", str(file), "--format", "json", cwd=tmp_path).out)
    assert {"code": "otlp.unreadable_record", "count": 1} in read["gaps"]
    inspected = json.loads(run("inspect", str(file), "--format", "json", cwd=tmp_path).out)
    parents = {step["step_id"]: step["parent"] for step in inspected["steps"]}
    assert parents[f"{12:016x}"] == f"{1:016x}"
    strict = run("analyze", str(file), "--strict", cwd=tmp_path)
    assert strict.code == 2 and len(strict.err.splitlines()) == 1


def test_w10_two_databases_with_the_same_threads_are_asked_together(tmp_path: Path) -> None:
    for name in ("one.db", "two.db"):
        shutil.copy(ROOT / "examples" / "langgraph" / "trace.db", tmp_path / name)
    ran = run("query", "error", "one.db", "two.db", "--format", "json", cwd=tmp_path)
    alone = run("query", "error", "one.db", "--format", "json", cwd=tmp_path)
    assert (ran.code, alone.code) == (0, 0)
    found, once = json.loads(ran.out), json.loads(alone.out)
    assert found["match_count"] == 2 * once["match_count"] > 0
    assert found["traces_scanned"] == 2 * once["traces_scanned"]
    assert len({match["trace_id"] for match in found["matches"]}) == 2 * once["trace_count"]


@pytest.mark.parametrize(
    "error",
    [
        {"error_type": "Timeout"},
        {"error_type": "DeadlineExceeded"},
        {"error_type": "E", "error_message": "the request timed out"},
        {"error_type": "E", "error_message": "Read Timed-Out after 3 s"},
        {"error_type": "E", "error_message": "504 Gateway"},
    ],
)
def test_w11_a_timeout_is_one_in_any_usual_words(error: dict[str, str], tmp_path: Path) -> None:
    step = {"step_id": "s", "kind": "TOOL", "name": "t", "status": "error", **error}
    _artifact(tmp_path / "x.json", [step])
    ran = run("query", "timeout", "x.json", cwd=tmp_path)
    assert ran.code == 0
    assert ran.err == "1 confirmed match in 1 of 1 trace (1 step)\n"


def test_w14_what_is_changed_or_added_shows(tmp_path: Path) -> None:
    original = ROOT / "examples" / "made" / "retry_marker.json"
    text = original.read_text(encoding="utf-8")
    forged = {
        "name": text.replace("flights::search", "hotels::search"),
        "error": text.replace("no answer after 1 s", "all is well"),
    }
    before = run("digest", str(original), cwd=tmp_path).out
    digests = {before}
    for name, content in forged.items():
        (tmp_path / f"{name}.json").write_text(content, encoding="utf-8")
        digests.add(run("digest", f"{name}.json", cwd=tmp_path).out)
    assert len(digests) == 3
    added = {
        "a member": text.replace('"kind": "AGENT"', '"kind": "AGENT", "extra": 1', 1),
        "a key again": text.replace('"kind": "AGENT"', '"kind": "LLM", "kind": "AGENT"', 1),
    }
    for name, content in added.items():
        assert content != text
        (tmp_path / "x.json").write_text(content, encoding="utf-8")
        assert run("validate", "x.json", cwd=tmp_path).code == 1, name


def test_w15_a_name_of_several_words_matches_like_any_other(tmp_path: Path) -> None:
    """The peer finds nothing in the same Phoenix export once a tool is called in words."""
    text = (fixture("phoenix") / "made_spans_page.json").read_text(encoding="utf-8")
    (tmp_path / "id.json").write_text(text, encoding="utf-8")
    (tmp_path / "words.json").write_text(
        text.replace('"search"', '"search the web"'), encoding="utf-8"
    )
    for command in (["query", "-e", "xs: TOOL {2,} same name"], ["summarize", "tool-failure"]):
        found = [
            json.loads(run(*command, name, "--format", "json", cwd=tmp_path).out)
            for name in ("id.json", "words.json")
        ]
        counts = [report.get("coverage", report)["match_count"] for report in found]
        assert counts[0] == counts[1] > 0
    assert "search the web" not in json.dumps(found[1])
    assert "redacted:" in json.dumps(found[1])


def test_w16_the_topology_of_a_langgraph_run_can_be_judged(tmp_path: Path) -> None:
    database = ROOT / "examples" / "langgraph" / "trace.db"
    rule = ["--rule", "topology-unchanged"]
    same = run("check", f"{database}#B", "--baseline", f"{database}#B", *rule, cwd=tmp_path)
    assert (same.code, same.out.split()[0]) == (0, "PASS")
    other = run("check", f"{database}#A", "--baseline", f"{database}#B", *rule, cwd=tmp_path)
    assert (other.code, other.out.split()[0]) == (1, "FAIL")


def test_w19_a_report_on_many_traces_does_not_hold_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The peer takes 300 MB for 50 MB; here a report of 5 MB is never there as a whole."""
    monkeypatch.setenv("TRACEGRAPH_CACHE_DIR", str(tmp_path / "cache"))
    fields = {"status": {"code": 2}, "attributes": [TOOL]}
    many = (span(t, s, 0 if s else None, **fields) for t in range(4_000) for s in range(4))
    file, out = write_spans(tmp_path / "a.jsonl", many), tmp_path / "found.json"
    query = ["query", "tool-failure", str(file), "--format", "json", "-o", str(out)]
    with pytest.raises(SystemExit):
        main([*query, "--limit", "0"])  # what is read is in the cache from now on
    tracemalloc.start()
    try:
        with pytest.raises(SystemExit):
            main(query)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert json.loads(out.read_text(encoding="utf-8"))["match_count"] == 16_000
    assert peak < 1.5 * out.stat().st_size


def test_w21_a_link_to_the_own_parent_stays_declared(tmp_path: Path) -> None:
    link = {"traceId": f"{1:032x}", "spanId": f"{1:016x}"}
    spans = [span(0, 0), {**span(0, 1, 0), "links": [link]}]
    write_spans(tmp_path / "a.jsonl", spans)
    ran = run("explain", "a.jsonl", f"{2:016x}", "--evidence", "declared", cwd=tmp_path)
    assert ran.code == 0
    assert "[declared: span_link]" in ran.out
