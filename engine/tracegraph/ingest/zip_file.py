"""The members of a ZIP file, unpacked one by one and bounded; nothing is written under their names.

Members may be stored, deflated or compressed with zstd, which is method 93 of the ZIP application
note (APPNOTE 6.3.10, section 4.4.5) and which zipfile of Python 3.11 does not know. What the
directory says is not believed: a member is unpacked up to the limits, whatever size it declares,
and its checksum is compared. A file that was cut off has lost its directory, which comes last; its
members still name themselves, each in front of its data, and are found by that.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from tracegraph.errors import InputError, RecordLimitError
from tracegraph.ingest import compression
from tracegraph.ingest.compression import DamagedError, Unpacked
from tracegraph.ingest.source import LIMIT_VARIABLE, Source

_MEMBER, _LISTED, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_WIDE_END, _WIDE_PLACE = b"PK\x06\x06", b"PK\x06\x07"
_MEMBER_HEAD = struct.Struct("<4s5H3L2H")
_LISTED_HEAD = struct.Struct("<4s6H3L5H2L")
_END_HEAD = struct.Struct("<4s4H2LH")
_WIDE_END_HEAD = struct.Struct("<4sQ2H2L4Q")
_WIDE_PLACE_HEAD = struct.Struct("<4sLQL")
_LONGEST_END = _END_HEAD.size + 0xFFFF
_WIDE, _WIDE_FIELD = 0xFFFF_FFFF, 0x0001
"""What a size or a place is where an extra field holds it in 64 bits; which one (APPNOTE 4.5.3)."""
_ENCRYPTED, _SIZE_BEHIND, _UTF8 = 0x1, 0x8, 0x800
"""Bits of the flags (APPNOTE, section 4.4.4)."""
_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_PIECE = 64 * 1024
_FORMS = {_DEFLATED: compression.DEFLATE, _ZSTD: compression.ZSTD}


def is_zip(source: Source) -> bool:
    """Tell a ZIP file that has a member, by its first bytes."""
    return source.head.startswith(_MEMBER)


class ZipFile:
    """A ZIP file whose members are read by name.

    Attributes:
        fault: what is wrong with the file as a whole, in words: members that come behind the place
            where it was cut off are missing; empty if nothing is.
    """

    def __init__(self, source: Source) -> None:
        """Read the directory.

        Raises:
            RecordLimitError: it is larger than the record limit.
            InputError: nothing in the file can be read as a member.
        """
        self.fault = ""
        self._source = source
        self._limit = compression.unpacked_limit()
        self._sizes: dict[str, int] = {}
        self._total = 0
        try:
            self._members = dict(_listed(source))
        except (DamagedError, struct.error):
            self.fault = "the ZIP file has no directory that can be read"
            self._members = dict(_met(source))
            if not self._members:
                raise InputError(f"{source.name}: {self.fault}; is the file whole?") from None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members, in the order of the file; of two with one name, the last."""
        return tuple(self._members)

    def read(self, name: str) -> Unpacked:
        """Return what a member holds, as far as it can be unpacked, and what is wrong with it.

        Raises:
            KeyError: there is no such member.
            RecordLimitError: it is larger than the record limit.
            UnpackedLimitError: with it, the members that were read are larger than that limit.
            InputError: it is encrypted, compressed otherwise, or nothing of it can be unpacked.
        """
        member, place = self._members[name], f"{self._source.name}: {name}"
        others = self._total - self._sizes.get(name, 0)
        found, check, fault = bytearray(), 0, ""
        try:
            for piece in _pieces(self._source, member, place):
                found += piece
                check = zlib.crc32(piece, check)
                self._refuse_size(len(found), others, place)
            if check != member.checksum:
                fault = "its checksum differs"
        except DamagedError as error:
            fault = str(error)
            if not found:
                raise InputError(f"{place}: cannot be unpacked: it {fault}") from None
        self._sizes[name] = len(found)
        self._total = others + len(found)
        return Unpacked(bytes(found), fault and f"member {name}: {fault}")

    def _refuse_size(self, size: int, others: int, place: str) -> None:
        """Refuse a member as soon as more of it was unpacked than may be."""
        limit = self._source.limit
        if limit and size > limit:
            raise RecordLimitError(
                f"{place}: one record of more than {limit} bytes is over the limit; raise "
                f"{LIMIT_VARIABLE} (0 = no limit) to read it"
            )
        if self._limit and others + size > self._limit:
            raise compression.over_limit(self._source.name, self._limit)


class _Member(NamedTuple):
    """How a member lies in the file; at ``place`` its own header, behind which its data is."""

    flags: int
    method: int
    checksum: int
    size: int
    place: int


