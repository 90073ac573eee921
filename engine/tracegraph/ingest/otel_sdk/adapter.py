"""What the SDKs of OpenTelemetry print of spans: ``ReadableSpan.to_json`` of the one for Python.

Shapes: documents one after the other as ``ConsoleSpanExporter`` prints them, other output of the
program between them or not; one a line; an array. Times have microseconds (the SDK rounds), numbers
of dropped attributes, events and links are not printed. Consoles of other languages print no JSON.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.otel_sdk.printed import documents_in
from tracegraph.ingest.otel_sdk.records import AREA, read_span, spans_in
from tracegraph.ingest.otel_sdk.snapshots import is_earlier
from tracegraph.ingest.source import Source
from tracegraph.ingest.spans.plain import PlainReader
from tracegraph.ingest.spans.record import SpanRecord
from tracegraph.ingest.spans.trace import SpanTrace
from tracegraph.model.draft import Draft

_KIND = re.compile(rb'"kind"\s*:\s*"SpanKind\.[A-Z]+"')
_SPAN = re.compile(
    rb'(?:^[\[ \t,]*\{\s*|\{\r?\n[ \t]+)"name"\s*:\s*"(?:[^"\\]|\\.)*+"\s*,\s*"context"\s*:\s*\{',
    re.MULTILINE,
)
"""How one opens at the margin, and broken into lines behind text that did not end its line."""
_MEMBERS = {"context", "kind"}


class OtelSdkAdapter:
    """Reads printed spans."""

    name = AREA
    version = 1
    unites = True

    def sniff(self, source: Source) -> bool:
        """Tell by the word for the kind of a span, and by how a span opens."""
        if not _KIND.search(source.head):
            return False
        return opening_keys(source) >= _MEMBERS or bool(_SPAN.search(source.head))

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Read traces; see :class:`tracegraph.ingest.adapter.Adapter`.

        Gap codes: those of :mod:`tracegraph.ingest.span_gaps` but for what was dropped, and
        ``otel_sdk.other_output``, ``otel_sdk.snapshot_replaced``, ``otel_sdk.unreadable_event``,
        ``otel_sdk.unreadable_field``, ``otel_sdk.unreadable_link``.
        """
        yield from _Reader(sources, options).read()


class _Reader(PlainReader):
    """Reads the printed spans of the sources; those without an end wait for their ends."""

    area = AREA
    item = staticmethod(read_span)

    def __init__(self, sources: Sequence[Source], options: ReadOptions) -> None:
        super().__init__(sources, options)
        self._open: defaultdict[str, list[tuple[SpanRecord, int, int]]] = defaultdict(list)

    def documents(self, index: int, losses: Losses) -> Iterator[tuple[str, bytes]]:
        """Yield the documents among what was printed."""
        return documents_in(self.sources[index], losses)

    def items(self, value: Any) -> Iterator[Any]:
        """Yield a document that is a span."""
        spans = list(spans_in(value))
        if not spans:
            self.lose_all({f"{AREA}.other_output": 1})
        yield from spans

    def keep_item(
        self, trace: SpanTrace, record: SpanRecord, index: int, number: int, losses: Losses
    ) -> None:
        """Put a span into its trace, later if it has not ended."""
        if record.end >= 0:
            super().keep_item(trace, record, index, number, losses)
            return
        trace.gaps.update(losses.counts)
        self._open[trace.trace_id].append((record, index, number))

    def add(self, draft: Draft, trace: SpanTrace) -> None:
        """Append a trace, with the spans whose ends were not printed in their places."""
        waiting = self._open.pop(trace.trace_id, [])
        for record, index, number in waiting:
            ended = trace.spans.get(record.step_id)
            if ended is not None and is_earlier(record, ended):
                trace.gaps[f"{AREA}.snapshot_replaced"] += 1
            else:
                self.keep(trace, record, index, number, f"{self.noun} {number}")
        if waiting:
            in_place = sorted(trace.spans.items(), key=lambda item: _position(item[1]))
            trace.spans = dict(in_place)
        super().add(draft, trace)


def _position(record: SpanRecord) -> tuple[int, int]:
    return record.source, record.ordinal
