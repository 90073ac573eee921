"""The rules that people name, and how they are written."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from tracegraph.analysis.check.budgets import BUDGETS, Budget, Budgeted, Number
from tracegraph.analysis.diff.topology import Mode
from tracegraph.errors import UsageError
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.fields import nearest
from tracegraph.pattern.literals import parse_duration

FAILURES: Final = "failures-not-increased"
MATCHES: Final = "pattern-not-increased"
TOPOLOGY: Final = "topology-unchanged"
VERSION: Final = 1
"""Version of every rule: a change of what one means raises it."""
FORMS: Final = {
    FAILURES: FAILURES,
    MATCHES: f"{MATCHES}:PRESET or {MATCHES}:FILE.tgp",
    TOPOLOGY: f"{TOPOLOGY} or {TOPOLOGY}:shape",
    "max-tokens": "max-tokens:5000 or max-tokens:+10%",
    "max-cost": "max-cost:0.25 or max-cost:+10%",
    "max-duration": "max-duration:30s or max-duration:+10%",
    "max-steps": "max-steps:40 or max-steps:+10%",
}
"""How each rule is written."""

_PERCENT = re.compile(r"\+([0-9]{1,9}(?:\.[0-9]{1,9})?)%")
_WHOLE = re.compile(r"[0-9]{1,18}")
_MONEY = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})?")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        id: what it is called.
        subject: the pattern, the mode of comparison or the budget; None where the id says it all.
    """

    id: str
    subject: Pattern | Mode | Budget | None = None


def read_rule(text: str, load: Callable[[str], Pattern]) -> Rule:
    """Read a rule as people write it.

    Args:
        text: the rule.
        load: loads the pattern that a rule names.

    Raises:
        UsageError: there is no such rule, or it is not written so.
        TracegraphError: what ``load`` raises.
    """
    rule, colon, asked = text.partition(":")
    if rule == FAILURES and not colon:
        return Rule(FAILURES)
    if rule == TOPOLOGY and (not colon or asked == "shape"):
        return Rule(TOPOLOGY, "shape" if colon else "labelled")
    if rule == MATCHES and asked:
        return Rule(MATCHES, load(asked))
    if rule in BUDGETS:
        budget = _budget(rule, asked)
        if budget is not None:
            return Rule(rule, budget)
    if rule in FORMS:
        raise UsageError(f"--rule {text}: write it as {FORMS[rule]}")
    hint = nearest(rule, FORMS) or f"; there are {', '.join(FORMS)}"
    raise UsageError(f"--rule {text}: there is no rule {rule!r}{hint}")


def _budget(what: Budgeted, asked: str) -> Budget | None:
    percent = _PERCENT.fullmatch(asked)
    if percent:
        return Budget(what, more_percent=Decimal(percent[1]))
    most = _most(what, asked)
    return None if most is None else Budget(what, most)


def _most(what: Budgeted, asked: str) -> Number | None:
    if what == "max-duration":
        try:
            found = parse_duration(asked)
        except ValueError:
            return None
        return found if found >= 0 else None
    if what == "max-cost":
        return Decimal(asked) if _MONEY.fullmatch(asked) else None
    return int(asked) if _WHOLE.fullmatch(asked) else None
