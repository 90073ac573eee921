"""A SQLite database as a source: read through a private copy, its write-ahead log included.

Nothing is written beside the source. The copy is made by SQLite's own backup from a read-only
connection, so a program that writes meanwhile costs nothing but a repeated page, and within 30
seconds (the bound of the seed README). States of a database that SQLite would have to recover, and
so to write, before it can read them (https://www.sqlite.org/wal.html#read_only_databases) are
opened as copies of the files.
"""

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from tracegraph.errors import InputError
from tracegraph.ingest.companions import HOLDING, State, beside, companion_states
from tracegraph.ingest.source import Source

BOUND_SECONDS = 30.0
_BUSY_SECONDS = 5.0
_PAGES_A_TURN = 1024
_READ_VERSION = 19
"""Offset of the header byte that is 2 in write-ahead-log mode (SQLite file format 1.3.3)."""
_IN_WAL_MODE = b"\x02"
_REFUSED = (sqlite3.Error, UnicodeDecodeError)
"""The latter where a message of SQLite quotes bytes of a damaged schema."""
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_PRIMARY = 0xFF
"""The part of SQLite's error codes that says what kind of an error it is."""


def is_sqlite(source: Source) -> bool:
    """Tell a SQLite database by its first bytes."""
    return source.is_database


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
            except _REFUSED as error:
                raise InputError(f"{source.name}: {_reason(error, folder)}") from None
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
    except (*_REFUSED, OSError):
        return {}
    return {table: frozenset(columns) for table, columns in found.items()}


def _reason(error: Exception, folder: str) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    if (
        code in _NO_ROOM
    ):  # the file system that would not take the copy, more likely than the source
        return f"could not be copied to {Path(folder).parent}: {error}; is there room?"
    return f"not a readable SQLite database: {error}"


def _back_up(original: sqlite3.Connection, copy: sqlite3.Connection, name: str) -> None:
    deadline = time.monotonic() + BOUND_SECONDS

    def check(status: int, remaining: int, total: int) -> None:
        _check(deadline, f"{name}: is being copied, {remaining} of {total} pages are left")

    original.backup(copy, pages=_PAGES_A_TURN, progress=check)


@contextmanager
def _open(source: Source, folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the original so that no file appears or changes beside it."""
    with closing(_connect(source, folder)) as connection:
        yield connection


def _connect(source: Source, folder: Path) -> sqlite3.Connection:
    if source.path is None:
        own = folder / "stream.sqlite"
        own.write_bytes(source.data)
        return _opened(own, "immutable=1")
    path = source.path.resolve()  # SQLite names the files beside it by the real path
    deadline = time.monotonic() + BOUND_SECONDS
    while True:
        try:
            return _opened(path, _options(path, source))
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY != sqlite3.SQLITE_BUSY:
                return _opened(_copied(path, folder, source.name, deadline), "mode=rw")
            _check(deadline, f"{source.name}: is locked by a program that writes to it")


def _options(path: Path, source: Source) -> str:
    """Return how to open a database read-only.

    In write-ahead-log mode SQLite would create the log, and write into its index, which readers
    share; a database without a log is all in one file, and the index is only looked at.
    """
    in_wal_mode = source.head[_READ_VERSION : _READ_VERSION + 1] == _IN_WAL_MODE
    if in_wal_mode and not beside(path, "-wal").exists():
        return "immutable=1"
    return "mode=ro&readonly_shm=1"


def _opened(path: Path, options: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path))}?{options}"
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")  # looks at the file only now
    except _REFUSED:
        connection.close()
        raise
    return connection


def _copied(path: Path, folder: Path, name: str, deadline: float) -> Path:
    """Copy a database that SQLite must recover first, with its log or journal; return the copy.

    A program crashed, or the files were copied without the log's index: nobody is writing, but
    should somebody begin to, the copy is made anew.
    """
    own = folder / "copied.sqlite"
    while True:
        before = _states(path)
        for suffix in ("", *HOLDING):
            beside(own, suffix).unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                shutil.copyfile(beside(path, suffix), beside(own, suffix))
        if _states(path) == before:
            return own
        _check(deadline, f"{name}: changes while it is copied")


def _states(path: Path) -> tuple[State, ...]:
    status = path.stat()
    return ((status.st_size, status.st_mtime_ns), *companion_states(path))


def _check(deadline: float, what: str) -> None:
    """Refuse to wait any longer than the bound."""
    if time.monotonic() > deadline:
        raise InputError(
            f"{what}, for more than {BOUND_SECONDS:g} s; read it again when nobody writes to it, "
            "or a copy of it"
        )
