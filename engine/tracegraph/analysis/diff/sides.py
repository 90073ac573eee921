"""Two traces made comparable: rows from 0, one code for one text on both sides.

The traces may come from different corpora, whose vocabularies number texts differently.
"""

from dataclasses import dataclass, field

import numpy as np

from tracegraph.analysis.links import alone
from tracegraph.model.codes import KINDS, STATUS_CODE
from tracegraph.model.columns import Array, Columns, Ints, Mask
from tracegraph.model.trace import Trace


@dataclass(frozen=True, slots=True)
class Side:
    """One of two traces. Rows count from the trace's first step, so a row is its seq.

    Attributes:
        trace: the trace, alone in its columns.
        parent: row of the tree parent, -1 for a root. A parent has the smaller row (model.tree).
        size: number of steps in the subtree of each step.
        kind: code of KINDS.
        status: code of STATUSES.
        name: code shared by both sides, -1 unknown.
        error_type: likewise.
        args: digest of the arguments, likewise.
        label: one code for kind and name together.
        undecided: status unknown. Control flow that a framework reports as failure is unset too,
            but known to be no error (DESIGN section 3).
    """

    trace: Trace
    parent: Ints
    size: Ints
    kind: Ints
    status: Ints
    name: Ints
    error_type: Ints
    args: Ints
    label: Ints
    undecided: Mask
    _below: list[int] = field(repr=False)
    _starts: list[int] = field(repr=False)

    def __len__(self) -> int:
        return len(self.parent)

    def children(self, row: int) -> list[int]:
        """Return the tree children of a step in seq order; of -1, the roots."""
        return self._below[self._starts[row + 1] : self._starts[row + 2]]

    @property
    def edges(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Effect, cause (rows), origin and evidence of every causal edge, by effect and cause."""
        causes = self.trace.columns.causes
        parts = (causes.effect, causes.cause, causes.origin, causes.evidence)
        effect, cause, origin, evidence = (part.astype(np.int64) for part in parts)
        return effect, cause, origin, evidence


def sides(a: Trace, b: Trace) -> tuple[Side, Side]:
    """Return both traces with codes that can be compared."""
    known: dict[str, int] = {}
    return _side(a, known), _side(b, known)


def _side(trace: Trace, known: dict[str, int]) -> Side:
    columns = alone(trace)
    steps = columns.steps
    parent, kind = steps.parent.astype(np.int64), steps.kind.astype(np.int64)
    name = _shared(columns, steps.name, known)
    order = np.argsort(parent, kind="stable")
    starts = np.searchsorted(parent[order], np.arange(-1, len(parent) + 1))
    return Side(
        trace=Trace(columns, 0),
        parent=parent,
        size=steps.last.astype(np.int64) - steps.pre + 1,
        kind=kind,
        status=steps.status.astype(np.int64),
        name=name,
        error_type=_shared(columns, steps.error_type, known),
        args=_shared(columns, steps.args, known),
        label=(name + 1) * len(KINDS) + kind,
        undecided=_undecided(columns),
        _below=order.tolist(),
        _starts=starts.tolist(),
    )


def _shared(columns: Columns, codes: Array, known: dict[str, int]) -> Ints:
    """Return a text column under codes that both sides share."""
    own, places = np.unique(codes, return_inverse=True)
    texts = (columns.text(code) for code in own.tolist())
    shared = [-1 if text is None else known.setdefault(text, len(known)) for text in texts]
    numbers: Ints = np.array(shared, dtype=np.int64)[places.reshape(-1)]
    return numbers


def _undecided(columns: Columns) -> Mask:
    codes, places = np.unique(columns.steps.status_source, return_inverse=True)
    words = [columns.text(code) for code in codes.tolist()]
    control = np.array([word == "control_flow" for word in words], dtype=bool)[places.reshape(-1)]
    undecided: Mask = (columns.steps.status == STATUS_CODE["unset"]) & ~control
    return undecided
