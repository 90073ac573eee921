"""One run against a baseline: incidents, pattern counts and measures, side by side.

A difference is withheld (None) where what is unknown on either side could change it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import NamedTuple

from tracegraph.analysis.analysis import Analysis
from tracegraph.analysis.incidents import STATES, State
from tracegraph.analysis.metrics import EXACT, Measure, Metrics
from tracegraph.analysis.patterns import PatternMatches
from tracegraph.model.codes import KINDS

Number = int | Decimal


@dataclass(frozen=True, slots=True)
class Change:
    """A quantity in both runs.

    Attributes:
        current: in the run.
        baseline: in the baseline.
        delta: current less baseline; None where it is withheld.
    """

    current: Number | None
    baseline: Number | None
    delta: Number | None


class IncidentKind(NamedTuple):
    """What incidents of two runs have in common: how they ended, and where they began."""

    state: State
    kind: str
    name: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run against its baseline.

    Attributes:
        baseline: the baseline.
        is_certain: whether counts of the two can be compared: both records say how every step
            ended and lost nothing, and both come from the same kind of source.
        incidents: how many of each kind, in rank order.
        patterns: confirmed matches of each preset, by ``(id, version)``.
        metrics: the measures, by name.
    """

    baseline: Analysis
    is_certain: bool
    incidents: Mapping[IncidentKind, Change]
    patterns: Mapping[tuple[str, int], Change]
    metrics: Mapping[str, Change]


def compare(current: Analysis, baseline: Analysis) -> Comparison:
    """Compare the analyses of two runs."""
    one, other = current.trace, baseline.trace
    certain = current.outcomes_known and baseline.outcomes_known
    certain &= (one.source, one.fidelity) == (other.source, other.fidelity)
    here, there = _incident_kinds(current), _incident_kinds(baseline)
    found, before = _by_id(current), _by_id(baseline)
    return Comparison(
        baseline,
        certain,
        {
            kind: _change(here[kind], there[kind], certain)
            for kind in sorted({*here, *there}, key=_rank)
        },
        {
            key: _change(
                found[key].confirmed,
                before[key].confirmed,
                certain and found[key].is_whole and before[key].is_whole,
            )
            for key in found
        },
        _measures(current.metrics, baseline.metrics),
    )


def _incident_kinds(analysis: Analysis) -> Counter[IncidentKind]:
    columns = analysis.columns
    steps = columns.steps
    return Counter(
        IncidentKind(i.state, KINDS[steps.kind[i.origin]], columns.text(steps.name[i.origin]))
        for i in analysis.incidents
    )


def _rank(kind: IncidentKind) -> tuple[int, str, str]:
    return STATES.index(kind.state), kind.kind, kind.name or ""


def _by_id(analysis: Analysis) -> dict[tuple[str, int], PatternMatches]:
    return {(found.pattern.id, found.pattern.version): found for found in analysis.patterns}


def _measures(current: Metrics, baseline: Metrics) -> dict[str, Change]:
    changes = {}
    for field in fields(Metrics):
        here: Measure = getattr(current, field.name)
        there: Measure = getattr(baseline, field.name)
        whole = here.is_whole and there.is_whole
        changes[field.name] = _change(here.value, there.value, whole)
    return changes


def _change(current: Number | None, baseline: Number | None, certain: bool) -> Change:
    if not certain or current is None or baseline is None:
        return Change(current, baseline, None)
    if isinstance(current, Decimal) and isinstance(baseline, Decimal):
        return Change(current, baseline, EXACT.subtract(current, baseline))
    return Change(current, baseline, int(current) - int(baseline))
