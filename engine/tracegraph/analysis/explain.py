"""Where a step came from: the recorded causes backward to every root, nothing projected away."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from tracegraph.model.codes import CONTAINMENT
from tracegraph.model.columns import Columns
from tracegraph.model.trace import Trace

NO_CAUSE = "no_recorded_cause"
NOT_HERE = "cause_not_in_this_export"
CUT = "cut"


@dataclass(frozen=True, slots=True)
class Link:
    """One cause of a step: row of the cause, codes of origin and evidence."""

    cause: int
    origin: int
    evidence: int
    backward: bool
    """It runs against the order of the trace, so it closes a cycle."""


@dataclass(slots=True)
class Reached:
    """A step that was reached.

    Attributes:
        row: its row.
        distance: fewest edges from the step that is explained.
        links: its causes as far as they were asked for; those beyond the depth are not reached.
        end: why nothing goes on from it: NO_CAUSE, NOT_HERE or CUT; None where something does.
    """

    row: int
    distance: int
    links: list[Link] = field(default_factory=list)
    end: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that led to one step.

    Attributes:
        trace: the trace.
        steps: each step once, nearest first, then latest first; the explained one is the first.
        beyond_depth: edges to steps that lie further away than was asked for.
        too_weak: edges whose evidence is weaker than was asked for.
    """

    trace: Trace
    steps: list[Reached]
    beyond_depth: int
    too_weak: int

    @property
    def effects(self) -> Counter[int]:
        """In how many of the reached steps a step had a part, by row: more than one is a branch."""
        found = {(link.cause, step.row) for step in self.steps for link in step.links}
        return Counter(cause for cause, _ in found)


def explain(
    trace: Trace, row: int, *, depth: int | None = None, weakest: int | None = None
) -> Explanation:
    """Walk the raw causal graph backward from a step.

    Args:
        trace: the trace.
        row: row of the step.
        depth: edges to go at the most, None for all; what lies beyond is counted.
        weakest: code of the weakest evidence to follow, None for any; what is weaker is counted.
    """
    columns = trace.columns
    steps = {row: Reached(row, 0)}
    beyond, too_weak, layer = 0, 0, [row]
    while layer:
        found: set[int] = set()
        for at in layer:
            reached = steps[at]
            links = _links(columns, at)
            kept = [link for link in links if weakest is None or link.evidence <= weakest]
            too_weak += len(links) - len(kept)
            if depth is not None and reached.distance >= depth:
                beyond += sum(link.cause not in steps for link in kept)
                reached.links = [link for link in kept if link.cause in steps]
            else:
                reached.links = kept
                found.update(link.cause for link in kept if link.cause not in steps)
            reached.end = _end(columns, reached, len(links))
        layer = sorted(found, reverse=True)
        for cause in layer:
            steps[cause] = Reached(cause, reached.distance + 1)
    return Explanation(trace, list(steps.values()), beyond, too_weak)


def _links(columns: Columns, row: int) -> list[Link]:
    """Return the causes of a step, what it merely ran in behind what led to it."""
    edges = columns.causes
    low, high = np.searchsorted(edges.effect, [row, row + 1]).tolist()
    rows = (edges.cause[low:high], edges.origin[low:high], edges.evidence[low:high])
    links = [
        Link(cause, origin, evidence, cause >= row)
        for cause, origin, evidence in zip(*(column.tolist() for column in rows), strict=True)
    ]
    return sorted(links, key=lambda link: (link.evidence == CONTAINMENT, link.evidence))


def _end(columns: Columns, reached: Reached, recorded: int) -> str | None:
    if columns.steps.orphan[reached.row]:
        return NOT_HERE
    if reached.links:
        return None
    return CUT if recorded else NO_CAUSE
