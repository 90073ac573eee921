"""The two runs of a check, made comparable, with all that is known to be missing of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tracegraph.analysis.diff.sides import Side, sides
from tracegraph.model.codes import KINDS
from tracegraph.model.columns import Columns, Mask
from tracegraph.model.trace import Trace

Which = Literal["current", "baseline"]


class Label(NamedTuple):
    """What steps of two runs have in common: no source records which is which.

    Attributes:
        kind: None where the record says that it is not known. A step of kind UNKNOWN is merely
            none of the others, and compares.
        name: None if unknown.
    """

    kind: str | None
    name: str | None

    @property
    def is_known(self) -> bool:
        """Whether both are recorded, so that labels can be compared."""
        return self.name is not None and self.kind is not None


@dataclass(frozen=True, slots=True)
class Run:
    """One run.

    Attributes:
        which: its part in the check.
        side: its steps.
        gaps: its own, and those of its file that no trace owns: each may have cost it a step.
        unknown_kind: steps whose kind the record says is not known.
    """

    which: Which
    side: Side
    gaps: Mapping[str, int]
    unknown_kind: Mask

    @property
    def trace(self) -> Trace:
        """The run, alone in its columns."""
        return self.side.trace

    @property
    def columns(self) -> Columns:
        """Its columns; rows count from 0."""
        return self.side.trace.columns

    def label(self, row: int) -> Label:
        """Return kind and name of a step."""
        steps = self.columns.steps
        kind = None if self.unknown_kind[row] else KINDS[steps.kind[row]]
        return Label(kind, self.columns.text(steps.name[row]))


@dataclass(frozen=True, slots=True)
class Pair:
    """The run that is judged, and what it is compared with."""

    current: Run
    baseline: Run

    @property
    def runs(self) -> tuple[Run, Run]:
        """Both, the current one first."""
        return self.current, self.baseline


def pair_of(
    current: Trace,
    baseline: Trace,
    unowned: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {}),
) -> Pair:
    """Return two traces as a pair; ``unowned`` are the gaps of their files that no trace owns."""
    mine, other = sides(current, baseline)
    return Pair(
        Run("current", mine, _gaps(current, unowned[0]), _unknown_kind(mine)),
        Run("baseline", other, _gaps(baseline, unowned[1]), _unknown_kind(other)),
    )


def _unknown_kind(side: Side) -> Mask:
    columns = side.trace.columns
    codes, places = np.unique(columns.steps.unknown_fields, return_inverse=True)
    fields = [columns.text(code) or "" for code in codes.tolist()]
    flagged = np.array(["kind" in text.split(",") for text in fields], dtype=bool)
    return np.asarray(flagged[places.reshape(-1)])


def _gaps(trace: Trace, unowned: Mapping[str, int]) -> Mapping[str, int]:
    gaps = {gap.code: gap.count for gap in trace.gaps}
    for code, count in unowned.items():
        gaps[code] = gaps.get(code, 0) + count
    return dict(sorted(gaps.items()))
