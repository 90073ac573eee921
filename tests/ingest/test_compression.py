"""Compressed sources: read as the plain ones are, bounded, and up to what is damaged in them."""

import gzip
import io
import random
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compressed import WAYS, zstd
from every_format import PLACES, files_of
from otlp_files import span, write_spans
from shared_data import fixture
from trace_view import View, views
from tracegraph.errors import InputError, StrictError, UnknownFormatError, UnpackedLimitError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.reader import read_file
from tracegraph.ingest.source import HEAD_BYTES, Source
from tracegraph.model.digest import digest_bytes
from tracegraph.model.seal import seal
from tracegraph.workflows.load import load

_DATABASES = {".sqlite", ".db"}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEGRAPH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PLACES)
def test_every_format_reads_alike_compressed(name: str, way: str) -> None:
    files = [path for path in files_of(name) if path.suffix not in _DATABASES]
    assert files or name == "langgraph"
    for path in files:
        data = path.read_bytes()
        packed = WAYS[way](data)
        assert _read(Source("x", packed)) == _read(Source("x", data))
        assert Source("x", packed).digest == digest_bytes(packed)


def _read(source: Source) -> tuple[str, list[View], dict[str, int]]:
    """Return the format, everything that is read, and the gaps, without the digest of the file."""
    try:
        read = read_file(source, ReadOptions(keep_content=True))
        found = [one for draft in read for one in views(seal(draft))]
    except InputError as error:
        return str(error), [], {}
    for one in found:
        if one["file_digest"] == source.digest:
            one["file_digest"] = "of the file"
    return read.adapter.name, found, dict(read.gaps)


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(sorted(WAYS)), st.binary(max_size=300), st.integers(0, 3000))
def test_content_is_what_was_compressed(way: str, piece: bytes, times: int) -> None:
    data = b"{" + piece * times
    source = Source("x", WAYS[way](data))
    assert source.head == data[:HEAD_BYTES]
    assert (bytes(source.data), source.fault, len(source)) == (data, "", len(data))


