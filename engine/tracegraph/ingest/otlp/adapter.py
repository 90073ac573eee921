"""OTLP/JSON files: spans of OpenInference, OpenTelemetry GenAI, OpenLLMetry and everyone else.

Shapes: an export request, an array of them, Tempo's ``batches``, JSON Lines as the Collector's
file exporter writes them (a request or a span a line), and documents one after the other.
"""

from collections.abc import Iterator, Sequence

import msgspec

from tracegraph.errors import InputError, StrictError
from tracegraph.ingest import span_gaps
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.attributes import RawAttributes
from tracegraph.ingest.json_lines import is_json_lines
from tracegraph.ingest.otlp.decode import (
    DecodedRecord,
    Place,
    decode_records,
    reread,
)
from tracegraph.ingest.otlp.fingerprint import fingerprint
from tracegraph.ingest.otlp.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, normal_id
from tracegraph.ingest.otlp.records import Resource, Span, is_phoenix_dialect
from tracegraph.ingest.otlp.repair import INVALID_UTF8
from tracegraph.ingest.otlp.spans import read_span
from tracegraph.ingest.source import Source
from tracegraph.ingest.spans.reader import SpanReader
from tracegraph.ingest.spans.record import SpanRecord
from tracegraph.ingest.spans.trace import SpanTrace
from tracegraph.model.draft import Draft

_GROUPED = (b'"resourceSpans"', b'"resource_spans"')
_TEMPO = (b'"scopeSpans"', b'"instrumentationLibrarySpans"', b'"scope_spans"')
_SINGLE = (
    (b'"traceId"', b'"spanId"', b'"startTimeUnixNano"'),
    (b'"trace_id"', b'"span_id"', b'"start_time_unix_nano"'),
)
_OTHER_SIGNALS = (b'"resourceLogs"', b'"resourceMetrics"')
_KEPT = (
    "deployment.environment",
    "deployment.environment.name",
    "openinference.project.name",
    "service.name",
    "service.version",
)
_resource = msgspec.json.Decoder(Resource)


