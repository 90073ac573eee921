"""``max-tokens``, ``max-cost``, ``max-duration``, ``max-steps``: absolute, or over the baseline."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import Final, Literal, get_args

import numpy as np

from tracegraph.analysis.check.evidence import (
    Judgement,
    Note,
    Unknown,
    decide,
    harmless,
    hidden,
    incomparable,
    no_steps,
)
from tracegraph.analysis.check.gaps import Hides
from tracegraph.analysis.check.runs import Pair, Run
from tracegraph.analysis.metrics import EXACT, Measure, measure

Budgeted = Literal["max-tokens", "max-cost", "max-duration", "max-steps"]
BUDGETS: Final[tuple[Budgeted, ...]] = get_args(Budgeted)
Number = int | Decimal

_READS: Final = {
    "max-tokens": Hides.STEPS | Hides.TOKENS,
    "max-cost": Hides.STEPS | Hides.COST,
    "max-duration": Hides.STEPS | Hides.TIMES,
    "max-steps": Hides.STEPS,
}
_CURRENCY: Final = "cost_currency"
"""The attribute of a trace that names the currencies of its costs, where they are recorded."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a run may take.

    Attributes:
        what: which quantity; a duration is in ns.
        most: the bound, if it is absolute.
        more_percent: else how much more than the baseline, in percent of that.
    """

    what: Budgeted
    most: Number | None = None
    more_percent: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Spent:
    """What was taken, and what was allowed.

    Attributes:
        current: what the current run took.
        baseline: what the baseline took; None where the budget does not ask for it.
        limit: the bound; None where it is not known.
    """

    current: Measure
    baseline: Measure | None
    limit: Number | None


def judge_budget(pair: Pair, budget: Budget) -> tuple[Judgement, Spent]:
    """Judge whether a run keeps to a budget.

    What is recorded is the least that was taken: above the bound it is too much whatever else is
    not recorded. Likewise a bound made of what the baseline recorded in part is the least bound.
    """
    current, baseline, limit = _measured(pair.current, budget.what), None, budget.most
    unknown = Unknown([*no_steps(pair.current)], _unknown(pair.current, current, budget.what))
    if limit is None:
        baseline = _measured(pair.baseline, budget.what)
        before = _unknown(pair.baseline, baseline, budget.what)
        blocking = [*incomparable(pair)]
        blocking += _currencies(pair) if budget.what == "max-cost" else ()
        if baseline.value is None:  # no bound: nothing is too much, and nothing is known to be fine
            blocking, before = [*blocking, *before], []
        else:
            limit = _raised(baseline.value, budget.more_percent)
        unknown = Unknown(blocking, unknown.current, before)
    is_over = current.value is not None and limit is not None and current.value > limit
    runs = (pair.current,) if baseline is None else pair.runs
    limits = [note for run in runs for note in harmless(run, _READS[budget.what])]
    judgement = decide(is_over, unknown, Note("over_budget", "current"), limits)
    return judgement, Spent(current, baseline, limit)


def _measured(run: Run, what: Budgeted) -> Measure:
    if what == "max-steps":
        return Measure(len(run.side), len(run.side), len(run.side))
    found = measure(run.columns)
    return {
        "max-tokens": found.tokens_total,
        "max-cost": found.cost,
        "max-duration": found.wall,
    }[what]


def _raised(value: Number, percent: Decimal) -> Number:
    """Return a bound above a value; of what comes in whole units the last one within it."""
    raised = EXACT.multiply(Decimal(value), EXACT.add(Decimal(100), percent)).scaleb(-2, EXACT)
    return int(raised.to_integral_value(ROUND_FLOOR)) if isinstance(value, int) else raised


def _unknown(run: Run, found: Measure, what: Budgeted) -> list[Note]:
    notes = [*hidden(run, _READS[what])]
    if found.value is None:
        notes.append(Note("not_measured", run.which))
    elif not found.is_whole:
        notes.append(Note("partly_measured", run.which, found.of - found.covered))
    if what in {"max-tokens", "max-cost"}:
        notes += _possible_calls(run, what)
    return notes


def _possible_calls(run: Run, what: Budgeted) -> Iterator[Note]:
    """Yield the steps that may be model calls which did not record their part."""
    steps = run.columns.steps
    recorded = steps.cost_text if what == "max-cost" else steps.tokens_total
    silent = run.unknown_kind & (recorded < 0)
    if what == "max-tokens":
        silent &= (steps.tokens_prompt < 0) | (steps.tokens_completion < 0)
    if silent.any():
        yield Note("unknown_kind", run.which, int(np.count_nonzero(silent)))


def _currencies(pair: Pair) -> Iterator[Note]:
    """Yield that the costs of two runs cannot be compared: not one currency, as far as is known."""
    named = [run.trace.attributes.get(_CURRENCY) or [] for run in pair.runs]
    if named[0] != named[1] or len(named[0]) > 1:
        yield Note("other_currency")
