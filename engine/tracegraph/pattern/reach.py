"""Causal walks of any length: which steps lead to which.

Every step carries the set of sources whose walks arrive at it, one bit per source of its trace, as
words of 64 bits; the sets of all traces move together, one causal edge at a time. In an acyclic
trace ``seq`` is topological, so walks without an upper bound need each edge once, in the order of
its effect; a trace with edges against ``seq`` is swept until nothing changes, for walks may go
round. A bounded number of edges is that number of moves.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracegraph.model.columns import Ints, Mask, expand
from tracegraph.pattern.ground import CausalEdges
from tracegraph.pattern.spans import compact

Sets = npt.NDArray[np.uint64]
"""Shape (steps, words): a set of sources per step."""

_WORDS = 1 << 22
"""Words of the sets that move together: bounds memory, not the answer."""
_PAIRS = 1 << 20
"""Words from which pairs are read at once."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A value that both ends of a walk must share, by source and by target; -1 unknown."""

    source: Ints
    target: Ints


@dataclass(frozen=True, slots=True)
class Sources:
    """Steps that walks begin at, ascending by number.

    Attributes:
        rows: the steps.
        number: what arrives in the sets: a number per step, or one for steps that need not be told
            apart; the numbers of a trace follow each other.
    """

    rows: Ints
    number: Ints


