"""Traces of the TRAIL benchmark (Patronus AI, ``trail-benchmark``), spans nested in spans.

The data set was not at hand: the shape is what others that read it say of it, and the fixtures are
made by hand.
"""

from collections.abc import Iterator, Sequence

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import Source
from tracegraph.ingest.spans.plain import PlainReader
from tracegraph.ingest.trail.records import AREA, read_span, spans_in
from tracegraph.model.draft import Draft

_OPENING = {"spans", "child_spans", "span_name"}
_NAMES = (b'"span_id"', b'"span_name"')
_FIELDS = (b'"child_spans"', b'"span_attributes"')


class TrailAdapter:
    """Reads traces of nested spans."""

    name = AREA
    version = 1
    unites = True

    def sniff(self, source: Source) -> bool:
        """Tell by the names that fields of spans have only here."""
        head = source.head
        if opening_keys(source).isdisjoint(_OPENING):
            return False
        return all(n in head for n in _NAMES) and any(field in head for field in _FIELDS)

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Read traces; see :class:`tracegraph.ingest.adapter.Adapter`.

        Gap codes: those of :mod:`tracegraph.ingest.span_gaps` but for what was dropped, and
        ``trail.contradictory_nesting``, ``trail.unreadable_event``, ``trail.unreadable_field``,
        ``trail.unreadable_link``.
        """
        yield from _Reader(sources, options).read()


class _Reader(PlainReader):
    """Reads the spans of the sources."""

    area = AREA
    items = staticmethod(spans_in)
    item = staticmethod(read_span)
