"""Are two derived trees the same tree, and where not?

Exact isomorphism of rooted, unordered forests after Aho, Hopcroft and Ullman ("The Design and
Analysis of Computer Algorithms", 1974, section 3.2): every subtree gets a number that equal
subtrees, and only they, share. Numbers are made of numbers and compared as such, so there is
neither recursion nor a hash to collide, at any depth.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracegraph.analysis.diff.align import Correspondence
from tracegraph.analysis.diff.sides import Side
from tracegraph.model.columns import Ints

Mode = Literal["labelled", "shape"]
FIELDS = ("kind", "name", "status", "error_type")
"""What is compared of two corresponding steps; bit = position."""


@dataclass(frozen=True, slots=True)
class StepDifferences:
    """Steps that differ: changed ones, then those of A alone, then of B alone, each in seq order.

    Attributes:
        a: rows of A, -1 where only B has the step.
        b: rows of B, -1 where only A has the step.
        fields: bit mask of FIELDS that differ, 0 for a step without counterpart.
    """

    a: Ints
    b: Ints
    fields: Ints

    def __len__(self) -> int:
        return len(self.a)

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.a.tolist(), self.b.tolist(), self.fields.tolist(), strict=True)


@dataclass(frozen=True, slots=True)
class Topology:
    """Verdict on the derived trees.

    Attributes:
        mode: ``labelled`` compares kind and name of the steps too, ``shape`` only the tree.
        identical: the forests are isomorphic.
        differences: the topmost step of each subtree that only one run has in that place, and
            steps with another label in the same place.
        reordered: steps whose corresponding children come in another order. No difference: what
            runs side by side finishes as it happens, and real order is in the causal edges.
    """

    mode: Mode
    identical: bool
    differences: StepDifferences
    reordered: int


def subtree_codes(a: Side, b: Side, *, labelled: bool) -> tuple[Ints, Ints]:
    """Number the subtrees of both sides: equal numbers for equal subtrees, and only for them."""
    known: dict[tuple[int, ...], int] = {}
    return _codes(a, known, labelled), _codes(b, known, labelled)


def _codes(side: Side, known: dict[tuple[int, ...], int], labelled: bool) -> Ints:
    labels = side.label.tolist() if labelled else [0] * len(side)
    codes = [0] * len(side)
    for row in range(len(side) - 1, -1, -1):  # children before parents
        below = [codes[child] for child in side.children(row)]
        below.sort()
        codes[row] = known.setdefault((labels[row], *below), len(known))
    return np.array(codes, dtype=np.int64)


def are_isomorphic(a: Side, b: Side, codes: tuple[Ints, Ints]) -> bool:
    """Tell whether two forests are one, given the codes of their subtrees."""
    roots = [np.sort(code[side.parent < 0]) for side, code in zip((a, b), codes, strict=True)]
    return np.array_equal(roots[0], roots[1])


def compare_topology(
    a: Side, b: Side, codes: tuple[Ints, Ints], steps: Correspondence, mode: Mode
) -> Topology:
    """Return the verdict; ``codes`` and ``steps`` are of the same mode."""
    tops = [
        np.flatnonzero(~placed & np.r_[placed, True][side.parent])
        for side, placed in zip((a, b), steps.in_place, strict=True)
    ]
    rows, counterparts = steps.pairs
    fields = differing(a, b, rows, counterparts, FIELDS[:2])
    changed = (fields > 0) & steps.in_place[0][rows] & (mode == "labelled")
    return Topology(
        mode,
        are_isomorphic(a, b, codes),
        gathered(rows[changed], counterparts[changed], fields[changed], tops[0], tops[1]),
        _reordered(a, b, steps),
    )


def differing(a: Side, b: Side, rows: Ints, counterparts: Ints, fields: tuple[str, ...]) -> Ints:
    """Return the bit mask of fields in which corresponding steps differ."""
    mask = np.zeros(len(rows), dtype=np.int64)
    for bit, name in enumerate(fields):
        mask |= (getattr(a, name)[rows] != getattr(b, name)[counterparts]).astype(np.int64) << bit
    return mask


def gathered(
    changed_a: Ints, changed_b: Ints, fields: Ints, only_a: Ints, only_b: Ints
) -> StepDifferences:
    """Return changed steps, steps of A alone and of B alone as one list."""
    return StepDifferences(
        np.r_[changed_a, only_a, np.full(len(only_b), -1)],
        np.r_[changed_b, np.full(len(only_a), -1), only_b],
        np.r_[fields, np.zeros(len(only_a) + len(only_b), dtype=np.int64)],
    )


def _reordered(a: Side, b: Side, steps: Correspondence) -> int:
    """Count the steps of A (and the place above the roots) whose children changed their order."""
    rows = np.flatnonzero(steps.in_place[0])
    rows = rows[np.argsort(a.parent[rows], kind="stable")]
    siblings = a.parent[rows][1:] == a.parent[rows][:-1]
    backward = steps.to_b[rows][1:] < steps.to_b[rows][:-1]
    return len(np.unique(a.parent[rows][1:][siblings & backward]))
