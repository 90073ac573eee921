"""What a run took: time, tokens, cost; each with how much of it was recorded."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact

import numpy as np

from tracegraph.analysis.links import containers
from tracegraph.model.codes import KIND_CODE
from tracegraph.model.columns import Array, Columns, Mask

_CALLS = [KIND_CODE[kind] for kind in ("LLM", "EMBEDDING")]
"""Kinds whose steps use tokens and money themselves."""
EXACT = Context(prec=400, Emin=-9999, Emax=9999, traps=[Inexact])
"""Enough digits for any sum of costs as the model takes them (40 digits, two of exponent)."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity of a run and how many of the steps that have a part in it record theirs.

    Attributes:
        value: the sum over what is recorded (a time: the span of it); None where nothing is.
        covered: steps that record it.
        of: steps that should.
    """

    value: int | Decimal | None
    covered: int
    of: int

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing, so that two runs can be compared by it."""
        return self.value is not None and self.covered == self.of


@dataclass(frozen=True, slots=True)
class Metrics:
    """The measures of one run.

    Attributes:
        wall: ns from the first start to the last end.
        tokens_prompt: prompt tokens.
        tokens_completion: completion tokens.
        tokens_total: all tokens.
        cost: exact sum of the recorded costs, in their currency.
    """

    wall: Measure
    tokens_prompt: Measure
    tokens_completion: Measure
    tokens_total: Measure
    cost: Measure


def measure(columns: Columns) -> Metrics:
    """Measure one trace.

    A step that repeats the sum of the steps inside it (an agent over its model calls) is not
    counted again: of steps that lie in one another only the innermost recorded values count.
    """
    steps = columns.steps
    prompt, completion = steps.tokens_prompt, steps.tokens_completion
    both = (prompt >= 0) & (completion >= 0)
    total = np.where((steps.tokens_total < 0) & both, prompt + completion, steps.tokens_total)
    return Metrics(
        wall=_wall(columns),
        tokens_prompt=_tokens(columns, prompt),
        tokens_completion=_tokens(columns, completion),
        tokens_total=_tokens(columns, total),
        cost=_cost(columns),
    )


def _wall(columns: Columns) -> Measure:
    steps = columns.steps
    usable = (steps.start >= 0) & (steps.end >= steps.start)
    value = None
    if usable.any():
        value = int(steps.end[usable].max() - steps.start[usable].min())
    return Measure(value, int(usable.sum()), columns.step_count)


def _tokens(columns: Columns, counts: Array) -> Measure:
    innermost, covered, of = _coverage(columns, counts >= 0)
    # Python's integers: a sum of counts near 2**63 is more than NumPy's hold.
    return Measure(sum(counts[innermost].tolist()) if innermost.any() else None, covered, of)


def _cost(columns: Columns) -> Measure:
    codes = columns.steps.cost_text
    innermost, covered, of = _coverage(columns, codes >= 0)
    texts = [columns.text(code) or "" for code in codes[innermost].tolist()]
    return Measure(_sum(texts) if texts else None, covered, of)


def _sum(costs: Sequence[str]) -> Decimal:
    total = Decimal(0)
    for cost in costs:
        total = EXACT.add(total, Decimal(cost))
    return total


def _coverage(columns: Columns, known: Mask) -> tuple[Mask, int, int]:
    """Return the innermost steps that record a value, and how many of the calls are covered.

    A call is an innermost step of the kinds that use tokens, or an innermost recorded one. It is
    covered by its own value, or by one that a step around it records for all that it holds.
    """
    container = containers(columns).tolist()
    innermost = known & ~_holding(container, known)
    asking = np.isin(columns.steps.kind, _CALLS) | innermost
    calls = asking & ~_holding(container, asking)
    covered = calls & (known | _held(container, innermost))
    return innermost, int(covered.sum()), int(calls.sum())


def _holding(container: Sequence[int], marked: Mask) -> Mask:
    """Tell which steps hold a marked step, at any depth."""
    holding = np.zeros(len(marked), dtype=bool)
    for row in np.flatnonzero(marked).tolist():
        above = container[row]
        while above >= 0 and not holding[above]:
            holding[above] = True
            above = container[above]
    return holding


def _held(container: Sequence[int], marked: Mask) -> Mask:
    """Tell which steps lie in a marked step, at any depth."""
    held = np.zeros(len(marked), dtype=bool)
    if marked.any():
        for row, above in enumerate(container):  # holders come first
            held[row] = above >= 0 and (held[above] or marked[above])
    return held
