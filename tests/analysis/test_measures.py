"""Metrics, causes, patterns and comparison, against sums and walks written out in the tests."""

import json
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_runs import LONG, Run, failed
from shared_data import ROOT, fixture
from tracegraph.analysis.analysis import analyse
from tracegraph.analysis.causes import LISTED, nearest_causes
from tracegraph.analysis.comparison import IncidentKind, compare
from tracegraph.analysis.metrics import Measure, measure
from tracegraph.analysis.patterns import MOST_TUPLES, find_patterns
from tracegraph.model.trace import Trace
from tracegraph.workflows.load import load


def _calls() -> Run:
    run = Run().step("agent", "AGENT", at=LONG)
    run.step("m1", "LLM", inside="agent", tokens_prompt=25, tokens_completion=7, cost="0.1")
    run.step("m2", "LLM", inside="agent", tokens_prompt=5, tokens_completion=1, cost="0.20")
    return run


def test_tokens_and_cost_are_summed() -> None:
    found = measure(_calls().columns())
    assert found.tokens_prompt == Measure(30, 2, 2)
    assert found.tokens_completion == Measure(8, 2, 2)
    assert found.tokens_total == Measure(38, 2, 2)
    assert found.cost == Measure(Decimal("0.30"), 2, 2)
    assert found.wall.is_whole


def test_what_is_not_recorded_is_counted_and_never_zero() -> None:
    found = measure(_calls().step("m3", "LLM", inside="agent").columns())
    assert found.tokens_prompt == Measure(30, 2, 3)
    assert not found.tokens_prompt.is_whole
    nothing = measure(Run().step("m", "LLM").columns())
    assert nothing.tokens_total == Measure(None, 0, 1)
    assert nothing.cost == Measure(None, 0, 1)


def test_a_sum_over_the_steps_inside_is_not_counted_again() -> None:
    run = Run().step("agent", "AGENT", at=LONG, tokens_prompt=30)
    run.step("m1", "LLM", inside="agent", tokens_prompt=25)
    run.step("m2", "LLM", inside="agent", tokens_prompt=5)
    assert measure(run.columns()).tokens_prompt == Measure(30, 2, 2)
    run = Run().step("agent", "AGENT", at=LONG, tokens_prompt=30)
    run.step("m1", "LLM", inside="agent").step("m2", "LLM", inside="agent")
    assert measure(run.columns()).tokens_prompt == Measure(30, 2, 2)


def test_model_calls_that_lead_to_each_other_all_count() -> None:
    run = Run(contained=False).step("m1", "LLM", tokens_prompt=25)
    run.step("t", after=[("m1", "edge")]).step("m2", "LLM", after=[("t", "edge")], tokens_prompt=5)
    assert measure(run.columns()).tokens_prompt == Measure(30, 2, 2)


def test_sums_beyond_64_bits_are_exact() -> None:
    run = Run()
    for number in range(3):
        run.step(f"m{number}", "LLM", tokens_prompt=2**63 - 1)
    assert measure(run.columns()).tokens_prompt.value == 3 * (2**63 - 1)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.from_regex(r"[0-9]{1,40}(\.[0-9]{1,40})?(e-?[0-9]{1,2})?", fullmatch=True)))
def test_costs_are_summed_exactly(costs: list[str]) -> None:
    run = Run()
    for number, cost in enumerate(costs):
        run.step(f"m{number}", "LLM", cost=cost)
    value = measure(run.columns()).cost.value
    assert (Fraction(value) if value is not None else 0) == sum(map(Fraction, costs))


def test_a_time_that_cannot_be_is_left_out_and_said_to_be() -> None:
    run = Run().step("a", at=(100, 200)).step("b", at=(150, 120)).step("c", at=(-1, 300))
    assert measure(run.columns()).wall == Measure(100, 1, 3)


def test_case_02_counts_as_strings() -> None:
    with load([fixture("cases/02-int64-as-string/input.json")], cache=False) as corpus:
        found = measure(next(corpus.traces()).columns)
    # 25 + 25 + 25; the fourth is unreadable. The agent around them is no call.
    assert found.tokens_prompt == Measure(75, 3, 4)
    assert found.tokens_completion.value == 7 + 7 + 9007199254740993 + 7


# ---------------------------------------------------------------- causes


def test_causes_are_nearest_first_and_the_cut_is_counted() -> None:
    run = Run(contained=False)
    for number in range(30):
        after = [(f"s{number - 1}", "edge")] if number else []
        run.step(f"s{number}", after=after)
    columns = run.columns()
    found = nearest_causes(columns, 29, ())
    assert [edge.cause for edge in found.listed] == list(range(28, 28 - LISTED, -1))
    assert found.more == 1
    assert nearest_causes(columns, 5, ()).more == 0


