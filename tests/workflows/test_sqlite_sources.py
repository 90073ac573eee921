"""Databases in the normal path: the cache sees what lies only in their log."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from checkpoint_files import add_thread, open_checkpoints, write_checkpoints
from shared_data import shared
from trace_view import corpus_view
from tracegraph.corpus.corpus import Corpus
from tracegraph.workflows.load import ingest_into, load

REAL = "traces/langgraph_sqlite/gen_langgraph1.2_all_scenarios.sqlite"
LONG_AGO = 1_600_000_000


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path_factory.mktemp("cache") / "tracegraph"
    monkeypatch.setenv("TRACEGRAPH_CACHE_DIR", str(path))
    return path


def _ids(corpus: Corpus) -> list[str]:
    return [trace.trace_id for trace in corpus.traces()]


def _contents(path: Path) -> dict[str, bytes]:
    """What lies beside a database and in it; the index of the log is SQLite's own affair."""
    found = path.parent.iterdir()
    return {p.name: b"" if p.name.endswith("-shm") else p.read_bytes() for p in found}


def _age(path: Path, seconds: int = 0) -> None:
    """Let a database and its log have changed long before any manifest."""
    for suffix in ("", "-wal"):
        if path.with_name(path.name + suffix).exists():
            os.utime(path.with_name(path.name + suffix), (LONG_AGO + seconds, LONG_AGO + seconds))


def _rename(connection: sqlite3.Connection, thread: str) -> None:
    for table in ("checkpoints", "writes"):
        connection.execute(f"UPDATE {table} SET thread_id = ?", (thread,))
    connection.commit()


def _segments(cache: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in cache.rglob("hot.arrow")}


@pytest.mark.parametrize("aged", [False, True])
def test_a_change_in_the_log_alone_is_noticed(tmp_path: Path, cache: Path, aged: bool) -> None:
    path = tmp_path / "in" / "a.sqlite"
    path.parent.mkdir()
    with closing(open_checkpoints(path, "A", wal=True)) as connection:
        main = path.read_bytes()
        if aged:
            _age(path)
        first = load([path.parent])
        assert _ids(first) == ["A"]

        add_thread(connection, "B")
        if aged:
            _age(path)  # the main file now has the very time that it had
        assert path.read_bytes() == main
        before = _contents(path)
        second = load([path.parent])
        assert _ids(second) == ["A", "B"]
        assert _contents(path) == before
        assert second.files[0].digest != first.files[0].digest
        assert second.skipped == ()
        assert corpus_view(second) == corpus_view(load([path], cache=False))

        written = _segments(cache)
        assert corpus_view(load([path.parent])) == corpus_view(second)
        assert _segments(cache) == written

        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert _ids(load([path.parent])) == ["A", "B"]
    assert _ids(load([path.parent])) == ["A", "B"]  # closed, and the log gone


def test_a_log_of_the_same_size_and_time_is_told_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(open_checkpoints(path, "A", wal=True)) as connection:
        _rename(connection, "B")
        log = path.with_name("a.sqlite-wal")
        status = log.stat()
        assert _ids(load([path])) == ["B"]
        connection.execute("PRAGMA wal_checkpoint(RESTART)")
        _rename(connection, "C")
        assert log.stat().st_size == status.st_size
        os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert _ids(load([path])) == ["C"]


def test_a_corpus_is_brought_up_to_date_alike(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(open_checkpoints(path, "A", wal=True)) as connection:
        _age(path)
        assert _ids(ingest_into([path], tmp_path / "corpus")) == ["A"]
        add_thread(connection, "B")
        _age(path)
        assert _ids(ingest_into([path], tmp_path / "corpus")) == ["A", "B"]


def test_a_database_that_was_none_of_ours_is_tried_again(tmp_path: Path) -> None:
    write_checkpoints(tmp_path / "known.sqlite", "A")
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        _age(path)
        assert [file.name for file in load([tmp_path]).skipped] == ["other.sqlite"]
        main = path.read_bytes()
        with closing(sqlite3.connect(tmp_path / "known.sqlite")) as known:
            tables = [
                sql for (sql,) in known.execute("SELECT sql FROM sqlite_master WHERE sql > ''")
            ]
        for sql in tables:
            connection.execute(sql)
        add_thread(connection, "B")
        _age(path)
        assert path.read_bytes() == main
        assert _ids(load([tmp_path])) == ["A", "B"]


def test_threads_are_listed_as_the_database_has_them() -> None:
    path = shared(REAL)
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        threads = [t for (t,) in connection.execute("SELECT DISTINCT thread_id FROM checkpoints")]
    corpus = load([path])
    assert sorted(_ids(corpus)) == sorted(threads)
    assert len(threads) == 29
    assert [trace.session_id for trace in corpus.traces()] == _ids(corpus)
