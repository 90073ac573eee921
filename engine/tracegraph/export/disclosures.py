"""What an analysis cannot know, in words, under stable codes."""

from collections.abc import Iterator

from tracegraph.analysis.analysis import Analysis
from tracegraph.analysis.comparison import Comparison
from tracegraph.export.aliases import alias
from tracegraph.export.ending import ending
from tracegraph.export.text import counted
from tracegraph.model.codes import DERIVED, SIGNAL_BIT

_LAST_ATTEMPTS = "langgraph.last_attempts_only"
_FIDELITY = {
    "parent_only": "the source records what ran in what and no links between steps: "
    "more causes may be missing",
    "order_only": "the source records the order of steps: their causes are derived from it",
}
_NOTHING_DERIVED = "the source records the order of steps: causes may be missing"


def disclosures(
    analysis: Analysis, comparison: Comparison | None = None
) -> Iterator[tuple[str, str]]:
    """Yield code and sentence of what limits an analysis."""
    trace = analysis.trace
    if trace.fidelity in _FIDELITY:
        is_derived = bool((analysis.columns.causes.evidence >= DERIVED).any())
        is_bare = trace.fidelity == "order_only" and not is_derived
        said = _NOTHING_DERIVED if is_bare else _FIDELITY[trace.fidelity]
        yield f"fidelity.{trace.fidelity}", said
    if trace.cyclic:
        yield (
            "run.cyclic_causes",
            "the causes form a cycle: edges against the order were not followed",
        )
    if trace.status == "unset":
        how = ending(trace, alias)
        only = f", only how it stopped ({how})" if how else ""
        so = ": no incident is called fatal" if analysis.incidents else ""
        yield "run.end_unknown", f"whether the run ended well is not recorded{only}{so}"
    if trace.status == "error" and not any(i.state == "fatal" for i in analysis.incidents):
        yield "run.failure_not_located", "the run failed, and no failing step leads to its end"
    if analysis.unknown_outcomes:
        steps = counted(analysis.unknown_outcomes, "step")
        yield "outcomes.unknown", f"how {steps} ended is not recorded: a failure may be among them"
    yield from _signalled(analysis)
    orphans = int(analysis.columns.steps.orphan.sum())
    if orphans:
        steps = counted(orphans, "step")
        yield (
            "steps.orphaned",
            f"the parent of {steps} is not in this export, or is the step itself",
        )
    uncounted = [found.pattern.id for found in analysis.patterns if found.confirmed is None]
    if uncounted:
        yield "patterns.not_counted", f"too many possible matches to count: {', '.join(uncounted)}"
    aliased = _aliased(analysis)
    if aliased:
        names = counted(aliased, "name")
        yield "names.aliased", f"{names} of this run may be free text: reports show an alias"
    if comparison is not None and not comparison.is_certain:
        yield (
            "comparison.withheld",
            "counts of incidents and matches are not subtracted: the runs come from different "
            "sources, or one of the records is incomplete",
        )


def _signalled(analysis: Analysis) -> Iterator[tuple[str, str]]:
    """Yield what left no failing step: calls of no tool, pauses, attempts that were replaced."""
    signals = analysis.columns.steps.signals
    unknown = int(((signals & SIGNAL_BIT["unknown_tool"]) > 0).sum())
    if unknown:
        asked = counted(unknown, "model step")
        yield (
            "calls.unknown_tool",
            f"{asked} asked for a tool nobody offered; no step shows it fail",
        )
    paused = int(((signals & SIGNAL_BIT["interrupt"]) > 0).sum())
    if paused:
        steps = counted(paused, "step")
        yield "run.interrupted", f"{steps} paused at an interrupt: what followed may be elsewhere"
    if any(gap.code == _LAST_ATTEMPTS for gap in analysis.trace.gaps):
        yield (
            "attempts.last_only",
            "of a task that was tried again only the last attempt is recorded",
        )


def _aliased(analysis: Analysis) -> int:
    """Count the names of steps that reports do not show as they are."""
    columns = analysis.columns
    codes = {code for code in set(columns.steps.name.tolist()) if code >= 0}
    return sum(alias(columns.text(code)) != columns.text(code) for code in codes)
