"""Records that hold no spans: of other signals, or of nothing. Of logs, GenAI events are read.

OpenTelemetry's GenAI conventions have what a model was told and said in attributes of its span, in
events of the span, or in log records that name the span (semantic conventions 1.28 and newer).
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from tracegraph.ingest.attributes import Attributes, RawAttributes
from tracegraph.ingest.genai_events import holds_messages
from tracegraph.ingest.otlp.records import LogRecord, ResourceLogs
from tracegraph.ingest.spans.ids import SPAN_ID_DIGITS, TRACE_ID_DIGITS, normal_id

OTHER_SIGNAL = "otlp.other_signal"
"""A record of logs, metrics or profiles, as a Collector writes them between those of spans."""
EMPTY_RECORD = "otlp.empty_record"
"""A record that holds no span and nothing else, such as ``{}``."""
LOGS = "resourceLogs"
HOLDERS = ("resourceSpans", "batches", "scopeSpans", "instrumentationLibrarySpans")
_OTHER_SIGNALS = frozenset(
    name
    for signal in ("Logs", "Metrics", "Profiles")
    for name in (f"resource{signal}", f"resource_{signal.lower()}")
)
_BODY = "gen_ai.event.content"
_logs = msgspec.json.Decoder(list[ResourceLogs])


class LogEvent(NamedTuple):
    """An event that was recorded as a log record: of which span, its name and what it says."""

    trace_id: str
    span_id: str
    name: str
    attributes: Attributes


@dataclass(slots=True)
class Asides:
    """What was met beside spans.

    Attributes:
        counts: records without spans, by gap code.
        events: those that log records hold.
        lost: records that are none of OTLP.
    """

    counts: Counter[str] = field(default_factory=Counter)
    events: list[LogEvent] = field(default_factory=list)
    lost: int = 0

    @property
    def is_other_signal(self) -> bool:
        """Whether anything of another signal is among it."""
        return OTHER_SIGNAL in self.counts or bool(self.events)

    def add(self, names: Collection[str], logs: bytes | msgspec.Raw | None) -> None:
        """Note a record of JSON that holds no spans.

        Gap codes: ``otlp.other_signal``, ``otlp.empty_record``.

        Args:
            names: of its members, as they are or in camelCase.
            logs: the member of log records, if there is one.
        """
        if logs is not None:
            self.add_logs(_records(logs))
        elif not _OTHER_SIGNALS.isdisjoint(names):
            self.counts[OTHER_SIGNAL] += 1
        elif not names or any(name in names for name in HOLDERS):
            self.counts[EMPTY_RECORD] += 1
        else:
            self.lost += 1

    def add_logs(self, records: Iterable[LogRecord]) -> None:
        """Note log records; they count as another signal unless all of them are such events."""
        found = [_event(record) for record in records]
        self.events += [event for event in found if event is not None]
        if None in found or not found:
            self.counts[OTHER_SIGNAL] += 1


def _records(logs: bytes | msgspec.Raw) -> list[LogRecord]:
    try:
        groups = _logs.decode(logs)
    except (msgspec.MsgspecError, RecursionError):
        return []
    scopes = (scope for group in groups for scope in group.scopeLogs or ())
    return [record for scope in scopes for record in scope.logRecords or ()]


def _event(record: LogRecord) -> LogEvent | None:
    recorded = {item.key: item.value for item in record.attributes or ()}
    attributes = RawAttributes({**recorded, _BODY: record.body})
    name = record.eventName or attributes.text("event.name")
    trace_id = normal_id(record.traceId, TRACE_ID_DIGITS)[0]
    span_id = normal_id(record.spanId, SPAN_ID_DIGITS)[0]
    if trace_id is None or span_id is None or name is None or not holds_messages(name, attributes):
        return None
    return LogEvent(trace_id, span_id, name, _said(attributes))


def _said(attributes: RawAttributes) -> Attributes:
    values = attributes.plain()
    if values[_BODY] is None:  # what it says are its attributes
        del values[_BODY]
    return Attributes(values)
