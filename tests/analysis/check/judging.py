"""Rules put to runs that tests write down."""

from collections.abc import Mapping
from functools import cache

from tracegraph.analysis.check.check import Check, Judged, check
from tracegraph.analysis.check.evidence import Note
from tracegraph.analysis.check.rules import Rule, read_rule
from tracegraph.analysis.check.runs import pair_of
from tracegraph.model.trace import Trace
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.load import bind, load_adhoc
from tracegraph.pattern.presets import presets

P, F, I = "PASS", "FAIL", "INSUFFICIENT_EVIDENCE"  # noqa: E741 - as short as the others
FAILURES = "failures-not-increased"
TREE, SHAPE = "topology-unchanged", "topology-unchanged:shape"


def matches(pattern: str) -> str:
    """Return the rule that counts a preset, or a pattern given as text."""
    return f"pattern-not-increased:{pattern}"


def judge(
    current: Trace,
    baseline: Trace,
    *rules: str,
    unowned: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {}),
) -> Check:
    """Judge a run by rules."""
    return check(pair_of(current, baseline, unowned), list(map(rule_of, rules)))


def one(current: Trace, baseline: Trace, rule: str) -> Judged:
    """Judge a run by one rule."""
    (judged,) = judge(current, baseline, rule).rules
    return judged


def outcome(current: Trace, baseline: Trace, rule: str) -> str:
    """Return the outcome of one rule."""
    return one(current, baseline, rule).judgement.outcome


def codes(notes: tuple[Note, ...]) -> set[tuple[str, str | None, int | None]]:
    """Return notes by code, run and count."""
    return {(note.code, note.which, note.count) for note in notes}


def reasons(judged: Judged) -> set[str]:
    """Return the codes of the reasons for an outcome."""
    return {note.code for note in judged.judgement.reasons}


@cache
def rule_of(text: str) -> Rule:
    """Read a rule; what is no preset is the text of a pattern."""
    return read_rule(text, load)


def load(text: str) -> Pattern:
    """Load a preset by its id, or a pattern given as text."""
    ids = {each.id: each for each in presets()}
    return bind(ids[text]) if text in ids else load_adhoc(text)
