"""Members of ZIP files: what zipfile reads, and what it does not; bounded, whatever is declared."""

import io
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressed import zstd
from shared_data import shared
from tracegraph.errors import InputError, RecordLimitError, UnpackedLimitError
from tracegraph.ingest.source import Source
from tracegraph.ingest.zip_file import ZipFile, is_zip

_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_CONTENTS = {
    "header.json": b'{"version": 2}',
    "samples/1 \u00e4.json": b'{"id": 1}' * 9000,
    "empty": b"",
}


def _deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


_PACK: dict[int, Callable[[bytes], bytes]] = {_STORED: bytes, _DEFLATED: _deflate, _ZSTD: zstd}


def _zip(
    contents: Iterable[tuple[str, bytes]],
    method: int = _DEFLATED,
    *,
    packed: bytes | None = None,
    flags: int = 0x800,
    wide: bool = False,
    times: int = 1,
) -> bytes:
    """Return a ZIP file written by hand.

    Args:
        contents: of the members.
        method: of all of them.
        packed: what lies there instead of the content.
        flags: of all of them.
        wide: sizes and places stand in 64 bits.
        times: how often the directory lists each, under other names.
    """
    body, directory, count = b"", b"", 0
    for name, data in contents:
        raw = (_PACK[method](data) if method in _PACK else data) if packed is None else packed
        own, place, label = zlib.crc32(data), len(body), name.encode()
        sizes = (0xFFFFFFFF, 0xFFFFFFFF) if wide else (len(raw), len(data))
        local = struct.pack("<HHQQ", 1, 16, len(data), len(raw)) if wide else b""
        fields = (45, flags, method, 0, 0, own, *sizes)
        body += struct.pack("<4s5H3L2H", b"PK\3\4", *fields, len(label), len(local)) + label + local
        body += raw
        extra = struct.pack("<HHHQ", 7, 2, 9, 0)[:6]  # one that means something else
        if wide:
            extra += struct.pack("<HHQQQ", 1, 24, len(data), len(raw), place)
        for number in range(times):
            label = (name + str(number or "")).encode()
            head = struct.pack("<4s6H3L5H", b"PK\1\2", 45, *fields, len(label), len(extra), 1, 0, 0)
            directory += head + struct.pack("<2L", 0, 0xFFFFFFFF if wide else place)
            directory += label + extra + b"c"
            count += 1
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), 3)
    return body + directory + end + b"end"


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("method", _PACK)
@pytest.mark.parametrize("front", [b"", b"in front of it"])
def test_members_are_read_whatever_they_are_packed_in(
    method: int, wide: bool, front: bytes
) -> None:
    data = front + _zip(_CONTENTS.items(), method, wide=wide)
    found = ZipFile(Source("x", data))
    assert {name: found.read(name) for name in found.names} == {
        name: (content, "") for name, content in _CONTENTS.items()
    }
    assert (found.fault, is_zip(Source("x", data))) == ("", not front)
    if method != _ZSTD:  # zipfile reads the file that was written by hand as we do
        with zipfile.ZipFile(io.BytesIO(data)) as known:
            assert {name: known.read(name) for name in known.namelist()} == _CONTENTS


@settings(deadline=None, max_examples=40)
@given(
    st.dictionaries(
        st.text("ab/.\u00e9", min_size=1, max_size=5), st.binary(max_size=400), max_size=5
    ),
    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]),
    st.binary(max_size=20),
)
def test_what_zipfile_writes_is_read(
    contents: dict[str, bytes], method: int, comment: bytes
) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as made:
        made.comment = comment
        for name, content in contents.items():
            made.writestr(name, content)
    found = ZipFile(Source("x", held.getvalue()))
    assert {name: found.read(name).data for name in found.names} == contents
    assert list(found.names) == list(contents)


def test_a_directory_of_more_than_65535_members_is_read() -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as made:
        for number in range(0x10000):
            made.writestr(zipfile.ZipInfo(f"{number}"), b"")
    found = ZipFile(Source("x", held.getvalue()))
    assert found.names == tuple(str(number) for number in range(0x10000))


def test_real_logs_are_read_as_zipfile_reads_them() -> None:
    files = sorted(shared("traces/inspect_ai").glob("*.eval"))
    assert files
    for file in files:
        found = ZipFile(Source.open(file, file.name))
        with zipfile.ZipFile(file) as known:
            assert list(found.names) == known.namelist()
            assert all(found.read(name) == (known.read(name), "") for name in found.names)


@pytest.mark.parametrize("method", _PACK)
def test_a_file_that_was_cut_off_gives_the_members_in_front_of_the_cut(method: int) -> None:
    data = _zip(_CONTENTS.items(), method)
    places = random.Random(method).sample(range(30, len(data) - 3), min(120, len(data) - 33))
    read = 0
    for end in places:
        try:
            found = ZipFile(Source("x", data[:end]))
        except InputError as error:
            assert (
                str(error)
                == "x: the ZIP file has no directory that can be read; is the file whole?"
            )
            continue
        assert found.fault
        for name, content, fault in _members(found):
            read += 1
            whole = _CONTENTS.get(name, b"")
            assert whole == content or (fault and whole.startswith(content))
    assert read