def _listed(source: Source) -> Iterator[tuple[str, _Member]]:
    """Yield the members that the directory lists.

    Raises:
        DamagedError, struct.error: there is no directory, or it makes no sense.
        RecordLimitError: it is larger than the record limit.
    """
    begin, end, shift = _directory(source)
    if source.limit and end - begin > source.limit:
        raise RecordLimitError(
            f"{source.name}: its directory of {end - begin} bytes is over the limit of "
            f"{source.limit}; raise {LIMIT_VARIABLE} (0 = no limit) to read it"
        )
    data, at = source.data, begin
    while at < end:
        head = _LISTED_HEAD.unpack(data[at : at + _LISTED_HEAD.size])
        if head[0] != _LISTED:
            raise DamagedError("makes no sense")
        flags, method, checksum = head[3], head[4], head[7]
        at += _LISTED_HEAD.size
        name, extra = data[at : at + head[10]], data[at + head[10] : at + head[10] + head[11]]
        at += head[10] + head[11] + head[12]
        _, size, place = _widened(extra, head[9], head[8], head[16])
        yield _text(name, flags), _Member(flags, method, checksum, size, place + shift)


def _directory(source: Source) -> tuple[int, int, int]:
    """Return where the directory begins and ends, and how much was put in front of the file."""
    data = source.data
    tail = max(0, len(data) - _LONGEST_END)
    end = data[tail:].rfind(_END)
    if end < 0:
        raise DamagedError("is missing")
    end += tail
    head = _END_HEAD.unpack(data[end : end + _END_HEAD.size])
    size, begin = head[5], head[6]
    before = end - _WIDE_PLACE_HEAD.size
    if before >= 0 and data[before : before + 4] == _WIDE_PLACE:
        wide = before - _WIDE_END_HEAD.size
        fields = _WIDE_END_HEAD.unpack(data[max(0, wide) : max(0, before)])
        if fields[0] == _WIDE_END:
            size, begin, end = fields[8], fields[9], wide
    if size + begin > end:
        raise DamagedError("makes no sense")
    return end - size, end, end - size - begin


def _met(source: Source) -> Iterator[tuple[str, _Member]]:
    """Yield the members that lie one behind the other, as far as each says how long it is."""
    data, at = source.data, 0
    while True:
        head = data[at : at + _MEMBER_HEAD.size]
        if len(head) < _MEMBER_HEAD.size or not head.startswith(_MEMBER):
            return
        _, _, flags, method, _, _, checksum, size, whole, named, more = _MEMBER_HEAD.unpack(head)
        if flags & _SIZE_BEHIND and not size:
            return
        begin = at + _MEMBER_HEAD.size
        name, extra = data[begin : begin + named], data[begin + named : begin + named + more]
        _, size, _ = _widened(extra, whole, size, 0)
        yield _text(name, flags), _Member(flags, method, checksum, size, at)
        at = begin + named + more + size


def _pieces(source: Source, member: _Member, place: str) -> Iterator[bytes]:
    """Yield the content of a member in pieces.

    Raises:
        DamagedError: it ends early or is damaged.
        InputError: it is encrypted, or compressed by another method.
    """
    if member.flags & _ENCRYPTED:
        raise InputError(f"{place}: is encrypted; unpack the file first")
    if member.method != _STORED and member.method not in _FORMS:
        raise InputError(f"{place}: is compressed by method {member.method}; unpack the file first")
    head = source.data[max(0, member.place) : max(0, member.place) + _MEMBER_HEAD.size]
    if len(head) < _MEMBER_HEAD.size or not head.startswith(_MEMBER):
        raise DamagedError("is not where the directory says")
    named, more = _MEMBER_HEAD.unpack(head)[-2:]
    begin = member.place + _MEMBER_HEAD.size + named + more
    packed = memoryview(source.data)[begin : begin + member.size]
    if member.method in _FORMS:
        yield from compression.pieces(packed, _FORMS[member.method])
        return
    for at in range(0, len(packed), _PIECE):
        yield bytes(packed[at : at + _PIECE])
    if len(packed) < member.size:
        raise DamagedError("ends early")


def _widened(extra: bytes, *fields: int) -> list[int]:
    """Return sizes and places with those of 64 bits, which the extra field has in their order."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack("<HH", extra[at : at + 4])
        at += 4
        if kind == _WIDE_FIELD:
            held = extra[at : at + size]
            wide = (int.from_bytes(held[n : n + 8], "little") for n in range(0, len(held) - 7, 8))
            return [next(wide, field) if field == _WIDE else field for field in fields]
        at += size
    return list(fields)


def _text(name: bytes, flags: int) -> str:
    return name.decode("utf-8" if flags & _UTF8 else "cp437", "replace")
