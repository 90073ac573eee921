"""The account of a run on one screen: what happened, because of what, what is not known, what next.

Every line is bounded, and so is their number, whatever the size of the run.
"""

from collections.abc import Iterator
from itertools import islice

from tracegraph.analysis.analysis import Analysis
from tracegraph.analysis.candidates import PLACES
from tracegraph.analysis.incidents import STATES, Incident
from tracegraph.export.analysis import incident_counts
from tracegraph.export.analysis_text import RECOVERY
from tracegraph.export.candidates import candidate_reason, step_text
from tracegraph.export.cause_text import told_once
from tracegraph.export.ending import ending
from tracegraph.export.next_step import next_line
from tracegraph.export.text import counted, shortened, visible
from tracegraph.export.tree import failure
from tracegraph.export.why import MOST_PASSED_ON, Why
from tracegraph.model.codes import EVIDENCE, ORIGINS
from tracegraph.model.step import Step

MOST_CANDIDATES = 3
"""Candidates, and evaluations, that are shown; how many more there are is said."""
LONGEST_JUDGEMENT = 200
"""Characters of an evaluation that are shown."""
_ENDED = {"ok": "ended ok", "error": "failed", "unset": "has no recorded outcome"}
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
    yield from _judgements(analysis)
    if not why.is_healthy:
        yield from _candidates(why)
    for _, text in why.not_known():
        yield f"not known: {text}"
    if why.command is not None:
        yield next_line(why.path, why.command)


def _headline(why: Why) -> str:
    analysis = why.analysis
    status, how = analysis.trace.status, ending(analysis.trace)
    ended = f"stopped ({how})" if how and status == "unset" else _ENDED[status]
    run = f"{why.label} {ended}"
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
    for cause, effects in told_once(columns, incident.origin, causes.listed):
        known = f"[{EVIDENCE[cause.evidence]}: {ORIGINS[cause.origin]}]"
        yield f"because of {_step(analysis, cause.cause)} {known}{effects}"
    if causes.more:
        yield f"and {counted(causes.more, 'more cause')} further back"
    if not causes.listed:
        yield "because of: no cause is recorded" + (" but what it ran in" if passed_on else "")


def _candidates(why: Why) -> Iterator[str]:
    """Yield where to look first; beside a sign, in a run with a failure, a mere place is noise."""
    columns, listed = why.analysis.columns, why.candidates[:MOST_CANDIDATES]
    signs = [each for each in listed if each.reason not in PLACES]
    shown = signs if signs and why.first is not None else listed
    of_all = ""
    if len(shown) < len(why.candidates):
        of_all = f"{len(shown)} of {len(why.candidates)}, all with --format json; "
    if shown:
        yield f"where to look first ({of_all}by structure alone, not known to be the cause):"
    for number, candidate in enumerate(shown, 1):
        reason = candidate_reason(columns, candidate)
        yield f"{number}. {step_text(columns, candidate.row)}: {reason}"


def _judgements(analysis: Analysis) -> Iterator[str]:
    for each in analysis.evaluations[:MOST_CANDIDATES]:
        said = (each.name, each.label, each.score)
        place = "" if each.step_id is None else f" @{each.step_id}"
        text = " ".join(str(value) for value in said if value is not None)
        yield f"judged afterwards: {shortened(text, LONGEST_JUDGEMENT)}{place}"
    more = len(analysis.evaluations) - MOST_CANDIDATES
    if more > 0:
        yield f"and {counted(more, 'more judgement')}: tracegraph analyze lists them"


def _failing(analysis: Analysis, row: int) -> str:
    step = Step(analysis.columns, row)
    said = f" {failure(step)}" if step.error_type or step.error_message else " (no error recorded)"
    return _step(analysis, row) + said


def _step(analysis: Analysis, row: int) -> str:
    return step_text(analysis.columns, row)
