"""Everything that is computed of one run: what a report tells, before it is put into words."""

from dataclasses import dataclass

import numpy as np

from tracegraph.analysis.causes import Causes, nearest_causes
from tracegraph.analysis.evaluations import Evaluation, evaluations_of
from tracegraph.analysis.incidents import Incident, find_incidents
from tracegraph.analysis.links import alone
from tracegraph.analysis.metrics import Metrics, measure
from tracegraph.analysis.patterns import PatternMatches, find_patterns
from tracegraph.ingest.losses import is_loss
from tracegraph.model.codes import STATUS_CODE
from tracegraph.model.columns import Columns, Mask
from tracegraph.model.trace import Trace

CONTROL_FLOW = "control_flow"
"""Status source of a step that stopped on purpose (an interrupt, a handoff): nothing is unknown."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The analysis of one run.

    Attributes:
        trace: the run, alone in its columns: rows count from 0.
        incidents: in rank order.
        patterns: what the shipped presets found.
        metrics: what it took.
        evaluations: what was said of it afterwards.
        unknown_outcomes: steps of which it is not recorded how they ended.
    """

    trace: Trace
    incidents: tuple[Incident, ...]
    patterns: tuple[PatternMatches, ...]
    metrics: Metrics
    evaluations: tuple[Evaluation, ...]
    unknown_outcomes: int

    @property
    def columns(self) -> Columns:
        """The columns of the run."""
        return self.trace.columns

    @property
    def error_count(self) -> int:
        """Number of failing steps, each of which belongs to one incident."""
        return sum(len(incident.members) for incident in self.incidents)

    @property
    def outcomes_known(self) -> bool:
        """Whether every failure of the run is in the record, as far as the record can tell."""
        lost = any(is_loss(gap.code) for gap in self.trace.gaps)
        return not self.unknown_outcomes and not lost and bool(len(self.trace))

    def causes_of(self, incident: Incident) -> Causes:
        """Return the nearest causes of the step where an incident began."""
        return nearest_causes(self.columns, incident.origin, incident.propagation)


def analyse(trace: Trace, *, ask_presets: bool = True) -> Analysis:
    """Analyse one run. Linear in its steps, but for patterns without a bound, which are capped.

    Args:
        trace: the run.
        ask_presets: look for the shipped presets, which takes most of the time.
    """
    columns = alone(trace)
    return Analysis(
        trace=Trace(columns, 0),
        incidents=tuple(find_incidents(columns)),
        patterns=tuple(find_patterns(columns)) if ask_presets else (),
        metrics=measure(columns),
        evaluations=evaluations_of(trace),
        unknown_outcomes=int(outcome_unknown(columns).sum()),
    )


def outcome_unknown(columns: Columns) -> Mask:
    """Tell of which steps it is not recorded how they ended."""
    unset = np.asarray(columns.steps.status == STATUS_CODE["unset"])
    for row in np.flatnonzero(unset).tolist():
        unset[row] = columns.text(columns.steps.status_source[row]) != CONTROL_FLOW
    return unset
