"""The parts of a corpus that a pattern is asked of one after the other."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.labels import Labels
from tracegraph.model.columns import Columns, Ints


@dataclass(frozen=True, slots=True)
class Part:
    """Whole traces, and in session scope whole sessions.

    Attributes:
        segment: number of the segment; -1 for a part that is none.
        columns: the traces.
        units: in session scope, the session of each trace; else None.
        ranks: place of each trace in the order of the corpus.
    """

    segment: int
    columns: Columns
    units: Ints | None
    ranks: Ints

    def rank(self, trace: int) -> int:
        """Return the place of a trace in the order of the corpus."""
        return int(self.ranks[trace])

    def label(self, labels: Labels, trace: int) -> str:
        """Return what people call a trace."""
        return labels.of(self.columns, trace)


def parts_of(
    corpus: Corpus, scope: Literal["trace", "session"], gaps: Counter[str]
) -> Iterator[Part]:
    """Yield the segments one by one; in session scope everything as one part.

    Args:
        corpus: the traces.
        scope: what is read as one.
        gaps: takes what reading several traces as one has to disclose.
    """
    if scope == "trace":
        for number, columns in corpus.segments:
            yield Part(number, columns, None, corpus.ranks[number])
        return
    if not corpus.segments:
        return
    from tracegraph.corpus.merge import rearrange
    from tracegraph.pattern.session import gather, sessions_of

    numbers = [number for number, _ in corpus.segments]
    segments = [columns for _, columns in corpus.segments]
    found = sessions_of(segments, [corpus.ranks[number] for number in numbers])
    gaps.update(found.gaps)
    gathered = gather(segments, rearrange, found)
    ranks = np.zeros(len(gathered.trace), dtype=np.int64)
    for place, number in enumerate(numbers):
        here = gathered.segment == place
        ranks[here] = corpus.ranks[number][gathered.trace[here]]
    yield Part(-1, gathered.columns, gathered.units, ranks)
