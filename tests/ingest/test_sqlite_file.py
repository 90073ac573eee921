"""A database is read whatever state it is in, and nothing appears or changes beside it."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tracegraph.errors import InputError
from tracegraph.ingest import sqlite_file
from tracegraph.ingest.source import Source
from tracegraph.ingest.sqlite_file import is_sqlite, open_copy, tables
from unprivileged import run_unprivileged

_WRITER = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement)
print("ready", flush=True)
sys.stdin.readline()
os._exit(0)  # as a crash ends it: nothing is closed
"""


def _make(path: Path, journal: str = "delete") -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT)")
        connection.execute("INSERT INTO t (word) VALUES ('first')")
    return path


@contextmanager
def _program(path: Path, *statements: str) -> Iterator[subprocess.Popen[str]]:
    """Run another program that has the database open, and end it as a crash would."""
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path), *statements],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.communicate("\n")


def _folder(path: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in sorted(path.parent.iterdir())}


def _words(path: Path) -> list[str]:
    """Read through the copy; nothing may have changed beside the source."""
    before = _folder(path)
    source = Source.open(path, path.name)
    assert tables(source) == {"t": frozenset({"id", "word"})}
    with open_copy(source) as copy:
        words = [word for (word,) in copy.execute("SELECT word FROM t ORDER BY id")]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            copy.execute("DELETE FROM t")
    assert _folder(path) == before
    return words


def test_a_database_that_nobody_uses(tmp_path: Path) -> None:
    assert _words(_make(tmp_path / "plain.db")) == ["first"]


def test_write_ahead_log_mode_without_a_log(tmp_path: Path) -> None:
    path = _make(tmp_path / "closed.db", "wal")
    assert [entry.name for entry in tmp_path.iterdir()] == ["closed.db"]
    assert _words(path) == ["first"]


def test_a_log_that_a_program_is_writing(tmp_path: Path) -> None:
    path = _make(tmp_path / "live.db", "wal")
    with _program(path, "INSERT INTO t (word) VALUES ('in the log')"):
        assert (tmp_path / "live.db-wal").stat().st_size
        assert _words(path) == ["first", "in the log"]


def test_a_transaction_that_is_open_in_the_log(tmp_path: Path) -> None:
    path = _make(tmp_path / "open.db", "wal")
    with _program(
        path, "INSERT INTO t (word) VALUES ('done')", "BEGIN", "INSERT INTO t VALUES (9, 'not yet')"
    ):
        assert _words(path) == ["first", "done"]


def test_log_and_index_left_by_a_crash(tmp_path: Path) -> None:
    path = _make(tmp_path / "crashed.db", "wal")
    with _program(path, "INSERT INTO t (word) VALUES ('in the log')"):
        pass
    assert {"crashed.db-wal", "crashed.db-shm"} <= {entry.name for entry in tmp_path.iterdir()}
    assert _words(path) == ["first", "in the log"]


def test_a_log_that_was_copied_without_its_index(tmp_path: Path) -> None:
    path = _make(tmp_path / "a.db", "wal")
    copy = tmp_path / "copy" / "a.db"
    copy.parent.mkdir()
    with _program(path, "INSERT INTO t (word) VALUES ('in the log')"):
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
    assert _words(copy) == ["first", "in the log"]


def test_a_database_without_its_log_is_what_the_main_file_holds(tmp_path: Path) -> None:
    path = _make(tmp_path / "live.db", "wal")
    copy = tmp_path / "copy" / "live.db"
    copy.parent.mkdir()
    with _program(path, "INSERT INTO t (word) VALUES ('in the log')"):
        shutil.copyfile(path, copy)
    assert _words(copy) == ["first"]


def test_a_journal_left_by_a_crash_is_rolled_back(tmp_path: Path) -> None:
    path = _make(tmp_path / "torn.db")
    # A cache of one page makes SQLite write into the database before the transaction ends.
    with _program(
        path,
        "PRAGMA cache_size = 1",
        "BEGIN IMMEDIATE",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
        "INSERT INTO t (word) SELECT 'undone' || i FROM n",
    ):
        pass
    assert (tmp_path / "torn.db-journal").stat().st_size
    assert _words(path) == ["first"]


def test_a_transaction_that_did_not_begin_to_write(tmp_path: Path) -> None:
    path = _make(tmp_path / "busy.db")
    with _program(path, "BEGIN IMMEDIATE", "INSERT INTO t (word) VALUES ('not yet')"):
        assert _words(path) == ["first"]


def test_a_lock_that_is_not_given_back_is_waited_for_within_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BOUND_SECONDS", 0.2)
    monkeypatch.setattr(sqlite_file, "_BUSY_SECONDS", 0.05)
    path = _make(tmp_path / "locked.db")
    source = Source.open(path, "locked.db")
    wanted = r"^locked\.db: is locked by a program"
    with (
        _program(path, "BEGIN EXCLUSIVE"),
        pytest.raises(InputError, match=wanted) as raised,
        open_copy(source),
    ):
        pass
    assert "\n" not in str(raised.value)


def test_a_link_leads_to_the_log_of_the_real_file(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path = _make(tmp_path / "real" / "a.db", "wal")
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with (
        _program(path, "INSERT INTO t (word) VALUES ('in the log')"),
        open_copy(Source.open(link, "link.db")) as copy,
    ):
        assert copy.execute("SELECT count(*) FROM t").fetchone() == (2,)


def test_a_name_that_a_uri_would_take_apart(tmp_path: Path) -> None:
    assert _words(_make(tmp_path / "100% odd?name#1.db")) == ["first"]


def test_a_stream_is_a_database_too(tmp_path: Path) -> None:
    data = _make(tmp_path / "a.db").read_bytes()
    with open_copy(Source("<stdin>", data)) as copy:
        assert copy.execute("SELECT word FROM t").fetchall() == [("first",)]


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_folder_that_nobody_may_write_to(tmp_path: Path, journal: str) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    path = _make(folder / "a.db", journal)
    with _program(path, "INSERT INTO t (word) VALUES ('second')"):
        pass
    for entry in folder.iterdir():
        entry.chmod(0o444)
    folder.chmod(0o555)
    os.chmod(tmp_path, 0o755)
    before = _folder(path)
    code = """
import sys
from pathlib import Path
from tracegraph.ingest.source import Source
from tracegraph.ingest.sqlite_file import open_copy
with open_copy(Source.open(Path(sys.argv[1]), "a.db")) as copy:
    print([word for (word,) in copy.execute("SELECT word FROM t")])
"""
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    assert run_unprivileged(code, str(path), cache=cache) == "['first', 'second']\n"
    assert _folder(path) == before


def test_what_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"SQLite format 3\x00" + bytes(50))
    source = Source.open(path, "a.db")
    assert is_sqlite(source)
    assert tables(source) == {}
    wanted = r"^a\.db: not a readable SQLite database"
    with pytest.raises(InputError, match=wanted), open_copy(source):
        pass
    assert not is_sqlite(Source("b", b"{}"))


def test_a_damaged_database_is_refused_by_name(tmp_path: Path) -> None:
    path = _make(tmp_path / "a.db")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    wanted = r"^a\.db: not a readable SQLite database"
    with pytest.raises(InputError, match=wanted), open_copy(Source.open(path, "a.db")):
        pass
