"""Recorded failures by kind and name, and what forbids a verdict on them."""

from collections import Counter
from typing import Any

import pytest

from analysis.check.judging import FAILURES, F, I, P, codes, judge, one, outcome, reasons
from made_runs import LONG, Run
from tracegraph.analysis.check.counts import Increase
from tracegraph.analysis.check.evidence import Note
from tracegraph.analysis.check.runs import Label
from tracegraph.model.trace import Trace

SEARCH = (Label("TOOL", "search"),)


def _run(*steps: tuple[str, str], kind: str = "TOOL", **header: Any) -> Trace:
    """Return a run of steps given by name and status."""
    run = Run(**header)
    run.step("root", "AGENT", at=LONG)
    for number, (name, status) in enumerate(steps):
        run.step(f"s{number}", kind, status, name=name, inside="root")
    return run.trace()


OK, BAD, OPEN, NAMELESS = ("search", "ok"), ("search", "error"), ("search", "unset"), ("", "error")


@pytest.mark.parametrize(
    ("current", "baseline", "expected"),
    [
        ([OK], [OK], P),
        ([BAD], [OK], F),
        ([BAD], [BAD], P),
        ([OK], [BAD], P),
        ([BAD, BAD], [BAD], F),
        # What moves from one name to another is an increase, though not in total.
        ([("fetch", "error"), OK], [BAD, ("fetch", "ok")], F),
        # Unknown on the current side blocks PASS, on the baseline side FAIL.
        ([OPEN], [OK], I),
        ([OPEN, BAD], [OK, OK], F),
        ([OK], [OPEN], P),
        ([BAD], [OPEN], I),
        ([NAMELESS], [BAD], I),
        ([NAMELESS, BAD], [BAD], F),
        ([BAD], [NAMELESS], I),
        ([OK], [NAMELESS], P),
        # A step without a name that worked is nothing that the rule could count.
        ([("", "ok")], [OK], P),
    ],
)
def test_the_table_of_evidence(
    current: list[tuple[str, str]], baseline: list[tuple[str, str]], expected: str
) -> None:
    assert outcome(_run(*current), _run(*baseline), FAILURES) == expected


def test_only_what_has_become_more_is_evidence() -> None:
    current = _run(BAD, ("fetch", "error"), BAD)
    judged = one(current, _run(("fetch", "error"), OK), FAILURES)
    assert judged.evidence == (
        Increase(None, 1, 3),
        Increase(SEARCH, 0, 2, [(1,), (3,)]),
    )
    assert judged.judgement.reasons == (Note("increased", "current", 1),)
    assert one(_run(OK), _run(BAD), FAILURES).evidence == ()


def test_steps_that_stopped_on_purpose_are_not_unknown() -> None:
    def paused(source: str) -> Trace:
        return Run().step("ask", "CHAIN", "unset", status_source=source).trace()

    assert outcome(paused("control_flow"), paused("control_flow"), FAILURES) == P
    assert outcome(paused("cancelled"), paused("cancelled"), FAILURES) == I


def test_a_failing_step_of_unknown_kind_may_be_another_one() -> None:
    unknown = Run().step("s", "UNKNOWN", "error", name="search", unknown_fields="kind").trace()
    judged = one(unknown, _run(BAD), FAILURES)
    assert (judged.judgement.outcome, reasons(judged)) == (I, {"unknown_kind"})
    assert outcome(_run(BAD), unknown, FAILURES) == I
    assert outcome(unknown, unknown, FAILURES) == I
    none_of_them = _run(BAD, kind="UNKNOWN")
    assert outcome(none_of_them, none_of_them, FAILURES) == P
    assert outcome(none_of_them, _run(BAD), FAILURES) == F


def test_runs_of_different_sources_and_empty_runs_are_incomparable() -> None:
    judged = one(_run(BAD, source="langsmith"), _run(OK), FAILURES)
    assert (judged.judgement.outcome, reasons(judged)) == (I, {"other_source"})
    for pair in ((Run().trace(), _run(OK)), (_run(OK), Run().trace())):
        judged = one(*pair, FAILURES)
        assert (judged.judgement.outcome, reasons(judged)) == (I, {"no_steps"})


@pytest.mark.parametrize(
    ("code", "blocks"),
    [
        ("otlp.unreadable_span", True),
        ("otlp.missing_parent", True),
        ("otlp.unresolved_span_link", True),
        ("otlp.foreign_trace_link", False),
        ("otlp.dropped_events", True),
        ("otlp.dropped_links", False),
        ("otlp.unreadable_cost", False),
        ("otlp.status_contradicts_tool_status", False),
        ("langgraph.rewritten_error_channel", True),
        ("langgraph.undecided_interrupt", True),
        ("phoenix.no_span_links", False),
        ("phoenix.dropped_events", True),
        ("text.lone_surrogate", False),
        ("peer_artifact.unrecorded_gaps", True),
        ("never.heard_of", True),
    ],
)
def test_a_gap_that_may_hide_a_failure_forbids_what_it_may_refute(code: str, blocks: bool) -> None:
    gap: dict[str, Any] = {"gaps": Counter({code: 2})}
    assert outcome(_run(OK, **gap), _run(OK), FAILURES) == (I if blocks else P)
    assert outcome(_run(BAD, **gap), _run(OK), FAILURES) == F, "more than is hidden is more"
    assert outcome(_run(BAD), _run(OK, **gap), FAILURES) == (I if blocks else F)
    assert outcome(_run(OK), _run(OK, **gap), FAILURES) == P
    told = one(_run(OK, **gap), _run(OK), FAILURES).judgement
    assert [
        (n.which, n.count) for n in (*told.reasons, *told.limitations) if n.subject == code
    ] == [("current", 2)]


def test_losses_that_no_trace_owns_may_have_been_of_this_one() -> None:
    lost = {"otlp.unreadable_record": 1}
    (judged,) = judge(_run(OK), _run(OK), FAILURES, unowned=(lost, {})).rules
    assert codes(judged.judgement.reasons) == {("hidden_steps", "current", 1)}
    (judged,) = judge(_run(BAD), _run(OK), FAILURES, unowned=({}, lost)).rules
    assert judged.judgement.outcome == I


def test_attempts_before_a_success_count_and_are_noted() -> None:
    current = _run(BAD, BAD, BAD, BAD, OK, ("fetch", "error"))
    judged = one(current, _run(OK, ("fetch", "error")), FAILURES)
    assert judged.judgement.outcome == F
    assert ("followed_by_success", "current", 4) in codes(judged.judgement.limitations)
    late = one(_run(OK, BAD), _run(OK), FAILURES)
    assert "followed_by_success" not in {n.code for n in late.judgement.limitations}


def test_the_verdict_is_the_worst_outcome() -> None:
    rules = [FAILURES, "max-steps:1", "max-tokens:10"]
    assert judge(_run(OK), _run(OK), *rules).verdict == F
    assert judge(_run(OK), _run(OK), rules[0], rules[2]).verdict == I
    assert judge(_run(OK), _run(OK), rules[0]).verdict == P
    assert len(judge(_run(OK), _run(OK), rules[0], rules[0]).rules) == 1
