"""OTLP files: spans of OpenInference, OpenTelemetry GenAI, OpenLLMetry and everyone else.

Shapes of OTLP/JSON: an export request, an array of them, Tempo's ``batches``, JSON Lines as the
Collector's file exporter writes them (a request or a span a line), and documents one after the
other. Protobuf: a request as it is posted to ``/v1/traces``, or one after the other, each with its
length before it.
"""

from collections.abc import Iterator, Sequence

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.json_lines import is_json_lines
from tracegraph.ingest.otlp.framing import framing_of
from tracegraph.ingest.otlp.reader import OtlpReader
from tracegraph.ingest.otlp.records import is_phoenix_dialect
from tracegraph.ingest.source import Source
from tracegraph.model.draft import Draft

_GROUPED = (b'"resourceSpans"', b'"resource_spans"')
_TEMPO = (b'"scopeSpans"', b'"instrumentationLibrarySpans"', b'"scope_spans"')
_SINGLE = (
    (b'"traceId"', b'"spanId"', b'"startTimeUnixNano"'),
    (b'"trace_id"', b'"span_id"', b'"start_time_unix_nano"'),
)
_OTHER_SIGNALS = (
    *(b'"resourceLogs"', b'"resourceMetrics"', b'"resourceProfiles"'),
    *(b'"resource_logs"', b'"resource_metrics"', b'"resource_profiles"'),
)


class OtlpAdapter:
    """Reads OTLP, in JSON and in protobuf."""

    name = "otlp"
    version = 3
    unites = True

    def sniff(self, source: Source) -> bool:
        """Tell OTLP/JSON by its field names, protobuf by how its messages nest.

        Files of other signals are taken too: a Collector mixes them with spans, and where there are
        none, that is what to say of the file.
        """
        head = source.head
        if framing_of(source) is not None:  # whose first bytes may be a line break and a brace
            return True
        if head.lstrip()[:1] not in (b"{", b"[") and not is_json_lines(source):
            return False
        if any(mark in head for mark in _GROUPED + _TEMPO + _OTHER_SIGNALS):
            return True
        if any(all(mark in head for mark in marks) for marks in _SINGLE):
            return not is_phoenix_dialect(head)
        return False

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Read traces; see :class:`tracegraph.ingest.adapter.Adapter`."""
        reader = OtlpReader(sources, options)
        for index in range(len(sources)):
            reader.read_source(index)
        yield from reader.finish()
