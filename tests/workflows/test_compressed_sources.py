"""Compressed files as sources of a corpus: in folders and pipes, in parts, and bounded."""

import gzip
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cli_runner import environment
from compressed import gzip_bomb, sized_zstd, zstd, zstd_bomb
from every_format import files_of
from otlp_files import span, write_spans
from shared_data import fixture
from tracegraph.errors import StrictError, UnpackedLimitError
from tracegraph.workflows.load import load
from tracegraph.workflows.validate import validate

_GIB = 1024**3


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEGRAPH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


_MEASURED = """
import re, sys
from pathlib import Path
from tracegraph.cli.main import main
try:
    sys.exit(main(sys.argv[1:]))
finally:
    print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measures through /proc")
@pytest.mark.parametrize(("bomb", "most"), [(gzip_bomb, 11_000_000), (zstd_bomb, 1_000_000)])
@pytest.mark.parametrize("named", [True, False])
def test_a_bomb_is_refused_in_little_memory(
    bomb: Callable[[int], bytes], most: int, named: bool, tmp_path: Path
) -> None:
    """10 GiB in 10 MB: 64 MiB may be unpacked, and the process may take 64 MiB more for that."""
    folder, temporary = tmp_path / "in", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    path = folder / "bomb.json"
    (folder / "small.json").write_bytes(b"{}")
    idle = _peak(tmp_path, "traces", str(folder))[0]
    path.write_bytes(bomb(10 * _GIB))
    assert path.stat().st_size < most
    peak, said = _peak(tmp_path, "traces", str(path if named else folder))
    assert "bomb.json: unpacks to more than 67108864 bytes; raise TRACEGRAPH_MAX_UNP" in said
    assert peak - idle < 64 * 1024
    assert list(temporary.iterdir()) == []


def _peak(folder: Path, *arguments: str) -> tuple[int, str]:
    """Return the peak of a command's memory, in KiB, and what it said; it must have refused."""
    extra = {
        "TRACEGRAPH_MAX_UNPACKED_BYTES": str(64 * 1024**2),
        "TMPDIR": str(folder / "temporary"),
    }
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *arguments, "--no-cache"],
        env=environment(folder / "cache") | extra,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    return int(done.stdout), done.stderr


@pytest.mark.parametrize("pack", [gzip.compress, zstd, sized_zstd])
def test_streams_are_unpacked_too(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = bytes(pack(write_spans(tmp_path / "a.jsonl", [span(0, 0), span(1, 1)]).read_bytes()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert load(["-"]).trace_count == 2
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(packed,))
    writer.start()
    assert load([pipe]).trace_count == 2
    writer.join()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd")
def test_a_pipe_is_read_through_its_descriptor() -> None:
    """What a shell hands over as ``<(zcat traces.gz)``: a link that leads to no name."""
    reading, writing = os.pipe()
    os.write(writing, gzip.compress(fixture("agentdelta/failing.jsonl").read_bytes()))
    os.close(writing)
    try:
        assert load([f"/dev/fd/{reading}"]).trace_count == 1
    finally:
        os.close(reading)


def _folder(root: Path) -> None:
    """Write a trace in parts, one plain and two compressed, and two traces that are whole."""
    for name, pack, spans in (
        ("a.jsonl", bytes, [span(0, 0), span(1, 9)]),
        ("b.jsonl.gz", gzip.compress, [span(0, 1, 0)]),
        ("c/c.zst", zstd, [span(0, 2, 1), span(2, 5)]),
    ):
        plain = write_spans(root / "plain", spans)
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(pack(plain.read_bytes()))
        plain.unlink()


def test_a_trace_in_parts_is_united_whatever_each_is_packed_in(tmp_path: Path) -> None:
    root = tmp_path / "in"
    root.mkdir()
    _folder(root)
    for corpus in (load([root]), load([root]), load([root], cache=False), load([f"{root}/**/*"])):
        assert corpus.gaps == {}
        found = {
            trace.trace_id: [step.step_id for step in trace.steps] for trace in corpus.traces()
        }
        assert found[f"{1:032x}"] == [f"{n:016x}" for n in (1, 2, 3)]
        assert len(found) == 3


def test_only_what_changed_is_unpacked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "in"
    root.mkdir()
    _folder(root)
    for path in root.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    load([root])
    # With a limit of one byte everything that is unpacked would be refused.
    monkeypatch.setenv("TRACEGRAPH_MAX_UNPACKED_BYTES", "1")
    again = load([root])
    assert (again.trace_count, again.skipped) == (3, ())
    plain = write_spans(tmp_path / "plain", [span(7, 7)])
    (root / "d.gz").write_bytes(gzip.compress(plain.read_bytes()))
    more = load([root])
    assert (more.trace_count, [file.name for file in more.skipped]) == (3, ["d.gz"])
    with pytest.raises(UnpackedLimitError, match=r"^b\.jsonl\.gz: unpacks to more"):
        load([root], strict=True)
    monkeypatch.delenv("TRACEGRAPH_MAX_UNPACKED_BYTES")
    assert (load([root]).trace_count, load([root]).skipped) == (4, ())  # tried again


def test_a_damaged_file_is_disclosed_from_the_cache_too(tmp_path: Path) -> None:
    plain = write_spans(tmp_path / "plain", [span(n, n) for n in range(50)])
    packed = tmp_path / "a.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes())[:-6])
    for corpus in (load([packed]), load([packed]), load([packed], cache=False)):
        assert (corpus.trace_count, corpus.gaps) == (50, {"files.damaged": 1})
    for cache in (True, False):
        with pytest.raises(StrictError, match=r"^a\.gz: the gzip data ends early behind byte \d+"):
            load([packed], strict=True, cache=cache)


def test_an_artifact_is_validated_compressed(tmp_path: Path) -> None:
    path = next(path for path in files_of("artifact") if path.name == "no-match-soft-error.json")
    packed = tmp_path / "a.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert [file.problem_count for file in validate([str(packed)])[0].files] == [0]
    packed.write_bytes(gzip.compress(path.read_bytes())[:-6])
    assert [one.text for file in validate([str(packed)])[0].files for one in file.problems] == [
        "files.damaged 1"
    ]
