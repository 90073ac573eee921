"""OTLP/JSON files: spans of OpenInference, OpenTelemetry GenAI, OpenLLMetry and everyone else.

Shapes: an export request, an array of them, Tempo's ``batches``, JSON Lines as the Collector's
file exporter writes them (a request or a span a line), and documents one after the other.
"""

from collections.abc import Iterator, Sequence

import msgspec

from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.attributes import RawAttributes
from tracegraph.ingest.otlp_decode import (
    DecodedRecord,
    Place,
    decode_records,
    is_json_lines,
    reread,
)
from tracegraph.ingest.otlp_fingerprint import fingerprint
from tracegraph.ingest.otlp_ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, normal_id
from tracegraph.ingest.otlp_records import Resource, Span
from tracegraph.ingest.otlp_repair import INVALID_UTF8
from tracegraph.ingest.otlp_spans import SpanRecord, read_span
from tracegraph.ingest.otlp_trace import SpanTrace, add_trace
from tracegraph.ingest.source import Source
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
_STEPS_A_DRAFT = 50_000
_resource = msgspec.json.Decoder(Resource)


class OtlpAdapter:
    """Reads OTLP/JSON."""

    name = "otlp"
    version = 1
    unites = True

    def sniff(self, source: Source) -> bool:
        """Tell OTLP/JSON by its field names."""
        head = source.head
        if head.lstrip()[:1] not in (b"{", b"[") and not is_json_lines(source):
            return False
        if any(mark in head for mark in _GROUPED + _TEMPO):
            return True
        if any(all(mark in head for mark in marks) for marks in _SINGLE):
            return True
        if any(mark in head for mark in _OTHER_SIGNALS):  # the Collector mixes signals in one file
            return any(source.data.find(mark) >= 0 for mark in _GROUPED)
        return False

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Read traces; see :class:`tracegraph.ingest.adapter.Adapter`."""
        reader = _Reader(sources, options)
        for index in range(len(sources)):
            reader.read_source(index)
        yield from reader.drafts()


class _Reader:
    """Gathers spans by trace over all sources, then makes drafts of whole traces."""

    def __init__(self, sources: Sequence[Source], options: ReadOptions) -> None:
        self._sources = sources
        self._options = options
        self._traces: dict[str, SpanTrace] = {}
        self._by_recorded_id: dict[str | None, tuple[SpanTrace | None, bool]] = {}
        self._variants: dict[tuple[str, str], dict[str, SpanRecord]] = {}
        self._reread: tuple[Place, list[Span]] | None = None
        self._resources: dict[bytes, dict[str, str]] = {}
        self._outside = Draft(keep_content=options.keep_content)

    def read_source(self, index: int) -> None:
        """Read the spans of one source.

        Raises:
            InputError: it holds records and none can be read.
            StrictError: strict, and something was lost.
        """
        source = self._sources[index]
        refusal: str | None = None
        read = False
        for record in decode_records(source):
            if record.unreadable is not None:
                refusal = refusal or record.unreadable
                self._lose(source, "otlp.unreadable_record", record.unreadable)
                continue
            read = True
            if record.lost:
                what = f"{record.place}: {record.lost} spans cannot be read"
                self._lose(source, "otlp.unreadable_span", what, record.lost)
            self._read_record(index, record)
        if refusal is not None and not read:
            raise InputError(f"{source.name}: {refusal}")

    def drafts(self) -> Iterator[Draft]:
        """Yield whole traces in order of first appearance, many of them a draft."""
        draft = self._outside
        for key in list(self._traces):
            trace = self._traces.pop(key)
            source = self._sources[trace.source]
            add_trace(draft, trace, source.name, source.digest)
            if len(draft.steps.step_id) >= _STEPS_A_DRAFT:
                yield draft
                draft = Draft(keep_content=self._options.keep_content)
        if draft.traces.first or draft is self._outside:
            yield draft

    def _read_record(self, index: int, record: DecodedRecord) -> None:
        source = self._sources[index]
        repaired = record.repaired
        for ordinal, (resource, span) in enumerate(record.spans()):
            found = self._by_recorded_id.get(span.traceId)
            trace, standard = found or self._open_trace(span.traceId, index)
            if trace is None:
                if span.traceId is None:
                    self._lose(source, "otlp.unreadable_span", f"{record.place}: no trace id")
                continue
            step_id, standard_id = normal_id(span.spanId, SPAN_ID_DIGITS)
            if step_id is None:
                self._lose(source, "otlp.unreadable_span", f"{record.place}: no span id")
                continue
            if not (standard and standard_id):
                self._disclose_ids(source, trace, record, span, (not standard) + (not standard_id))
            if not trace.attributes:
                trace.attributes = self._resource_attributes(resource)
            read = read_span(
                span, step_id, index, record.place, ordinal, self._options.keep_content
            )
            if self._options.strict and read.gaps:
                self._refuse_unreadable(source, read)
            if repaired and ordinal in repaired:
                self._disclose_repairs(source, trace, record, repaired[ordinal])
            if step_id in trace.spans:
                self._add_duplicate(trace, read, span)
            else:
                trace.spans[step_id] = read

    def _open_trace(self, recorded: str | None, index: int) -> tuple[SpanTrace | None, bool]:
        trace_id, standard = normal_id(recorded, TRACE_ID_DIGITS)
        trace: SpanTrace | None = None
        only = self._options.only
        if trace_id is not None and (only is None or trace_id in only):
            trace = self._traces.setdefault(trace_id, SpanTrace(trace_id, index))
        self._by_recorded_id[recorded] = trace, standard
        return trace, standard

    def _lose(self, source: Source, code: str, what: str, count: int = 1) -> None:
        """Disclose a loss that belongs to no trace."""
        if self._options.strict:
            raise StrictError(f"{source.name}: {what} ({code})")
        self._outside.file_gaps[code] += count

    def _disclose_ids(
        self, source: Source, trace: SpanTrace, record: DecodedRecord, span: Span, count: int
    ) -> None:
        code = "otlp.nonstandard_id_encoding"
        if self._options.strict:
            raise StrictError(
                f"{source.name}: {record.place}: span id {span.spanId} of trace {span.traceId}: "
                f"OTLP/JSON ids are hex ({code})"
            )
        trace.gaps[code] += count

    def _refuse_unreadable(self, source: Source, read: SpanRecord) -> None:
        code = next((code for code in read.gaps or () if ".unreadable_" in code), None)
        if code is not None:
            raise StrictError(
                f"{source.name}: {read.place}: span {read.step_id} holds a value that cannot be "
                f"read ({code})"
            )

    def _disclose_repairs(
        self, source: Source, trace: SpanTrace, record: DecodedRecord, repaired: dict[str, int]
    ) -> None:
        for code, count in repaired.items():
            where = f"{record.place}"
            if code == INVALID_UTF8:
                where = f"byte {record.invalid_at}"
            if self._options.strict:
                raise StrictError(f"{source.name}: {where}: text is no valid Unicode ({code})")
            trace.gaps[code] += count
            if code == INVALID_UTF8:
                trace.notes.add(f"{source.name}: first invalid UTF-8 at {where}")

    def _add_duplicate(self, trace: SpanTrace, read: SpanRecord, span: Span) -> None:
        """Keep one of several records of a span; which one does not depend on their order."""
        first = trace.spans[read.step_id]
        variants = self._variants.get((trace.trace_id, read.step_id))
        if variants is None:
            variants = {fingerprint(self._span(first)): first}
            self._variants[trace.trace_id, read.step_id] = variants
        said = fingerprint(span)
        if said in variants:
            trace.gaps["otlp.duplicate_identical"] += 1
            return
        if self._options.strict:
            self._refuse_conflict(trace, first, read)
        variants[said] = read
        trace.gaps["otlp.duplicate_conflict"] += 1
        trace.notes.add(f"span {read.step_id}: different records, the one that ends last is kept")
        last = max(variants.items(), key=lambda item: (item[1].end, item[0]))
        trace.spans[read.step_id] = last[1]

    def _refuse_conflict(self, trace: SpanTrace, first: SpanRecord, read: SpanRecord) -> None:
        places = sorted((r.source, r.place.offset, r.ordinal, r.place) for r in (first, read))
        where = " and ".join(f"{self._sources[i].name} {place}" for i, _, _, place in places)
        raise StrictError(
            f"{where}: two different records of span {read.step_id} in trace "
            f"{trace.trace_id} (otlp.duplicate_conflict)"
        )

    def _span(self, record: SpanRecord) -> Span:
        """Decode a span again; spans are not kept, since duplicates are few."""
        if self._reread is None or self._reread[0] is not record.place:
            decoded = reread(self._sources[record.source], record.place)
            self._reread = record.place, [span for _, span in decoded.spans()]
        return self._reread[1][record.ordinal]

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
