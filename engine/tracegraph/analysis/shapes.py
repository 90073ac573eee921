"""The shape of a match: what its steps are and how they hang together, without which steps."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tracegraph.model.columns import Columns
from tracegraph.pattern.result import Position


class ShapedStep(NamedTuple):
    """A step as far as many matches share it; codes are those of the model.

    Attributes:
        kind: its kind.
        name: its name, as recorded.
        status: its status.
        is_repeated: it stands for the members of a run that are alike in all this.
        links: (origin, evidence) of its edges to the step before it; none where they are further
            apart, or follow each other in time alone.
    """

    kind: int
    name: str | None
    status: int
    is_repeated: bool
    links: tuple[tuple[int, int], ...]


class Shape(NamedTuple):
    """What matches of one pattern have in common.

    Attributes:
        source: the adapter that read the trace.
        fidelity: what kinds of causes it can hold.
        steps: in the order of the pattern's positions.
    """

    source: str
    fidelity: str
    steps: tuple[ShapedStep, ...]


def shaped(columns: Columns, positions: Sequence[Position]) -> tuple[ShapedStep, ...]:
    """Return the steps of a match as far as many matches share them."""
    found: list[ShapedStep] = []
    before: int | None = None
    for position in positions:
        row = position.row
        step = _step(columns, row, before, is_repeated=position.run_index is not None)
        is_same = bool(position.run_index) and found and found[-1][:4] == step[:4]
        if not is_same:
            found.append(step)
        before = row
    return tuple(found)


def _step(columns: Columns, row: int, before: int | None, *, is_repeated: bool) -> ShapedStep:
    steps = columns.steps
    links = () if before is None else _links(columns, row, before)
    name = columns.text(steps.name[row])
    return ShapedStep(int(steps.kind[row]), name, int(steps.status[row]), is_repeated, links)


def _links(columns: Columns, effect: int, cause: int) -> tuple[tuple[int, int], ...]:
    edges = columns.causes
    low, high = np.searchsorted(edges.effect, [effect, effect + 1])
    here = np.flatnonzero(edges.cause[low:high] == cause) + low
    return tuple(zip(edges.origin[here].tolist(), edges.evidence[here].tolist(), strict=True))
