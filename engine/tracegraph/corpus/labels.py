"""What traces are called where several traces of a corpus have one id (DESIGN section 3)."""

from collections import Counter
from functools import cached_property

from tracegraph.corpus.corpus import Corpus
from tracegraph.model.columns import Columns


class Labels:
    """Names traces: ``id`` if unique, else ``id@source`` if unique, else ``id@file``.

    Costs one pass over the ids, however many traces are named.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._last: tuple[Columns, int, str] | None = None

    def of(self, columns: Columns, trace: int) -> str:
        """Return the label of one trace of some columns of the corpus."""
        last = self._last  # most often it is asked for once more: of the next step, or match
        if last is None or last[0] is not columns or last[1] != trace:
            last = self._last = (columns, trace, self._label(columns, trace))
        return last[2]

    def _label(self, columns: Columns, trace: int) -> str:
        trace_id = columns.trace_id[trace]
        if trace_id not in self._repeated:
            return trace_id
        source = columns.text(columns.traces.source[trace])
        if self._repeated[trace_id][source] == 1:
            return f"{trace_id}@{source}"
        return f"{trace_id}@{columns.text(columns.traces.file[trace])}"

    @cached_property
    def _repeated(self) -> dict[str, Counter[str | None]]:
        """By id that several traces have: how many of them each source has."""
        seen: set[str] = set()
        repeated: dict[str, Counter[str | None]] = {}
        for _, columns in self._corpus.segments:
            for trace_id in columns.trace_id:
                if trace_id in seen:
                    repeated[trace_id] = Counter()
                seen.add(trace_id)
        if repeated:
            for _, columns in self._corpus.segments:
                for trace, trace_id in enumerate(columns.trace_id):
                    if trace_id in repeated:
                        source = columns.text(columns.traces.source[trace])
                        repeated[trace_id][source] += 1
        return repeated
