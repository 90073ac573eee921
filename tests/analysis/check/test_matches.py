"""Matches of a pattern, and what hangs on what nobody recorded."""

from collections import Counter
from typing import Any

import pytest

from analysis.check.judging import F, I, P, codes, matches, one, outcome, reasons
from made_runs import LONG, Run, failed
from tracegraph.analysis.check.runs import Label
from tracegraph.model.trace import Trace

TOOL_FAILURE = matches("tool-failure")


def _run(**header: Any) -> Run:
    return Run(**header).step("root", "AGENT", at=LONG)


def _tool(status: str, name: str = "search", kind: str = "TOOL", **header: Any) -> Trace:
    return _run(**header).step("t", kind, status, name=name, inside="root").trace()


def test_confirmed_matches_are_counted_by_the_labels_of_their_steps() -> None:
    assert outcome(_tool("error"), _tool("ok"), TOOL_FAILURE) == F
    assert outcome(_tool("ok"), _tool("error"), TOOL_FAILURE) == P
    assert outcome(_tool("error"), _tool("error"), TOOL_FAILURE) == P
    judged = one(_tool("error", "fetch"), _tool("error"), TOOL_FAILURE)
    assert judged.judgement.outcome == F
    assert isinstance(judged.evidence, tuple)
    (increase,) = judged.evidence
    assert (increase.signature, increase.baseline, increase.current, increase.occurrences) == (
        (Label("TOOL", "fetch"),),
        0,
        1,
        [(1,)],
    )


@pytest.mark.parametrize(
    ("rule", "kind", "expected"),
    [
        (TOOL_FAILURE, "TOOL", I),
        (TOOL_FAILURE, "UNKNOWN", I),
        (TOOL_FAILURE, "CHAIN", P),
        (matches("error"), "CHAIN", I),
        (matches('TOOL "gate:*" where status == error'), "TOOL", P),
        (matches("TOOL where status != ok"), "TOOL", I),
        (matches("TOOL where not (status == ok)"), "TOOL", I),
        (matches("TOOL where status in [error]"), "TOOL", I),
        (matches("ANY where kind == TOOL and status == error"), "UNKNOWN", I),
        (matches("a: AGENT unless $a -> TOOL where status == ok"), "TOOL", I),
        (matches("AGENT -> TOOL where trace.status == error"), "TOOL", P),
    ],
)
def test_a_step_of_unknown_outcome_matters_where_the_pattern_could_count_it(
    rule: str, kind: str, expected: str
) -> None:
    current = _tool("unset", kind=kind)
    assert outcome(current, current, rule) == expected


def test_who_asks_for_what_is_not_recorded_gets_it() -> None:
    rule = matches("TOOL where status == unset")
    assert outcome(_tool("unset"), _tool("ok"), rule) == F
    assert outcome(_tool("unset"), _tool("unset"), rule) == P


def test_unknowns_of_the_baseline_forbid_a_fail() -> None:
    judged = one(_tool("error"), _tool("unset"), TOOL_FAILURE)
    assert (judged.judgement.outcome, reasons(judged)) == (I, {"possible_matches"})
    assert outcome(_tool("ok"), _tool("unset"), TOOL_FAILURE) == P


def test_steps_that_stopped_on_purpose_are_not_unknown() -> None:
    paused = _run().step("t", status="unset", status_source="control_flow").trace()
    assert outcome(paused, _tool("ok"), TOOL_FAILURE) == P


def test_a_match_without_a_name_may_be_any_other() -> None:
    assert reasons(one(_tool("error", ""), _tool("error"), TOOL_FAILURE)) == {"unnamed_steps"}
    assert outcome(_tool("error"), _tool("error", ""), TOOL_FAILURE) == I


def test_a_withheld_message_blocks_only_timeout() -> None:
    silent = _run().step("t", status="error", inside="root").trace()
    told = _run().step("t", inside="root", **failed("disk full", "OSError")).trace()
    assert outcome(silent, silent, matches("timeout")) == I
    assert outcome(told, told, matches("timeout")) == P
    assert outcome(silent, silent, TOOL_FAILURE) == P


