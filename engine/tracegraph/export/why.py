"""Why did a run fail: the shortest honest account of it (contract ``why``).

A local answer: names and error text stand as recorded, outside the privacy profile of reports.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from tracegraph.analysis.analysis import Analysis
from tracegraph.analysis.candidates import PLACES, Candidate
from tracegraph.analysis.causes import Cause
from tracegraph.analysis.incidents import Incident
from tracegraph.export.analysis import incident_counts
from tracegraph.export.candidates import candidate_reason
from tracegraph.export.disclosures import disclosures
from tracegraph.export.next_step import explain_command
from tracegraph.export.table import Report, Table
from tracegraph.model.codes import EVIDENCE, ORIGINS
from tracegraph.model.columns import Columns
from tracegraph.model.step import Step

MOST_PASSED_ON = 6
"""Steps of a propagation that are listed; how many more there are is said."""
MOST_OTHERS = 3
"""Incidents beside the first one that are listed; all are counted."""
_OF_REPORTS = "names.aliased"
Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Why:
    """The account of a run.

    Attributes:
        label: what people call the trace.
        analysis: its incidents and how they ended.
        candidates: where to look first, best first.
        path: where the trace was read from, as it was named.
        is_alone: it is the only trace there.
    """

    label: str
    analysis: Analysis
    candidates: tuple[Candidate, ...]
    path: str
    is_alone: bool

    @property
    def command(self) -> str | None:
        """What to run next; None of a healthy run."""
        if self.is_healthy or not self.candidates:
            return None
        row = self.candidates[0].row if self.first is None else self.first.origin
        label = None if self.is_alone else self.label
        return explain_command(self.path, label, self.analysis.columns.step_id[row])

    @property
    def is_healthy(self) -> bool:
        """Whether there is nothing to tell: no failure, no sign of one, nothing unknown or said."""
        analysis = self.analysis
        has_sign = any(candidate.reason not in PLACES for candidate in self.candidates)
        is_known = analysis.outcomes_known and next(self.not_known(), None) is None
        return is_known and not (analysis.incidents or analysis.evaluations or has_sign)

    @property
    def first(self) -> Incident | None:
        """The incident to look at first; None where nothing failed."""
        return next(iter(self.analysis.incidents), None)

    @property
    def others(self) -> tuple[Incident, ...]:
        """The next incidents, as many as are listed."""
        return self.analysis.incidents[1 : 1 + MOST_OTHERS]

    def not_known(self) -> Iterator[tuple[str, str]]:
        """Yield code and sentence of what the record cannot tell."""
        return (each for each in disclosures(self.analysis) if each[0] != _OF_REPORTS)


def why_report(why: Why) -> Report:
    """Report the account of a run."""
    analysis = why.analysis
    trace = analysis.trace

    def members() -> Item:
        return {
            "trace": {
                "trace_id": trace.trace_id,
                "label": why.label,
                "source": trace.source,
                "status": trace.status,
                "fidelity": trace.fidelity,
                "step_count": len(trace),
                "error_count": analysis.error_count,
            },
            "incident_counts": incident_counts(analysis),
            "outcomes_known": analysis.outcomes_known,
            "incident": why.first and _incident(analysis, why.first),
            "other_incidents": [
                {"state": each.state, "origin": _failing(analysis.columns, each.origin)}
                for each in why.others
            ],
            "candidates": [_candidate(analysis.columns, each) for each in why.candidates],
            "evaluations": [asdict(each) for each in analysis.evaluations],
            "not_known": [{"code": code, "text": text} for code, text in why.not_known()],
            "next": why.command,
        }

    def chain() -> Iterator[Item]:
        return iter(_incident(analysis, why.first)["causes"]) if why.first else iter(())

    def table() -> Table:
        columns = ("effect", "cause", "kind", "name", "origin", "evidence")
        return Table(columns, map(_row, chain()))

    return Report("why", 1, members, chain, table)


def _incident(analysis: Analysis, incident: Incident) -> Item:
    columns, by = analysis.columns, incident.recovered_by
    causes = analysis.causes_of(incident)
    passed_on = islice(incident.propagation, MOST_PASSED_ON)
    return {
        "state": incident.state,
        "origin": _failing(columns, incident.origin),
        "propagation": [_step(columns, row) for row in passed_on],
        "more_propagation": max(0, len(incident.propagation) - MOST_PASSED_ON),
        "recovered_by": by and {**_step(columns, by.row), "basis": by.basis},
        "causes": [_cause(columns, cause) for cause in causes.listed],
        "more_causes": causes.more,
    }


def _cause(columns: Columns, cause: Cause) -> Item:
    return {
        "effect": columns.step_id[cause.effect],
        "cause": _step(columns, cause.cause),
        "origin": ORIGINS[cause.origin],
        "evidence": EVIDENCE[cause.evidence],
    }


def _candidate(columns: Columns, candidate: Candidate) -> Item:
    about = candidate.about
    return {
        "step": _step(columns, candidate.row),
        "reason": candidate.reason,
        "about": None if about is None else _step(columns, about),
        "text": candidate_reason(columns, candidate),
    }


def _step(columns: Columns, row: int) -> Item:
    step = Step(columns, row)
    return {
        "step_id": step.step_id,
        "seq": row,
        "kind": step.kind,
        "name": step.name,
        "status": step.status,
    }


def _failing(columns: Columns, row: int) -> Item:
    step = Step(columns, row)
    recorded = {"error_type": step.error_type, "error_message": step.error_message}
    return {**_step(columns, row), **recorded}


def _row(item: Item) -> tuple[Any, ...]:
    cause = item["cause"]
    ends = (item["effect"], cause["step_id"], cause["kind"], cause["name"])
    return (*ends, item["origin"], item["evidence"])
