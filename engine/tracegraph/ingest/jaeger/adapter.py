"""Traces out of Jaeger (github.com/jaegertracing/jaeger).

Shapes: what the query service and the user interface give (``data``, one trace, an array of them),
the documents of spans of the Elasticsearch storage, one a line, in an array or each under
``_source`` as dumps of an index have them.
"""

from collections.abc import Iterator, Sequence

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.jaeger.fields import read_span
from tracegraph.ingest.jaeger.records import AREA, spans_in
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import Source
from tracegraph.ingest.spans.plain import PlainReader
from tracegraph.model.draft import Draft

_OPENING = {"data", "traceID", "_source"}
_MARKS = (b'"traceID"', b'"spanID"', b'"operationName"')


class JaegerAdapter:
    """Reads Jaeger's JSON."""

    name = AREA
    version = 1
    unites = True

    def sniff(self, source: Source) -> bool:
        """Tell by the members of a span, which no other format spells so."""
        if opening_keys(source).isdisjoint(_OPENING):
            return False
        return all(mark in source.head for mark in _MARKS)

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Read traces; see :class:`tracegraph.ingest.adapter.Adapter`.

        Gap codes: those of :mod:`tracegraph.ingest.span_gaps` but for what was dropped, and
        ``jaeger.status_contradicts_error``, ``jaeger.unreadable_field``,
        ``jaeger.unreadable_log``, ``jaeger.unreadable_reference``, ``jaeger.unreadable_tag``,
        ``jaeger.warning``.
        """
        yield from _Reader(sources, options).read()


class _Reader(PlainReader):
    """Reads the spans of the sources."""

    area = AREA
    items = staticmethod(spans_in)
    item = staticmethod(read_span)
