"""An analysis as the lines that people read: what failed, why, what is not known."""

from collections.abc import Iterator
from dataclasses import fields

from tracegraph.analysis.analysis import Analysis
from tracegraph.analysis.comparison import Change, Comparison
from tracegraph.analysis.incidents import STATES, Incident
from tracegraph.analysis.metrics import Measure, Metrics
from tracegraph.analysis.patterns import PatternMatches
from tracegraph.export.aliases import alias, gap_code
from tracegraph.export.analysis import Analysed, incident_counts
from tracegraph.export.cause_text import told_once
from tracegraph.export.disclosures import disclosures
from tracegraph.export.text import counted, visible
from tracegraph.model.codes import EVIDENCE, KINDS, ORIGINS

LONGEST_TRAVEL = 6
"""Steps of a propagation that a line names; how many more there are is said."""
RECOVERY = {
    "same_call": "the same call, made again",
    "model": "asked for again by the model that had read the failure",
    "same_parent": "tried again under the same parent",
}
_MEASURES = {
    "wall": "time",
    "tokens_prompt": "prompt tokens",
    "tokens_completion": "completion tokens",
    "tokens_total": "tokens",
    "cost": "cost",
}


def analysis_lines(told: Analysed, limit: int | None) -> Iterator[str]:
    """Yield the lines, with at most ``limit`` incidents (None: all).

    Names are those of reports, and no error text is among them.
    """
    return (visible(line) + "\n" for line in _lines(told, limit))


def _lines(told: Analysed, limit: int | None) -> Iterator[str]:
    analysis = told.analysis
    trace = analysis.trace
    yield f"{trace.trace_id} ({alias(trace.source)}, {trace.status}, {trace.fidelity})"
    yield f"{counted(len(trace), 'step')}, {analysis.error_count} failing: {_verdict(analysis)}"
    listed = analysis.incidents[:limit]
    for number, incident in enumerate(listed, 1):
        yield from _incident(analysis, incident, number)
    more = len(analysis.incidents) - len(listed)
    if more:
        yield f"{counted(more, 'more incident')}, not listed (--limit)"
    found = [text for matches in analysis.patterns if (text := _pattern(matches))]
    if found:
        yield f"patterns: {', '.join(found)}"
    yield f"metrics: {', '.join(_measures(analysis.metrics))}"
    for evaluation in analysis.evaluations:
        said = (alias(evaluation.label), evaluation.score)
        values = ", ".join(str(value) for value in said if value is not None)
        yield f"evaluation: {alias(evaluation.name)} {values} @{evaluation.step_id or 'trace'}"
    if told.comparison is not None:
        yield from _comparison(told.comparison)
    gaps = [f"{gap_code(gap.code)} {gap.count}" for gap in trace.gaps]
    if gaps:
        yield f"gaps: {', '.join(gaps)}"
    for _, text in disclosures(analysis, told.comparison):
        yield f"not known: {text}"


def _verdict(analysis: Analysis) -> str:
    counts = incident_counts(analysis)
    said = [f"{counts[state]} {state}" for state in STATES if counts[state]]
    if said:
        return f"{counted(len(analysis.incidents), 'incident')} ({', '.join(said)})"
    return "no incident" if analysis.outcomes_known else "no incident is recorded"


def _incident(analysis: Analysis, incident: Incident, number: int) -> Iterator[str]:
    columns = analysis.columns
    yield f"{number}. {incident.state}: {_step(analysis, incident.origin)}"
    travel = [_step(analysis, row) for row in incident.propagation[:LONGEST_TRAVEL]]
    if travel:
        rest = len(incident.propagation) - len(travel)
        yield f"   passed on by {', '.join(travel)}" + (f" and {rest} more" if rest else "")
    if incident.recovered_by is not None:
        by = incident.recovered_by
        yield f"   recovered by {_step(analysis, by.row)}: {RECOVERY[by.basis]}"
    causes = analysis.causes_of(incident)
    for cause, effects in told_once(columns, incident.origin, causes.listed):
        known = f"{EVIDENCE[cause.evidence]}, {ORIGINS[cause.origin]}"
        yield f"   because of {_step(analysis, cause.cause)} ({known}){effects}"
    if causes.more:
        yield f"   and {counted(causes.more, 'more cause')} further back"
    if not causes.listed and not incident.propagation:
        yield "   cause: none is recorded"


def _step(analysis: Analysis, row: int) -> str:
    columns = analysis.columns
    name = alias(columns.text(columns.steps.name[row])) or "(no name)"
    return f"{KINDS[columns.steps.kind[row]]} {name} @{columns.step_id[row]}"


def _pattern(found: PatternMatches) -> str:
    """Return what there is to say of a preset; nothing where it has no match."""
    if found.confirmed is None:
        return f"{found.pattern.id} not counted"
    said = [str(found.confirmed)] if found.confirmed else []
    said += [f"{found.possible} possible"] if found.possible else []
    said += [f"no {', '.join(found.needs)} recorded"] if found.needs else []
    return f"{found.pattern.id} {' and '.join(said)}" if said else ""


def _measures(metrics: Metrics) -> Iterator[str]:
    for field in fields(Metrics):
        measure: Measure = getattr(metrics, field.name)
        name = _MEASURES[field.name]
        if measure.value is None:
            yield f"{name} not recorded"
            continue
        partial = "" if measure.is_whole else f" (of {measure.covered} of {measure.of} steps)"
        yield f"{name} {_amount(field.name, measure.value)}{partial}"


def _amount(name: str, value: object) -> str:
    return f"{value / 1e6:.1f}ms" if name == "wall" and isinstance(value, int) else f"{value}"


def _comparison(comparison: Comparison) -> Iterator[str]:
    yield f"against {comparison.baseline.trace.trace_id}:"
    for kind, change in comparison.incidents.items():
        name = alias(kind.name) or "(no name)"
        yield f"   {kind.state} {kind.kind} {name}: {_change('', change)}"
    for (pattern, _), change in comparison.patterns.items():
        if change.current or change.baseline:
            yield f"   {pattern}: {_change('', change)}"
    for name, change in comparison.metrics.items():
        if change.current is not None or change.baseline is not None:
            yield f"   {_MEASURES[name]}: {_change(name, change)}"


def _change(name: str, change: Change) -> str:
    here, there = (
        "unknown" if value is None else _amount(name, value)
        for value in (change.current, change.baseline)
    )
    if change.delta is None:
        return f"{here} against {there}"
    sign = "-" if change.delta < 0 else "+"
    return f"{here} against {there} ({sign}{_amount(name, abs(change.delta))})"
