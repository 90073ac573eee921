"""Findings of a preset for a person to review, as evidence that leaves the place of the traces."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.labels import Labels
from tracegraph.errors import UsageError
from tracegraph.export.review_candidates import Candidate, is_run_id, is_tool_key
from tracegraph.model.codes import KIND_CODE, STATUS_CODE
from tracegraph.model.columns import Columns
from tracegraph.model.trace import Trace
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.exactness import reviewed
from tracegraph.pattern.presets import presets
from tracegraph.pattern.printer import digest as meaning_of
from tracegraph.workflows.matching import MatchedTrace, Seen, digest_of, matched_traces, steps_of

_NAME_THE_RUN = (
    "its record has to name the run: in OTLP by the attribute syncmill.run_id, in a log of your "
    "own by the column of run_id"
)
_TOOL, _ERROR = KIND_CODE["TOOL"], STATUS_CODE["error"]


@dataclass(frozen=True, slots=True)
class Review:
    """What there is to review, and what was looked at.

    Attributes:
        candidates: the findings.
        seen: totals, possible matches among them, which are no findings.
    """

    candidates: frozenset[Candidate]
    seen: Seen


def find_candidates(corpus: Corpus, pattern: Pattern) -> Review:
    """Find what a pattern has to show to a reviewer, trace by trace.

    Raises:
        UsageError: the pattern is not for review; or a trace matches that says neither which run it
            is nor which server its tool belongs to: then nothing is exported, since what is left
            out would be taken for clean.
    """
    _refuse_unfit(pattern)
    positions, seen = reviewed(pattern), Seen()
    found: set[Candidate] = set()
    labels = Labels(corpus)
    for matched in matched_traces(corpus, pattern, seen):
        found.update(_of_trace(matched, pattern, positions, labels))
    return Review(frozenset(found), seen)


def _refuse_unfit(pattern: Pattern) -> None:
    shipped = presets()
    if pattern.export != "review":
        fit = ", ".join(f"{p.id}@{p.version}" for p in shipped if p.export == "review")
        raise UsageError(
            f"{pattern.id}@{pattern.version}: is not for review (export review): {fit}"
        )
    known = [p for p in shipped if (p.id, p.version) == (pattern.id, pattern.version)]
    if known and meaning_of(pattern) != meaning_of(known[0]):
        raise UsageError(
            f"{pattern.id}@{pattern.version}: is a preset of another meaning; give it another id"
        )


def _of_trace(
    matched: MatchedTrace, pattern: Pattern, positions: frozenset[str | None], labels: Labels
) -> Iterator[Candidate]:
    """Yield the findings in a trace; in session scope those of a session that begins with it."""
    columns = matched.part.columns
    rows = {
        position.row
        for match in matched.matches
        for steps in steps_of(match)
        for position in steps
        if position.var in positions and _has_failed(columns, position.row)
    }
    for index, failing in groupby(sorted(rows), key=columns.trace_at):
        label = matched.part.label(labels, index)
        trace = Trace(columns, index)
        run_id, digest = _run_id(trace, label), digest_of(trace)
        for row in failing:
            key = _tool_key(columns, row, label)
            yield Candidate(run_id, pattern.id, pattern.version, key, digest)


def _has_failed(columns: Columns, row: int) -> bool:
    return bool(columns.steps.kind[row] == _TOOL and columns.steps.status[row] == _ERROR)


def _run_id(trace: Trace, label: str) -> str:
    run_id = trace.run_id
    if run_id is None or not is_run_id(run_id):
        what = "has no run_id" if run_id is None else "has a run_id that is blank, long or in parts"
        raise UsageError(f"{label}: matches and {what}: nothing is exported; {_NAME_THE_RUN}")
    return run_id


def _tool_key(columns: Columns, row: int, label: str) -> str:
    name = columns.text(columns.steps.name[row])
    if name is None or not is_tool_key(name):
        raise UsageError(
            f"{label}: step {columns.step_id[row]} matches and its tool {name!r} is no "
            "server::tool name: nothing is exported"
        )
    return name
