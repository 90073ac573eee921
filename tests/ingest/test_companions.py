"""The files that SQLite keeps beside a database are part of it, and of nothing else."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tracegraph.ingest.companions import companion_states
from tracegraph.ingest.discover import discover
from tracegraph.ingest.source import Source
from tracegraph.model.digest import digest_bytes

SUFFIXES = ("", "-wal", "-shm")


def _in_wal_mode(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    return connection


def _names(*paths: Path) -> list[str]:
    return [file.name for file in discover(paths).files]


def test_a_folder_holds_the_database_alone(tmp_path: Path) -> None:
    with closing(_in_wal_mode(tmp_path / "sub.sqlite")):
        assert {path.name for path in tmp_path.iterdir()} == {f"sub.sqlite{s}" for s in SUFFIXES}
        assert _names(tmp_path) == ["sub.sqlite"]
        assert discover([tmp_path]).passed == ()
        assert _names(tmp_path / "*") == ["sub.sqlite"]
        assert _names(*sorted(tmp_path.iterdir())) == ["sub.sqlite"]
        assert _names(tmp_path / "sub.sqlite-wal") == ["sub.sqlite-wal"]


def test_a_linked_database_has_its_log_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "seen").mkdir()
    with closing(_in_wal_mode(tmp_path / "real" / "a.sqlite")):
        (tmp_path / "seen" / "b.sqlite").symlink_to(tmp_path / "real" / "a.sqlite")
        assert _names(tmp_path / "seen") == ["b.sqlite"]
        assert _names(tmp_path) == ["real/a.sqlite"]


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_without_its_database_a_name_means_nothing(tmp_path: Path, suffix: str) -> None:
    for name in ("trace", f"trace{suffix}", f"alone.db{suffix}", suffix):
        (tmp_path / name).write_text("{}")
    assert _names(tmp_path) == sorted(["trace", f"trace{suffix}", f"alone.db{suffix}", suffix])


def test_the_state_and_the_digest_cover_the_log(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with closing(_in_wal_mode(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert path.with_name("a.sqlite-wal").stat().st_size == 0
        plain = Source.open(path, "a")
        assert plain.digest == digest_bytes(path.read_bytes())
        states = companion_states(path)
        assert states == ((-1, 0), (-1, 0))

        connection.execute("INSERT INTO t VALUES (1)")
        connection.commit()
        assert path.read_bytes() == bytes(plain.data)
        logged = Source.open(path, "a")
        assert logged.digest not in (plain.digest, digest_bytes(path.read_bytes()))
        assert companion_states(path) != states

        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        folded = Source.open(path, "a")
        assert folded.digest == digest_bytes(path.read_bytes()) != plain.digest
        assert companion_states(path) == states


def test_only_a_database_has_companions(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "a.json-wal").write_text("x")
    assert Source.open(tmp_path / "a.json", "a").digest == digest_bytes(b"{}")
