"""Quantities are subtracted where both records cover them, and nowhere else."""

from decimal import Decimal

import pytest

from analysis.diff.runs import Made, run
from tracegraph.analysis.diff.compare import compare
from tracegraph.analysis.diff.metrics import Metric

_AGENT = Made("agent", "AGENT")


def _metric(name: str, a: list[Made], b: list[Made]) -> Metric:
    diff = compare(run(a), run(b))
    return {metric.name: metric for metric in diff.metrics.metrics}[name]


def _llm(tokens: int = -1, parent: int | None = 0, cost: str | None = None) -> Made:
    return Made("model", "LLM", parent, tokens=tokens, cost=cost)


@pytest.mark.parametrize(
    ("steps", "value", "delta"),
    [
        pytest.param([_AGENT, _llm(3), _llm(4)], 7, -3, id="every call"),
        pytest.param([_AGENT, _llm(3), _llm()], 3, None, id="one call unknown"),
        pytest.param([_AGENT, _llm(), _llm()], None, None, id="none known"),
        pytest.param([_AGENT, Made("t", parent=0)], None, None, id="no call: unknown, not zero"),
        pytest.param([Made("agent", "AGENT", tokens=7), _llm(), _llm()], 7, -3, id="the agent's"),
        pytest.param([Made("agent", "AGENT", tokens=7), _llm(3), _llm(4)], 7, -3, id="both"),
        pytest.param([_llm(0, None)], 0, -10, id="a recorded zero"),
    ],
)
def test_tokens_count_once_and_are_not_subtracted_in_part(
    steps: list[Made], value: int | None, delta: int | None
) -> None:
    metric = _metric("tokens_total", [_AGENT, _llm(10)], steps)
    assert (metric.b.value, metric.delta) == (value, delta)


def test_costs_are_exact() -> None:
    a = [_AGENT, _llm(cost="0.1"), _llm(cost="0.2")]
    metric = _metric("cost", a, [_AGENT, _llm(cost="0.30000000000000000000000000000000001")])
    assert metric.a.value == Decimal("0.3")
    assert metric.delta == Decimal("1e-35")


def test_errors_of_unknown_steps_withhold_the_difference() -> None:
    failing = Made("x", status="error")
    paused = Made("p", status="unset", status_source="control_flow")
    known = _metric("errors", [failing, paused], [failing, failing])
    assert (known.a.value, known.b.value, known.delta) == (1, 2, 1)
    unknown = _metric("errors", [failing, Made("u", status="unset")], [failing, failing])
    assert (unknown.a.value, unknown.a.covered, unknown.a.of) == (1, 1, 2)
    assert unknown.delta is None


def test_a_duration_of_some_steps_is_not_subtracted() -> None:
    whole = [_AGENT, Made("x", parent=0)]
    assert _metric("wall", whole, whole).delta == 0
    partly = _metric("wall", whole, [_AGENT, Made("x", parent=0, timed=False)])
    assert (partly.a.value, partly.b.value, partly.delta) == (1500, 500, None)


def test_a_total_known_of_one_run_only_is_a_difference() -> None:
    diff = compare(run([_AGENT, _llm(3)]), run([_AGENT, _llm()]))
    assert not diff.metrics.identical
    assert diff.identical, "metrics have no say"
