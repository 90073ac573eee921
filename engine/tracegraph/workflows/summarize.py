"""What do the matches of a pattern look like?"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from tracegraph.analysis.analysis import outcome_unknown
from tracegraph.analysis.shapes import Shape, shaped
from tracegraph.corpus.corpus import Corpus
from tracegraph.export.summary import Coverage, Example, Group, Summary
from tracegraph.ingest.losses import is_loss
from tracegraph.model.codes import EVIDENCE, KINDS, ORIGINS, STATUSES
from tracegraph.model.trace import Trace
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.printer import digest as meaning_of
from tracegraph.workflows.matching import MatchedTrace, Seen, digest_of, matched_traces, steps_of

EXAMPLES = 3
"""Matches of a shape that are given with their steps, each of another trace."""


def summarize(corpus: Corpus, pattern: Pattern) -> Summary:
    """Group the confirmed matches of a pattern by shape, trace by trace.

    A row of ``having`` counts as the matches that it holds.
    """
    seen = Seen()
    gathered: dict[Shape, _Gathered] = {}
    for matched in matched_traces(corpus, pattern, seen):
        _gather(matched, gathered)
    groups = [
        Group(shape, found.matches, found.traces, tuple(example for _, example in found.examples))
        for shape, found in gathered.items()
    ]
    groups.sort(key=lambda group: (-group.match_count, _words(group.shape)))
    gaps = Counter(corpus.gaps) + seen.gaps
    return Summary(
        (pattern.id, pattern.version, meaning_of(pattern)),
        groups,
        _coverage(corpus, seen, sum(group.match_count for group in groups)),
        gaps,
    )


@dataclass(slots=True)
class _Gathered:
    matches: int = 0
    traces: int = 0
    examples: list[tuple[int, Example]] = field(default_factory=list)
    """With the place of their trace in the corpus, which does not hang on how segments lie."""


def _gather(matched: MatchedTrace, gathered: dict[Shape, _Gathered]) -> None:
    columns, trace = matched.part.columns, matched.trace
    rank = matched.part.rank(matched.index)
    here: set[Shape] = set()
    digest: str | None = None
    for match in matched.matches:
        for positions in steps_of(match):
            shape = Shape(trace.source, trace.fidelity, shaped(columns, positions))
            found = gathered.setdefault(shape, _Gathered())
            found.matches += 1
            if shape in here:
                continue
            here.add(shape)
            found.traces += 1
            if len(found.examples) == EXAMPLES and found.examples[-1][0] < rank:
                continue
            digest = digest or digest_of(trace)
            ids = tuple(columns.step_id[position.row] for position in positions)
            found.examples.append((rank, Example(trace.trace_id, digest, ids)))
            found.examples.sort(key=lambda ranked: ranked[0])
            del found.examples[EXAMPLES:]


def _words(shape: Shape) -> tuple[object, ...]:
    """Return what orders shapes, whatever the codes of today's version are."""
    steps = [
        (
            KINDS[step.kind],
            step.name or "",
            STATUSES[step.status],
            step.is_repeated,
            [(ORIGINS[origin], EVIDENCE[evidence]) for origin, evidence in step.links],
        )
        for step in shape.steps
    ]
    return shape.source, shape.fidelity, steps


def _coverage(corpus: Corpus, seen: Seen, matches: int) -> Coverage:
    return Coverage(
        files_read=len(corpus.files),
        files_skipped=len(corpus.skipped),
        traces_scanned=corpus.trace_count,
        traces_matched=seen.traces,
        traces_possible=seen.doubtful,
        traces_not_evaluable=seen.not_evaluable,
        traces_with_losses=_with_losses(corpus),
        traces_with_unknown_outcomes=sum(
            len(np.unique(columns.trace_of(np.flatnonzero(outcome_unknown(columns)))))
            for _, columns in corpus.segments
        ),
        match_count=matches,
        possible_count=seen.possible,
    )


def _with_losses(corpus: Corpus) -> int:
    """Count the traces of which reading lost something; most have no gap at all."""
    total = 0
    for _, columns in corpus.segments:
        for index in np.flatnonzero(columns.traces.gaps >= 0).tolist():
            total += any(is_loss(gap.code) for gap in Trace(columns, index).gaps)
    return total
