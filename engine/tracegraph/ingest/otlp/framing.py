"""How export requests lie in a binary file: one alone, or one after the other with its length.

The Collector's file exporter (``format: proto``) puts four bytes before each, most significant
first; protobuf's own libraries ("delimited") an integer of variable length. Which it is, the first
request tells: read the wrong way it does not nest as one does.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple, cast

from tracegraph.ingest.otlp.wire import Request, Signal, WireError, varint
from tracegraph.ingest.source import Source

_FIRST = b"\x0a"
"""Every request that is not empty begins with what its first resource sent."""
_LONGEST_LENGTH = 10
_BLANK = 16
"""How many empty requests may stand before the first that tells the framing."""
_MEMO = "otlp_framing"


class Message(NamedTuple):
    """Where a message lies; it may end before its length does."""

    start: int
    end: int
    is_whole: bool


Framing = Callable[[memoryview], Iterator[Message]]


def framing_of(source: Source) -> Framing | None:
    """Return how the requests of a binary file lie in it, None where it holds none."""
    if _MEMO not in source.memo:
        source.memo[_MEMO] = _framing(source)
    return cast("Framing | None", source.memo[_MEMO])


def _framing(source: Source) -> Framing | None:
    if _FIRST not in source.head[: _BLANK * 4 + _LONGEST_LENGTH]:
        return None
    data = memoryview(source.data)
    for framing in (_alone, _fixed_lengths, _variable_lengths):
        for message in islice(framing(data), _BLANK):
            if message.end > message.start:
                if _is_request(data[message.start : message.end]):
                    return framing
                break
    return None


def _is_request(data: memoryview) -> bool:
    """Tell a request that holds something; of other signals nothing but a whole one convinces."""
    if data[:1] != _FIRST:
        return False
    request = Request(data)
    signal = request.signal()
    return signal is Signal.SPANS or (signal is not Signal.UNKNOWN and not request.faults)


def _alone(data: memoryview) -> Iterator[Message]:
    yield Message(0, len(data), True)


def _fixed_lengths(data: memoryview) -> Iterator[Message]:
    return _framed(data, lambda at: (int.from_bytes(data[at : at + 4], "big"), at + 4))


def _variable_lengths(data: memoryview) -> Iterator[Message]:
    return _framed(data, lambda at: varint(data, at, len(data)))


def _framed(data: memoryview, length: Callable[[int], tuple[int, int]]) -> Iterator[Message]:
    position, size = 0, len(data)
    while position < size:
        try:
            count, start = length(position)
        except WireError:
            count, start = 1, size
        position = start + count
        yield Message(min(start, size), min(position, size), position <= size and start <= size)
