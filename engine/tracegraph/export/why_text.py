"""The account of a run on one screen: what happened, because of what, what is not known, what next.

Every line is bounded, and so is their number, whatever the size of the run.
"""

from collections.abc import Iterator
from itertools import islice

from tracegraph.analysis.analysis import Analysis
from tracegraph.analysis.incidents import STATES, Incident
from tracegraph.export.analysis import incident_counts
from tracegraph.export.analysis_text import RECOVERY
from tracegraph.export.next_step import next_line
from tracegraph.export.text import counted, visible
from tracegraph.export.tree import failure
from tracegraph.export.why import MOST_PASSED_ON, Why
from tracegraph.model.codes import EVIDENCE, ORIGINS
from tracegraph.model.step import Step

_ENDED = {"ok": "ended ok", "error": "failed", "unset": "has no recorded end"}
_STATE = {
    "fatal": "It ended the run.",
    "unresolved": "It neither ended the run nor was made up for.",
    "recovered": "A later success made up for it.",
}


def why_lines(why: Why) -> Iterator[str]:
    """Yield the lines; a run in which nothing failed and nothing is unknown has one."""
    return (visible(line) + "\n" for line in _lines(why))


def _lines(why: Why) -> Iterator[str]:
    analysis, first = why.analysis, why.first
    yield _headline(why)
    if first is not None:
        yield from _incident(analysis, first)
    for incident in why.others:
        yield f"also {incident.state}: {_failing(analysis, incident.origin)}"
    more = len(analysis.incidents) - 1 - len(why.others)
    if more > 0:
        yield f"and {counted(more, 'more incident')}: tracegraph analyze lists them"
    for _, text in why.not_known():
        yield f"not known: {text}"
    if why.command is not None:
        yield next_line(why.path, why.command)


def _headline(why: Why) -> str:
    analysis = why.analysis
    run = f"{why.label} {_ENDED[analysis.trace.status]}"
    if why.first is None:
        known = "no step failed" if analysis.outcomes_known else "no failure is recorded"
        return f"{run}: {known} in {counted(len(analysis.trace), 'step')}"
    counts = incident_counts(analysis)
    incidents = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    steps = f"{analysis.error_count} of {counted(len(analysis.trace), 'step')} failed"
    return f"{run}: {steps}, {counted(len(analysis.incidents), 'incident')} ({incidents})"


def _incident(analysis: Analysis, incident: Incident) -> Iterator[str]:
    columns = analysis.columns
    yield f"it began in {_failing(analysis, incident.origin)}"
    passed_on = [_step(analysis, row) for row in islice(incident.propagation, MOST_PASSED_ON)]
    if passed_on:
        rest = len(incident.propagation) - len(passed_on)
        yield f"passed on by {', '.join(passed_on)}" + (f" and {rest} more" if rest else "")
    if incident.recovered_by is not None:
        by = incident.recovered_by
        yield f"recovered by {_step(analysis, by.row)}: {RECOVERY[by.basis]}"
    else:
        yield _STATE[incident.state]
    causes = analysis.causes_of(incident)
    for cause in causes.listed:
        known = f"[{EVIDENCE[cause.evidence]}: {ORIGINS[cause.origin]}]"
        effect = "" if cause.effect == incident.origin else f" for @{columns.step_id[cause.effect]}"
        yield f"because of {_step(analysis, cause.cause)} {known}{effect}"
    if causes.more:
        yield f"and {counted(causes.more, 'more cause')} further back"
    if not causes.listed:
        yield "because of: no cause is recorded" + (" but what it ran in" if passed_on else "")


def _failing(analysis: Analysis, row: int) -> str:
    step = Step(analysis.columns, row)
    said = f" {failure(step)}" if step.error_type or step.error_message else " (no error recorded)"
    return _step(analysis, row) + said


def _step(analysis: Analysis, row: int) -> str:
    step = Step(analysis.columns, row)
    return f"{step.kind} {step.name or '(no name)'} @{step.step_id}"
