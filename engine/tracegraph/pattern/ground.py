"""The columns as a pattern sees them: units of matching, causal edges, tree relations.

A *unit* is what a pattern reads as one trace: a trace, or in session scope the traces of one
session, whose rows then lie side by side.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tracegraph.model.codes import CONTAINMENT
from tracegraph.model.columns import Array, Columns, Ints, Mask
from tracegraph.pattern.texts import Texts


@dataclass(frozen=True, slots=True)
class CausalEdges:
    """One entry per pair of effect and cause, sorted by (effect, cause).

    Attributes:
        effect: rows.
        cause: rows.
        evidence: the strongest of the parallel edges.
    """

    effect: Ints
    cause: Ints
    evidence: Ints

    def up_to(self, weakest: int) -> "CausalEdges":
        """Return the edges whose evidence is no weaker."""
        keep = self.evidence <= weakest
        if keep.all():
            return self
        return CausalEdges(self.effect[keep], self.cause[keep], self.evidence[keep])

    def evidence_of(self, cause: Ints, effect: Ints) -> Ints:
        """Return the evidence of the edge of each pair, 0 where there is none."""
        size = max(int(self.cause.max(initial=0)), int(cause.max(initial=0))) + 1
        keys = self.effect.astype(np.int64) * size + self.cause
        asked = effect.astype(np.int64) * size + cause
        place = np.minimum(np.searchsorted(keys, asked), max(len(keys) - 1, 0))
        if not len(keys):
            return np.zeros(len(asked), dtype=np.int64)
        return np.where(keys[place] == asked, self.evidence[place], 0).astype(np.int64)


class Ground:
    """What joins read of the columns beside the fields of steps.

    Args:
        columns: whole traces.
        units: unit of each trace, ascending from 0; None where every trace is one.
    """

    def __init__(self, columns: Columns, units: Ints | None = None) -> None:
        self.columns = columns
        self.texts = Texts(columns)
        self._units = units

    @property
    def units(self) -> Ints:
        """Unit of each trace."""
        return np.arange(self.columns.trace_count) if self._units is None else self._units

    @cached_property
    def unit_offsets(self) -> Ints:
        """Rows at which units begin, and the number of rows."""
        offsets = self.columns.offsets.astype(np.int64)
        if self._units is None:
            return offsets
        begins = np.flatnonzero(np.r_[True, self._units[1:] != self._units[:-1]])
        return np.r_[offsets[begins], offsets[-1]] if len(self._units) else offsets

    @cached_property
    def _unit_by_row(self) -> Ints:
        return _owners(self.unit_offsets)

    @cached_property
    def _trace_by_row(self) -> Ints:
        return _owners(self.columns.offsets)

    def unit_of(self, rows: Array) -> Ints:
        """Return the unit of each row."""
        return self._unit_by_row[rows]

    def trace_of(self, rows: Array) -> Ints:
        """Return the trace index of each row."""
        return self._trace_by_row[rows]

    def unit_ranges(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return for each unit where its steps begin and end among ascending rows."""
        places = np.searchsorted(rows, self.unit_offsets)
        return places[:-1], places[1:]

    @cached_property
    def all_edges(self) -> CausalEdges:
        """All causal edges, parallel ones as one."""
        causes = self.columns.causes
        effect, cause = causes.effect, causes.cause
        if not len(effect):
            none = np.zeros(0, dtype=np.int64)
            return CausalEdges(none, none, none)
        begins = np.r_[True, (effect[1:] != effect[:-1]) | (cause[1:] != cause[:-1])]
        if begins.all():
            return CausalEdges(effect, cause, causes.evidence)
        starts = np.flatnonzero(begins)
        return CausalEdges(
            effect[starts], cause[starts], np.minimum.reduceat(causes.evidence, starts)
        )

    @cached_property
    def strong_edges(self) -> CausalEdges:
        """The declared and containment edges, which are all that ``exact`` considers."""
        return self.all_edges.up_to(CONTAINMENT)

    def edges(self, exact: bool) -> CausalEdges:
        """Return the edges that count."""
        return self.strong_edges if exact else self.all_edges

    def related(self, one: Ints, other: Ints) -> Mask:
        """Tell for each pair of steps whether they are one, or one is above the other."""
        pre, last = self.columns.steps.pre, self.columns.steps.last
        a, b = pre[one], pre[other]
        return ((a <= b) & (b <= last[one])) | ((b <= a) & (a <= last[other]))

    def above(self, marked: Mask) -> Ints:
        """Count for each row the marked steps among the row itself and its tree ancestors."""
        steps = self.columns.steps
        change = np.zeros(len(steps.pre) + 1, dtype=np.int64)
        rows = np.flatnonzero(marked)
        np.add.at(change, steps.pre[rows], 1)
        np.add.at(change, steps.last[rows].astype(np.int64) + 1, -1)
        return np.cumsum(change)[steps.pre]

    def weak_above(self, weakest: int) -> Ints:
        """Count for each row the tree edges above it that are weaker than an evidence code."""
        return self.above(self.columns.steps.parent_evidence > weakest)


def _owners(offsets: Ints) -> Ints:
    """Return for each row the number of the range that it lies in."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
