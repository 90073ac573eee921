"""Conditions that name other slots: when they can be decided, and what they say."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeGuard

from tracegraph.model.columns import Ints
from tracegraph.pattern.ast import Compare, Expr, Field, Of, OfEnd
from tracegraph.pattern.matcher.candidates import Candidates
from tracegraph.pattern.matcher.table import Table
from tracegraph.pattern.operands import Frame, Values, slots_of, values_of
from tracegraph.pattern.plan import Slot
from tracegraph.pattern.rows import Column, RunColumn
from tracegraph.pattern.truth import Truth, truth_of


@dataclass(frozen=True, slots=True)
class Part:
    """A condition of a slot that names others.

    Attributes:
        expr: the condition.
        own: the slot that it stands on.
        named: the other slots.
    """

    expr: Expr
    own: Slot
    named: frozenset[int]


class Parts:
    """The conditions of a problem that name other slots.

    Args:
        parts: the conditions.
        slots: all slots by number.
        candidates: what fills each slot; it may grow.
        base: a frame without steps.
    """

    def __init__(
        self,
        parts: Iterable[Part],
        slots: Mapping[int, Slot],
        candidates: Mapping[int, Candidates],
        base: Frame,
    ) -> None:
        self._parts = list(parts)
        self._slots, self._candidates, self._base = slots, candidates, base

    def ready(self, slot: int, table: Table) -> list[Part]:
        """Return the conditions that binding a slot makes decidable."""
        bound = {slot, *table.items}
        return [
            part
            for part in self._parts
            if part.own.index in bound and part.named <= bound and slot in _all(part)
        ]

    def truth(self, part: Part, table: Table, slot: int, line: Ints, item: Ints) -> Truth:
        """Return the truth of a condition for pairs of a line and an item of a slot."""

        def column(index: int) -> Column:
            items = item if index == slot else table.items[index][line]
            return self._candidates[index].column(items)

        own = column(part.own.index)
        assert not isinstance(own, RunColumn)  # the condition of a run is inside the run
        left, at = None, part.own.left
        if at is not None and at in part.named:
            items = item if at == slot else table.items[at][line]
            left = self._candidates[at].exit[items]
        slots = {index: column(index) for index in part.named}
        return truth_of(part.expr, replace(self._base, own=own, left=left, slots=slots))

    def keys(
        self, parts: Iterable[Part], table: Table, slot: int, items: Ints
    ) -> list[tuple[Values, Values]]:
        """Return what a line and an item must share by one of the conditions."""
        keys = []
        for part in parts:
            expr = part.expr
            if not isinstance(expr, Compare) or expr.op != "==":
                continue
            for mine, theirs in ((expr.left, expr.right), (expr.right, expr.left)):
                if _is_plain(mine) and _is_plain(theirs) and self._reads(mine, part) == {slot}:
                    pair = self._pair(mine, theirs, part, table, slot, items)
                    if pair is not None and pair[0].coded and pair[1].coded:
                        keys.append(pair)
        return keys

    def frame(self, table: Table, named: frozenset[int]) -> Frame:
        """Return the lines of a table with some of their slots."""
        bound = named & table.items.keys()
        slots = {s: self._candidates[s].column(table.items[s]) for s in sorted(bound)}
        return replace(self._base, slots=slots)

    def _pair(
        self,
        mine: Field | Of | OfEnd,
        theirs: Field | Of | OfEnd,
        part: Part,
        table: Table,
        slot: int,
        items: Ints,
    ) -> tuple[Values, Values] | None:
        """Return both sides of an equation, over lines and over items of the slot."""
        named = self._reads(theirs, part)
        if slot in named:
            return None
        found, own = self._candidates[slot], part.own.index
        every = replace(self._base, own=found.entry[items], slots={slot: found.column(items)})
        near = self.frame(table, named)
        if own != slot:
            near = replace(near, own=self._candidates[own].entry[table.items[own]])
        return values_of(theirs, near), values_of(mine, every)

    def _reads(self, operand: Field | Of | OfEnd, part: Part) -> frozenset[int]:
        """Return the slots that one side of a comparison reads, the own one included."""
        named = slots_of(operand, part.own, self._slots, self._base.variables)
        return frozenset(named | ({part.own.index} if isinstance(operand, Field) else set()))


def _all(part: Part) -> frozenset[int]:
    return part.named | {part.own.index}


def _is_plain(side: object) -> TypeGuard[Field | Of | OfEnd]:
    return isinstance(side, Of | OfEnd) or (isinstance(side, Field) and side.field != "gap")
