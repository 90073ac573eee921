"""The rules of evidence: what a rule does not know, and what that forbids it to say.

What is unknown of the current run may be one more of what is counted: it forbids PASS. What is
unknown of the baseline may have been there before: it forbids FAIL. What makes the two incomparable
forbids both (seed README, "Regression check").
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tracegraph.analysis.check.gaps import CONTRADICTS, Hides, hides
from tracegraph.analysis.check.runs import Pair, Run, Which
from tracegraph.model.codes import HEURISTIC, SIGNAL_BIT, STATUS_CODE
from tracegraph.model.columns import Mask

Outcome = Literal["PASS", "FAIL", "INSUFFICIENT_EVIDENCE"]

MEANING: Final = {
    "increased": "more of what the rule counts than in the baseline",
    "changed": "the derived tree, or a join that it leaves out, is another one",
    "over_budget": "more than the budget allows",
    "no_steps": "a run without steps proves nothing",
    "other_source": "the runs were read by different adapters, which see and name things otherwise",
    "other_fidelity": "the sources can hold different kinds of causes",
    "other_currency": "the costs are not known to be in one currency",
    "hidden_steps": "a gap that may have left a step out",
    "hidden_failures": "a gap that may hide that a step failed",
    "hidden_causes": "a gap that may hide a cause or its true end",
    "hidden_values": "a gap that may hide a part of what is measured",
    "heuristic_edges": "causes that were guessed from order or timing",
    "orphans": "steps whose recorded parent is missing",
    "unknown_status": "steps that the rule could count, and how they ended is not recorded",
    "unknown_tools": "model steps that asked for a tool nobody offered; no step of it failed",
    "unnamed_steps": "steps that the rule compares by name, and none is recorded",
    "unknown_kind": "steps that the rule tells by kind, and the record says that it is not known",
    "possible_matches": "matches that hang on what is not recorded",
    "too_many_matches": "there may be too many matches to count",
    "not_evaluable": "no step records what the pattern needs",
    "not_measured": "nothing of what is measured is recorded",
    "partly_measured": "steps that should have recorded their part and did not",
    "contradiction": "steps recorded as ok beside other evidence of a failure; they count as ok",
    "gap": "a loss or doubt met while reading; it forbids no verdict of this rule",
    "followed_by_success": "failing steps with a later recorded success of the same kind and name; "
    "they count all the same",
    "followed_in_session": "failing steps with a recorded success of the same kind and name in a "
    "later trace of their session; they count all the same",
    "one_trace": "a pattern of sessions reads one trace here, not its session",
    "not_aligned": "counts compare kind and name: two such steps that trade which one fails are "
    "not told apart (tracegraph diff shows them)",
}
"""Codes of reasons and limitations, and what they mean."""


@dataclass(frozen=True, slots=True)
class Note:
    """One reason for an outcome, or one limitation of it.

    Attributes:
        code: key of MEANING.
        which: the run it concerns; None for both together.
        count: how many; None where it is about the whole.
        subject: the gap code, or what is needed; None where the code says it all.
    """

    code: str
    which: Which | None = None
    count: int | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """What a rule does not know.

    Attributes:
        pair: what makes the runs incomparable.
        current: what else the current run may hold.
        baseline: what else the baseline may hold.
    """

    pair: Sequence[Note] = ()
    current: Sequence[Note] = ()
    baseline: Sequence[Note] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """An outcome, why, and what it does not see."""

    outcome: Outcome
    reasons: tuple[Note, ...]
    limitations: tuple[Note, ...]


def decide(
    is_worse: bool, unknown: Unknown, reason: Note, limitations: Iterable[Note] = ()
) -> Judgement:
    """Return the outcome: the one place where it is decided.

    Args:
        is_worse: what is known of the current run is more than what is known of the baseline.
        unknown: what is not known.
        reason: what a FAIL says.
        limitations: what holds whatever the outcome.
    """
    blocking = (*unknown.pair, *(unknown.baseline if is_worse else unknown.current))
    other = (*(unknown.current if is_worse else unknown.baseline), *limitations)
    if blocking:
        return Judgement("INSUFFICIENT_EVIDENCE", blocking, other)
    if is_worse:
        return Judgement("FAIL", (reason,), other)
    return Judgement("PASS", (), other)


def incomparable(pair: Pair) -> Iterator[Note]:
    """Yield what forbids any comparison of two runs."""
    for run in pair.runs:
        yield from no_steps(run)
    if pair.current.trace.source != pair.baseline.trace.source:
        yield Note("other_source")


def no_steps(run: Run) -> Iterator[Note]:
    """Yield that a run is empty, if it is."""
    if not len(run.side):
        yield Note("no_steps", run.which)


def uncertain_causes(pair: Pair) -> Iterator[Note]:
    """Yield, gaps aside, what forbids a comparison of causes or of the tree made of them."""
    if pair.current.trace.fidelity != pair.baseline.trace.fidelity:
        yield Note("other_fidelity")
    for run in pair.runs:
        yield from _counted(run, "heuristic_edges", run.side.edges[3] == HEURISTIC)
        yield from _counted(run, "orphans", run.columns.steps.orphan)


def hidden(run: Run, scope: Hides, but: Hides = Hides.NOTHING) -> Iterator[Note]:
    """Yield the gaps that may hide something, each by the worst of it.

    Args:
        run: the run.
        scope: what the rule reads.
        but: what is told elsewhere: a gap that may hide this is left out.
    """
    for code, count in run.gaps.items():
        found = hides(code) & scope
        if found and not found & but:
            yield Note(_name(found), run.which, count, code)


def harmless(run: Run, scope: Hides) -> Iterator[Note]:
    """Yield the gaps that hide nothing of what a rule compares; contradictions by their name."""
    for code, count in run.gaps.items():
        if CONTRADICTS in code and Hides.FAILURES in scope:
            yield Note("contradiction", run.which, count, code)
        elif not hides(code) & scope:
            yield Note("gap", run.which, count, code)


def unknown_failures(run: Run) -> Iterator[Note]:
    """Yield the steps that may be one more failure, or one of another kind or name."""
    failing = run.side.status == STATUS_CODE["error"]
    yield from _counted(run, "unknown_status", run.side.undecided)
    yield from _counted(run, "unnamed_steps", failing & (run.side.name < 0))
    yield from _counted(run, "unknown_kind", failing & run.unknown_kind)
    yield from _counted(run, "unknown_tools", _asked_for_nothing(run, failing))


def _asked_for_nothing(run: Run, failing: Mask) -> Mask:
    """Tell which steps asked for a tool that nobody offered, and caused no failing step by it.

    Such a call fails inside the framework: most exporters write no step of it.
    """
    found = (run.columns.steps.signals & SIGNAL_BIT["unknown_tool"]) > 0
    effect, cause, _, _ = run.side.edges
    found[cause[failing[effect]]] = False
    return np.asarray(found)


def unknown_labels(run: Run) -> Iterator[Note]:
    """Yield the steps that cannot be told by kind and name."""
    yield from _counted(run, "unnamed_steps", run.side.name < 0)
    yield from _counted(run, "unknown_kind", run.unknown_kind)


def _counted(run: Run, code: str, mask: Mask) -> Iterator[Note]:
    count = int(np.count_nonzero(mask))
    if count:
        yield Note(code, run.which, count)


def _name(found: Hides) -> str:
    for part, name in (
        (Hides.STEPS, "hidden_steps"),
        (Hides.FAILURES, "hidden_failures"),
        (Hides.CAUSES, "hidden_causes"),
    ):
        if part & found:
            return name
    return "hidden_values"
