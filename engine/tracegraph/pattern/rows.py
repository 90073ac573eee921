"""Bindings of one branch: what a backend hands to the finishing pass.

A position that holds one step is an array of rows of the columns; a position that holds a run is a
:class:`RunColumn`, which points into a pool of runs so that a long run is stored once however many
matches hold it. Neither order nor uniqueness is asked of a backend.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracegraph.model.columns import Array, Ints, Mask


@dataclass(frozen=True, slots=True)
class Runs:
    """A pool of runs. The members of run ``i`` are ``members[offsets[i]:offsets[i + 1]]``.

    Attributes:
        offsets: shape (runs + 1,).
        members: rows of the steps, in seq order within a run; no run is empty.
    """

    offsets: Ints
    members: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def first(self) -> Ints:
        """Row of the first member of each run."""
        return self.members[self.offsets[:-1]]

    @property
    def last(self) -> Ints:
        """Row of the last member of each run."""
        return self.members[self.offsets[1:] - 1]

    @property
    def count(self) -> Ints:
        """Number of members of each run."""
        return np.diff(self.offsets)

    def of(self, run: int) -> Ints:
        """Return the members of one run."""
        return self.members[self.offsets[run] : self.offsets[run + 1]]


NO_RUNS = Runs(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))


def pooled(pools: Sequence[Runs]) -> Runs:
    """Return one pool that holds the runs of all, in order."""
    counts = np.concatenate([np.zeros(0, dtype=np.int64), *(pool.count for pool in pools)])
    members = np.concatenate([np.zeros(0, dtype=np.int64), *(pool.members for pool in pools)])
    return Runs(np.r_[0, np.cumsum(counts)], members)


@dataclass(frozen=True, slots=True)
class RunColumn:
    """A position that holds a run: ``which[i]`` is the run of match ``i`` in the pool."""

    which: Ints
    pool: Runs

    def __len__(self) -> int:
        return len(self.which)


Column = Ints | RunColumn


def overlap(one: Column, other: Column) -> Mask:
    """Tell for each line whether two positions hold a step in common."""
    if not isinstance(one, RunColumn):
        return _holds(other, one) if isinstance(other, RunColumn) else one == other
    if not isinstance(other, RunColumn):
        return _holds(one, other)
    shared = np.zeros(len(one), dtype=bool)
    first, last = one.pool.first[one.which], one.pool.last[one.which]
    near = (first <= other.pool.last[other.which]) & (other.pool.first[other.which] <= last)
    for line in np.flatnonzero(near).tolist():
        members = one.pool.of(one.which[line]), other.pool.of(other.which[line])
        shared[line] = len(np.intersect1d(*members, assume_unique=True)) > 0
    return shared


def _holds(runs: RunColumn, rows: Ints) -> Mask:
    """Tell for each line whether its step is a member of its run."""
    pool = runs.pool
    held = np.zeros(len(rows), dtype=bool)
    low, high = pool.offsets[runs.which], pool.offsets[runs.which + 1]
    while True:  # all lines halve their ranges together
        open_ = low < high
        if not open_.any():
            return held
        middle = (low + high) // 2
        member = pool.members[np.minimum(middle, len(pool.members) - 1)]
        held |= open_ & (member == rows)
        right = open_ & (member < rows)
        low, high = np.where(right, middle + 1, low), np.where(open_ & ~right, middle, high)


@dataclass(frozen=True, slots=True)
class Rows:
    """Bindings of one branch over one :class:`~tracegraph.model.columns.Columns`.

    Attributes:
        columns: one entry per slot of the branch, all of one length: int64 rows of steps, or a
            :class:`RunColumn`.
        certain: per binding, whether it is confirmed; else it is possible.
    """

    columns: tuple[Column, ...]
    certain: Mask

    def __len__(self) -> int:
        return len(self.certain)

    def take(self, index: Array) -> "Rows":
        """Return the bindings that an index array or a mask chooses."""
        return Rows(
            tuple(
                RunColumn(c.which[index], c.pool) if isinstance(c, RunColumn) else c[index]
                for c in self.columns
            ),
            self.certain[index],
        )

    def entry(self, slot: int) -> Ints:
        """Row at which an edge enters the position: the step, or the first member of the run."""
        column = self.columns[slot]
        return column.pool.first[column.which] if isinstance(column, RunColumn) else column

    def exit(self, slot: int) -> Ints:
        """Row from which an edge leaves the position: the step, or the last member of the run."""
        column = self.columns[slot]
        return column.pool.last[column.which] if isinstance(column, RunColumn) else column
