"""A SQLite database as a source: read through a private copy, its write-ahead log included.

Nothing is written beside the source. The copy is made by SQLite's own backup from a read-only
connection, so a program that writes meanwhile costs nothing but a repeated page, and within 30
seconds (the bound of the seed README). Three states of a file cannot be opened read-only without
SQLite creating or needing files next to it (https://www.sqlite.org/wal.html#read_only_databases);
they are opened as copies of the files, or as immutable where nothing but the main file exists.
"""

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from tracegraph.errors import InputError
from tracegraph.ingest.source import Source

MAGIC = b"SQLite format 3\x00"
BOUND_SECONDS = 30.0
_BUSY_SECONDS = 5.0
_PAGES_A_TURN = 1024
_READ_VERSION = 19
"""Offset of the header byte that is 2 in write-ahead-log mode (SQLite file format 1.3.3)."""
_IN_WAL_MODE = 2


def is_sqlite(source: Source) -> bool:
    """Tell a SQLite database by its first bytes."""
    return source.head.startswith(MAGIC)


def tables(source: Source) -> dict[str, frozenset[str]]:
    """Return the column names of each table; empty where the source is no readable database."""
    if not is_sqlite(source):
        return {}
    known = source.memo.get("sqlite_tables")
    if known is None:
        known = source.memo["sqlite_tables"] = _read_tables(source)
    return known


@contextmanager
def open_copy(source: Source) -> Iterator[sqlite3.Connection]:
    """Open a private copy of a database, closed and removed afterwards.

    Raises:
        InputError: it is no database, is damaged, or could not be copied within the bound.
    """
    with tempfile.TemporaryDirectory(prefix="tracegraph-") as folder:
        path = Path(folder) / "copy.sqlite"
        with closing(sqlite3.connect(path)) as copy:
            try:
                with _open(source, Path(folder)) as original:
                    _back_up(original, copy, source.name)
            except sqlite3.Error as error:
                reason = f"not a readable SQLite database: {error}"
                raise InputError(f"{source.name}: {reason}") from None
            copy.execute("PRAGMA query_only = ON")
            yield copy


def _read_tables(source: Source) -> dict[str, frozenset[str]]:
    query = "SELECT m.name, p.name FROM sqlite_master m, pragma_table_info(m.name) p"
    found: dict[str, set[str]] = {}
    try:
        with (
            tempfile.TemporaryDirectory(prefix="tracegraph-") as folder,
            _open(source, Path(folder)) as original,
        ):
            for table, column in original.execute(f"{query} WHERE m.type = 'table'"):
                found.setdefault(table, set()).add(column)
    except (sqlite3.Error, OSError):
        return {}
    return {table: frozenset(columns) for table, columns in found.items()}


def _back_up(original: sqlite3.Connection, copy: sqlite3.Connection, name: str) -> None:
    deadline = time.monotonic() + BOUND_SECONDS

    def check(status: int, remaining: int, total: int) -> None:
        if time.monotonic() > deadline:
            raise InputError(
                f"{name}: could not be copied within {BOUND_SECONDS:g} s, {remaining} of {total} "
                "pages are left; read it again when nobody writes to it, or a copy of it"
            )

    original.backup(copy, pages=_PAGES_A_TURN, progress=check)


@contextmanager
def _open(source: Source, folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the original so that no file appears or changes beside it."""
    uri = _read_only_uri(source, folder)
    with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)) as connection:
        yield connection


def _read_only_uri(source: Source, folder: Path) -> str:
    path = source.path
    if path is None:
        path = folder / "stream.sqlite"
        path.write_bytes(source.data)
        return _uri(path, "immutable=1")
    log, shared, journal = (beside(path, suffix) for suffix in ("-wal", "-shm", "-journal"))
    if (log.exists() and not shared.exists()) or journal.exists():
        own = folder / "files.sqlite"
        for suffix in ("", "-wal", "-journal"):
            if (part := beside(path, suffix)).exists():
                shutil.copyfile(part, beside(own, suffix))
        return _uri(own, "mode=rw")
    in_wal_mode = source.head[_READ_VERSION] == _IN_WAL_MODE
    return _uri(path, "immutable=1" if in_wal_mode and not log.exists() else "mode=ro")


def beside(path: Path, suffix: str) -> Path:
    """Return the path of a file that SQLite keeps beside a database."""
    return path.with_name(path.name + suffix)


def _uri(path: Path, options: str) -> str:
    return f"file:{quote(str(path))}?{options}"
