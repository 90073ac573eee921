"""Text in protobuf that is no UTF-8, made readable.

proto3 demands UTF-8 and decoders refuse the whole message, but not every encoder checks: a limit on
the length of attributes that cuts through a character is enough. Bytes that are none become U+FFFD,
as they do in OTLP/JSON. Field numbers are those of opentelemetry-proto (``trace/v1``,
``common/v1``, ``resource/v1``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

from tracegraph.ingest.otlp.repair import without_surrogates
from tracegraph.ingest.otlp.wire import BYTES, WireError, fields

_Parts = list[bytes | memoryview]
Texts = Mapping[int, Union["Texts", None]]
"""Which fields of a message are text (None), and which are messages that hold some."""

_VALUE: dict[int, Texts | None] = {1: None}
_KEY_VALUE: Texts = {1: None, 2: _VALUE}
_VALUE |= {5: {1: _VALUE}, 6: {1: _KEY_VALUE}}
_EVENT: Texts = {2: None, 3: _KEY_VALUE}
_LINK: Texts = {3: None, 4: _KEY_VALUE}
SPAN_TEXTS: Texts = {3: None, 5: None, 9: _KEY_VALUE, 11: _EVENT, 13: _LINK, 15: {2: None}}
RESOURCE_TEXTS: Texts = {1: _KEY_VALUE}


@dataclass
class Mended:
    """A message whose text is UTF-8.

    Attributes:
        data: the message.
        count: how many texts were changed.
        invalid_at: where the first byte lay that is no UTF-8.
    """

    data: bytes = b""
    count: int = 0
    invalid_at: int = -1


def mend(data: memoryview, start: int, end: int, texts: Texts) -> Mended:
    """Mend the message that lies between two positions.

    One that is no message, or is nested too deeply, is given back as it is.
    """
    mended = Mended()
    made: _Parts = []
    try:
        _add_message(made, data, start, end, texts, mended)
        mended.data = b"".join(made)
    except (WireError, RecursionError):
        mended.data = bytes(data[start:end])
    return mended


def _add_message(
    made: _Parts, data: memoryview, start: int, end: int, texts: Texts, mended: Mended
) -> int:
    """Add a message piece by piece; return its size. No byte is copied once for each level."""
    whole = 0
    for each in fields(data, start, end):
        if each.end > end:
            raise WireError(each.tag)
        if each.kind != BYTES or each.number not in texts:
            made.append(data[each.tag : each.end])
            whole += each.end - each.tag
            continue
        inner, head = texts[each.number], len(made)
        made.append(b"")  # the size comes first and is known last
        if inner is None:
            made.append(_text(bytes(data[each.start : each.end]), each.start, mended))
            size = len(made[-1])
        else:
            size = _add_message(made, data, each.start, each.end, inner, mended)
        made[head] = _varint(each.number << 3 | BYTES) + _varint(size)
        whole += len(made[head]) + size
    return whole


def _text(text: bytes, start: int, mended: Mended) -> bytes:
    try:
        text.decode()
        return text
    except UnicodeDecodeError as error:
        if not mended.count:
            mended.invalid_at = start + error.start
        mended.count += 1
        return without_surrogates(text.decode(errors="surrogateescape")).encode()


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
