"""What fields, back-references and literals of a predicate stand for, as arrays.

A :class:`Frame` says which steps the names of a pattern mean, one line per binding; an operand
becomes one value per line with a mask of what is known.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tracegraph.model.codes import FIDELITIES
from tracegraph.model.columns import Array, Columns, Ints, Mask
from tracegraph.pattern.ast import (
    And,
    Attr,
    AttrOf,
    Expr,
    Field,
    Of,
    OfEnd,
    OfTrace,
    Operand,
    RunCount,
    Times,
)
from tracegraph.pattern.embedder import Embedder
from tracegraph.pattern.fields import STEP_FIELDS, TRACE_FIELDS, FieldType
from tracegraph.pattern.plan import Slot
from tracegraph.pattern.rows import Column, RunColumn
from tracegraph.pattern.texts import Texts
from tracegraph.pattern.walk import nodes

ALWAYS_KNOWN = frozenset({"kind", "status", "signals", "children", "lossy", "seq", "id"})
_CONTENT = ("input", "output")


@dataclass(frozen=True, slots=True)
class Values:
    """One value per line.

    Attributes:
        type: what the values are.
        data: codes, numbers, ns or bools; objects where text has no code (ids and content).
        known: which lines have a value; ``data`` means nothing elsewhere.
    """

    type: FieldType
    data: Array
    known: Mask

    @property
    def coded(self) -> bool:
        """Whether text is given by codes of the vocabulary."""
        return self.data.dtype != object

    def take(self, index: Array) -> "Values":
        """Return the values of the lines that an index chooses."""
        return Values(self.type, self.data[index], self.known[index])


@dataclass(frozen=True, slots=True)
class Frame:
    """The steps that operands speak of, one line per binding.

    Attributes:
        columns: where rows point.
        texts: its vocabulary.
        own: row of the step that bare fields speak of; None where there is none.
        left: row of the step on the left of its edge, for ``gap``.
        slots: rows or runs of the slots that back-references may name.
        variables: slot of each name.
        lefts: slot on the left of each slot's edge.
        embedder: what ``similar()`` asks.
    """

    columns: Columns
    texts: Texts
    own: Ints | None = None
    left: Ints | None = None
    slots: Mapping[int, Column] = field(default_factory=dict)
    variables: Mapping[str, int] = field(default_factory=dict)
    lefts: Mapping[int, int | None] = field(default_factory=dict)
    embedder: Embedder | None = None

    @property
    def steps(self) -> Ints:
        """The steps that bare fields speak of: the own ones, else those of the first slot."""
        return _entry(next(iter(self.slots.values()))) if self.own is None else self.own

    def of(self, slots: Iterable[int]) -> "Frame":
        """Return a frame that holds some of the slots only."""
        return replace(self, slots={slot: self.slots[slot] for slot in slots})

    def at(self, own: Ints, index: Array | None = None) -> "Frame":
        """Return a frame whose own steps are others; ``index`` repeats or drops the lines."""
        if index is None:
            return replace(self, own=own)
        slots: dict[int, Column] = {
            slot: RunColumn(c.which[index], c.pool) if isinstance(c, RunColumn) else c[index]
            for slot, c in self.slots.items()
        }
        left = None if self.left is None else self.left[index]
        return replace(self, own=own, slots=slots, left=left)


def values_of(node: Operand | Times, frame: Frame) -> Values:  # noqa: PLR0911 - one per operand
    """Return what an operand stands for on each line."""
    match node:
        case Times(factor, operand):
            values = values_of(operand, frame)
            return replace(values, data=factor * values.data)
        case Field(name):
            return step_values(name, frame.steps, frame, frame.left)
        case Of(var, name):
            return _of(frame.variables[var], name, frame)
        case OfEnd(var, end, name):
            slot = frame.variables[var]
            column = frame.slots[slot]
            rows = _exit(column) if end == "last" else _entry(column)
            return step_values(name, rows, frame, None)
        case RunCount(var):
            column = frame.slots[frame.variables[var]]
            if not isinstance(column, RunColumn):
                return _certain("number", np.ones(len(column), dtype=np.int64))
            return _certain("number", column.pool.count[column.which])
        case OfTrace(name):
            return _trace_values(name, frame)
        case Attr(key):
            return _attribute(key, frame.steps, frame)
        case AttrOf(var, key):
            return _attribute(key, _entry(frame.slots[frame.variables[var]]), frame)


def step_values(name: str, rows: Ints, frame: Frame, left: Ints | None = None) -> Values:
    """Return a field of steps.

    Args:
        name: a key of STEP_FIELDS.
        rows: the steps.
        frame: gives the columns.
        left: for ``gap``, the steps on the left of their edges.
    """
    columns, kind = frame.columns, STEP_FIELDS[name]
    steps = columns.steps
    if name == "gap":
        return _gap(rows, left, columns)
    if name == "end":
        end = possible_end(rows, columns)
        return Values(kind, end, end >= 0)
    if name == "seq":
        return _certain(kind, rows - columns.offsets[columns.trace_of(rows)])
    if name == "id":
        return _certain(kind, _objects(columns.step_id, rows))
    if name in _CONTENT:
        bodies = None if columns.content is None else getattr(columns.content, name)
        return _bodies(kind, bodies, rows)
    data = getattr(steps, name.replace(".", "_"))[rows]
    return _certain(kind, data) if name in ALWAYS_KNOWN else Values(kind, data, data >= 0)


def possible_end(rows: Ints, columns: Columns) -> Ints:
    """Return the end of steps; -1 also where it precedes the start, which is impossible."""
    start, end = columns.steps.start[rows], columns.steps.end[rows]
    return np.where((start >= 0) & (end < start), -1, end)


def slots_of(
    node: object, own: Slot | None, slots: Mapping[int, Slot], variables: Mapping[str, int]
) -> set[int]:
    """Return the slots that a predicate reads beside the step it stands on.

    Args:
        node: expression or operand.
        own: slot of the step it stands on, whose left neighbour ``gap`` reads.
        slots: all slots by number.
        variables: slot of each name.
    """
    found: set[int] = set()
    for item in nodes(node):
        if isinstance(item, Field) and item.field == "gap" and own and own.left is not None:
            found.add(own.left)
        elif isinstance(item, Of | OfEnd | RunCount | AttrOf):
            slot = variables[item.var]
            found.add(slot)
            left = slots[slot].left
            if isinstance(item, Of) and item.field == "gap" and left is not None:
                found.add(left)
    return found - ({own.index} if own else set())


def conjuncts(expr: Expr | None) -> Iterator[Expr]:
    """Yield the parts that must all hold."""
    if isinstance(expr, And):
        for item in expr.items:
            yield from conjuncts(item)
    elif expr is not None:
        yield expr


def _entry(column: Column) -> Ints:
    return column.pool.first[column.which] if isinstance(column, RunColumn) else column


def _exit(column: Column) -> Ints:
    return column.pool.last[column.which] if isinstance(column, RunColumn) else column


def _of(slot: int, name: str, frame: Frame) -> Values:
    column = frame.slots[slot]
    if isinstance(column, RunColumn):
        return _same(name, column, frame)
    left = frame.lefts.get(slot) if name == "gap" else None
    before = None if left is None else _exit(frame.slots[left])
    return step_values(name, column, frame, before)


def _same(name: str, column: RunColumn, frame: Frame) -> Values:
    """Return the value that the members of a run share: that of the first for which it is known."""
    pool = column.pool
    values = step_values(name, pool.members, frame)
    if not len(pool):
        return values.take(column.which)
    place = np.where(values.known, np.arange(len(pool.members)), len(pool.members) - 1)
    first = np.minimum.reduceat(place, pool.offsets[:-1])
    # Without any known member the place may lie in another run: then nothing is known.
    known = np.add.reduceat(values.known.astype(np.int64), pool.offsets[:-1]) > 0
    return Values(values.type, values.data[first], known).take(column.which)


def _certain(kind: FieldType, data: Array) -> Values:
    return Values(kind, data, np.ones(len(data), dtype=bool))


def _gap(rows: Ints, left: Ints | None, columns: Columns) -> Values:
    if left is None:
        return Values("duration", np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), bool))
    start, end = columns.steps.start[rows], possible_end(left, columns)
    return Values("duration", start - end, (start >= 0) & (end >= 0))


def _trace_values(name: str, frame: Frame) -> Values:
    columns, kind = frame.columns, TRACE_FIELDS[name]
    data = getattr(columns.traces, name)[columns.trace_of(frame.steps)]
    if name == "status":
        return _certain(kind, data)
    if name == "fidelity":
        return _certain(kind, np.array(FIDELITIES, dtype=object)[data])
    return Values(kind, data, data >= 0)


def _objects(source: Iterable[Any], rows: Ints) -> Array:
    result = np.empty(len(rows), dtype=object)
    if len(rows):
        result[:] = [source[row] for row in rows.tolist()]  # type: ignore[index]
    return result


def _bodies(kind: FieldType, bodies: Any, rows: Ints) -> Values:
    if bodies is None:
        return Values(kind, np.full(len(rows), "", dtype=object), np.zeros(len(rows), dtype=bool))
    data = _objects(bodies, rows)
    return Values(kind, data, np.array([body is not None for body in data], dtype=bool))


def _attribute(key: str, rows: Ints, frame: Frame) -> Values:
    """Return an attribute as its JSON value; null and absent are unknown."""
    content = frame.columns.content
    values = _bodies("text", None if content is None else content.attributes, rows)
    data = np.empty(len(rows), dtype=object)
    data[:] = [
        json.loads(text).get(key) if known else None
        for text, known in zip(values.data, values.known, strict=True)
    ]
    return Values("text", data, np.array([value is not None for value in data], dtype=bool))
