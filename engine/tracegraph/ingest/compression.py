"""Undo gzip and zstd, told by their first bytes: piece by piece, and never beyond a limit.

It is done in one pass, which stops at the limit. Small content stays in memory; what is larger goes
to a temporary file that has no name, so that nothing is left behind however the process ends, and
is mapped as a plain file would be. So neither memory nor the disk ever holds more than the limit,
and an honest file is not unpacked twice, as counting first would. Formats: RFC 1952 (gzip: members
one behind the other, zeros behind the last), RFC 8878 (zstd: frames, skippable ones too).
"""

import mmap
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from tracegraph.errors import InputError, UnpackedLimitError, system_reason
from tracegraph.ingest.companions import MAGIC as DATABASE
from tracegraph.ingest.limits import limit_from

LIMIT_VARIABLE = "TRACEGRAPH_MAX_UNPACKED_BYTES"
DEFAULT_LIMIT = 2 * 1024**3
GZIP, ZSTD, DEFLATE = "gzip", "zstd", "deflate"
_MAGIC = {b"\x1f\x8b\x08": GZIP, b"\x28\xb5\x2f\xfd": ZSTD}
_SKIPPABLE = b"\x2a\x4d\x18"
"""Of a skippable zstd frame, behind a first byte from 0x50 to 0x5f."""
_WINDOW = {GZIP: 31, DEFLATE: -15}
"""What zlib calls wbits: with the frame of gzip around it, or bare."""
_SMALL = 16 * 1024 * 1024
"""Up to this size unpacked content stays in memory, as a plain file of that size does."""
_FED = 16 * 1024
_FED_ZSTD = 1024
"""Bytes given to a decoder at once: of zstd few, for at a fault what they gave is lost."""
_PIECE = 64 * 1024

Packed = bytes | mmap.mmap | memoryview


class Unpacked(NamedTuple):
    """What compressed data holds.

    Attributes:
        data: the content.
        fault: what is wrong with the data behind it, in words; empty if it is whole.
    """

    data: bytes | mmap.mmap
    fault: str = ""


class DamagedError(Exception):
    """Compressed data that ends early or is damaged; all before it was given."""


def unpacked_limit() -> int:
    """Return how many bytes one file may unpack to; 0 is no limit.

    Raises:
        InputError: the environment variable holds no whole number.
    """
    return limit_from(LIMIT_VARIABLE, DEFAULT_LIMIT)


def packing(head: bytes) -> str | None:
    """Return how a file is compressed, by its first bytes; None if it is not."""
    if head[1:4] == _SKIPPABLE and head[0] >> 4 == 5:
        return ZSTD
    return next((form for magic, form in _MAGIC.items() if head.startswith(magic)), None)


def opening(name: str, data: Packed, form: str, size: int) -> bytes:
    """Return the first bytes of the content, and unpack little more than these.

    Raises:
        InputError: nothing can be unpacked, or what is inside is not read from compressed files.
    """
    found = bytearray()
    try:
        for piece in pieces(data, form):
            found += piece
            if len(found) >= size:
                break
    except DamagedError as error:
        if not found:
            raise _unreadable(name, form, error) from None
    _refuse_content(name, bytes(found[: len(DATABASE)]))
    return bytes(found[:size])


def unpack(name: str, data: Packed, form: str, limit: int) -> Unpacked:
    """Return the content, up to the first fault.

    Args:
        name: of the file, for messages.
        data: the file.
        form: how it is compressed.
        limit: how many bytes it may unpack to, 0 for any number.

    Raises:
        UnpackedLimitError: there are more.
        InputError: nothing can be unpacked, there is no room for it, or what is inside is not read
            from compressed files.
    """
    import tempfile  # 4 ms, as pyarrow below: only who has a compressed file pays

    if limit and form == ZSTD and declared_size(bytes(data[:18])) > limit:
        raise over_limit(name, limit)
    opening(name, data, form, len(DATABASE))
    fault = ""
    total = 0
    try:
        with tempfile.SpooledTemporaryFile(max_size=_SMALL) as spool:
            try:
                for piece in pieces(data, form):
                    total += len(piece)
                    if limit and total > limit:
                        raise over_limit(name, limit)
                    spool.write(piece)
            except DamagedError as error:
                fault = f"the {form} data {error} behind byte {total} of its content"
            if total > _SMALL:
                spool.flush()
                return Unpacked(mmap.mmap(spool.fileno(), 0, access=mmap.ACCESS_READ), fault)
            spool.seek(0)
            return Unpacked(spool.read(), fault)
    except OSError as error:
        where = tempfile.tempdir or "a temporary folder"  # none where no folder can be written to
        what = f"could not be unpacked to {where}: {system_reason(error)}"
        raise InputError(f"{name}: {what}; is there room?") from None