def test_what_a_pattern_needs_and_nobody_records_is_insufficient() -> None:
    rule = matches("pattern x v1\n  needs args\nmatch\n  TOOL where status == error")
    judged = one(_tool("ok"), _tool("ok"), rule)
    assert judged.judgement.outcome == I
    assert [(n.code, n.subject) for n in judged.judgement.reasons] == [("not_evaluable", "args")]
    # Losing the failure does not make the need go away.
    rule = matches(
        "pattern x v1\n  needs errors\nmatch\n  TOOL where error.type == 'E'".replace("'", '"')
    )
    assert outcome(_tool("error"), _tool("ok"), rule) == I
    assert outcome(_tool("unset"), _tool("ok"), rule) == I


def test_a_longer_loop_is_no_other_signature() -> None:
    rule = matches("xs: TOOL {2,} same name")

    def loop(times: int, name: str = "search") -> Trace:
        run = _run()
        for number in range(times):
            run.step(f"t{number}", name=name, inside="root")
        return run.trace()

    assert outcome(loop(5), loop(3), rule) == P
    assert outcome(loop(3), loop(1), rule) == F
    assert outcome(loop(3, "fetch"), loop(3), rule) == F


def test_rows_of_having_are_counted_by_their_labels() -> None:
    rule = matches("TOOL where status == error having count >= 2 by name return name")

    def failing(times: int) -> Trace:
        run = _run()
        for number in range(times):
            run.step(f"t{number}", name="search", status="error", inside="root")
        return run.trace()

    assert outcome(failing(2), failing(1), rule) == F
    assert outcome(failing(3), failing(2), rule) == P
    judged = one(failing(3), failing(0), rule)
    assert isinstance(judged.evidence, tuple)
    assert judged.evidence[1].signature == (Label("TOOL", "search"),)
    assert judged.evidence[1].occurrences == [(1, 2, 3)]


def _gate(origin: str = "edge", **header: Any) -> Trace:
    run = _run(**header).step("a", "AGENT", inside="root")
    return run.step("gate:x", status="error", inside="root", after=[("a", origin)]).trace()


def test_what_is_not_known_of_causes_matters_to_patterns_that_read_them() -> None:
    rule = matches("gate-failure-after-success")
    assert outcome(_gate(), _gate(), rule) == P
    assert outcome(_gate(), _run().trace(), rule) == F
    guessed = one(_gate("order"), _gate("order"), rule)
    assert codes(guessed.judgement.reasons) == {
        ("heuristic_edges", "current", 1),
        ("heuristic_edges", "baseline", 1),
    }
    assert outcome(_gate("order"), _gate("order"), TOOL_FAILURE) == P
    parents = _gate(fidelity=1)
    assert reasons(one(parents, _gate(), rule)) == {"other_fidelity"}
    assert outcome(parents, parents, rule) == P
    assert outcome(parents, _gate(), TOOL_FAILURE) == P
    lost = _gate(gaps=Counter({"otlp.dropped_links": 1}))
    for pair in ((lost, _gate()), (_gate(), lost)):
        assert outcome(*pair, rule) == I
        assert outcome(*pair, TOOL_FAILURE) == P


def test_a_hidden_failure_counts_both_ways_where_a_success_is_asked_for() -> None:
    rewritten = _gate(gaps=Counter({"langgraph.rewritten_error_channel": 1}))
    rule = matches("gate-failure-after-success")
    assert outcome(rewritten, _run().trace(), rule) == I
    assert outcome(rewritten, _run().trace(), TOOL_FAILURE) == F


def test_an_orphan_forbids_a_verdict_on_causes() -> None:
    orphan = _run().step("t", inside="root", orphan=True).trace()
    assert reasons(one(orphan, _tool("ok"), matches("AGENT -> TOOL"))) == {"orphans"}


def test_too_many_matches_are_not_guessed() -> None:
    run = _run()
    for number in range(1500):
        run.step(f"t{number}", inside="root", status="error", name="search")
    trace = run.trace()
    judged = one(trace, trace, matches("a: TOOL ~>> b: TOOL ~>> c: TOOL"))
    assert codes(judged.judgement.reasons) == {("too_many_matches", "current", None)}


def test_a_pattern_of_sessions_says_that_it_reads_one_trace() -> None:
    rule = matches("pattern x v1\n  scope session\nmatch\n  TOOL where status == error")
    judged = one(_tool("error"), _tool("ok"), rule)
    assert judged.judgement.outcome == F
    assert "one_trace" in {note.code for note in judged.judgement.limitations}
