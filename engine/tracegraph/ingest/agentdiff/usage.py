"""Tokens and cost of AgentDiff steps, and whether a run's totals are the sums of them.

AgentDiff writes a zero for whatever was not measured, and can write nothing else: its fields have
no null. So a zero is unknown, but for a count that a total bears out (10 + 0 = 10).
"""

import math
from collections.abc import Iterable

from msgspec import Struct

from tracegraph.ingest.agentdiff.records import Number, Usage
from tracegraph.ingest.attributes import LARGEST, whole_number
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import decimal_text
from tracegraph.model.codes import UNKNOWN

_ROUNDING = 1e-9
"""Sums of costs as floats differ by this much with the order of adding."""
_FIGURES = ("prompt", "completion", "total")


class Tokens(Struct, gc=False):
    """What a step used; -1 and None are unknown."""

    prompt: int = UNKNOWN
    completion: int = UNKNOWN
    total: int = UNKNOWN
    cost: str | None = None


def read_tokens(usage: Usage | None, place: str, losses: Losses) -> Tokens:
    """Read the usage of a step or of a run.

    Gap code: ``agentdiff.unreadable_field``.
    """
    if usage is None:
        return Tokens()
    prompt = _count(usage.prompt_tokens, place, losses)
    completion = _count(usage.completion_tokens, place, losses)
    total = _count(usage.total_tokens, place, losses)
    if not total or prompt + completion != total:
        prompt, completion, total = prompt or UNKNOWN, completion or UNKNOWN, total or UNKNOWN
    if total < 0 < min(prompt, completion) and prompt + completion <= LARGEST:
        total = prompt + completion
    return Tokens(prompt, completion, total, _cost(usage.estimated_cost_usd, place, losses))


def check_totals(totals: Tokens, steps: Iterable[Tokens], losses: Losses) -> None:
    """Disclose each of a run's totals that is not the sum of the steps' own.

    A figure that no step records cannot be checked. Gap code: ``agentdiff.rollup_differs``.
    """
    used = list(steps)
    for figure in _FIGURES:
        recorded = getattr(totals, figure)
        known = [count for count in (getattr(step, figure) for step in used) if count >= 0]
        if recorded >= 0 and known and sum(known) != recorded:
            losses.add("agentdiff.rollup_differs", f"{figure} tokens: {sum(known)}, not {recorded}")
    costs = [float(step.cost) for step in used if step.cost is not None]
    if totals.cost is not None and costs:
        total = math.fsum(costs)
        if not math.isclose(total, float(totals.cost), rel_tol=_ROUNDING):
            losses.add("agentdiff.rollup_differs", f"cost: {total}, not {totals.cost}")


def _count(recorded: Number, place: str, losses: Losses) -> int:
    """Return a count, -1 unknown."""
    if recorded is None:
        return UNKNOWN
    number = whole_number(recorded)
    if number is None:
        losses.add("agentdiff.unreadable_field", f"{place}: {recorded!r} tokens")
        return UNKNOWN
    return number


def _cost(recorded: Number, place: str, losses: Losses) -> str | None:
    if recorded is None:
        return None
    text = decimal_text(recorded)
    if text is None:
        losses.add("agentdiff.unreadable_field", f"{place}: a cost of {recorded!r}")
        return None
    return text if float(text) > 0 else None