class Walks:
    """Walks of ``low`` to ``high`` edges from cause to effect.

    Args:
        edges: the edges that count.
        offsets: rows at which traces begin, and the number of rows.
        low: least number of edges, at least 1.
        high: most, None for any.
        passable: steps that may lie strictly inside a walk, None for all.
    """

    def __init__(
        self,
        edges: CausalEdges,
        offsets: Ints,
        low: int,
        high: int | None,
        passable: Mask | None = None,
    ) -> None:
        self._edges = edges
        self._offsets = offsets.astype(np.int64)
        self.low, self.high = low, high
        self.passable = passable

    def pairs(
        self, sources: Ints, targets: Ints, keys: Keys | None = None
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield places of sources and of targets that some walk joins, each pair once.

        Args:
            sources: distinct rows, ascending.
            targets: distinct rows, ascending.
            keys: what both ends must share; the unknown is shared with all.
        """
        if self._rather_backward(sources, targets):
            last = int(self._offsets[-1]) - 1
            flipped = None if keys is None else Keys(keys.target[::-1], keys.source[::-1])
            for target, source in self.backward().pairs(
                last - targets[::-1], last - sources[::-1], flipped
            ):
                yield len(sources) - 1 - source, len(targets) - 1 - target
            return
        for batch in self._batches(Sources(sources, np.arange(len(sources))), targets):
            found = batch.arrived(self)
            if keys is not None:
                found &= batch.sharing(keys)
            at, word = np.nonzero(found)
            for begin in range(0, len(at), _PAIRS):
                row, column = at[begin : begin + _PAIRS], word[begin : begin + _PAIRS]
                place, bit = _bits(found[row, column])
                source = batch.first_number[row[place]] + column[place] * 64 + bit
                yield source, batch.target[row[place]]

    def connect(self, left: Ints, right: Ints) -> Mask:
        """Tell for each pair of rows whether some walk joins them."""
        sources, source = np.unique(left, return_inverse=True)
        if self._rather_backward(sources, np.unique(right)):
            last = int(self._offsets[-1]) - 1
            return self.backward().connect(last - right, last - left)
        order = np.argsort(right, kind="stable")
        joined = np.zeros(len(left), dtype=bool)
        joined[order] = self.led(
            Sources(sources, np.arange(len(sources))), right[order], source.reshape(-1)[order]
        )
        return joined

    def led(self, sources: Sources, targets: Ints, wanted: Ints) -> Mask:
        """Tell for each target whether a source of the number that it wants leads to it.

        Args:
            sources: the steps.
            targets: rows, ascending.
            wanted: a number for each, -1 for none.
        """
        led = np.zeros(len(targets), dtype=bool)
        for batch in self._batches(sources, targets):
            found = batch.arrived(self)
            bit = wanted[batch.target] - batch.first_number
            held = np.flatnonzero((bit >= 0) & (bit < batch.count))
            word = found[held, bit[held] >> 6] >> (bit[held] & 63).astype(np.uint64)
            led[batch.target[held]] |= (word & np.uint64(1)) > 0
        return led

    def _rather_backward(self, sources: Ints, targets: Ints) -> bool:
        """Tell whether the sets are far smaller when they hold the targets."""
        from_sources, from_targets = (
            -(-np.diff(np.searchsorted(rows, self._offsets)) // 64) for rows in (sources, targets)
        )
        both = (from_sources > 0) & (from_targets > 0)
        size = np.diff(self._offsets)[both]
        return bool(size @ from_sources[both] > 2 * (size @ from_targets[both]))

    def backward(self) -> "Walks":
        """Return the same walks from effect to cause, rows counted from the last one down."""
        size = int(self._offsets[-1])
        effect, cause = size - 1 - self._edges.cause, size - 1 - self._edges.effect
        order = np.argsort(effect, kind="stable")
        edges = CausalEdges(effect[order], cause[order], self._edges.evidence[order])
        passable = None if self.passable is None else self.passable[::-1]
        return Walks(edges, size - self._offsets[::-1], self.low, self.high, passable)

    def _batches(self, sources: Sources, targets: Ints) -> Iterator["_Batch"]:
        """Yield sets of traces that hold both, of about the same number of sources each."""
        offsets, edges = self._offsets, self._edges
        held = _traces_of(sources.rows, offsets)
        both = np.intersect1d(held, _traces_of(targets, offsets))
        ends = np.stack([offsets[both], offsets[both + 1]])
        edge = np.searchsorted(edges.effect, ends)
        against = np.r_[0, np.cumsum(edges.cause > edges.effect)][edge]
        acyclic = against[0] == against[1]
        size = ends[1] - ends[0]
        bounded = np.full(len(both), self.high is not None)
        if self.high is not None:
            bounded &= ~acyclic | (self.high < size - 1)
        first = np.searchsorted(held, [both, both + 1])
        numbers = np.r_[sources.number, sources.number[-1:] + 1][first]
        parts = np.stack(
            [ends[0], size, *numbers, *np.searchsorted(targets, ends), *edge, acyclic, bounded],
            axis=1,
        )[(edge[0] < edge[1]) & ~(acyclic & (size <= self.low))]
        parts = _divided(parts)
        words = 1 << np.ceil(np.log2((parts[:, 3] - parts[:, 2] + 63) // 64)).astype(np.int64)
        shape = np.stack([parts[:, 8], parts[:, 9], words], axis=1)
        for kind in np.unique(shape, axis=0) if len(shape) else []:
            alike = parts[(shape == kind).all(axis=1)]
            done = np.cumsum(alike[:, 1]) * kind[2]
            for chosen in np.split(alike, np.flatnonzero(np.diff((done - 1) // _WORDS)) + 1):
                yield _Batch(chosen, int(kind[2]), sources, targets, edges)


def _traces_of(rows: Ints, offsets: Ints) -> Ints:
    return np.searchsorted(offsets, rows, side="right") - 1


def _divided(parts: Ints) -> Ints:
    """Divide traces with more numbers than may move together."""
    size, begin, end = parts[:, 1], parts[:, 2], parts[:, 3]
    width = np.maximum(_WORDS // size, 1) * 64
    counts = -(-(end - begin) // width)
    divided = np.repeat(parts, counts, axis=0)
    widths = np.repeat(width, counts)
    nth = np.arange(len(divided)) - np.repeat(np.cumsum(counts) - counts, counts)
    divided[:, 2] += nth * widths
    divided[:, 3] = np.minimum(divided[:, 3], divided[:, 2] + widths)
    return divided


class _Batch:
    """Traces whose sets move together, all their steps numbered from 0.

    Attributes:
        target: places of the targets of all traces.
        first_number: for each of them the number that bit 0 of its set stands for.
        count: how many numbers its set may hold.
    """

    def __init__(
        self, parts: Ints, words: int, sources: Sources, targets: Ints, edges: CausalEdges
    ) -> None:
        first, self._size, n0, n1, t0, t1, e0, e1, acyclic, bounded = parts.T
        self._acyclic, self._bounded = bool(acyclic[0]), bool(bounded[0])
        self._words, self._first = words, first
        self._base = np.cumsum(self._size) - self._size
        shift = self._base - first
        edge = expand(e0, e1 - e0)
        moved = np.repeat(shift, e1 - e0)
        self._cause = edges.cause[edge] + moved
        effect = edges.effect[edge] + moved
        self._starts = np.flatnonzero(np.r_[True, effect[1:] != effect[:-1]])
        self._effect = effect[self._starts]
        self._seq = self._effect - np.repeat(self._base, self._size)[self._effect]
        s0, s1 = np.searchsorted(sources.number, [n0, n1])
        self._source = expand(s0, s1 - s0)
        self._source_part = np.repeat(np.arange(len(parts)), s1 - s0)
        self._source_at = sources.rows[self._source] + shift[self._source_part]
        self._bit = sources.number[self._source] - n0[self._source_part]
        self.target = expand(t0, t1 - t0)
        self._target_part = np.repeat(np.arange(len(parts)), t1 - t0)
        self._target_at = targets[self.target] + shift[self._target_part]
        self.first_number = n0[self._target_part]
        self.count = (n1 - n0)[self._target_part]

    def arrived(self, walks: Walks) -> Sets:
        """Return the set of sources that lead to each target."""
        open_ = None
        if walks.passable is not None:
            open_ = walks.passable[expand(self._first, self._size)]
        sets = np.zeros((int(self._size.sum()), self._words), dtype=np.uint64)
        sets[self._source_at, self._bit >> 6] = self._flags()
        sets = self._moved(sets)
        for _ in range(walks.low - 1):
            sets = self._moved(_kept(sets, open_))
        if not self._bounded and walks.high != walks.low:
            sets = self._closed(sets, open_)
        elif walks.high is not None:
            every = sets
            for _ in range(walks.high - walks.low):
                sets = self._moved(_kept(sets, open_))
                if not sets.any():
                    break
                every = every | sets
            sets = every
        found: Sets = sets[self._target_at]
        return found

    def sharing(self, keys: Keys) -> Sets:
        """Return for each target the sources that share its key."""
        source, target = keys.source[self._source], keys.target[self.target]
        one, other = compact((self._source_part, self._target_part), (source, target))
        count = 1 + max(int(one.max(initial=0)), int(other.max(initial=0)))
        sets = np.zeros((count, self._words), dtype=np.uint64)
        free = np.zeros((len(self._size), self._words), dtype=np.uint64)
        told, word, flags = source >= 0, self._bit >> 6, self._flags()
        np.bitwise_or.at(sets, (one[told], word[told]), flags[told])
        np.bitwise_or.at(free, (self._source_part[~told], word[~told]), flags[~told])
        shared: Sets = sets[other] | free[self._target_part]
        shared[target < 0] = ~np.uint64(0)
        return shared

    def _flags(self) -> npt.NDArray[np.uint64]:
        flags: npt.NDArray[np.uint64] = np.uint64(1) << (self._bit & 63).astype(np.uint64)
        return flags

    def _moved(self, sets: Sets) -> Sets:
        """Move every set over one edge."""
        result: Sets = np.zeros_like(sets)
        result[self._effect] = np.bitwise_or.reduceat(sets[self._cause], self._starts, axis=0)
        return result

    def _closed(self, seed: Sets, open_: Mask | None) -> Sets:
        """Return the sets after any number of further moves."""
        if not self._acyclic:
            sets = seed
            while True:
                more = sets | self._moved(_kept(sets, open_))
                if np.array_equal(more, sets):
                    return sets
                sets = more
        kind = np.uint16 if int(self._seq.max(initial=0)) < 1 << 16 else np.int64
        order = np.argsort(self._seq.astype(kind), kind="stable")  # sorts 16 bits by radix
        counts = np.diff(np.r_[self._starts, len(self._cause)])[order]
        effect, cause = self._effect[order], self._cause[expand(self._starts[order], counts)]
        starts = np.cumsum(counts) - counts
        seq = self._seq[order]
        begins = np.flatnonzero(np.r_[True, seq[1:] != seq[:-1]])
        edges = [*starts[begins].tolist(), len(cause)]
        rounds = [*begins.tolist(), len(effect)]
        sets, leaving = seed, _kept(seed, open_)
        for r in range(len(rounds) - 1):
            low, high = rounds[r], rounds[r + 1]
            here = effect[low:high]
            moved = np.bitwise_or.reduceat(
                leaving[cause[edges[r] : edges[r + 1]]], starts[low:high] - edges[r], axis=0
            )
            moved |= sets[here]
            sets[here] = moved
            if open_ is not None:
                moved[~open_[here]] = 0
            leaving[here] = moved
        return sets


def _kept(sets: Sets, open_: Mask | None) -> Sets:
    """Return the sets that may move on."""
    if open_ is None:
        return sets
    kept: Sets = np.where(open_[:, None], sets, np.uint64(0))
    return kept


def _bits(words: npt.NDArray[np.uint64]) -> tuple[Ints, Ints]:
    """Return the place of each word and the number of each bit that is on in it."""
    octets = words.astype("<u8").view(np.uint8).reshape(len(words), 8)
    place, bit = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
    return place, bit