def pieces(data: Packed, form: str) -> Iterator[bytes]:
    """Yield the content in pieces that are small, however well it was compressed.

    Raises:
        DamagedError: it ends early or is damaged; what was before that has been yielded.
    """
    return _zstd(data) if form == ZSTD else _inflated(data, form)


def over_limit(name: str, limit: int) -> UnpackedLimitError:
    """Return the refusal of content that is too large."""
    return UnpackedLimitError(
        f"{name}: unpacks to more than {limit} bytes; raise {LIMIT_VARIABLE} (0 = no limit) "
        "to read it"
    )


def declared_size(head: bytes) -> int:
    """Return the size that the header of a zstd frame declares, 0 where it declares none.

    RFC 8878, section 3.1.1.1. It saves unpacking what would be refused anyway.
    """
    if packing(head) != ZSTD or head[1:4] == _SKIPPABLE or len(head) < 5:
        return 0
    has_no_window = head[4] >> 5 & 1
    width = (has_no_window, 2, 4, 8)[head[4] >> 6]
    start = 6 - has_no_window + (0, 1, 2, 4)[head[4] & 3]
    return int.from_bytes(head[start : start + width], "little") + 256 * (width == 2)


def _unreadable(name: str, form: str, error: DamagedError) -> InputError:
    return InputError(f"{name}: cannot be unpacked: the {form} data {error}; is the file whole?")


def _refuse_content(name: str, first: bytes) -> None:
    """Refuse what is not read from a compressed file.

    Raises:
        InputError: it is.
    """
    if first == DATABASE:
        raise InputError(f"{name}: is a compressed SQLite database; unpack it first")
    if packing(first):
        raise InputError(f"{name}: is compressed twice; unpack it once first")


def _inflated(data: Packed, form: str) -> Iterator[bytes]:
    """Yield what deflate data holds; gzip has any number of members, and may have zeros behind."""
    position = 0
    while True:
        decoder = zlib.decompressobj(_WINDOW[form])
        while not decoder.eof:
            fed = bytes(data[position : position + _FED])
            if not fed:
                raise DamagedError("ends early")
            position += len(fed)
            yield from _decoded(decoder, fed)
        position -= len(decoder.unused_data)
        if form == DEFLATE or _is_blank(data, position):
            return
        if packing(bytes(data[position : position + 3])) != GZIP:
            raise DamagedError("goes on as something else")


def _decoded(decoder: "zlib._Decompress", fed: bytes) -> Iterator[bytes]:
    """Yield what a decoder makes of some bytes; at a fault, byte by byte what led up to it."""
    found = b"-" * _PIECE
    while not decoder.eof and (fed or len(found) == _PIECE):
        before = decoder.copy()
        try:
            found = decoder.decompress(fed, _PIECE)
        except zlib.error:
            with suppress(zlib.error):
                for at in range(len(fed)):
                    yield before.decompress(fed[at : at + 1])
            raise DamagedError("is damaged") from None
        yield found
        fed = decoder.unconsumed_tail


def _is_blank(data: Packed, position: int) -> bool:
    """Tell whether only zeros follow, as behind an archive from a tape."""
    places = range(position, len(data), _FED)
    return not any(bytes(data[at : at + _FED]).strip(b"\x00") for at in places)


def _zstd(data: Packed) -> Iterator[bytes]:
    """Yield what zstd frames hold.

    The decoder gives nothing of a piece in which it meets a fault: that piece is then asked for
    once more, byte by byte. It refuses frames that need a window of more than 128 MiB.
    """
    import pyarrow as pa

    given, fault = 0, ""
    for size in (_PIECE, 1):
        stream = pa.CompressedInputStream(pa.PythonFile(_Fed(data), mode="r"), ZSTD)
        try:
            for at in range(0, given, _PIECE):
                stream.read(min(_PIECE, given - at))
            while piece := stream.read(size):
                given += len(piece)
                yield piece
        except OSError as error:
            is_short = "runcated" in str(error)
            fault = "ends early" if is_short else f"is damaged ({' '.join(str(error).split())})"
        else:
            return
    raise DamagedError(fault)


class _Fed:
    """Data as a file that is read a little at a time, however much is asked for."""

    closed = False

    def __init__(self, data: Packed) -> None:
        self._data = data
        self._position = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        begin = self._position
        self._position += min(size, _FED_ZSTD)
        return bytes(self._data[begin : self._position])

    def close(self) -> None:
        """Do nothing: the data is its owner's."""
