"""The wire format of protobuf, as far as spans are found by it without knowing their messages.

A message is a row of fields, each a number, a kind and its bytes
(https://protobuf.dev/programming-guides/encoding/); which message it is, nothing says. An OTLP
export request of any signal nests alike: field 1 holds what one resource sent, field 2 of that what
one scope sent, field 2 of that one span, log record, metric or profile (opentelemetry-proto,
``collector/*/v1``; ``TracesData`` has the same shape). Only what is nested there tells the signal.
"""

from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_SIZES = {FIXED64: 8, FIXED32: 4}
_LONGEST_VARINT = 10
_GROUPS, _RESOURCE, _ITEMS = (1,), 1, (2,)
_SCOPES = (2, 1000)
"""1000 is what was ``instrumentation_library_spans`` from OTLP 0.15 to 0.18."""
_METRIC_DATA = (5, 7, 9, 10, 11)


class WireError(ValueError):
    """Bytes that are no wire format; its argument is where they begin."""


class Field(NamedTuple):
    """One field: where its tag begins, and where its bytes begin and end."""

    number: int
    kind: int
    tag: int
    start: int
    end: int


class Signal(Enum):
    """What a request is about."""

    SPANS = auto()
    LOGS = auto()
    OTHER = auto()
    UNKNOWN = auto()


def varint(data: memoryview, position: int, end: int) -> tuple[int, int]:
    """Return an integer of variable length and the position behind it.

    Raises:
        WireError: it does not end, or is longer than 64 bits take.
    """
    value = shift = 0
    for at in range(position, min(end, position + _LONGEST_VARINT)):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
    raise WireError(position)


def fields(data: memoryview, position: int, end: int) -> Iterator[Field]:
    """Yield the fields that lie between two positions; the last may claim to end beyond.

    Raises:
        WireError: the bytes go on as something else.
    """
    while position < end:
        tag = position
        key, start = varint(data, position, end)
        number, kind = key >> 3, key & 7
        if kind == BYTES:
            size, start = varint(data, start, end)
            position = start + size
        elif kind == VARINT:
            _, position = varint(data, start, end)
        elif kind in _SIZES:
            position = start + _SIZES[kind]
        else:
            raise WireError(tag)
        if number == 0:
            raise WireError(tag)
        yield Field(number, kind, tag, start, position)


class Request:
    """An export request, walked through as far as its items; they are not decoded.

    What is damaged or cut off costs the items that it takes along, and no others.
    """

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self._faults: set[int] = set()
        self._is_torn = False

    @property
    def faults(self) -> int:
        """At how many places it is damaged or cut off, among what was walked through."""
        return len(self._faults) or int(self._is_torn)

    def groups(self) -> Iterator[tuple[Field | None, Iterator[Field]]]:
        """Yield what each resource sent: the field that describes it, and its items."""
        for group in self._holders(0, len(self.data), _GROUPS):
            yield self._resource(group), self._items(group)

    def signal(self) -> Signal:
        """Tell by the first item that shows what it is; a span outweighs what precedes it."""
        found = Signal.UNKNOWN
        for _, items in self.groups():
            for item in items:
                signal = _signal(self.data, item)
                if signal is Signal.SPANS:
                    return signal
                if signal is not Signal.UNKNOWN:
                    found = signal
        return found

    def _resource(self, group: Field) -> Field | None:
        try:
            for each in fields(self.data, group.start, group.end):
                if each.number == _RESOURCE and each.kind == BYTES and each.end <= group.end:
                    return each
        except WireError:  # which is counted where the items are looked for
            pass
        return None

    def _items(self, group: Field) -> Iterator[Field]:
        for scope in self._holders(group.start, group.end, _SCOPES):
            yield from self._whole(scope.start, scope.end, _ITEMS)

    def _whole(self, start: int, end: int, numbers: tuple[int, ...]) -> Iterator[Field]:
        """Yield messages that are all there."""
        for each in self._messages(start, end, numbers):
            if each.end <= end:
                yield each
            else:
                self._faults.add(each.tag)

    def _holders(self, start: int, end: int, numbers: tuple[int, ...]) -> Iterator[Field]:
        """Yield messages; of one that is cut off what is left, which may hold whole ones."""
        for each in self._messages(start, end, numbers):
            self._is_torn |= each.end > end
            yield each._replace(end=min(each.end, end))

    def _messages(self, start: int, end: int, numbers: tuple[int, ...]) -> Iterator[Field]:
        try:
            for each in fields(self.data, start, end):
                if each.kind == BYTES and each.number in numbers:
                    yield each
                elif each.end > end:
                    self._faults.add(each.tag)
        except WireError as error:
            self._faults.add(error.args[0])


def _signal(data: memoryview, item: Field) -> Signal:
    """Tell what an item is by fields that it always has.

    A span has two ids of 16 and 8 bytes and a start (fields 1, 2 and 7); a log record has a time in
    field 1 or 11 and a profile in field 3, where a span has text; a metric has its name in field 1,
    its data in one of five other fields, and no time.
    """
    try:
        found = {(each.number, each.kind): each for each in fields(data, item.start, item.end)}
    except WireError:
        return Signal.UNKNOWN
    sizes = {number: each.end - each.start for (number, _), each in found.items()}
    times = {number for number, kind in found if kind == FIXED64}
    if (sizes.get(1), sizes.get(2)) == (16, 8) and 7 in times:
        return Signal.SPANS
    if times & {1, 11}:
        return Signal.LOGS
    is_metric = (1, BYTES) in found and not times and any((n, BYTES) in found for n in _METRIC_DATA)
    return Signal.OTHER if 3 in times or is_metric else Signal.UNKNOWN
