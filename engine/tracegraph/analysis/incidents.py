"""Incidents: one for each failure that began, however many steps it surfaces in.

The origin is the step where it began: the deepest by containment, the first by cause. The steps
that passed it on are its propagation. An incident is *fatal* when it reaches the end of the run,
*recovered* when a later success superseded it, else *unresolved*.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from tracegraph.analysis.links import links_of
from tracegraph.analysis.recovery import Success, superseded
from tracegraph.analysis.travel import sources
from tracegraph.model.codes import STATUS_CODE
from tracegraph.model.columns import Columns, Mask
from tracegraph.model.run_status import speaking_steps

State = Literal["fatal", "unresolved", "recovered"]
STATES: Final[tuple[State, ...]] = get_args(State)
"""In the order in which they are ranked."""
_ERROR = STATUS_CODE["error"]


@dataclass(frozen=True, slots=True)
class Incident:
    """One failure; steps are rows of the trace.

    Attributes:
        origin: the step where it began.
        state: how it ended.
        propagation: the steps that passed it on, nearest to the origin first.
        recovered_by: what superseded it; None unless recovered.
        held_steps: steps of the run that the outermost of its steps holds, itself included.
    """

    origin: int
    state: State
    propagation: tuple[int, ...]
    recovered_by: Success | None
    held_steps: int

    @property
    def members(self) -> tuple[int, ...]:
        """The failing steps that it explains, the origin first."""
        return self.origin, *self.propagation


def find_incidents(columns: Columns) -> list[Incident]:
    """Return the incidents of one trace, in rank order.

    Fatal ones come first, then unresolved, then recovered; among equals those that explain more
    failing steps, then those that held more of the run, then earlier ones. Linear in the steps.
    """
    failing = np.flatnonzero(columns.steps.status == _ERROR).tolist()
    if not failing:
        return []
    links = links_of(columns)
    recovered = superseded(columns, links, failing)
    groups = _groups(failing, sources(columns, links, failing, recovered))
    ending = _ending(columns)
    incidents = [_incident(columns, group, recovered, ending) for group in groups]
    return sorted(
        incidents,
        key=lambda i: (STATES.index(i.state), -len(i.members), -i.held_steps, i.origin),
    )


def _groups(failing: Sequence[int], sources: dict[int, int]) -> list[list[int]]:
    """Return the failing steps of each incident, the origin first, in the order of travel."""
    _cut_cycles(failing, sources)
    onward: defaultdict[int, list[int]] = defaultdict(list)
    for row, source in sources.items():
        onward[source].append(row)
    groups = []
    for origin in (row for row in failing if row not in sources):
        group = [origin]
        for row in group:  # grows while it is walked: nearest first
            group += sorted(onward.get(row, ()))
        groups.append(group)
    return groups


def _cut_cycles(failing: Sequence[int], sources: dict[int, int]) -> None:
    """Let the earliest step of a circle of failures, which only a cyclic record has, be the first.

    Each step has at most one source, so one walk with marks finds them all.
    """
    done: set[int] = set()
    for start in failing:
        path: dict[int, None] = {}
        row: int | None = start
        while row is not None and row not in done and row not in path:
            path[row] = None
            row = sources.get(row)
        if row is not None and row in path:
            members = list(path)
            del sources[min(members[members.index(row) :])]
        done.update(path)


def _incident(
    columns: Columns, group: Sequence[int], recovered: Mapping[int, Success], ending: Mask
) -> Incident:
    steps = columns.steps
    rows = np.array(group)
    by = next((recovered[row] for row in reversed(group) if row in recovered), None)
    state: State = "unresolved" if by is None else "recovered"
    if ending[rows].any():
        state, by = "fatal", None
    held = int((steps.last[rows] - steps.pre[rows]).max()) + 1
    return Incident(group[0], state, tuple(group[1:]), by, held)


def _ending(columns: Columns) -> Mask:
    """Tell which steps end the run in failure: those that its recorded status is the status of."""
    failed = columns.steps.status == _ERROR
    if columns.traces.status[0] != _ERROR:
        return np.zeros(len(failed), dtype=bool)
    if columns.traces.contained[0]:
        return np.asarray(failed & speaking_steps(columns.steps, columns.causes))
    return np.asarray(failed & (np.arange(len(failed)) == len(failed) - 1))