@pytest.mark.parametrize("way", WAYS)
def test_large_content_lies_in_no_named_file(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = b"\n".join(b'{"number": %d}' % number for number in range(1_500_000))
    source = Source("x", WAYS[way](data))
    assert source.head == data[:HEAD_BYTES]
    assert not isinstance(source.data, bytes)
    assert source.data[:] == data
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("room", [0, 1 << 20])
@pytest.mark.parametrize("way", WAYS)
def test_without_room_it_says_so(way: str, room: int, tmp_path: Path) -> None:
    """The system itself refuses to write more: too little, or nothing in any folder."""
    path = tmp_path / "x"
    path.write_bytes(WAYS[way](b"\n" * 20_000_000))
    script = (
        "import resource, sys; from tracegraph.ingest.source import Source\n"
        "from tracegraph.errors import InputError\n"
        f"source = Source('x', open({str(path)!r}, 'rb').read())\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))\n"
        "try: source.data\n"
        "except InputError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"x: could not be unpacked to .+: .+; is there room\?\n", done.stdout)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_trace_stays_packed(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit of one byte everything that is unpacked to its end would be refused."""
    monkeypatch.setenv("TRACEGRAPH_MAX_UNPACKED_BYTES", "1")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as made:
        made.add(__file__, "x")
    other = b'{"some": "JSON of another kind", "with": "so much text in a line as traces have"}\n'
    for data in (archive.getvalue() * 4, other * 2000):
        with pytest.raises(UnknownFormatError):
            read_file(Source("x", WAYS[way](data)), ReadOptions())


def test_places_are_those_of_the_content() -> None:
    source = Source("x", gzip.compress(b'\xef\xbb\xbf{"a":1}\n\n{"b":2}\n'))
    assert list(source.lines()) == [(1, 3, b'{"a":1}'), (3, 12, b'{"b":2}')]


def test_the_name_says_nothing(tmp_path: Path) -> None:
    plain = write_spans(tmp_path / "a.jsonl.gz", [span(0, 0)])
    packed = tmp_path / "a.jsonl"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert load([plain]).trace_count == load([packed]).trace_count == 1


@pytest.mark.parametrize("way", WAYS)
def test_what_was_cut_off_is_read_up_to_there_and_disclosed(way: str, tmp_path: Path) -> None:
    data = write_spans(
        tmp_path / "a.jsonl",
        [span(n, n, name=random.Random(n).randbytes(9).hex()) for n in range(900)],
    ).read_bytes()
    packed = WAYS[way](data)
    whole = len(packed.rstrip(b"\x00"))
    read = 0
    for end in [*range(4, 64, 7), *random.Random(way).sample(range(64, whole - 20), 40)]:
        source = Source("x", packed[:end])
        try:
            content = bytes(source.data)
        except InputError as error:
            assert re.fullmatch(r"x: cannot be unpacked: [^\n]+ is the file whole\?", str(error))
            continue
        assert data.startswith(content)
        if not source.fault:  # between two members, or frames, nothing is missing that anyone knows
            assert len(content) in {0, len(data) // 2, len(data)}
            continue
        read += bool(content)
        if content.count(b"\n") > 1:
            with pytest.raises(StrictError, match=r"^x: .*files\.damaged"):
                list(read_file(Source("x", packed[:end]), ReadOptions(strict=True)))
            found = read_file(Source("x", packed[:end]), ReadOptions())
            steps = sum(len(draft.steps.step_id) for draft in found)
            assert steps == content.count(b"\n")
            assert found.gaps["files.damaged"] == 1
    assert read


@pytest.mark.parametrize("way", WAYS)
def test_changed_bytes_are_noticed_or_harmless(way: str) -> None:
    data = fixture("agentdelta/failing.jsonl").read_bytes() * 20
    packed = bytearray(WAYS[way](data))
    rng = random.Random(way)
    for _ in range(150):
        at = rng.randrange(4, len(packed))
        old = packed[at]
        packed[at] = rng.randrange(256)
        source = Source("x", bytes(packed))
        packed[at] = old
        try:
            list(read_file(source, ReadOptions()))
        except InputError as error:
            assert str(error).startswith("x")
            assert "\n" not in str(error)


def test_a_wrong_checksum_costs_nothing_that_was_read() -> None:
    data = fixture("agentdelta/failing.jsonl").read_bytes()
    packed = gzip.compress(data)
    source = Source("x", packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:])
    assert (source.data, source.fault.count("is damaged")) == (data, 1)


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_garbage_behind_the_content_is_disclosed(pack: Callable[[bytes], bytes]) -> None:
    data = fixture("agentdelta/failing.jsonl").read_bytes()
    source = Source("x", pack(data) + b"garbage")
    assert source.data == data
    assert source.fault


def test_nothing_unpacked_is_a_refusal() -> None:
    with pytest.raises(InputError, match=r"^x: cannot be unpacked: the gzip data ends early"):
        read_file(Source("x", gzip.compress(b"{}")[:5]), ReadOptions())
    with pytest.raises(InputError, match=r"^x: cannot be unpacked: the zstd data is damaged"):
        read_file(Source("x", b"\x28\xb5\x2f\xfd" + b"\xff" * 40), ReadOptions())
    with pytest.raises(InputError, match=r"^x: the file is empty"):
        read_file(Source("x", gzip.compress(b"")), ReadOptions())


@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_read_from_compressed_files_says_why(way: str, tmp_path: Path) -> None:
    database = next(path for path in files_of("langgraph") if path.suffix == ".sqlite")
    path = tmp_path / "x"
    path.write_bytes(WAYS[way](database.read_bytes()))
    with pytest.raises(InputError, match=r"^x: is a compressed SQLite database; unpack it first$"):
        load([path])
    path.write_bytes(WAYS[way](gzip.compress(b"{}")))
    with pytest.raises(InputError, match=r"^x: is compressed twice; unpack it once first$"):
        load([path])


def test_the_limit_is_named_and_holds_to_the_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    for pack in WAYS.values():
        packed = pack(b"{" + b" " * 99_999)
        monkeypatch.setenv("TRACEGRAPH_MAX_UNPACKED_BYTES", "99999")
        expected = r"^x: unpacks to more than 99999 bytes; raise TRACEGRAPH_MAX_UNPACKED_BYTES \(0"
        with pytest.raises(UnpackedLimitError, match=expected):
            len(Source("x", packed))
        for enough in ("100000", "0"):
            monkeypatch.setenv("TRACEGRAPH_MAX_UNPACKED_BYTES", enough)
            assert len(Source("x", packed)) == 100_000
    monkeypatch.setenv("TRACEGRAPH_MAX_UNPACKED_BYTES", "much")
    with pytest.raises(
        InputError, match=r"^TRACEGRAPH_MAX_UNPACKED_BYTES=much: not a whole number"
    ):
        len(Source("x", gzip.compress(b"{}")))


def test_a_declared_size_is_enough_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """The frame is refused by its header alone: there is nothing behind it to unpack."""
    for size in (300, 70_000, 5_000_000_000):
        monkeypatch.setenv("TRACEGRAPH_MAX_UNPACKED_BYTES", str(size - 1))
        width, flag = next((w, f) for w, f in ((2, 1), (4, 2), (8, 3)) if size < 256**w)
        declared = (size - 256 * (width == 2)).to_bytes(width, "little")
        header = b"\x28\xb5\x2f\xfd" + bytes([flag << 6, 0x58]) + declared
        with pytest.raises(UnpackedLimitError):
            len(Source("x", header))
        monkeypatch.setenv("TRACEGRAPH_MAX_UNPACKED_BYTES", str(size))
        with pytest.raises(InputError, match="ends early"):
            len(Source("x", header))


def test_a_document_that_was_cut_off_is_refused_with_the_reason() -> None:
    data = fixture("agentdiff/failing.json").read_bytes()
    cut = gzip.compress(data)[:-50]
    with pytest.raises(
        InputError, match=r"^x: .*not JSON.*; the gzip data ends early behind byte \d"
    ):
        list(read_file(Source("x", cut), ReadOptions()))


@pytest.mark.skipif(shutil.which("zstd") is None, reason="needs zstd")
@pytest.mark.parametrize(
    "options", [["-1"], ["-19"], ["--ultra", "-22", "--long=27"], ["--no-check"]]
)
def test_what_the_zstd_program_writes_is_read(options: list[str], tmp_path: Path) -> None:
    plain = write_spans(tmp_path / "a.jsonl", [span(n, n) for n in range(500)])
    done = subprocess.run(["zstd", "-q", "-c", *options, plain], capture_output=True, check=True)
    source = Source("x", done.stdout)
    assert (bytes(source.data), source.fault) == (plain.read_bytes(), "")
    piped = subprocess.run(
        ["zstd", "-q", "-c", "--long=31"], input=plain.read_bytes(), capture_output=True, check=True
    )
    with pytest.raises(InputError, match=r"^x: cannot be unpacked: .*too much memory"):
        len(Source("x", piped.stdout))
