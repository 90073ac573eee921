"""The confirmed matches of a pattern, one after the other: never all of a corpus at once."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from tracegraph.corpus.corpus import Corpus
from tracegraph.export.artifact import artifact_digest, write_artifact
from tracegraph.model.trace import Trace
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.finish import finish
from tracegraph.pattern.matcher import match_rows
from tracegraph.pattern.plan import plan
from tracegraph.pattern.result import Match, Position
from tracegraph.workflows.parts import Part, parts_of


@dataclass(slots=True)
class Seen:
    """What was looked at on the way; complete after the iteration.

    Attributes:
        matches: confirmed matches.
        possible: possible ones.
        traces: traces with a confirmed match.
        doubtful: traces with possible matches alone.
        not_evaluable: traces that lack what the pattern needs.
        gaps: what reading several traces as one had to disclose.
    """

    matches: int = 0
    possible: int = 0
    traces: int = 0
    doubtful: int = 0
    not_evaluable: int = 0
    gaps: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class MatchedTrace:
    """A trace with its confirmed matches.

    Attributes:
        part: the part of the corpus that it lies in.
        index: which trace of the part.
        matches: made as they are read, once.
    """

    part: Part
    index: int
    matches: Iterator[Match]

    @property
    def trace(self) -> Trace:
        """The trace."""
        return Trace(self.part.columns, self.index)


def matched_traces(corpus: Corpus, pattern: Pattern, seen: Seen) -> Iterator[MatchedTrace]:
    """Yield every trace with a confirmed match; its matches must be read before the next one.

    Args:
        corpus: the traces.
        pattern: a loaded pattern whose parameters are bound.
        seen: takes the totals.
    """
    planned = plan(pattern)
    for part in parts_of(corpus, pattern.scope, seen.gaps):
        rows = match_rows(planned, part.columns, part.units)
        found = finish(planned, rows, part.columns, part.units)
        matched = found.traces
        seen.matches += found.confirmed
        seen.possible += found.possible
        seen.traces += len(matched)
        seen.doubtful += len(np.setdiff1d(found.trace, matched))
        seen.not_evaluable += len(found.not_evaluable)
        confirmed = np.flatnonzero(found.certain)
        ordered = confirmed[np.argsort(found.trace[confirmed], kind="stable")].tolist()
        for index, places in groupby(ordered, key=lambda place: int(found.trace[place])):
            yield MatchedTrace(part, index, (found[place] for place in places))


def steps_of(match: Match) -> Iterator[tuple[Position, ...]]:
    """Yield the steps of a match, or of every match that a row of ``having`` counts."""
    if match.members is None:
        yield match.steps
    else:
        yield from match.members


def digest_of(trace: Trace) -> str:
    """Return by what every report names a trace: the SHA-256 of its artifact."""
    return artifact_digest(write_artifact(trace))
