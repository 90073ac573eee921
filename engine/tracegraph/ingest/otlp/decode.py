"""A file -> its OTLP/JSON records: documents, arrays, JSON Lines, concatenated pretty documents.

Decoding goes by rungs: typed first; a record that this refuses is repaired (text that is no
Unicode, snake_case names, odd types) and decoded span by span; a record that is no JSON at all
costs itself and a disclosure.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import msgspec

from tracegraph.errors import InputError
from tracegraph.ingest.json_lines import is_json_lines
from tracegraph.ingest.nesting import deep_nesting
from tracegraph.ingest.otlp.records import ExportRecord, ResourceSpans, ScopeSpans, Span
from tracegraph.ingest.otlp.repair import RepairedRecord, repair
from tracegraph.ingest.source import Source

_CHUNK = 1 << 20
_SNAKE_CASE = re.compile(rb'"(?:resource_spans|scope_spans|trace_id)"\s*:')
_NEXT_DOCUMENT = re.compile(rb"\n\}\s*(?=\{)")
_TOO_DEEP = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_one = msgspec.json.Decoder(ExportRecord)
_many = msgspec.json.Decoder(list[ExportRecord])


@dataclass(slots=True)
class Place:
    """Where a record lies: what messages name, and what reads the record again.

    Attributes:
        line: 1-based line, 0 where the record is not one line.
        offset: byte offset of the record.
        end: byte offset behind it.
    """

    line: int
    offset: int
    end: int

    def __str__(self) -> str:
        return f"line {self.line}" if self.line else f"byte {self.offset}"


@dataclass(slots=True)
class DecodedRecord:
    """The spans of one record and what it cost to read them.

    Attributes:
        place: where the record lies.
        groups: spans by resource.
        repaired: per span, counted over the groups, the gap codes of what was repaired in it.
        lost: spans that cannot be read.
        invalid_at: byte offset of the first byte that is no UTF-8, -1 for none.
        unreadable: why the record cannot be read at all, None where it can.
    """

    place: Place
    groups: list[ResourceSpans]
    repaired: dict[int, dict[str, int]] = field(default_factory=dict)
    lost: int = 0
    invalid_at: int = -1
    unreadable: str | None = None

    def spans(self) -> Iterator[tuple[msgspec.Raw, Span]]:
        """Yield (resource, span) in recorded order."""
        for group in self.groups:
            for scope in group.scopeSpans or group.instrumentationLibrarySpans or ():
                for span in scope.spans or ():
                    yield group.resource, span


def decode_records(source: Source) -> Iterator[DecodedRecord]:
    """Yield the records of a file in order.

    Raises:
        RecordLimitError: a record is larger than the limit.
        InputError: the file is one document, and that is no JSON.
    """
    if is_json_lines(source):
        for number, offset, line in source.lines():
            yield decode_record(line, Place(number, offset, offset + len(line)))
        return
    data, start = source.view(), source.start
    bounds = [0, *(m.end() for m in _NEXT_DOCUMENT.finditer(data)), len(data)]
    for low, high in pairwise(bounds):
        record = decode_record(data[low:high], Place(0, start + low, start + high))
        if len(bounds) == 2 and record.unreadable:
            raise InputError(f"{source.name}: {record.unreadable}")
        yield record


def reread(source: Source, place: Place) -> DecodedRecord:
    """Decode a record once more."""
    return decode_record(memoryview(source.data)[place.offset : place.end], place)


def decode_record(data: bytes | memoryview, place: Place) -> DecodedRecord:
    """Decode one record by the first rung that holds it."""
    if _SNAKE_CASE.search(data, 0, 4096) is None and _is_text(data):
        try:
            if bytes(data[:64]).lstrip()[:1] == b"[":
                return DecodedRecord(place, [g for r in _many.decode(data) for g in groups_of(r)])
            return DecodedRecord(place, groups_of(_one.decode(data)))
        except _TOO_DEEP:
            pass
    try:
        with deep_nesting():
            repaired: RepairedRecord = repair(bytes(data))
    except ValueError as error:
        return DecodedRecord(place, [], unreadable=f"{place}: not JSON: {error}")
    except RecursionError:
        return DecodedRecord(place, [], unreadable=f"{place}: JSON nested too deeply to be read")
    at = repaired.invalid_at
    return DecodedRecord(
        place,
        [group for record in repaired.records for group in groups_of(record)],
        repaired.repaired,
        repaired.lost,
        at + place.offset if at >= 0 else -1,
    )


def groups_of(record: ExportRecord) -> list[ResourceSpans]:
    """Return the spans of a record by resource, whatever stands at its top."""
    if record.resourceSpans or record.batches:
        return [*(record.resourceSpans or ()), *(record.batches or ())]
    if record.scopeSpans or record.instrumentationLibrarySpans or record.spanId:
        scopes = record.scopeSpans or record.instrumentationLibrarySpans or [ScopeSpans([record])]
        return [ResourceSpans(record.resource, scopes)]
    return []


def _is_text(data: bytes | memoryview) -> bool:
    """Tell whether bytes are UTF-8; the typed decoder does not look into values left raw."""
    if isinstance(data, bytes) and data.isascii():
        return True
    check = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), _CHUNK):
            check.decode(data[start : start + _CHUNK])
        check.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
