"""What may fill a slot: steps or runs, with the truth of what they alone decide."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracegraph.model.columns import Array, Ints
from tracegraph.pattern.ast import Expr
from tracegraph.pattern.filters import admitted, of_kinds, own_truth
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.operands import Frame, conjuncts, slots_of
from tracegraph.pattern.plan import Slot
from tracegraph.pattern.rows import NO_RUNS, Column, RunColumn, Runs, pooled
from tracegraph.pattern.runs import find_runs
from tracegraph.pattern.truth import TRUE, UNKNOWN, Truth


@dataclass(frozen=True, slots=True)
class Candidates:
    """The items that may fill a slot.

    Attributes:
        entry: step at which an edge enters each item.
        exit: step from which an edge leaves it.
        truth: truth of each; none is false.
        pool: the runs, item by item, where the slot holds runs.
    """

    entry: Ints
    exit: Ints
    truth: Truth
    pool: Runs | None = None

    def __len__(self) -> int:
        return len(self.entry)

    def column(self, items: Array) -> Column:
        """Return items as steps or runs."""
        return self.entry[items] if self.pool is None else RunColumn(items, self.pool)

    def joined(self, more: "Candidates") -> "Candidates":
        """Return these items and then others."""
        pool = None if self.pool is None or more.pool is None else pooled([self.pool, more.pool])
        return Candidates(
            np.concatenate([self.entry, more.entry]),
            np.concatenate([self.exit, more.exit]),
            np.concatenate([self.truth, more.truth]),
            pool,
        )


NO_STEPS = Candidates(NO_RUNS.members, NO_RUNS.members, np.zeros(0, dtype=np.int8))
EMPTY_RUNS = Candidates(NO_RUNS.members, NO_RUNS.members, np.zeros(0, dtype=np.int8), NO_RUNS)


@dataclass(frozen=True, slots=True)
class Conditions:
    """The condition of a slot, taken apart.

    Attributes:
        own: parts that speak of the step alone.
        others: parts that name other slots, with those.
    """

    own: list[Expr]
    others: list[tuple[Expr, frozenset[int]]]


def conditions_of(
    slot: Slot, slots: Mapping[int, Slot], variables: Mapping[str, int]
) -> Conditions:
    """Take the condition of a slot apart."""
    own: list[Expr] = []
    others: list[tuple[Expr, frozenset[int]]] = []
    for part in conjuncts(slot.where):
        named = frozenset(slots_of(part, slot, slots, variables))
        if named:
            others.append((part, named))
        else:
            own.append(part)
    return Conditions(own, others)


def steps_for(slot: Slot, own: list[Expr], frame: Frame, ground: Ground) -> Candidates:
    """Return the steps that may fill a slot, ascending."""
    rows, truth = admitted(of_kinds(slot.kinds, ground), slot.glob, own, frame)
    return Candidates(rows, rows, truth)


def runs_for(slot: Slot, frame: Frame, ground: Ground, line: int | None = None) -> Candidates:
    """Return the runs that may fill a slot.

    Args:
        slot: the slot; its whole condition decides which steps belong to a run.
        frame: gives the columns and, where the condition names other slots, the lines.
        ground: gives the steps.
        line: the line whose slots the condition names.
    """
    assert slot.run is not None
    rows = of_kinds(slot.kinds, ground)
    own = frame.at(rows) if line is None else frame.at(rows, np.full(len(rows), line))
    truth = own_truth(slot.glob, list(conjuncts(slot.where)), own)
    pool, certain = find_runs(slot.run, rows, truth, own, ground)
    return Candidates(pool.first, pool.last, np.where(certain, TRUE, UNKNOWN).astype(np.int8), pool)
