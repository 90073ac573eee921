"""Budgets: what is recorded is the least that was taken."""

from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from analysis.check.judging import F, I, P, one, outcome, reasons
from made_runs import Run
from tracegraph.analysis.check.budgets import Spent
from tracegraph.model.trace import Trace

MS = 1_000_000


def _tokens(*tokens: int, **header: Any) -> Trace:
    """Return a run of model calls; -1 is a call whose tokens are not recorded."""
    run = Run(**header)
    for number, count in enumerate(tokens):
        run.step(f"m{number}", "LLM", tokens_total=count)
    return run.trace()


def _costs(*costs: str | None, **header: Any) -> Trace:
    run = Run(**header)
    for number, cost in enumerate(costs):
        run.step(f"m{number}", "LLM", cost=cost)
    return run.trace()


def _lasting(ms: int, **header: Any) -> Trace:
    return Run(**header).step("a", at=(0, ms * MS)).trace()


@pytest.mark.parametrize(
    ("current", "baseline", "rule", "expected"),
    [
        (_tokens(60, 40), _tokens(1), "max-tokens:100", P),
        (_tokens(60, 41), _tokens(1), "max-tokens:100", F),
        # A known part above the budget is too much already; below it the rest is not known.
        (_tokens(101, -1), _tokens(1), "max-tokens:100", F),
        (_tokens(99, -1), _tokens(1), "max-tokens:100", I),
        (_tokens(-1), _tokens(1), "max-tokens:100", I),
        (_tokens(110), _tokens(100), "max-tokens:+10%", P),
        (_tokens(111), _tokens(100), "max-tokens:+10%", F),
        (_tokens(100), _tokens(100), "max-tokens:+0%", P),
        # Of the baseline a part is known: the bound is at least so high.
        (_tokens(110), _tokens(100, -1), "max-tokens:+10%", P),
        (_tokens(111), _tokens(100, -1), "max-tokens:+10%", I),
        (_tokens(1), _tokens(-1), "max-tokens:+10%", I),
        (_tokens(0), _tokens(-1), "max-tokens:+10%", I),
        (_costs("0.1", "0.2"), _costs(None), "max-cost:0.3", P),
        (_costs("0.1", "0.2"), _costs(None), "max-cost:0.29", F),
        (_costs("0.33"), _costs("0.3"), "max-cost:+10%", P),
        (_costs("0.3300000000000000000001"), _costs("0.3"), "max-cost:+10%", F),
        (_lasting(30_000), _lasting(1), "max-duration:30s", P),
        (_lasting(30_001), _lasting(1), "max-duration:30s", F),
        (_lasting(12), _lasting(10), "max-duration:+15%", F),
        (_tokens(1, 1), _tokens(1), "max-steps:2", P),
        (_tokens(1, 1), _tokens(1), "max-steps:+99.5%", F),
        (_tokens(1, 1), _tokens(1), "max-steps:+100%", P),
        (Run().trace(), _tokens(1), "max-steps:2", I),
        # An absolute budget asks nothing of the baseline, a relative one that it is comparable.
        (_tokens(1, source="x"), _tokens(1), "max-tokens:5", P),
        (_tokens(1, source="x"), _tokens(1), "max-tokens:+5%", I),
        (_tokens(9, source="x"), _tokens(1), "max-tokens:+5%", I),
        (_tokens(1), Run().trace(), "max-tokens:5", P),
    ],
)
def test_the_table_of_evidence(current: Trace, baseline: Trace, rule: str, expected: str) -> None:
    assert outcome(current, baseline, rule) == expected


@pytest.mark.parametrize(
    ("code", "rules"),
    [
        ("otlp.unreadable_token_count", {"max-tokens"}),
        ("otlp.unreadable_cost", {"max-cost"}),
        ("clock.end_before_start", {"max-duration"}),
        ("otlp.unreadable_span", {"max-tokens", "max-cost", "max-duration", "max-steps"}),
        ("otlp.dropped_links", set()),
    ],
)
def test_a_gap_that_may_hide_a_part_forbids_pass(code: str, rules: set[str]) -> None:
    run = Run(gaps=Counter({code: 1}))
    current = run.step("m", "LLM", at=(0, 10 * MS), tokens_total=10, cost="10").trace()
    for rule in ("max-tokens", "max-cost", "max-duration", "max-steps"):
        most = "10s" if rule == "max-duration" else "10"
        assert outcome(current, current, f"{rule}:{most}") == (I if rule in rules else P), rule
        assert outcome(current, current, f"{rule}:+0%") == (I if rule in rules else P), rule


def test_a_step_of_unknown_kind_may_be_a_call() -> None:
    call = Run().step("m", "LLM", tokens_total=5, cost="1")
    other = Run().step("m", "LLM", tokens_total=5, cost="1").step("x", "UNKNOWN").trace()
    run = call.step("x", "UNKNOWN", unknown_fields="kind").trace()
    for rule in ("max-tokens:5", "max-cost:1"):
        assert outcome(other, other, rule) == P
        judged = one(run, run, rule)
        assert (judged.judgement.outcome, reasons(judged)) == (I, {"unknown_kind"})


def test_costs_of_two_currencies_are_not_compared() -> None:
    euros = _costs("1", attributes='{"cost_currency": ["EUR"]}')
    dollars = _costs("9", attributes='{"cost_currency": ["USD"]}')
    assert reasons(one(dollars, euros, "max-cost:+10%")) == {"other_currency"}
    assert outcome(euros, euros, "max-cost:+10%") == P
    assert outcome(dollars, euros, "max-tokens:+10%") == I


def test_what_was_taken_is_told_whatever_the_outcome() -> None:
    spent = one(_costs("0.1", None), _costs("0.3"), "max-cost:+50%").evidence
    assert isinstance(spent, Spent)
    assert (spent.current.value, spent.current.covered, spent.current.of) == (Decimal("0.1"), 1, 2)
    assert spent.limit == Decimal("0.45")
    absolute = one(_tokens(1), _tokens(2), "max-tokens:5").evidence
    assert isinstance(absolute, Spent)
    assert (absolute.baseline, absolute.limit) == (None, 5)
