"""How rules are written."""

from decimal import Decimal

import pytest

from analysis.check.judging import load
from tracegraph.analysis.check.budgets import Budget
from tracegraph.analysis.check.rules import FORMS, Rule, read_rule
from tracegraph.errors import PatternError, UsageError
from tracegraph.pattern.ast import Pattern


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("failures-not-increased", Rule("failures-not-increased")),
        ("topology-unchanged", Rule("topology-unchanged", "labelled")),
        ("topology-unchanged:shape", Rule("topology-unchanged", "shape")),
        ("max-tokens:5000", Rule("max-tokens", Budget("max-tokens", 5000))),
        ("max-steps:0", Rule("max-steps", Budget("max-steps", 0))),
        ("max-cost:0.25", Rule("max-cost", Budget("max-cost", Decimal("0.25")))),
        ("max-duration:1.5s", Rule("max-duration", Budget("max-duration", 1_500_000_000))),
        (
            "max-tokens:+12.5%",
            Rule("max-tokens", Budget("max-tokens", more_percent=Decimal("12.5"))),
        ),
    ],
)
def test_rules_are_read(text: str, rule: Rule) -> None:
    assert read_rule(text, load) == rule


def test_a_pattern_is_loaded() -> None:
    subject = read_rule("pattern-not-increased:tool-failure", load).subject
    assert isinstance(subject, Pattern)
    assert subject.id == "tool-failure"


@pytest.mark.parametrize(
    "text",
    [
        "failures-not-increased:x",
        "topology-unchanged:",
        "topology-unchanged:labels",
        "pattern-not-increased",
        "pattern-not-increased:",
        "max-tokens",
        "max-tokens:",
        "max-tokens:110%",
        "max-tokens:-5",
        "max-tokens:1.5",
        "max-tokens:+%",
        "max-tokens:\u0661",
        "max-cost:1e3",
        "max-cost:NaN",
        "max-duration:30",
        "max-duration:-1s",
    ],
)
def test_a_rule_that_is_written_otherwise_is_refused_with_the_right_way(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_rule(text, load)
    assert str(refused.value) == f"--rule {text}: write it as {FORMS[text.partition(':')[0]]}"


def test_an_unknown_rule_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'failures-not-increased'"):
        read_rule("failure-not-increased", load)
    with pytest.raises(UsageError, match="there are failures-not-increased, pattern-not"):
        read_rule("", load)


def test_what_is_wrong_with_a_pattern_is_said_by_who_loads_it() -> None:
    with pytest.raises(PatternError):
        read_rule("pattern-not-increased:TOOL wher", load)
