"""What a rule counts, by signature, in both runs: which signatures have become more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracegraph.analysis.check.runs import Label

Signature = tuple[Label, ...]
"""Labels of the steps of one thing that is counted, in order."""
Rows = tuple[int, ...]
Counted = Mapping[Signature, Sequence[Rows]]
"""The steps of each occurrence in one run, by signature."""


@dataclass(frozen=True, slots=True)
class Increase:
    """Something of which the current run has more.

    Attributes:
        signature: what; None for all together.
        baseline: how often in the baseline.
        current: how often in the current run.
        occurrences: rows of the steps of each occurrence in the current run; none for the total.
    """

    signature: Signature | None
    baseline: int
    current: int
    occurrences: Sequence[Rows] = ()


def increases(current: Counted, baseline: Counted) -> tuple[Increase, ...]:
    """Return what has become more: the total first, then signatures as they first occur.

    A signature with an unknown kind or name may be any other one, so by itself it proves nothing.
    """
    before, now = (sum(map(len, counted.values())) for counted in (baseline, current))
    found = [Increase(None, before, now)] if now > before else []
    for signature, occurrences in current.items():
        before = len(baseline.get(signature, ()))
        if len(occurrences) > before and all(label.is_known for label in signature):
            found.append(Increase(signature, before, len(occurrences), occurrences))
    return tuple(found)
