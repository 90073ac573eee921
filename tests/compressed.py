"""Data compressed in every way that is read, and bombs that are small as files."""

import gzip
import zlib
from collections.abc import Callable

import pyarrow as pa

_MIB = 1024 * 1024


def zstd(data: bytes) -> bytes:
    """Return one zstd frame that does not declare its size."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(data)
    return bytes(sink.getvalue())


def sized_zstd(data: bytes) -> bytes:
    """Return one zstd frame that declares its size."""
    return bytes(pa.compress(data, "zstd", asbytes=True))


def members(data: bytes) -> bytes:
    """Return several gzip members, an empty one among them, and zeros behind."""
    half = len(data) // 2
    parts = (data[:half], b"", data[half:])
    return b"".join(gzip.compress(part, mtime=0) for part in parts) + bytes(512)


def frames(data: bytes) -> bytes:
    """Return several zstd frames with skippable ones in front, between and behind."""
    skipped = b"\x5a\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    half = len(data) // 2
    return skipped + zstd(data[:half]) + skipped + sized_zstd(data[half:]) + skipped


WAYS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "gzip members": members,
    "zstd": zstd,
    "zstd with its size": sized_zstd,
    "zstd frames": frames,
}


def gzip_bomb(size: int) -> bytes:
    """Return one gzip member of JSON and so many spaces: one deflate block, repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    opened = packer.compress(b"{") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * _MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
    return header + opened + block * (size // _MIB)


def zstd_bomb(size: int) -> bytes:
    """Return zstd frames of JSON and so many spaces, none of which declares its size."""
    return zstd(b"{") + zstd(b" " * _MIB) * (size // _MIB)
