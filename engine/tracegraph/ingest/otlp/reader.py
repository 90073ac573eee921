"""The spans of OTLP records -> traces, over all the files that hold some of them."""

from collections.abc import Iterator, Sequence

import msgspec

from tracegraph.errors import InputError, StrictError
from tracegraph.ingest import span_gaps
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.attributes import RawAttributes
from tracegraph.ingest.otlp.decode import decode_records, reread
from tracegraph.ingest.otlp.decoded import DecodedRecord, Place
from tracegraph.ingest.otlp.fingerprint import fingerprint
from tracegraph.ingest.otlp.log_events import LogEvents
from tracegraph.ingest.otlp.records import Resource, Span
from tracegraph.ingest.otlp.repair import INVALID_UTF8
from tracegraph.ingest.otlp.spans import read_span
from tracegraph.ingest.source import Source
from tracegraph.ingest.spans.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, normal_id
from tracegraph.ingest.spans.reader import SpanReader
from tracegraph.ingest.spans.record import SpanRecord
from tracegraph.ingest.spans.resource import resource_attributes
from tracegraph.ingest.spans.trace import SpanTrace
from tracegraph.model.draft import Draft

_resource = msgspec.json.Decoder(Resource)


class OtlpReader(SpanReader):
    """Reads the spans of the sources."""

    area = "otlp"

    def __init__(self, sources: Sequence[Source], options: ReadOptions) -> None:
        super().__init__(sources, options)
        self._by_recorded_id: dict[str | None, tuple[SpanTrace | None, bool]] = {}
        self._reread: tuple[Place, list[Span]] | None = None
        self._resources: dict[bytes, dict[str, str]] = {}
        self._events = LogEvents(sources)

    def read_source(self, index: int) -> None:
        """Read the spans of one source.

        Raises:
            InputError: it holds records and none can be read, or none of them is of spans.
            StrictError: strict, and something was lost.
        """
        source = self.sources[index]
        refusal: str | None = None
        read = has_spans = has_others = False
        for record in decode_records(source):
            if record.unreadable is not None:
                refusal = refusal or record.unreadable
                self.lose(index, span_gaps.UNREADABLE_RECORD, record.unreadable)
                continue
            read = True
            has_spans |= record.lost > 0 or next(record.spans(), None) is not None
            if record.asides is not None:
                has_others |= record.asides.is_other_signal
                self.lose_all(record.asides.counts)
                self._events.note(index, record.place, record.asides.events)
            if record.lost:
                what = f"{record.place}: {record.lost} spans cannot be read"
                self.lose(index, span_gaps.UNREADABLE_SPAN, what, record.lost)
            self._read_record(index, record)
        if refusal is not None and not read:
            raise InputError(f"{source.name}: {refusal}")
        if has_others and not has_spans:
            others = "other signals of OTLP (logs, metrics, profiles)"
            raise InputError(f"{source.name}: holds no spans, only {others}")

    def finish(self) -> Iterator[Draft]:
        """Yield the drafts, in which spans have the events that log records hold of them."""
        for trace, record, events in self._events.joined(self._traces):
            span = self._span(record)
            read = read_span(span, record.step_id, self.options.keep_content, events)
            self._place(read, record.source, record.place, record.ordinal)
            trace.spans[record.step_id] = read
        self.lose_all(self._events.counts(self.options.only))
        yield from super().finish()

    def said(self, record: SpanRecord) -> str:
        """Digest a span, which is decoded again for it: spans are not kept, duplicates are few."""
        return fingerprint(self._span(record))

    def place(self, record: SpanRecord) -> tuple[int, str]:
        """Return where the record of a span begins."""
        return record.place.offset, str(record.place)

    def _span(self, record: SpanRecord) -> Span:
        if self._reread is None or self._reread[0] is not record.place:
            decoded = reread(self.sources[record.source], record.place)
            self._reread = record.place, [span for _, span in decoded.spans()]
        return self._reread[1][record.ordinal]

    def _place(self, read: SpanRecord, index: int, place: Place, ordinal: int) -> None:
        read.source, read.place, read.ordinal = index, place, ordinal
        if self.options.strict and read.gaps:
            self.refuse_unreadable(read)

    def _read_record(self, index: int, record: DecodedRecord) -> None:
        source = self.sources[index]
        repaired = record.repaired
        for ordinal, (resource, span) in enumerate(record.spans()):
            found = self._by_recorded_id.get(span.traceId)
            trace, standard = found or self._find_trace(span.traceId, index)
            if trace is None:
                if normal_id(span.traceId, TRACE_ID_DIGITS)[0] is None:
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
            self._place(read, index, record.place, ordinal)
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
                f"OTLP ids are 16 and 8 bytes, in JSON as hex ({code})"
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
            known = self._resources[raw] = resource_attributes(attributes)
        return dict(known)