class OtlpAdapter:
    """Reads OTLP/JSON."""

    name = "otlp"
    version = 2
    unites = True

    def sniff(self, source: Source) -> bool:
        """Tell OTLP/JSON by its field names."""
        head = source.head
        if head.lstrip()[:1] not in (b"{", b"[") and not is_json_lines(source):
            return False
        if any(mark in head for mark in _GROUPED + _TEMPO):
            return True
        if any(all(mark in head for mark in marks) for marks in _SINGLE):
            return not is_phoenix_dialect(head)
        if any(mark in head for mark in _OTHER_SIGNALS):  # the Collector mixes signals in one file
            return any(source.data.find(mark) >= 0 for mark in _GROUPED)
        return False

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Read traces; see :class:`tracegraph.ingest.adapter.Adapter`."""
        reader = _Reader(sources, options)
        for index in range(len(sources)):
            reader.read_source(index)
        yield from reader.finish()


class _Reader(SpanReader):
    """Reads the spans of the sources."""

    area = "otlp"

    def __init__(self, sources: Sequence[Source], options: ReadOptions) -> None:
        super().__init__(sources, options)
        self._by_recorded_id: dict[str | None, tuple[SpanTrace | None, bool]] = {}
        self._reread: tuple[Place, list[Span]] | None = None
        self._resources: dict[bytes, dict[str, str]] = {}

    def read_source(self, index: int) -> None:
        """Read the spans of one source.

        Raises:
            InputError: it holds records and none can be read.
            StrictError: strict, and something was lost.
        """
        source = self.sources[index]
        refusal: str | None = None
        read = False
        for record in decode_records(source):
            if record.unreadable is not None:
                refusal = refusal or record.unreadable
                self.lose(index, span_gaps.UNREADABLE_RECORD, record.unreadable)
                continue
            read = True
            if record.lost:
                what = f"{record.place}: {record.lost} spans cannot be read"
                self.lose(index, span_gaps.UNREADABLE_SPAN, what, record.lost)
            self._read_record(index, record)
        if refusal is not None and not read:
            raise InputError(f"{source.name}: {refusal}")

    def said(self, record: SpanRecord) -> str:
        """Decode a span again and digest it; spans are not kept, since duplicates are few."""
        if self._reread is None or self._reread[0] is not record.place:
            decoded = reread(self.sources[record.source], record.place)
            self._reread = record.place, [span for _, span in decoded.spans()]
        return fingerprint(self._reread[1][record.ordinal])

    def place(self, record: SpanRecord) -> tuple[int, str]:
        """Return where the record of a span begins."""
        return record.place.offset, str(record.place)

    def _read_record(self, index: int, record: DecodedRecord) -> None:
        source = self.sources[index]
        repaired = record.repaired
        for ordinal, (resource, span) in enumerate(record.spans()):
            found = self._by_recorded_id.get(span.traceId)
            trace, standard = found or self._find_trace(span.traceId, index)
            if trace is None:
                if span.traceId is None:
                    self.lose(index, span_gaps.UNREADABLE_SPAN, f"{record.place}: no trace id")
                continue
            step_id, standard_id = normal_id(span.spanId, SPAN_ID_DIGITS)
            if step_id is None:
                self.lose(index, span_gaps.UNREADABLE_SPAN, f"{record.place}: no span id")
                continue
            if not (standard and standard_id):
                self._disclose_ids(source, trace, record, span, (not standard) + (not standard_id))
            if not trace.attributes:
                trace.attributes.update(self._resource_attributes(resource))
            read = read_span(span, step_id, self.options.keep_content)
            read.source, read.place, read.ordinal = index, record.place, ordinal
            if self.options.strict and read.gaps:
                self.refuse_unreadable(read)
            if repaired and ordinal in repaired:
                self._disclose_repairs(source, trace, record, repaired[ordinal])
            if step_id in trace.spans:
                self.add_duplicate(trace, read, fingerprint(span))
            else:
                trace.spans[step_id] = read

    def _find_trace(self, recorded: str | None, index: int) -> tuple[SpanTrace | None, bool]:
        trace_id, standard = normal_id(recorded, TRACE_ID_DIGITS)
        trace = self.open_trace(trace_id, index) if trace_id is not None else None
        self._by_recorded_id[recorded] = trace, standard
        return trace, standard

    def _disclose_ids(
        self, source: Source, trace: SpanTrace, record: DecodedRecord, span: Span, count: int
    ) -> None:
        code = "otlp.nonstandard_id_encoding"
        if self.options.strict:
            raise StrictError(
                f"{source.name}: {record.place}: span id {span.spanId} of trace {span.traceId}: "
                f"OTLP/JSON ids are hex ({code})"
            )
        trace.gaps[code] += count

    def _disclose_repairs(
        self, source: Source, trace: SpanTrace, record: DecodedRecord, repaired: dict[str, int]
    ) -> None:
        for code, count in repaired.items():
            where = f"{record.place}"
            if code == INVALID_UTF8:
                where = f"byte {record.invalid_at}"
            if self.options.strict:
                raise StrictError(f"{source.name}: {where}: text is no valid Unicode ({code})")
            trace.gaps[code] += count
            if code == INVALID_UTF8:
                trace.notes.add(f"{source.name}: first invalid UTF-8 at {where}")

    def _resource_attributes(self, resource: msgspec.Raw) -> dict[str, str]:
        raw = bytes(resource)
        known = self._resources.get(raw)
        if known is None:
            try:
                items = _resource.decode(raw).attributes or ()
            except (msgspec.MsgspecError, RecursionError):
                items = ()
            attributes = RawAttributes({item.key: item.value for item in items})
            known = {key: text for key in _KEPT if (text := attributes.text(key))}
            self._resources[raw] = known
        return dict(known)
