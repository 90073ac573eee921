"""The causes behind a step, nearest first, as many as a reader takes in."""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from tracegraph.model.codes import EVIDENCE_CODE
from tracegraph.model.columns import Columns, Ints

LISTED = 10
"""Edges that a list of causes holds at most."""
_WORTH = [EVIDENCE_CODE[word] for word in ("declared", "derived", "containment", "heuristic")]
"""What leads to a step says more of why it failed than what it ran in."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One edge on the way back from a step; steps are rows, codes are those of the model."""

    effect: int
    cause: int
    origin: int
    evidence: int


@dataclass(frozen=True, slots=True)
class Causes:
    """The nearest causes of a step.

    Attributes:
        listed: edges by their distance from the step, at most :data:`LISTED`.
        more: edges into the step or into a listed cause that are not listed themselves; 0 means
            that the list leads back to every root.
    """

    listed: tuple[Cause, ...]
    more: int


def nearest_causes(columns: Columns, row: int, besides: Collection[int]) -> Causes:
    """Return the nearest causes of a step.

    Args:
        columns: one trace.
        row: the step.
        besides: steps that are not listed, since they are told of already.
    """
    listed: list[Cause] = []
    told = {row, *besides}
    seen, pending, more = {row}, deque([row]), 0
    while pending:
        effect = pending.popleft()
        for edge in _into(columns, effect):
            if edge.cause in told:
                continue
            if len(listed) == LISTED:
                more += 1
                continue
            listed.append(edge)
            if edge.cause not in seen:
                seen.add(edge.cause)
                pending.append(edge.cause)
    return Causes(tuple(listed), more)


def _into(columns: Columns, effect: int) -> list[Cause]:
    """Return the edges into a step, one for each cause: what says most first, then the latest."""
    edges = columns.causes
    low, high = np.searchsorted(edges.effect, [effect, effect + 1])
    strongest: dict[int, Cause] = {}
    columns_of: tuple[Ints, ...] = (edges.cause, edges.origin, edges.evidence)
    for cause, origin, evidence in zip(*(c[low:high].tolist() for c in columns_of), strict=True):
        known = strongest.get(cause)
        if known is None or _WORTH.index(evidence) < _WORTH.index(known.evidence):
            strongest[cause] = Cause(effect, cause, origin, evidence)
    return sorted(strongest.values(), key=lambda e: (_WORTH.index(e.evidence), -e.cause))