def test_what_led_to_a_step_comes_before_what_it_ran_in() -> None:
    run = Run().step("root", "CHAIN", at=LONG).step("m", "LLM", inside="root")
    run.step("t", inside="root", after=[("m", "tool_call_id"), ("m", "span_link")])
    columns = run.columns()
    found = nearest_causes(columns, 2, ())
    edges = [(columns.step_id[e.effect], columns.step_id[e.cause]) for e in found.listed]
    assert edges == [("t", "m"), ("t", "root"), ("m", "root")]
    assert nearest_causes(columns, 2, {0}).listed == found.listed[:1]


def test_a_join_of_thousands_is_counted() -> None:
    run = Run(contained=False)
    for number in range(5_000):
        run.step(f"s{number}")
    run.step("join", after=[(f"s{number}", "edge") for number in range(5_000)])
    found = nearest_causes(run.columns(), 5_000, ())
    assert (len(found.listed), found.more) == (LISTED, 5_000 - LISTED)


# ---------------------------------------------------------------- patterns


def test_presets_are_counted_as_a_query_counts_them() -> None:
    from tracegraph.workflows.patterns import load_pattern
    from tracegraph.workflows.query import run_query

    path = ROOT / "examples" / "traces" / "tool_retry_same_args.otlp.json"
    with load([path], cache=False) as corpus:
        for found in find_patterns(next(corpus.traces()).columns):
            result = run_query(corpus, load_pattern(found.pattern.id))
            assert (found.confirmed, found.possible) == (result.match_count, result.possible_count)
            assert len(found.examples) == min(found.confirmed or 0, 3)


def test_what_cannot_be_counted_is_not_counted() -> None:
    run = Run()
    for number in range(1_100):
        run.step(f"s{number}", name="same", **failed())
    found = {each.pattern.id: each for each in find_patterns(run.columns())}
    assert MOST_TUPLES < 1_100 * 1_100
    assert found["tool-repeat-failure-heuristic"].confirmed is None
    assert found["tool-failure"].confirmed == 1_100
    assert not found["tool-repeat-failure-heuristic"].is_whole


# ---------------------------------------------------------------- comparison


def _compared(current: Run, baseline: Run) -> Any:
    return compare(analyse(current.trace()), analyse(baseline.trace()))


def test_two_runs_side_by_side() -> None:
    bad = _calls().step("t", inside="agent", **failed())
    found = _compared(bad, _calls())
    kind = IncidentKind("unresolved", "TOOL", "t")
    assert found.is_certain
    assert found.incidents[kind].delta == 1
    assert found.patterns["tool-failure", 1].delta == 1
    assert found.metrics["tokens_prompt"].delta == 0
    assert found.metrics["cost"].delta == 0
    assert _compared(_calls(), bad).incidents[kind].delta == -1


@pytest.mark.parametrize("unknown", ["unset", "lossy", "source"])
def test_what_is_unknown_on_either_side_withholds_the_difference(unknown: str) -> None:
    def other() -> Run:
        if unknown == "source":
            return Run(source="elsewhere").step("a")
        gaps = Counter({"made.lost": 1}) if unknown == "lossy" else None
        return Run(gaps=gaps).step("a", status="unset" if unknown == "unset" else "ok")

    for found in (_compared(Run().step("a"), other()), _compared(other(), Run().step("a"))):
        assert not found.is_certain
        assert {change.delta for change in found.patterns.values()} == {None}


def test_a_step_that_stopped_on_purpose_is_no_unknown_outcome() -> None:
    run = Run().step("a", status="unset", status_source="control_flow")
    assert analyse(run.trace()).outcomes_known
    assert not analyse(Run().step("a", status="unset").trace()).outcomes_known


def test_measures_are_compared_where_both_are_whole() -> None:
    partial = _calls().step("m3", "LLM", inside="agent")
    found = _compared(_calls(), partial)
    assert found.metrics["tokens_prompt"].delta is None
    assert found.metrics["tokens_prompt"].current == 30


def test_a_trace_is_analysed_as_if_it_were_alone() -> None:
    """Whatever lies before and behind it in the same columns."""
    with load([ROOT / "examples" / "traces"], cache=False) as corpus:
        together = [analyse(trace) for trace in corpus.traces()]
        assert len({id(trace.columns) for trace in corpus.traces()}) == 1
    for analysis in together:
        again = analyse(Trace(analysis.columns, 0))
        assert (again.incidents, again.metrics) == (analysis.incidents, analysis.metrics)
    assert json.dumps([a.error_count for a in together]) == "[0, 0, 1, 0, 3, 1, 3]"
