"""Steps that satisfy kinds, a name glob and a condition.

They are the candidates of slots, and what the filters ``[no ..]`` and ``[at most K ..]`` speak of.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from tracegraph.model.codes import KIND_CODE, KINDS
from tracegraph.model.columns import Ints
from tracegraph.pattern.ast import (
    AttrOf,
    Between,
    Compare,
    Contains,
    Expr,
    Field,
    Like,
    Matches,
    Of,
    OfEnd,
    Operand,
    RunCount,
    Similar,
)
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.operands import (
    Frame,
    Values,
    conjuncts,
    step_values,
    values_of,
)
from tracegraph.pattern.truth import FALSE, TRUE, Truth, glob_truth, truth_of
from tracegraph.pattern.walk import nodes

_OUTER = (Of, OfEnd, RunCount, AttrOf)


def of_kinds(kinds: tuple[str, ...] | None, ground: Ground) -> Ints:
    """Return the steps of some kinds, None or ANY for all, ascending."""
    column = ground.columns.steps.kind
    if kinds is None or "ANY" in kinds:
        return np.arange(len(column), dtype=np.int64)
    if len(kinds) == 1:
        return np.flatnonzero(column == KIND_CODE[kinds[0]])
    wanted = np.zeros(len(KINDS), dtype=bool)
    wanted[[KIND_CODE[kind] for kind in kinds]] = True
    return np.flatnonzero(wanted[column])


def own_truth(glob: str | None, parts: list[Expr], frame: Frame) -> Truth:
    """Return the truth of a name glob and of conditions on the own steps of a frame."""
    truth = np.full(len(frame.steps), TRUE, dtype=np.int8)
    if glob is not None:
        truth = glob_truth(glob, step_values("name", frame.steps, frame), frame)
    for part in parts:
        truth = np.minimum(truth, truth_of(part, frame))
    return truth


def admitted(rows: Ints, glob: str | None, parts: list[Expr], frame: Frame) -> tuple[Ints, Truth]:
    """Return those of some steps for which nothing is false, with their truth.

    Args:
        rows: the steps.
        glob: name glob.
        parts: conditions on a step alone.
        frame: gives the columns.
    """
    truth = np.full(len(rows), TRUE, dtype=np.int8)
    cheap_first = sorted(parts, key=_reads_text)
    for part in [part for part in cheap_first if not _reads_text(part)]:
        rows, truth = _keep(rows, np.minimum(truth, truth_of(part, replace(frame, own=rows))))
    if glob is not None:
        own = replace(frame, own=rows)
        matched = glob_truth(glob, step_values("name", rows, own), own)
        rows, truth = _keep(rows, np.minimum(truth, matched))
    for part in [part for part in cheap_first if _reads_text(part)]:
        rows, truth = _keep(rows, np.minimum(truth, truth_of(part, replace(frame, own=rows))))
    return rows, truth


class StepFilter:
    """The steps of one ``[no ..]`` or ``[at most K ..]``, for lines whose slots it may name.

    Args:
        between: the filter.
        frame: the lines; its slots hold what the filter names.
        ground: gives the steps.
    """

    def __init__(self, between: Between, frame: Frame, ground: Ground) -> None:
        self._frame = frame
        self._ground = ground
        parts = list(conjuncts(between.where))
        self._outer = [part for part in parts if any(isinstance(n, _OUTER) for n in nodes(part))]
        own = [part for part in parts if part not in self._outer]
        rows = of_kinds(between.kinds, ground)
        self.rows, self.truth = admitted(rows, between.glob, own, frame)
        self.most = between.at_most

    @property
    def same_for_all(self) -> bool:
        """Whether the filter names no slot."""
        return not self._outer

    @cached_property
    def dense(self) -> Truth:
        """Truth of every step of the columns, as far as it does not depend on the line."""
        truth = np.full(self._ground.columns.step_count, FALSE, dtype=np.int8)
        truth[self.rows] = self.truth
        return truth

    def equalities(self) -> tuple[list[tuple[Values, Values]], bool]:
        """Return what a step and a line must share, and whether that is all the filter asks.

        Each pair holds the values of a field over :attr:`rows` and of an operand over the lines.
        """
        pairs = []
        for part in self._outer:
            sides = equated(part)
            if sides is None:
                continue
            mine = step_values(sides[0].field, self.rows, self._frame)
            theirs = values_of(sides[1], self._frame)
            if mine.coded and theirs.coded:
                pairs.append((mine, theirs))
        return pairs, len(pairs) == len(self._outer)

    def at(self, rows: Ints, line: Ints) -> Truth:
        """Return the truth of each step for its line."""
        truth = self.dense[rows]
        if not self._outer:
            return truth
        open_ = np.flatnonzero(truth)
        frame = self._frame.at(rows[open_], line[open_])
        for part in self._outer:
            truth[open_] = np.minimum(truth[open_], truth_of(part, frame))
        return truth

    def shares(self, lines: Ints) -> Iterator[Ints]:
        """Split lines into sets for which the filter says the same."""
        return shares(self._outer, self._frame, lines)


def shares(parts: Sequence[Expr], frame: Frame, lines: Ints) -> Iterator[Ints]:
    """Split lines into sets on which what conditions name has the same values.

    Args:
        parts: the conditions.
        frame: all lines.
        lines: those to split.
    """
    keys = [
        _numbered(values_of(operand, frame).take(lines))
        for operand in dict.fromkeys(_operands(parts))
    ]
    if frame.left is not None:  # for the gap of a run's members
        keys.append(frame.left[lines])
    if not keys or not len(lines):
        yield lines
        return
    _, number = np.unique(np.stack(keys), axis=1, return_inverse=True)
    number = number.reshape(-1)
    order = np.argsort(number, kind="stable")
    yield from np.split(lines[order], np.flatnonzero(np.diff(number[order])) + 1)


def equated(part: Expr) -> tuple[Field, Of | OfEnd] | None:
    """Return the own field and the back-reference that a condition equates, if it does that."""
    if not isinstance(part, Compare) or part.op != "==":
        return None
    for mine, theirs in ((part.left, part.right), (part.right, part.left)):
        if isinstance(mine, Field) and mine.field != "gap" and isinstance(theirs, Of | OfEnd):
            return mine, theirs
    return None


def _operands(parts: Sequence[Expr]) -> Iterator[Operand]:
    for part in parts:
        for node in nodes(part):
            if isinstance(node, _OUTER):
                yield node


def _numbered(values: Values) -> Ints:
    """Number the distinct values, -1 for unknown."""
    result = np.full(len(values.data), -1, dtype=np.int64)
    data = values.data[values.known]
    if data.dtype == object:
        data = data.astype(str)
    result[values.known] = np.unique(data, return_inverse=True)[1]
    return result


def _reads_text(part: Expr) -> bool:
    return any(isinstance(n, Like | Matches | Contains | Similar) for n in nodes(part))


def _keep(rows: Ints, truth: Truth) -> tuple[Ints, Truth]:
    kept = truth != FALSE
    return (rows, truth) if kept.all() else (rows[kept], truth[kept])
