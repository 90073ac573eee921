"""What holds of any two runs."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.check.judging import FAILURES, SHAPE, TREE, F, P, judge, matches, outcome
from analysis.diff.runs import Made, made_runs, run

PATTERNS = [
    "tool-failure",
    "error",
    "timeout",
    "tool-repeat-failure-heuristic",
    'CHAIN "x" -> TOOL where status == error',
    "a: CHAIN unless $a ->> TOOL where status == error",
    "xs: TOOL {2,} same name where status == error",
    "TOOL where status == error having count >= 2 by name",
    "LLM where not (status == ok)",
]
RULES = [FAILURES, TREE, SHAPE, "max-steps:4", "max-steps:+0%", *map(matches, PATTERNS)]


def _outcomes(current: list[Made], baseline: list[Made]) -> dict[str, str]:
    judged = judge(run(current), run(baseline), *RULES).rules
    return {rule: each.judgement.outcome for rule, each in zip(RULES, judged, strict=True)}


@st.composite
def forgotten(draw: st.DrawFn, steps: list[Made]) -> list[Made]:
    """Draw the same run with less on record."""
    less = [replace(step, name=None) if draw(st.booleans()) else step for step in steps]
    return [
        replace(step, status="unset", error_type=None) if draw(st.booleans()) else step
        for step in less
    ]


@settings(deadline=None, max_examples=50)
@given(made_runs(), made_runs(), st.data())
def test_who_records_less_never_passes_for_it(
    current: list[Made], baseline: list[Made], data: st.DataObject
) -> None:
    before = _outcomes(current, baseline)
    after = _outcomes(data.draw(forgotten(current)), baseline)
    passed = {rule for rule in RULES if after[rule] == P and before[rule] != P}
    assert passed == set()


@settings(deadline=None, max_examples=50)
@given(made_runs(), made_runs(), st.data())
def test_a_baseline_that_records_less_never_makes_a_fail(
    current: list[Made], baseline: list[Made], data: st.DataObject
) -> None:
    before = _outcomes(current, baseline)
    after = _outcomes(current, data.draw(forgotten(baseline)))
    assert {rule for rule in RULES if after[rule] == F and before[rule] != F} == set()


@settings(deadline=None)
@given(made_runs(), made_runs())
def test_one_more_failure_of_a_known_kind_never_turns_fail_into_pass(
    current: list[Made], baseline: list[Made]
) -> None:
    worse = [*current, Made("x", "TOOL", status="error", error_type="E")]
    for rule in (FAILURES, matches("tool-failure"), matches("error"), "max-steps:4"):
        if outcome(run(current), run(baseline), rule) == F:
            assert outcome(run(worse), run(baseline), rule) == F


@settings(deadline=None)
@given(made_runs())
def test_a_run_never_fails_against_itself(steps: list[Made]) -> None:
    outcomes = _outcomes(steps, steps)
    del outcomes["max-steps:4"]
    assert F not in outcomes.values()


@settings(deadline=None)
@given(made_runs(), made_runs())
def test_the_order_of_the_source_has_no_say(current: list[Made], baseline: list[Made]) -> None:
    there = run(current, order=list(reversed(range(len(current)))))
    for rule in (FAILURES, TREE, matches("tool-failure")):
        assert outcome(there, run(baseline), rule) == outcome(run(current), run(baseline), rule)
