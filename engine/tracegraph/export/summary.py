"""The matches of a pattern grouped by shape, and how much was looked at (contract ``summary``).

A report: names go through the profile safe-v1. Matches are found, and shapes told apart, on the
names as recorded.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracegraph.analysis.shapes import Shape, ShapedStep
from tracegraph.export.aliases import PROFILE, alias, gap_code
from tracegraph.export.table import Report, Table
from tracegraph.export.text import counted
from tracegraph.export.traces import gap_items
from tracegraph.model.codes import EVIDENCE, KINDS, ORIGINS, STATUSES

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Example:
    """One match, as a reader finds it again."""

    trace_id: str
    artifact_digest: str
    step_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The matches of one shape.

    Attributes:
        shape: the shape.
        match_count: confirmed matches.
        trace_count: traces that they lie in.
        examples: the first of them, each of another trace.
    """

    shape: Shape
    match_count: int
    trace_count: int
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much was looked at, and what may hide a match.

    Attributes:
        files_read: files that hold the traces.
        files_skipped: files that were met and not read.
        traces_scanned: traces that were asked.
        traces_matched: those with a confirmed match.
        traces_possible: those with possible matches alone.
        traces_not_evaluable: those that lack what the pattern needs.
        traces_with_losses: those of which reading lost something.
        traces_with_unknown_outcomes: those in which a step has no recorded end.
        match_count: confirmed matches.
        possible_count: possible matches.
    """

    files_read: int
    files_skipped: int
    traces_scanned: int
    traces_matched: int
    traces_possible: int
    traces_not_evaluable: int
    traces_with_losses: int
    traces_with_unknown_outcomes: int
    match_count: int
    possible_count: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The matches of a pattern.

    Attributes:
        pattern: its id, version and digest.
        groups: by number of matches, then by shape.
        coverage: what was looked at.
        gaps: code of a disclosed loss -> how often.
    """

    pattern: tuple[str, int, str]
    groups: Sequence[Group]
    coverage: Coverage
    gaps: Mapping[str, int]


def summary_report(summary: Summary) -> Report:
    """Report the shapes of a pattern's matches."""
    pattern_id, version, digest = summary.pattern
    coverage = summary.coverage

    def members() -> Item:
        return {
            "privacy_profile": PROFILE,
            "pattern": {"id": pattern_id, "version": version, "digest": digest},
            "coverage": {name: getattr(coverage, name) for name in coverage.__slots__},
            "shape_count": len(summary.groups),
            "shapes": map(_group, summary.groups),
            "gaps": gap_items({gap_code(code): n for code, n in summary.gaps.items()}),
        }

    def table() -> Table:
        return Table(("matches", "traces", "source", "shape"), map(_row, summary.groups))

    return Report("summary", 1, members, lambda: map(_group, summary.groups), table)


def coverage_text(coverage: Coverage) -> str:
    """Say in one line what was found, and what may hide more."""
    scanned = counted(coverage.traces_scanned, "trace")
    text = f"{counted(coverage.match_count, 'confirmed match', 'es')} in {coverage.traces_matched} "
    text += f"of {scanned}"
    hiding = {
        "with possible matches alone": coverage.traces_possible,
        "not evaluable": coverage.traces_not_evaluable,
        "read with losses": coverage.traces_with_losses,
        "with steps of unknown outcome": coverage.traces_with_unknown_outcomes,
    }
    text += "".join(f"; {counted(n, 'trace')} {what}" for what, n in hiding.items() if n)
    skipped = coverage.files_skipped
    return text + (f"; {counted(skipped, 'file')} skipped" if skipped else "")


def _group(group: Group) -> Item:
    shape = group.shape
    return {
        "match_count": group.match_count,
        "trace_count": group.trace_count,
        "source": alias(shape.source),
        "fidelity": shape.fidelity,
        "steps": [_step(step) for step in shape.steps],
        "examples": [
            {
                "trace_id": example.trace_id,
                "artifact_digest": example.artifact_digest,
                "step_ids": list(example.step_ids),
            }
            for example in group.examples
        ],
    }


def _step(step: ShapedStep) -> Item:
    return {
        "kind": KINDS[step.kind],
        "name": alias(step.name),
        "status": STATUSES[step.status],
        "repeated": step.is_repeated,
        "links": [
            {"origin": ORIGINS[origin], "evidence": EVIDENCE[evidence]}
            for origin, evidence in step.links
        ],
    }


def _row(group: Group) -> tuple[Any, ...]:
    steps = " ".join(_words(group.shape.steps))
    return group.match_count, group.trace_count, alias(group.shape.source), steps


def _words(steps: Sequence[ShapedStep]) -> Iterator[str]:
    """Yield the steps, and between them by what they are linked; ``..`` stands for a distance."""
    for number, step in enumerate(steps):
        if number:
            links = ",".join(ORIGINS[origin] for origin, _ in step.links)
            yield f"-[{links}]->" if links else ".."
        repeated = "+" if step.is_repeated else ""
        name = alias(step.name) or "(no name)"
        yield f"{KINDS[step.kind]} {name} {STATUSES[step.status]}{repeated}"