def test_a_changed_file_is_refused_or_read_but_nothing_else() -> None:
    for method in _PACK:
        data = bytearray(_zip(_CONTENTS.items(), method, wide=method == _STORED))
        rng = random.Random(method)
        for _ in range(1500):
            at = rng.randrange(len(data))
            old, data[at] = data[at], rng.randrange(256)
            try:
                found = ZipFile(Source("x", bytes(data)))
            except InputError as error:
                assert str(error).startswith("x: ")
            else:
                for _, content, fault in _members(found):
                    assert fault or content in _CONTENTS.values()
            data[at] = old


def _members(found: ZipFile) -> Iterator[tuple[str, bytes, str]]:
    """Yield (name, content, fault) of the members that are not refused."""
    for name in found.names:
        try:
            content, fault = found.read(name)
        except InputError as error:
            assert str(error).startswith("x: ")
            continue
        yield name, bytes(content), fault


def test_a_wrong_checksum_is_said() -> None:
    data = _zip([("a", b"what it was")], _STORED, packed=b"what it is!")
    assert ZipFile(Source("x", data)).read("a") == (
        b"what it is!",
        "member a: its checksum differs",
    )


def test_what_cannot_be_unpacked_says_why() -> None:
    encrypted = ZipFile(Source("x", _zip(_CONTENTS.items(), flags=0x801)))
    with pytest.raises(InputError, match=r"^x: header\.json: is encrypted; unpack the file first$"):
        encrypted.read("header.json")
    other = ZipFile(Source("x", _zip(_CONTENTS.items(), 12)))
    with pytest.raises(InputError, match=r"^x: header\.json: is compressed by method 12; unpack"):
        other.read("header.json")
    damaged = ZipFile(Source("x", _zip([("a", b"x")], packed=b"\xff" * 9)))
    with pytest.raises(InputError, match=r"^x: a: cannot be unpacked: it is damaged$"):
        damaged.read("a")
    with pytest.raises(InputError, match=r"^x: the ZIP file has no directory that can be read"):
        ZipFile(Source("x", b"PK\x03\x04" + bytes(5)))
    with pytest.raises(KeyError):
        damaged.read("b")


@pytest.mark.parametrize("field", [12, 16])
def test_a_directory_that_cannot_lie_where_it_is_said_to_is_not_believed(field: int) -> None:
    """Its size, or its place: both too large. The members are found by themselves."""
    data = bytearray(_zip(_CONTENTS.items()))
    end = data.rfind(b"PK\5\6") + field
    data[end : end + 4] = struct.pack("<L", 0xFFFFFF00)
    found = ZipFile(Source("x", bytes(data)))
    assert found.fault
    assert {name: found.read(name) for name in found.names} == {
        name: (content, "") for name, content in _CONTENTS.items()
    }


def test_an_empty_zip_file_has_no_members() -> None:
    assert ZipFile(Source("x", b"PK\x05\x06" + bytes(18))).names == ()


@pytest.mark.parametrize("method", _PACK)
def test_a_member_over_the_record_limit_is_refused_whatever_it_declares(method: int) -> None:
    packed = _PACK[method](bytes(200_000))
    found = ZipFile(Source("x", _zip([("a", b"1 byte")], method, packed=packed), limit=99_999))
    with pytest.raises(
        RecordLimitError, match=r"^x: a: one record of more than 99999 bytes is over"
    ):
        found.read("a")
    found = ZipFile(Source("x", _zip([("a", bytes(99_999))], method), limit=99_999))
    assert found.read("a") == (bytes(99_999), "")


def test_all_members_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """One piece of data that the directory lists often: small as a file, large when unpacked."""
    data = _zip([("a", bytes(1000))], times=100)
    monkeypatch.setenv("TRACEGRAPH_MAX_UNPACKED_BYTES", "5000")
    found = ZipFile(Source("x", data))
    for _ in range(9):  # what is read again counts once
        assert [len(found.read(name).data) for name in found.names[:5]] == [1000] * 5
    with pytest.raises(
        UnpackedLimitError, match=r"^x: unpacks to more than 5000 bytes; raise TRACE"
    ):
        found.read(found.names[5])
    monkeypatch.setenv("TRACEGRAPH_MAX_UNPACKED_BYTES", "0")
    unbounded = ZipFile(Source("x", data))
    assert sum(len(unbounded.read(name).data) for name in unbounded.names) == 100_000


def test_a_directory_over_the_record_limit_is_refused() -> None:
    with pytest.raises(RecordLimitError, match=r"^x: its directory of \d+ bytes is over the limit"):
        ZipFile(Source("x", _zip(_CONTENTS.items()), limit=100))


def test_a_large_file_is_mapped_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "large.zip"
    noise = random.Random(0).randbytes(17 * 1024 * 1024)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("../../outside", noise)
    before = path.read_bytes()
    assert ZipFile(Source.open(path, "x")).read("../../outside").data == noise
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
