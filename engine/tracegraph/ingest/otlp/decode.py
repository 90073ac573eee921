"""A file -> its OTLP records: documents, arrays, JSON Lines, pretty documents, protobuf requests.

Decoding JSON goes by rungs: typed first; a record that this refuses is repaired (text that is no
Unicode, snake_case names, odd types) and decoded span by span; a record that is no JSON at all
costs itself and a disclosure.
"""

import codecs
import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from tracegraph.errors import InputError, MissingLibraryError
from tracegraph.ingest.json_lines import is_json_lines
from tracegraph.ingest.nesting import deep_nesting
from tracegraph.ingest.otlp.asides import LOGS, Asides
from tracegraph.ingest.otlp.decoded import DecodedRecord, Place
from tracegraph.ingest.otlp.framing import Framing, framing_of
from tracegraph.ingest.otlp.protobuf import decode_request
from tracegraph.ingest.otlp.records import ExportRecord, ResourceSpans, ScopeSpans
from tracegraph.ingest.otlp.repair import RepairedRecord, repair
from tracegraph.ingest.source import Source
from tracegraph.ingest.torn_array import whole_items

_CHUNK = 1 << 20
_SNAKE_CASE = re.compile(rb'"(?:resource_spans|scope_spans|trace_id)"\s*:')
_NEXT_DOCUMENT = re.compile(rb"\n\}\s*(?=\{)")
_TOO_DEEP = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_one = msgspec.json.Decoder(ExportRecord)
_many = msgspec.json.Decoder(list[ExportRecord])
_keys_of_one = msgspec.json.Decoder(dict[str, msgspec.Raw])
_keys_of_many = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])


def decode_records(source: Source) -> Iterator[DecodedRecord]:
    """Yield the records of a file in order.

    Raises:
        RecordLimitError: a record is larger than the limit.
        InputError: the file is one document, and that is no JSON.
        MissingLibraryError: it is protobuf, and the library that reads it is not there.
    """
    framing = framing_of(source)
    if framing is not None:
        yield from _requests(source, framing)
        return
    if is_json_lines(source):
        for number, offset, line in source.lines():
            yield decode_record(line, Place(number, offset, offset + len(line)))
        return
    data, start = source.view(), source.start
    bounds = [0, *(m.end() for m in _NEXT_DOCUMENT.finditer(data)), len(data)]
    for low, high in pairwise(bounds):
        record = decode_record(data[low:high], Place(0, start + low, start + high))
        if len(bounds) == 2 and record.unreadable:
            yield from _before_fault(source, record)
        else:
            yield record


def _before_fault(source: Source, record: DecodedRecord) -> Iterator[DecodedRecord]:
    """Yield the requests of an array before the place where it is no JSON, then what is lost.

    Raises:
        InputError: there are none.
    """
    data, start = bytes(source.view()), source.start
    is_array = data[:64].lstrip()[:1] == b"["
    whole = whole_items(data) if is_array else []
    if not whole:
        raise InputError(f"{source.name}: {record.unreadable}")
    for low, high in whole:
        yield decode_record(data[low:high], Place(0, start + low, start + high))
    yield DecodedRecord(
        Place(0, start + whole[-1][1], start + len(data)), [], unreadable=record.unreadable
    )


def reread(source: Source, place: Place) -> DecodedRecord:
    """Decode a record once more."""
    data = memoryview(source.data)[place.offset : place.end]
    if place.is_binary:
        return decode_request(data, place, is_whole=True)
    return decode_record(data, place)


def _requests(source: Source, framing: Framing) -> Iterator[DecodedRecord]:
    data = memoryview(source.data)
    for message in framing(data):
        source.check(message.end - message.start, f" byte {message.start}")
        place = Place(0, message.start, message.end, is_binary=True)
        content = data[message.start : message.end]
        try:
            yield decode_request(content, place, is_whole=message.is_whole)
        except MissingLibraryError as error:
            raise MissingLibraryError(f"{source.name}: {error}") from None


def decode_record(data: bytes | memoryview, place: Place) -> DecodedRecord:
    """Decode one record of JSON by the first rung that holds it."""
    if _SNAKE_CASE.search(data, 0, 4096) is None and _is_text(data):
        try:
            return _typed(data, place)
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
        repaired.lost + repaired.asides.lost,
        at + place.offset if at >= 0 else -1,
        asides=repaired.asides,
    )


def groups_of(record: ExportRecord) -> list[ResourceSpans]:
    """Return the spans of a record by resource, whatever stands at its top."""
    if record.resourceSpans or record.batches:
        return [*(record.resourceSpans or ()), *(record.batches or ())]
    if record.scopeSpans or record.instrumentationLibrarySpans or record.spanId:
        scopes = record.scopeSpans or record.instrumentationLibrarySpans or [ScopeSpans([record])]
        return [ResourceSpans(record.resource, scopes)]
    return []


def _typed(data: bytes | memoryview, place: Place) -> DecodedRecord:
    is_array = bytes(data[:64]).lstrip()[:1] == b"["
    records = _many.decode(data) if is_array else [_one.decode(data)]
    parts = [groups_of(record) for record in records]
    found = DecodedRecord(place, [group for groups in parts for group in groups])
    if not all(map(_has_spans, parts)):  # rare, so that looking again costs little
        keys = _keys_of_many.decode(data) if is_array else [_keys_of_one.decode(data)]
        found.asides = Asides()
        for groups, members in zip(parts, keys, strict=True):
            if not _has_spans(groups):
                found.asides.add(members, members.get(LOGS))
        found.lost = found.asides.lost
    return found


def _has_spans(groups: list[ResourceSpans]) -> bool:
    return any(
        scope.spans
        for group in groups
        for scope in group.scopeSpans or group.instrumentationLibrarySpans or ()
    )


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
