"""Arrays of ranges: the one way in which joins are expanded, block by block."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracegraph.model.columns import Array, Ints, Mask, expand
from tracegraph.pattern.truth import Truth

BLOCK = 1 << 21
"""Bindings that are expanded at once: bounds memory, not the answer."""


@dataclass(frozen=True, slots=True)
class Spans:
    """For each line a range of ``items``: what may stand beside the line.

    Attributes:
        line: line of each range; a line may have several.
        low: where the range begins in ``items``.
        high: where it ends; ranges may be empty.
        items: what the ranges are over.
        truth: truth of each item's place, where the join itself is three-valued; else None.
    """

    line: Ints
    low: Ints
    high: Ints
    items: Ints
    truth: Truth | None = None

    def blocks(self) -> Iterator[tuple[Ints, Ints, Truth | None]]:
        """Yield lines, their items and the truths of those, a bounded number at once."""
        counts = np.maximum(self.high - self.low, 0)
        filled = np.flatnonzero(counts)
        if not len(filled):
            return
        line, low, counts = self.line[filled], self.low[filled], counts[filled]
        total = np.cumsum(counts)
        begin = 0
        while begin < len(line):
            done = total[begin - 1] if begin else 0
            end = max(int(np.searchsorted(total, done + BLOCK, side="right")), begin + 1)
            part = slice(begin, end)
            places = expand(low[part], counts[part])
            truth = None if self.truth is None else self.truth[places]
            yield np.repeat(line[part], counts[part]), self.items[places], truth
            begin = end


def spans_of_pairs(
    near: Ints, pair_near: Ints, pair_far: Ints, truth: Truth | None = None
) -> Spans:
    """Return for each line the pairs that begin with its value.

    Args:
        near: value of each line.
        pair_near: first of each pair.
        pair_far: second of each pair.
        truth: truth of each pair.
    """
    order = np.argsort(pair_near, kind="stable")
    ordered = pair_near[order]
    return Spans(
        np.arange(len(near)),
        np.searchsorted(ordered, near, side="left"),
        np.searchsorted(ordered, near, side="right"),
        pair_far[order],
        None if truth is None else truth[order],
    )


def distinct_rows(rows: Ints, size: int) -> tuple[Ints, Ints]:
    """Return the distinct rows, ascending, and for every row of the columns its place among them.

    Marking rows is cheaper than sorting them. Places of other rows mean nothing.
    """
    marks = np.zeros(size, dtype=bool)
    marks[rows] = True
    return np.flatnonzero(marks), np.cumsum(marks) - 1


def among(values: Ints, wanted: Ints) -> Mask:
    """Tell which values, none negative, are among the wanted ones."""
    top = max(int(values.max(initial=-1)), int(wanted.max(initial=-1))) + 1
    if top > 8 * (len(values) + len(wanted)) + 1024:
        found: Mask = np.isin(values, wanted)
        return found
    marks = np.zeros(top + 1, dtype=bool)  # the last for values that are negative
    marks[wanted] = True
    marks[top] = False
    return marks[values]


def compact(*keys: tuple[Array, Array]) -> tuple[Ints, Ints]:
    """Number the distinct tuples of several key columns over two sets of lines alike.

    Args:
        keys: for each key column its values on the one set of lines and on the other.

    Returns:
        The number of each line of the one set and of the other, from 0, in the order of the tuples.
    """
    size = len(keys[0][0])
    codes, span = np.zeros(size + len(keys[0][1]), dtype=np.int64), 1
    for one, other in keys:
        numbers, count = _numbered(np.concatenate([one, other]))
        if span * count > _WIDEST:
            codes, span = _dense(codes, span)
        codes, span = codes * count + numbers, span * count
    codes, _ = _dense(codes, span)
    return codes[:size], codes[size:]


_WIDEST = 1 << 62


def _numbered(values: Array) -> tuple[Ints, int]:
    """Number values in their order, not necessarily without gaps; also return a bound."""
    if not len(values):
        return values.astype(np.int64), 1
    if values.dtype.kind in "iu":
        low, high = int(values.min()), int(values.max())
        if high - low < 1 << 31:
            return values.astype(np.int64) - low, high - low + 1
    distinct, numbers = np.unique(values, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64), len(distinct)


def _dense(codes: Ints, span: int) -> tuple[Ints, int]:
    """Close the gaps between codes below a bound, by marking where that is cheaper than sorting."""
    if span > 8 * len(codes) + 1024:
        distinct, numbers = np.unique(codes, return_inverse=True)
        return numbers.reshape(-1).astype(np.int64), max(len(distinct), 1)
    used = np.zeros(span, dtype=bool)
    used[codes] = True
    rank = np.cumsum(used) - 1
    return rank[codes], max(int(rank[-1]) + 1, 1)
