"""One writer at a time, and a writer that dies leaves what was there before."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli_runner import environment
from otlp_files import span, write_spans
from trace_view import corpus_view
from tracegraph.corpus.cache import clear_cache
from tracegraph.corpus.lock import holder
from tracegraph.errors import CorpusLockedError
from tracegraph.workflows import load as load_module
from tracegraph.workflows.load import ingest_into, load

_HOLD = """
import sys
from pathlib import Path
from tracegraph.corpus.lock import writing
with writing(Path(sys.argv[1]), 5):
    print("held", flush=True)
    sys.stdin.read()
"""

_DIE = """
import os, signal, sys
from pathlib import Path
from tracegraph.corpus import builder
from tracegraph.workflows.load import ingest_into
builder.SEGMENT_STEPS = 2
left = int(sys.argv[1])
def count(event, arguments):
    global left
    writes = event in ("os.rename", "os.mkdir", "os.remove", "shutil.rmtree") or (
        event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
    )
    if writes:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
ingest_into([sys.argv[2]], Path(sys.argv[3]))
"""


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("TRACEGRAPH_CACHE_DIR", str(path))
    return path


@contextmanager
def _held(directory: Path) -> Iterator[int]:
    """Hold the lock of a corpus from another process; give its id."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(directory)],
        env=environment(directory),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process.pid
        finally:
            process.communicate("")


def test_the_second_writer_is_told_who_holds_the_corpus(tmp_path: Path) -> None:
    directory = tmp_path / "corpus"
    path = write_spans(tmp_path / "in" / "a.jsonl", [span(0, 0)])
    ingest_into([path], directory)
    write_spans(path, [span(0, 0), span(0, 1)])
    with _held(directory) as pid:
        with pytest.raises(CorpusLockedError, match=rf"process {pid} on .*, since 20"):
            ingest_into([path], directory, wait=0.1)
        assert load([directory]).step_count == 1  # readers need no lock
    assert holder(directory) is None
    assert ingest_into([path], directory, wait=0.1).step_count == 2


def test_a_locked_cache_is_worked_around_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_module, "CACHE_WAIT", 0.1)
    path = write_spans(tmp_path / "a.jsonl", [span(0, 0)])
    directory = load([tmp_path]).directory
    assert directory is not None
    with _held(directory) as pid:
        assert load([tmp_path]).notices == []  # up to date: nothing to write
        write_spans(path, [span(0, 0), span(0, 1)])
        corpus = load([tmp_path])
        assert (corpus.step_count, corpus.directory) == (2, None)
        assert f"the cache is not used: {directory}: process {pid}" in corpus.notices[0]
        removed, held = clear_cache()
        assert removed == 0
        assert [reason.startswith(f"{directory}: process {pid}") for reason in held] == [True]
    assert load([tmp_path]).directory == directory
    assert clear_cache() == (1, [])


def test_a_killed_writer_leaves_the_old_corpus_or_the_new_one(tmp_path: Path) -> None:
    source, directory = tmp_path / "in", tmp_path / "corpus"
    write_spans(source / "a.jsonl", [span(0, 0), span(0, 1), span(1, 2), span(1, 3)])
    write_spans(source / "b.jsonl", [span(2, 4), span(2, 5)])
    ingest_into([source], directory)
    old = corpus_view(load([source], cache=False))
    write_spans(source / "b.jsonl", [span(2, 4), span(2, 5), span(3, 6)])
    write_spans(source / "c.jsonl", [span(1, 7), span(4, 8)])
    new = corpus_view(load([source], cache=False))
    seen = []
    for writes in range(0, 200, 3):
        code = _die_after(writes, source, directory)
        seen.append(corpus_view(load([directory])))
        if code == 0:
            break
    assert code == 0
    assert len(seen) > 10
    assert all(one in (old, new) for one in seen)
    assert seen[0] == old
    assert seen[-1] == new
    write_spans(source / "d.jsonl", [span(5, 9)])
    corpus = ingest_into([source], directory)  # the next writer clears away what is left
    numbers = {str(number) for number, _ in corpus.segments}
    assert {path.name for path in (directory / "segments").iterdir()} == numbers
    assert {path.name for path in directory.iterdir()} == {".lock", "corpus.json", "segments"}


def test_a_killed_first_writer_leaves_no_corpus(tmp_path: Path) -> None:
    source = tmp_path / "in"
    write_spans(source / "a.jsonl", [span(0, 0), span(1, 1), span(1, 2)])
    directory = tmp_path / "corpus"
    assert _die_after(8, source, directory) != 0
    assert not (directory / "corpus.json").exists()
    assert ingest_into([source], directory).trace_count == 2


def _die_after(writes: int, source: Path, directory: Path) -> int:
    """Ingest in a process that is killed when it is about to write once too often."""
    return subprocess.run(
        [sys.executable, "-c", _DIE, str(writes), str(source), str(directory)],
        env=environment(directory),
        check=False,
    ).returncode
