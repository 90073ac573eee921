"""What a run means: incidents, patterns, metrics and their comparison (contract ``analysis``).

A report: names go through the profile safe-v1, and no error text enters it. What matches and what
belongs together was decided before, on the names as recorded.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from itertools import islice
from typing import Any

from tracegraph.analysis.analysis import Analysis
from tracegraph.analysis.comparison import Change, Comparison, Number
from tracegraph.analysis.incidents import STATES, Incident
from tracegraph.analysis.metrics import Metrics
from tracegraph.analysis.patterns import PatternMatches
from tracegraph.export.aliases import PROFILE, alias, gap_code
from tracegraph.export.disclosures import disclosures
from tracegraph.export.document import milliseconds, timestamp
from tracegraph.export.table import Report, Table
from tracegraph.model.codes import EVIDENCE, KINDS, ORIGINS, STATUSES
from tracegraph.model.columns import Columns

Item = dict[str, Any]
_COLUMNS = ("state", "step", "kind", "name", "propagation", "recovered_by", "causes")


@dataclass(frozen=True, slots=True)
class Analysed:
    """What a report tells.

    Attributes:
        analysis: the run.
        digest: SHA-256 of its artifact.
        comparison: against a baseline, if one was named.
        baseline_digest: SHA-256 of the baseline's artifact.
        limit: incidents that are listed at most; None for all.
    """

    analysis: Analysis
    digest: str
    comparison: Comparison | None = None
    baseline_digest: str | None = None
    limit: int | None = None


def analysis_report(told: Analysed) -> Report:
    """Report an analysis."""
    analysis = told.analysis

    def members() -> Item:
        return {
            "privacy_profile": PROFILE,
            "trace": _run(analysis, told.digest),
            "incident_counts": incident_counts(analysis),
            "limit": told.limit,
            "incidents": incident_items(told),
            "patterns": [_pattern(found, analysis.columns) for found in analysis.patterns],
            "metrics": _metrics(analysis),
            "comparison": _comparison(told),
            "gaps": [{"code": gap_code(g.code), "count": g.count} for g in analysis.trace.gaps],
            "disclosures": [
                {"code": code, "text": text}
                for code, text in disclosures(analysis, told.comparison)
            ],
        }

    def table() -> Table:
        return Table(_COLUMNS, map(_row, incident_items(told)))

    return Report("analysis", 1, members, lambda: incident_items(told), table)


def incident_counts(analysis: Analysis) -> dict[str, int]:
    """Return how many incidents there are in each state."""
    counts = Counter(incident.state for incident in analysis.incidents)
    return {state: counts[state] for state in STATES}


def incident_items(told: Analysed) -> Iterator[Item]:
    """Yield the listed incidents in rank order."""
    for incident in islice(told.analysis.incidents, told.limit):
        yield _incident(told.analysis, incident)


def step_item(columns: Columns, row: int) -> Item:
    """Return what a report says of a step."""
    steps = columns.steps
    return {
        "step_id": columns.step_id[row],
        "seq": row,
        "kind": KINDS[steps.kind[row]],
        "name": alias(columns.text(steps.name[row])),
        "status": STATUSES[steps.status[row]],
    }


def _run(analysis: Analysis, digest: str | None) -> Item:
    trace = analysis.trace
    return {
        "trace_id": trace.trace_id,
        "source": alias(trace.source),
        "status": trace.status,
        "fidelity": trace.fidelity,
        "started_at": timestamp(trace.started),
        "ended_at": timestamp(trace.ended),
        "step_count": len(trace),
        "error_count": analysis.error_count,
        "artifact_digest": digest,
    }


def _incident(analysis: Analysis, incident: Incident) -> Item:
    columns = analysis.columns
    by, causes = incident.recovered_by, analysis.causes_of(incident)
    return {
        "origin": step_item(columns, incident.origin),
        "state": incident.state,
        "failing_steps": len(incident.members),
        "held_steps": incident.held_steps,
        "propagation": [step_item(columns, row) for row in incident.propagation],
        "recovered_by": by and {**step_item(columns, by.row), "basis": by.basis},
        "causes": [
            {
                "effect": columns.step_id[cause.effect],
                "cause": step_item(columns, cause.cause),
                "origin": ORIGINS[cause.origin],
                "evidence": EVIDENCE[cause.evidence],
            }
            for cause in causes.listed
        ],
        "more_causes": causes.more,
    }


def _pattern(found: PatternMatches, columns: Columns) -> Item:
    pattern = found.pattern
    return {
        "id": pattern.id,
        "version": pattern.version,
        "confidence": pattern.confidence,
        "match_count": found.confirmed,
        "possible_count": found.possible,
        "needs": list(found.needs),
        "examples": [[step_item(columns, row) for row in rows] for rows in found.examples],
    }


def _metrics(analysis: Analysis) -> Item:
    measures: Item = {}
    for field in fields(Metrics):
        measure = getattr(analysis.metrics, field.name)
        measures[_label(field.name)] = {
            "value": _value(field.name, measure.value),
            "covered": measure.covered,
            "of": measure.of,
        }
    return {**measures, "evaluations": list(_evaluations(analysis))}


def _evaluations(analysis: Analysis) -> Iterator[Item]:
    for evaluation in analysis.evaluations:
        yield {
            "step_id": evaluation.step_id,
            "name": alias(evaluation.name),
            "label": alias(evaluation.label),
            "score": evaluation.score,
        }


def _comparison(told: Analysed) -> Item | None:
    comparison = told.comparison
    if comparison is None:
        return None
    return {
        "baseline": _run(comparison.baseline, told.baseline_digest),
        "comparable": comparison.is_certain,
        "incidents": [
            {"state": of.state, "kind": of.kind, "name": alias(of.name), **_change("", change)}
            for of, change in comparison.incidents.items()
        ],
        "patterns": [
            {"id": pattern_id, "version": version, **_change("", change)}
            for (pattern_id, version), change in comparison.patterns.items()
        ],
        "metrics": {
            _label(name): _change(name, change) for name, change in comparison.metrics.items()
        },
    }


def _change(name: str, change: Change) -> Item:
    return {
        "current": _value(name, change.current),
        "baseline": _value(name, change.baseline),
        "delta": _value(name, change.delta),
    }


def _label(name: str) -> str:
    return "wall_ms" if name == "wall" else name


def _value(name: str, value: Number | None) -> Any:
    """Return a measure as reports write it: times in ms, money as the text of its exact decimal."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    return milliseconds(value) if name == "wall" else value


def _row(item: Mapping[str, Any]) -> tuple[Any, ...]:
    origin, by = item["origin"], item["recovered_by"]
    causes = [f"{c['cause']['step_id']} ({c['evidence']}, {c['origin']})" for c in item["causes"]]
    return (
        item["state"],
        origin["step_id"],
        origin["kind"],
        origin["name"],
        _ids(item["propagation"]),
        by and by["step_id"],
        ", ".join(causes) + (f" and {item['more_causes']} more" if item["more_causes"] else ""),
    )


def _ids(steps: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(step["step_id"] for step in steps)
