"""One span of Jaeger's JSON -> the terms of OpenTelemetry, which Jaeger writes as tags.

The names are those of OpenTelemetry's mapping to formats that are not its own
(``specification/common/mapping-to-non-otlp.md``, ``specification/trace/sdk_exporters/jaeger.md``).
"""

from typing import Any

from tracegraph.ingest.attributes import LARGEST, whole_number
from tracegraph.ingest.jaeger.records import AREA, Found, Log, Process, Reference, Span, tags_of
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.salvage import read_record, salvage
from tracegraph.ingest.spans.ids import SPAN_ID_DIGITS, normal_id
from tracegraph.ingest.spans.plain import PlainSpan, Said, readable, records_of
from tracegraph.ingest.status import ERROR, OK, UNSET, status_code
from tracegraph.ingest.times import UNREADABLE
from tracegraph.model.codes import UNKNOWN

_STATUS, _DESCRIPTION, _ERROR = "otel.status_code", "otel.status_description", "error"
_FRAME = (
    _STATUS,
    _DESCRIPTION,
    _ERROR,
    "internal.span.format",
    "otel.library.name",
    "otel.library.version",
    "otel.scope.name",
    "otel.scope.version",
    "span.kind",
    "w3c.tracestate",
)
"""Tags by which Jaeger keeps what is no attribute of a span in OpenTelemetry."""
_EVENT = "event"
_ERRORS = {True: ERROR, "true": ERROR, False: UNSET, "false": UNSET, None: UNSET}
_MICROSECOND = 1_000
_WORD_DIGITS = 16
"""Hex digits of 64 bits."""


def read_span(found: Found, shown: str, losses: Losses) -> PlainSpan | None:
    """Make a span of a decoded one; None where it has no ids.

    Gap codes: ``jaeger.unreadable_field``, ``jaeger.unreadable_reference``,
    ``jaeger.unreadable_tag``, ``jaeger.unreadable_log``, ``jaeger.warning`` where Jaeger attached a
    warning (it may have moved the span's times), ``jaeger.status_contradicts_error``.
    """
    span = read_record(Span, found.value, shown, AREA, losses)
    if span is None:
        return None
    trace_id, step_id = trace_id_of(span.traceID), span_id_of(span.spanID)
    if trace_id is None or step_id is None:
        return None
    if span.warnings:
        losses.add("jaeger.warning", f"{shown}: Jaeger warns of it")
    tags = readable(tags_of(span.tags, span.tag, shown, losses), shown, AREA, losses)
    start, end = _times(span)
    parent, links = _references(span, trace_id, losses)
    return PlainSpan(
        trace_id,
        step_id,
        parent,
        span.operationName,
        start,
        end,
        _status(tags, shown, losses),
        _text(tags.get(_DESCRIPTION)),
        {key: value for key, value in tags.items() if key not in _FRAME},
        _events(span, shown, losses),
        links,
        _resource(span, found.processes, shown, losses),
    )


def trace_id_of(recorded: str | None) -> str | None:
    """Return a trace id as Jaeger writes it: 16 digits, or 32 where it has more than 64 bits."""
    if not recorded:
        return None
    digits = recorded.lstrip("0")
    return _padded(digits, _WORD_DIGITS if len(digits) <= _WORD_DIGITS else 2 * _WORD_DIGITS)


def span_id_of(recorded: str | None) -> str | None:
    """Return a span id as 16 digits: some writers cut the zeros that it begins with."""
    return _padded(recorded.lstrip("0"), SPAN_ID_DIGITS) if recorded else None


def _padded(digits: str, length: int) -> str | None:
    return normal_id(digits.zfill(length), length)[0] if digits else None


def _times(span: Span) -> tuple[int, int]:
    """Return start and end; a start of 0 is none, and without a start there is no end."""
    start, duration = _nanoseconds(span.startTime), _nanoseconds(span.duration)
    if start == 0:
        start = UNKNOWN
    if start < 0 or duration < 0:
        return start, duration if duration == UNREADABLE else UNKNOWN
    return start, start + duration if start + duration <= LARGEST else UNREADABLE


def _nanoseconds(microseconds: int | float | str | None) -> int:
    if microseconds is None:
        return UNKNOWN
    number = whole_number(microseconds)
    if number is None or number > LARGEST // _MICROSECOND:
        return UNREADABLE
    return number * _MICROSECOND


def _references(
    span: Span, trace_id: str, losses: Losses
) -> tuple[str | None, list[tuple[str | None, str | None]]]:
    """Return the parent, which is the first span of the trace that it is a child of; and links."""
    parent = span_id_of(span.parentSpanID)
    links: list[tuple[str | None, str | None]] = []
    for reference in records_of(Reference, span.references, "reference", AREA, losses):
        of_trace, of_span = trace_id_of(reference.traceID), span_id_of(reference.spanID)
        is_here = of_trace == trace_id and of_span is not None
        if is_here and reference.refType == "CHILD_OF" and parent in (None, of_span):
            parent = of_span
        else:
            links.append((of_trace, of_span))
    return parent, links


def _status(tags: dict[str, Any], shown: str, losses: Losses) -> int | None:
    """Return the status: as OpenTelemetry records it, else as the tag ``error`` says."""
    error = tags.get(_ERROR)
    if isinstance(error, str):
        error = error.lower()
    failed = _ERRORS.get(error) if isinstance(error, str | bool | None) else None
    if _STATUS not in tags:
        return failed
    recorded = tags[_STATUS]
    status = status_code(recorded) if type(recorded) in (str, int) else None
    if status == OK and failed == ERROR:
        losses.add("jaeger.status_contradicts_error", f"{shown}: OK with a tag that says error")
    return failed if status == UNSET else status


def _events(span: Span, shown: str, losses: Losses) -> list[Said]:
    events: list[Said] = []
    for log in records_of(Log, span.logs, "log", AREA, losses):
        said = readable(tags_of(log.fields, None, shown, losses), shown, AREA, losses)
        events.append((_text(said.pop(_EVENT, None)) or "", said))
    return events


def _resource(span: Span, processes: Any, shown: str, losses: Losses) -> dict[str, Any]:
    process = span.process
    if process is None and isinstance(processes, dict) and span.processID is not None:
        process = processes.get(span.processID)
    found = salvage(Process, process, shown, AREA, losses)
    if found is None:
        return {}
    values = tags_of(found.tags, found.tag, shown, losses)
    return {"service.name": found.serviceName} | values


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
