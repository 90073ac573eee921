"""The spans of Phoenix exports, gathered by trace."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

from tracegraph.errors import InputError, StrictError
from tracegraph.ingest import span_gaps
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.documents import documents
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import decimal_text
from tracegraph.ingest.phoenix.database import JSON_COLUMNS, TraceRows, traces_of
from tracegraph.ingest.phoenix.evaluations import Evaluations
from tracegraph.ingest.phoenix.items import Documents
from tracegraph.ingest.phoenix.records import Span
from tracegraph.ingest.phoenix.spans import ids_of, read_span
from tracegraph.ingest.source import Source
from tracegraph.ingest.spans.reader import SpanReader
from tracegraph.ingest.spans.trace import SpanTrace
from tracegraph.model.codes import FIDELITY_CODE
from tracegraph.model.draft import Draft

_PROJECT = "openinference.project.name"
"""OpenInference's name for it, which OTLP carries among the attributes of the resource."""


class PhoenixReader(SpanReader):
    """Reads the spans of the sources.

    Phoenix drops the links of a span when it takes it in, so no export of it can hold them.
    """

    area = "phoenix"
    fidelity = FIDELITY_CODE["parent_only"]

    def __init__(self, sources: Sequence[Source], options: ReadOptions) -> None:
        super().__init__(sources, options)
        self._evaluations = Evaluations()
        self._costs: dict[str, dict[str, Any]] = {}

    def read_documents(self, index: int) -> None:
        """Read the spans of a JSON export.

        Raises:
            InputError: it holds no span, or nothing of it can be read.
            StrictError: strict, and something was lost.
        """
        source = self.sources[index]
        outside = Losses(source.name, self.options.strict)
        read = Documents(source.name, self.options.strict)
        refusal: InputError | None = None
        found = number = 0
        for place, data in documents(source, outside):
            where = place.removeprefix(source.name).lstrip(": ")
            try:
                for span in read.spans(data, where):
                    number += 1
                    shown = where or f"span {number}"
                    found += self._take(span, index, number, shown, read)
            except StrictError:
                raise
            except InputError as error:
                refusal = refusal or error
                what = str(error).removeprefix(source.name).lstrip(": ")
                self.lose(index, span_gaps.UNREADABLE_RECORD, what)
        if not found:
            raise refusal or InputError(f"{source.name}: holds no Phoenix span that can be read")
        self.lose_all(outside.counts)
        for trace_id, annotations in read.annotations.items():
            self._evaluations.add(trace_id, None, annotations)

    def read_database(self, index: int) -> Iterator[Draft]:
        """Read the database of a Phoenix server; yield drafts where no other source adds to them.

        Raises:
            InputError: it cannot be copied, or nothing of it can be read.
            StrictError: strict, and something was lost.
        """
        source = self.sources[index]
        read = Documents(source.name, self.options.strict)
        found = False
        try:
            for rows in traces_of(source):
                found |= self._take_rows(rows, index, read)
                if len(self.sources) == 1:
                    yield from self.flush()
        except StrictError:
            raise
        except InputError as error:
            if not found:
                raise
            what = str(error).removeprefix(source.name).lstrip(": ")
            self.lose(index, span_gaps.UNREADABLE_RECORD, what)
        if not found:
            raise InputError(f"{source.name}: the database of a Phoenix server without any span")

    def add(self, draft: Draft, trace: SpanTrace) -> None:
        """Append a trace in the order in which the server took it in."""
        if _newest_first(trace):
            trace.spans = dict(reversed(trace.spans.items()))
        losses = Losses(self.sources[trace.source].name, self.options.strict)
        _add_costs(trace, self._costs.pop(trace.trace_id, {}))
        self._evaluations.attach(trace, losses, self.options.keep_content)
        trace.gaps.update(losses.counts)
        trace.gaps["phoenix.no_span_links"] += 1
        super().add(draft, trace)

    def _take(
        self, span: Span | None, index: int, number: int, where: str, read: Documents
    ) -> bool:
        """Take a span, if it is asked for; False where it cannot be used."""
        lost, read.losses.counts = read.losses.counts, Counter()
        trace_id, step_id = ids_of(span) if span is not None else (None, None)
        if span is None or trace_id is None or step_id is None:
            self.lose_all(lost)
            self.lose(index, span_gaps.UNREADABLE_SPAN, f"{where}: a span without its ids")
            return False
        trace = self.open_trace(trace_id, index)
        if trace is None:
            return True
        keep_content = self.options.keep_content
        record = read_span(span, step_id, where, read.losses, keep_content=keep_content)
        self.keep(trace, record, index, number, where)
        for annotations in (span.annotations, span.notes):
            if annotations:
                self._evaluations.add(trace_id, step_id, annotations)
        lost.update(read.losses.counts)
        read.losses.counts.clear()
        trace.gaps.update(lost)
        return True

    def _take_rows(self, rows: TraceRows, index: int, read: Documents) -> bool:
        """Take a trace of a database; False where none of its spans can be used."""
        usable = False
        for number, row in enumerate(rows.spans, 1):
            where = f"span {number} of trace {rows.trace_id}"
            value = row | {name: read.part(row[name], where) for name in JSON_COLUMNS}
            usable |= self._take(read.span(value, where), index, number, where, read)
        trace = self.open_trace(rows.trace_id, index) if usable else None
        if trace is not None:
            if rows.project is not None:
                trace.attributes.setdefault(_PROJECT, rows.project)
            for step_id, annotation in rows.annotations:
                self._evaluations.add(rows.trace_id, step_id, [annotation])
            self._costs[trace.trace_id] = rows.costs
        return usable


def _add_costs(trace: SpanTrace, costs: Mapping[str, Any]) -> None:
    """Give steps that record no cost what Phoenix reckons from its price list."""
    for step_id, cost in costs.items():
        record = trace.spans.get(step_id)
        reckoned = decimal_text(cost) if isinstance(cost, float | int) else None
        if record is not None and record.fields.cost is None and reckoned is not None:
            record.fields.cost = format(Decimal(reckoned), "f")
            trace.gaps["phoenix.cost_from_price_list"] += 1


def _newest_first(trace: SpanTrace) -> bool:
    """Tell whether the spans stand against the order in which they ended, as REST lists them.

    What has no other order, since it starts at the same microsecond, keeps that of its place.
    """
    ends = [record.end for record in trace.spans.values() if record.end >= 0]
    falls = sum(earlier > later for earlier, later in pairwise(ends))
    rises = sum(earlier < later for earlier, later in pairwise(ends))
    return falls > rises
