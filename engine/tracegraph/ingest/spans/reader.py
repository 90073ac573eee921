"""Gather spans by trace, over all the files that hold some of them, and make drafts of them."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tracegraph.errors import StrictError
from tracegraph.ingest import span_gaps
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.source import Source
from tracegraph.ingest.spans.record import SpanRecord
from tracegraph.ingest.spans.trace import SpanTrace, add_trace
from tracegraph.model.digest import digest_bytes
from tracegraph.model.draft import Draft

_STEPS_A_DRAFT = 50_000


class SpanReader:
    """What the readers of formats made of spans have in common.

    Attributes:
        sources: the files.
        options: what is asked for.
        area: name of the source of the traces, with which their gap codes begin.
        fidelity: code of FIDELITIES of the format.
    """

    area: str
    fidelity = 0

    def __init__(self, sources: Sequence[Source], options: ReadOptions) -> None:
        self.sources = sources
        self.options = options
        self._traces: dict[str, SpanTrace] = {}
        self._variants: dict[tuple[str, str], dict[str, SpanRecord]] = {}
        self._draft = Draft(keep_content=options.keep_content)
        self._yielded = False

    def said(self, record: SpanRecord) -> str:
        """Return a digest of what a span says, the same for records that say the same.

        That is, unless a format knows better, what it is read as: where two are the same in that,
        nothing tells them apart.
        """
        bare = msgspec.structs.replace(record, source=0, place=None, ordinal=0)
        return digest_bytes(msgspec.json.encode(bare))

    def place(self, record: SpanRecord) -> tuple[int, str]:
        """Return where a span lies in its source: comparable, and in words."""
        return record.ordinal, record.place

    def keep(
        self, trace: SpanTrace, record: SpanRecord, index: int, number: int, where: str
    ) -> None:
        """Put a span into its trace.

        Args:
            trace: the trace.
            record: a span of it.
            index: of the source.
            number: which of the source's spans it is.
            where: names its place in messages.

        Raises:
            StrictError: strict, and it cannot be read in full or is there otherwise.
        """
        record.source, record.place, record.ordinal = index, where, number
        if self.options.strict and record.gaps:
            self.refuse_unreadable(record)
        if record.step_id in trace.spans:
            self.add_duplicate(trace, record, self.said(record))
        else:
            trace.spans[record.step_id] = record

    def open_trace(self, trace_id: str, source: int) -> SpanTrace | None:
        """Return the trace of an id, None where it is not asked for.

        Args:
            trace_id: normalised.
            source: index of the source that names it.
        """
        trace = self._traces.get(trace_id)
        if trace is None:
            only = self.options.only
            if only is not None and trace_id not in only:
                return None
            trace = self._traces[trace_id] = SpanTrace(trace_id, source)
        return trace

    def add_duplicate(self, trace: SpanTrace, record: SpanRecord, said: str) -> None:
        """Keep one of several records of a span; which one does not depend on their order.

        Args:
            trace: the trace that has a record of the span already.
            record: another one.
            said: what :meth:`said` returns for it.

        Raises:
            StrictError: strict, and the two differ.
        """
        first = trace.spans[record.step_id]
        variants = self._variants.get((trace.trace_id, record.step_id))
        if variants is None:
            variants = {self.said(first): first}
            self._variants[trace.trace_id, record.step_id] = variants
        if said in variants:
            trace.gaps[f"{self.area}.{span_gaps.DUPLICATE_IDENTICAL}"] += 1
            return
        code = f"{self.area}.{span_gaps.DUPLICATE_CONFLICT}"
        if self.options.strict:
            places = sorted((r.source, *self.place(r)) for r in (first, record))
            where = " and ".join(f"{self.sources[i].name} {place}" for i, _, place in places)
            raise StrictError(
                f"{where}: two different records of span {record.step_id} in trace "
                f"{trace.trace_id} ({code})"
            )
        variants[said] = record
        trace.gaps[code] += 1
        trace.notes.add(f"span {record.step_id}: different records, the one that ends last is kept")
        last = max(variants.items(), key=lambda item: (item[1].end, item[0]))
        trace.spans[record.step_id] = last[1]

    def refuse_unreadable(self, record: SpanRecord) -> None:
        """Refuse a span that holds a value which cannot be read.

        Raises:
            StrictError: it does.
        """
        code = next((code for code in record.gaps or () if code.startswith("unreadable_")), None)
        if code is not None:
            raise StrictError(
                f"{self.sources[record.source].name}: {self.place(record)[1]}: span "
                f"{record.step_id} holds a value that cannot be read ({self.area}.{code})"
            )

    def lose(self, source: int, code: str, what: str, count: int = 1) -> None:
        """Disclose a loss that belongs to no trace.

        Args:
            source: index of the source.
            code: of :mod:`tracegraph.ingest.span_gaps`.
            what: what is lost, and where.
            count: how often.

        Raises:
            StrictError: losses are to be refused.
        """
        if self.options.strict:
            raise StrictError(f"{self.sources[source].name}: {what} ({self.area}.{code})")
        self.lose_all({f"{self.area}.{code}": count})

    def lose_all(self, counts: Mapping[str, int]) -> None:
        """Disclose losses that belong to no trace, by whole code."""
        self._draft.file_gaps.update(counts)

    def add(self, draft: Draft, trace: SpanTrace) -> None:
        """Append a trace of which all spans are there."""
        source = self.sources[trace.source]
        add_trace(draft, trace, self.area, source.name, source.digest, fidelity=self.fidelity)

    def flush(self) -> Iterator[Draft]:
        """Turn what was gathered into steps, in order of first appearance; yield full drafts."""
        for key in list(self._traces):
            self.add(self._draft, self._traces.pop(key))
            if len(self._draft.steps.step_id) >= _STEPS_A_DRAFT:
                yield self._draft
                self._yielded = True
                self._draft = Draft(keep_content=self.options.keep_content)
        self._variants.clear()

    def finish(self) -> Iterator[Draft]:
        """Yield the drafts that are left, at least one in all."""
        yield from self.flush()
        if self._draft.traces.first or self._draft.file_gaps or not self._yielded:
            yield self._draft
