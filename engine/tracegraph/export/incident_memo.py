"""A post-mortem of a run for long-term memory, as Markdown built from an allowlist.

Its front matter is under the contract ``incident-memo``. It holds no names, no messages and no ids
of the source: steps are ``step_<seq>_<kind>``, the run is a truncated digest, and what else there
is comes from vocabularies of this program.
"""

import hashlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

from tracegraph.analysis.analysis import Analysis
from tracegraph.analysis.causes import Cause
from tracegraph.analysis.incidents import Incident
from tracegraph.analysis.patterns import PatternMatches
from tracegraph.export.aliases import gap_code
from tracegraph.export.analysis import incident_counts
from tracegraph.export.analysis_text import RECOVERY
from tracegraph.export.disclosures import disclosures
from tracegraph.export.document import to_json
from tracegraph.export.text import counted
from tracegraph.ingest.registry import adapter_versions
from tracegraph.model.codes import CONTAINMENT, EVIDENCE, HEURISTIC, KINDS, ORIGINS

MOST_INCIDENTS = 20
"""Incidents that are described; how many more there are is said."""
MOST_PASSED_ON = 20
"""Steps of a propagation that are listed; how many more there are is said."""
_OF_REPORTS = "names.aliased"


def memo_text(analysis: Analysis, digest: str) -> Iterator[str]:
    """Yield the memo of a run, front matter first.

    Args:
        analysis: the run.
        digest: SHA-256 of its artifact.
    """
    yield "---\n"
    for key, value in front_matter(analysis, digest).items():
        yield f"{key}: {to_json(value)}\n"
    yield "---\n\n"
    yield from (line + "\n" for line in _body(analysis))


def front_matter(analysis: Analysis, digest: str) -> dict[str, Any]:
    """Return the members of the front matter; as YAML each is a scalar in JSON's spelling."""
    trace = analysis.trace
    return {
        "kind": "tracegraph.incident-memo",
        "schema_version": 1,
        "name": f"incident_{digest[:12]}",
        "type": "incident",
        "artifact_digest": digest,
        "source": trace.source if trace.source in adapter_versions() else "other",
        "status": trace.status,
        "fidelity": trace.fidelity,
        "run_digest": None if trace.run_id is None else _short_digest(trace.run_id),
        "step_count": len(trace),
        "error_count": analysis.error_count,
        **incident_counts(analysis),
        "outcomes_known": analysis.outcomes_known,
    }


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _body(analysis: Analysis) -> Iterator[str]:
    yield "# Incident memo"
    if not analysis.incidents:
        known = "No step failed" if analysis.outcomes_known else "No failure is recorded"
        yield ""
        yield f"{known} in {counted(len(analysis.trace), 'step')}."
    for number, incident in enumerate(islice(analysis.incidents, MOST_INCIDENTS), 1):
        yield from _incident(analysis, incident, number)
    more = len(analysis.incidents) - MOST_INCIDENTS
    if more > 0:
        yield ""
        yield f"{counted(more, 'more incident')}, not described here."
    yield from _section("Patterns", map(_pattern, filter(_was_found, analysis.patterns)))
    known_limits = (text for code, text in disclosures(analysis) if code != _OF_REPORTS)
    yield from _section("Not known", known_limits)
    gaps = (f"{gap_code(gap.code)}: {gap.count}" for gap in analysis.trace.gaps)
    yield from _section("Capture gaps", gaps)


def _section(title: str, items: Iterator[str]) -> Iterator[str]:
    listed = list(items)
    if listed:
        yield ""
        yield f"## {title}"
        yield ""
        yield from (f"- {item}" for item in listed)


def _incident(analysis: Analysis, incident: Incident, number: int) -> Iterator[str]:
    yield ""
    yield f"## {number}. {incident.state}: began at {_alias(analysis, incident.origin)}"
    yield ""
    passed_on = [_alias(analysis, row) for row in islice(incident.propagation, MOST_PASSED_ON)]
    if passed_on:
        rest = len(incident.propagation) - len(passed_on)
        yield f"- passed on by {', '.join(passed_on)}" + (f" and {rest} more" if rest else "")
    by = incident.recovered_by
    if by is not None:
        yield f"- recovered by {_alias(analysis, by.row)}: {RECOVERY[by.basis]}"
    causes = analysis.causes_of(incident)
    yield from (f"- {_cause(analysis, cause)}" for cause in causes.listed)
    if causes.more:
        yield f"- {counted(causes.more, 'more cause')} further back"
    if not causes.listed:
        yield "- no cause is recorded"


def _cause(analysis: Analysis, cause: Cause) -> str:
    """Say what an edge proves: what a step ran in, or merely followed, did not make it happen."""
    effect, before = _alias(analysis, cause.effect), _alias(analysis, cause.cause)
    if cause.evidence == CONTAINMENT:
        return f"{effect} preceded by {before} (containment only)"
    known = f"{EVIDENCE[cause.evidence]}, {ORIGINS[cause.origin]}"
    verb = "preceded by" if cause.evidence == HEURISTIC else "caused by"
    return f"{effect} {verb} {before} ({known})"


def _was_found(found: PatternMatches) -> bool:
    return bool(found.confirmed is None or found.confirmed or found.possible)


def _pattern(found: PatternMatches) -> str:
    name = f"{found.pattern.id}@{found.pattern.version}"
    if found.confirmed is None:
        return f"{name}: too many possible matches to count"
    possible = f", {found.possible} possible" if found.possible else ""
    return f"{name}: {counted(found.confirmed, 'confirmed match', 'es')}{possible}"


def _alias(analysis: Analysis, row: int) -> str:
    return f"step_{row}_{KINDS[analysis.columns.steps.kind[row]].lower()}"
