"""Do the same causes lead to corresponding steps? The whole causal graph, not its projection."""

from dataclasses import dataclass

import numpy as np

from tracegraph.analysis.diff.align import Correspondence
from tracegraph.analysis.diff.sides import Side
from tracegraph.model.codes import EVIDENCE, ORIGINS
from tracegraph.model.columns import Ints

_WAYS = len(ORIGINS) * len(EVIDENCE)


@dataclass(frozen=True, slots=True)
class CausalEdges:
    """Verdict on CAUSED_BY.

    Attributes:
        count_a: edges of A.
        count_b: edges of B.
        a: differing edges as places in :attr:`Side.edges` of A, -1 where only B has the edge. First
            those of which both runs have one, with another origin or evidence, then those of A
            alone, then of B alone.
        b: the same for B.
    """

    count_a: int
    count_b: int
    a: Ints
    b: Ints

    @property
    def identical(self) -> bool:
        """Whether every edge has a counterpart with the same origin and evidence."""
        return len(self.a) == 0


def compare_causal_edges(a: Side, b: Side, steps: Correspondence) -> CausalEdges:
    """Compare edges between corresponding steps; an edge of a step that is alone is alone too.

    Two steps are joined once per origin (model.seal), so sets compare as multisets would.
    """
    effect_a, cause_a, origin_a, evidence_a = a.edges
    effect_b, cause_b, origin_b, evidence_b = b.edges
    effect_a, cause_a = steps.to_b[effect_a], steps.to_b[cause_a]
    joined_a = np.where((effect_a >= 0) & (cause_a >= 0), effect_a * len(b) + cause_a, -1)
    joined_b = effect_b * len(b) + cause_b
    way_a = origin_a * len(EVIDENCE) + evidence_a
    way_b = origin_b * len(EVIDENCE) + evidence_b
    key_a = np.where(joined_a >= 0, joined_a * _WAYS + way_a, -1)
    key_b = joined_b * _WAYS + way_b
    only_a = np.flatnonzero(~np.isin(key_a, key_b))
    only_b = np.flatnonzero(~np.isin(key_b, key_a))
    _, at_a, at_b = np.intersect1d(
        _numbered(joined_a[only_a]), _numbered(joined_b[only_b]), return_indices=True
    )
    alone_a = np.delete(only_a, at_a)
    alone_b = np.delete(only_b, at_b)
    by_a = np.argsort(at_a)
    return CausalEdges(
        len(key_a),
        len(key_b),
        np.r_[only_a[at_a[by_a]], alone_a, np.full(len(alone_b), -1)],
        np.r_[only_b[at_b[by_a]], np.full(len(alone_a), -1), alone_b],
    )


def _numbered(joined: Ints) -> Ints:
    """Make keys of the first, second, ... edge between the same two steps; all are distinct.

    Edges of a step without counterpart (-1) get negative keys that B never has.
    """
    order = np.argsort(joined, kind="stable")
    ordered = joined[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])[: len(ordered)]
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
    keys = np.empty_like(joined)
    keys[order] = np.where(ordered < 0, -1 - rank, ordered * len(ORIGINS) + rank)
    return keys
