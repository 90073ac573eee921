"""Which step of one run is which step of the other.

No source records that, so it is decided by place in the derived tree, from the roots down. Among
the children of two corresponding steps correspond, in this order and each time first to first in
seq: those with equal subtrees and equal arguments, equal subtrees, equal kind, name and arguments,
equal kind and name, then equal name, then equal kind. Before the last two a step is passed over
whose whole subtree is alone elsewhere in the other run: it has moved, the largest subtrees first.
What is still alone at last is tried by name and kind again, or has no counterpart.

Status, failure and time have no say: whoever trades them has changed, not changed places.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tracegraph.analysis.diff.sides import Side
from tracegraph.model.columns import Ints, Mask

HOW: Final = ("none", "subtree", "label", "moved", "name", "kind", "place")
"""How a step came to its counterpart; ``none`` has none."""
NONE, SUBTREE, LABEL, MOVED, NAME, KIND, PLACE = range(len(HOW))

_Pairs = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Correspondence:
    """Corresponding steps, one to one.

    Attributes:
        to_b: for each step of A its counterpart in B, -1 without one.
        to_a: the reverse.
        how_a: for each step of A a code of HOW.
        how_b: the same for the steps of B.
    """

    to_b: Ints
    to_a: Ints
    how_a: Ints
    how_b: Ints

    @property
    def pairs(self) -> tuple[Ints, Ints]:
        """Rows of A that have a counterpart, and the counterparts."""
        rows = np.flatnonzero(self.to_b >= 0)
        return rows, self.to_b[rows]

    @property
    def in_place(self) -> tuple[Mask, Mask]:
        """Whether the counterpart of a step stands under the counterpart of its parent."""
        a, b = ((how != NONE) & (how != MOVED) for how in (self.how_a, self.how_b))
        return a, b


@dataclass(frozen=True, slots=True)
class _Rule:
    """Siblings with equal keys correspond; -1 is no key."""

    how: int
    a: list[int]
    b: list[int]


def align_labelled(a: Side, b: Side, codes: tuple[Ints, Ints]) -> Correspondence:
    """Return which steps correspond; ``codes`` are those of labelled subtrees."""
    labels = (a.label, b.label)
    exact = [
        _rule(SUBTREE, _with_args(a, b, codes)),
        _rule(SUBTREE, codes),
        _rule(LABEL, _with_args(a, b, labels)),
        _rule(LABEL, labels),
    ]
    guesses = ((NAME, (a.name + 1, b.name + 1)), (KIND, (a.kind, b.kind)))
    aligner = _Aligner(a, b)
    left = aligner.descend([(-1, -1)], exact)
    stays = aligner.cannot_move(codes)
    left = aligner.descend(left, exact + [_rule(how, _where(stays, key)) for how, key in guesses])
    aligner.move(exact[1], exact)
    aligner.descend(left, exact + [_rule(how, key) for how, key in guesses])
    return aligner.result()


def align_shapes(a: Side, b: Side, codes: tuple[Ints, Ints]) -> Correspondence:
    """Return which places of two trees correspond, whatever stands there.

    Equal shapes (``codes``) come first, labels only choose among them. A step without counterpart
    is a place that the other tree does not have: there are none if, and only if, the trees have one
    shape.
    """
    everything = (np.zeros(len(a), dtype=np.int64), np.zeros(len(b), dtype=np.int64))
    aligner = _Aligner(a, b)
    labels = (a.label, b.label)
    rules = [
        _rule(SUBTREE, _joined(codes, labels)),
        _rule(SUBTREE, codes),
        _rule(PLACE, labels),
        _rule(PLACE, everything),
    ]
    aligner.descend([(-1, -1)], rules)
    return aligner.result()


class _Aligner:
    def __init__(self, a: Side, b: Side) -> None:
        self._a, self._b = a, b
        self._to_b, self._to_a = [-1] * len(a), [-1] * len(b)
        self._how = [NONE] * len(a)

    def descend(self, pairs: _Pairs, rules: Sequence[_Rule], how: int = NONE) -> _Pairs:
        """Let the children of corresponding steps correspond, and theirs, down to the leaves.

        Args:
            pairs: corresponding steps; -1 stands above the roots. Consumed.
            rules: applied in order, each to what the ones before it left alone.
            how: said of all pairs instead of what the rules say.

        Returns:
            Corresponding steps that both have children left alone.
        """
        left = []
        while pairs:
            above = pairs.pop()
            of_a = [row for row in self._a.children(above[0]) if self._to_b[row] < 0]
            of_b = [row for row in self._b.children(above[1]) if self._to_a[row] < 0]
            for rule in rules:
                if not of_a or not of_b:
                    break
                of_a, of_b, found = _paired(of_a, of_b, rule)
                for row_a, row_b in found:
                    self._take(row_a, row_b, how or rule.how)
                pairs += found
            if of_a and of_b:
                left.append(above)
        return left

    def cannot_move(self, codes: tuple[Ints, Ints]) -> tuple[Mask, Mask]:
        """Tell for each step whether nothing that is alone on the other side equals its subtree."""
        alone = [
            code[np.array(counterpart, dtype=np.int64) < 0]
            for code, counterpart in zip(codes, (self._to_b, self._to_a), strict=True)
        ]
        return ~np.isin(codes[0], alone[1]), ~np.isin(codes[1], alone[0])

    def move(self, equal: _Rule, rules: Sequence[_Rule]) -> None:
        """Let equal subtrees that stand in different places correspond, the largest first.

        The steps that are alone are whole subtrees, since every step is reached from above; as
        larger ones go first, what is found alone still has all its steps.
        """
        waiting: dict[int, list[int]] = {}
        for row in _alone(reversed(range(len(self._b))), self._to_a):
            waiting.setdefault(equal.b[row], []).append(row)
        movable = [r for r in _alone(range(len(self._a)), self._to_b) if equal.a[r] in waiting]
        size = self._a.size.tolist()
        for row in sorted(movable, key=lambda row: (-size[row], row)):
            there = waiting[equal.a[row]]
            while there and self._to_a[there[-1]] >= 0:
                there.pop()
            if self._to_b[row] < 0 and there:
                pair = (row, there.pop())
                self._take(*pair, MOVED)
                self.descend([pair], rules, MOVED)

    def result(self) -> Correspondence:
        """Return what corresponds; who moved along with its parent stayed where it was."""
        above_a, above_b = self._a.parent.tolist(), self._b.parent.tolist()
        for row, how in enumerate(self._how):  # parents before children
            above = above_a[row]
            is_lost = above >= 0 and self._how[above] in {NONE, MOVED}
            if how == MOVED and not is_lost:
                there = self._to_b[above] if above >= 0 else -1
                if above_b[self._to_b[row]] == there:
                    self._how[row] = SUBTREE
        to_b, to_a, how_a = (
            np.array(rows, dtype=np.int64) for rows in (self._to_b, self._to_a, self._how)
        )
        how_b = np.where(to_a >= 0, np.r_[how_a, NONE][to_a], NONE)
        return Correspondence(to_b, to_a, how_a, how_b)

    def _take(self, row_a: int, row_b: int, how: int) -> None:
        self._to_b[row_a], self._to_a[row_b], self._how[row_a] = row_b, row_a, how


def _paired(of_a: list[int], of_b: list[int], rule: _Rule) -> tuple[list[int], list[int], _Pairs]:
    """Pair siblings by key, first to first. Return who is left on both sides, and the pairs."""
    waiting: dict[int, list[int]] = {}
    for row in reversed(of_b):
        waiting.setdefault(rule.b[row], []).append(row)
    waiting.pop(-1, None)
    found: _Pairs = []
    alone = []
    for row in of_a:
        there = waiting.get(rule.a[row])
        if there:
            found.append((row, there.pop()))
        else:
            alone.append(row)
    taken = {row for _, row in found}
    return alone, [row for row in of_b if row not in taken], found


def _alone(rows: Iterable[int], counterpart: list[int]) -> list[int]:
    return [row for row in rows if counterpart[row] < 0]


def _rule(how: int, keys: tuple[Ints, Ints]) -> _Rule:
    return _Rule(how, keys[0].tolist(), keys[1].tolist())


def _where(masks: tuple[Mask, Mask], keys: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Leave keys out where a mask is false."""
    a, b = (np.where(mask, key, -1) for mask, key in zip(masks, keys, strict=True))
    return a, b


def _with_args(a: Side, b: Side, keys: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Join keys with the arguments; no key where these are unknown."""
    return _where((a.args >= 0, b.args >= 0), _joined(keys, (a.args, b.args)))


def _joined(keys: tuple[Ints, Ints], more: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Return one key for two; ``more`` counts from -1."""
    span = max(int(part.max(initial=0)) for part in more) + 2
    first, second = (key * span + part + 1 for key, part in zip(keys, more, strict=True))
    return first, second
