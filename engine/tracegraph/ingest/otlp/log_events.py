"""Events that were recorded as log records -> the spans that they name, in whatever order.

Nothing is kept of an event but which span it names: bodies of a whole file would not fit in memory.
Each record is decoded once more; of what it says, that waits whose span has events further on.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tracegraph.ingest.attributes import Attributes
from tracegraph.ingest.otlp.asides import LogEvent
from tracegraph.ingest.otlp.decode import reread
from tracegraph.ingest.otlp.decoded import Place
from tracegraph.ingest.source import Source
from tracegraph.ingest.spans.record import SpanRecord
from tracegraph.ingest.spans.trace import SpanTrace

_WITHOUT_SPAN = "otlp.event_without_span"
_Events = list[tuple[str, Attributes]]
_Found = tuple[SpanTrace, SpanRecord, _Events]


class _Span(NamedTuple):
    """A span as events name it."""

    trace_id: str
    span_id: str


class LogEvents:
    """The events that the sources hold as log records."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._records: list[tuple[int, Place, list[_Span]]] = []
        """For each record its source, its place, and the span that each of its events names."""
        self._joined: set[_Span] = set()

    def note(self, source: int, place: Place, events: Sequence[LogEvent]) -> None:
        """Note which spans the events of a record name."""
        if events:
            named = [_Span(event.trace_id, event.span_id) for event in events]
            self._records.append((source, place, named))

    def joined(self, traces: Mapping[str, SpanTrace]) -> Iterator[_Found]:
        """Yield each span that events name, and its events in recorded order.

        Spans that one record completes come in the order in which they lie: who decodes each of
        them once more has their own record at hand.
        """
        waiting = Counter(span for _, _, named in self._records for span in named)
        said: dict[_Span, _Events] = {}
        for source, place, named in self._records:
            present = {span for span in named if _is_there(span, traces)}
            if not present:
                continue
            for span, event in zip(named, self._events(source, place), strict=True):
                if span in present:
                    said.setdefault(span, []).append((event.name, event.attributes))
                    waiting[span] -= 1
            complete = [
                (traces[span.trace_id], traces[span.trace_id].spans[span.span_id], said.pop(span))
                for span in present
                if not waiting[span]
            ]
            self._joined |= present
            yield from sorted(complete, key=_place_of)

    def counts(self, only: frozenset[str] | None) -> Counter[str]:
        """Count the events whose span is not there, of the traces asked for.

        Gap code: ``otlp.event_without_span``.
        """
        missing = sum(
            span not in self._joined and (only is None or span.trace_id in only)
            for _, _, named in self._records
            for span in named
        )
        return Counter({_WITHOUT_SPAN: missing}) if missing else Counter()

    def _events(self, source: int, place: Place) -> list[LogEvent]:
        asides = reread(self._sources[source], place).asides
        return asides.events if asides is not None else []


def _is_there(span: _Span, traces: Mapping[str, SpanTrace]) -> bool:
    trace = traces.get(span.trace_id)
    return trace is not None and span.span_id in trace.spans


def _place_of(found: _Found) -> tuple[int, int, int]:
    record = found[1]
    return record.source, record.place.offset, record.ordinal
