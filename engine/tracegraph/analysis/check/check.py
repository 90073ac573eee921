"""Judge one run against another by several rules."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracegraph.analysis.check.budgets import Budget, Spent, judge_budget
from tracegraph.analysis.check.counts import Increase
from tracegraph.analysis.check.evidence import Judgement, Outcome
from tracegraph.analysis.check.failures import judge_failures
from tracegraph.analysis.check.matches import judge_matches
from tracegraph.analysis.check.rules import Rule
from tracegraph.analysis.check.runs import Label, Pair
from tracegraph.analysis.check.topology import TreeChange, judge_topology
from tracegraph.pattern.ast import Pattern

Evidence = tuple[Increase, ...] | TreeChange | Spent
"""What a rule found: what has become more, how the trees differ, or what was taken."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A rule, what it says, and what it found."""

    rule: Rule
    judgement: Judgement
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Check:
    """The answer to whether a run may ship.

    Attributes:
        pair: both runs.
        rules: every rule that was asked for, in that order.
    """

    pair: Pair
    rules: tuple[Judged, ...]

    @property
    def verdict(self) -> Outcome:
        """FAIL where a rule fails, else INSUFFICIENT_EVIDENCE where one cannot know, else PASS."""
        outcomes = {judged.judgement.outcome for judged in self.rules}
        worst: tuple[Outcome, ...] = ("FAIL", "INSUFFICIENT_EVIDENCE")
        return next((outcome for outcome in worst if outcome in outcomes), "PASS")


def check(pair: Pair, rules: Sequence[Rule], later: frozenset[Label] = frozenset()) -> Check:
    """Judge the current run of a pair.

    Args:
        pair: the runs.
        rules: at least one.
        later: kinds and names of successes in later traces of the current run's session.
    """
    return Check(pair, tuple(_judged(pair, rule, later) for rule in dict.fromkeys(rules)))


def _judged(pair: Pair, rule: Rule, later: frozenset[Label]) -> Judged:
    subject = rule.subject
    if isinstance(subject, Pattern):
        return Judged(rule, *judge_matches(pair, subject))
    if isinstance(subject, Budget):
        return Judged(rule, *judge_budget(pair, subject))
    if subject is not None:
        return Judged(rule, *judge_topology(pair, subject))
    return Judged(rule, *judge_failures(pair, later))
