"""What adapters of databases owe to any database: what test_every_adapter.py holds of documents.

The tables lose their constraints, and then single values are replaced by what no program would
write there. What a fault costs is measured against the database without that row.
"""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from every_format import ADAPTERS, PLACES, Reading, files_of, read
from phoenix_data import made_database
from tracegraph.ingest.companions import is_database
from tracegraph.ingest.source import Source

DATABASES = {path: name for name in PLACES for path in files_of(name) if is_database(path)}
"""Every file of a format that is a database, and the adapter that reads it."""
EACH = pytest.mark.parametrize("original", [*DATABASES, "phoenix"], ids=lambda p: Path(p).name)
# Those that are read, the one with most of the rows second; of another format all are.
_TABLES: dict[str, tuple[str, ...]] = {
    "langgraph": ("checkpoints", "writes"),
    "phoenix": ("traces", "spans", "span_costs", "span_annotations", "trace_annotations"),
}
WRONG: list[Any] = [None, 17, -2.5, "text", "", b"\xff\x00", "[1]", 2**62]

VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=9),
)


def test_every_format_that_reads_databases_is_here() -> None:
    assert {"langgraph", *_TABLES} - {"phoenix"} <= set(DATABASES.values())


def tables_of(name: str, connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return the tables that an adapter reads."""
    if name in _TABLES:
        return _TABLES[name]
    listed = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    found = [table for (table,) in listed if not table.startswith("sqlite_")]
    counts = {t: connection.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in found}
    first, *others = sorted(found, key=lambda table: -counts[table])
    return (*others[:1], first, *others[1:]) if others else (first, first)


def copied(original: Path | str, folder: Path) -> tuple[str, Path]:
    """Return the adapter and a copy of a database whose tables take any value."""
    path = folder / "copy.db"
    if isinstance(original, str):
        name = "phoenix"
        made_database(path)
    else:
        name = DATABASES[original]
        path.write_bytes(original.read_bytes())
    with closing(sqlite3.connect(path)) as connection:
        statements = [
            f"CREATE TABLE _new AS SELECT * FROM {table}; DROP TABLE {table}; "
            f"ALTER TABLE _new RENAME TO {table};"
            for table in dict.fromkeys(tables_of(name, connection))
        ]
        connection.executescript("PRAGMA journal_mode = delete;" + "".join(statements))
    return name, path


class Database:
    """A database whose damage is undone with every reading."""

    def __init__(self, original: Path | str, folder: Path) -> None:
        self.name, path = copied(original, folder)
        self._data = path.read_bytes()

    def columns(self) -> Iterator[tuple[str, str, int]]:
        """Yield (table, column, number of rows) of what is there to damage."""
        with closing(self._opened()) as connection:
            for table in dict.fromkeys(tables_of(self.name, connection)):
                rows = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for _, column, *_ in connection.execute(f"PRAGMA table_info({table})"):
                    if rows:
                        yield table, column, rows

    def read(self, *statements: tuple[str, tuple[Any, ...]]) -> Reading:
        """Read the database as it is after some statements."""
        with closing(self._opened()) as connection:
            for statement, values in statements:
                connection.execute(statement, values)
            return read(self.name, Source("copy.db", connection.serialize()))

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.deserialize(self._data)
        return connection


def _replace(table: str, column: str, row: int, value: Any) -> tuple[str, tuple[Any, ...]]:
    place = f"(SELECT rowid FROM {table} LIMIT 1 OFFSET ?)"
    return f"UPDATE {table} SET {column} = ? WHERE rowid = {place}", (value, row)


def _delete(table: str, row: int) -> tuple[str, tuple[Any, ...]]:
    return f"DELETE FROM {table} WHERE rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET ?)", (row,)


@EACH
def test_one_value_of_the_wrong_type(original: Path | str, tmp_path: Path) -> None:
    """It costs at most its row, and a step that is lost is disclosed."""
    rng = random.Random(7)
    wrong: list[tuple[Any, ...]] = []
    database = Database(original, tmp_path)
    whole = database.read()
    assert whole.steps
    columns = list(database.columns())
    for table, column, rows in rng.sample(columns, min(len(columns), 24)):
        row = rng.randrange(rows)
        without = database.read(_delete(table, row))
        for value in rng.sample(WRONG, 2):
            found = database.read(_replace(table, column, row, value))
            lost = (without.steps & whole.steps) - found.steps
            if lost.total() > (found.steps - whole.steps).total():  # else it has another id
                wrong.append(("costs more than its row", table, column, row, value))
            told = found.refusal is not None or bool(found.gaps - whole.gaps)
            if found.steps.total() < whole.steps.total() and not told:
                wrong.append(("loses a step in silence", table, column, row, value))
    assert wrong == []


@EACH
def test_any_values_put_anywhere(original: Path | str, tmp_path: Path) -> None:
    database = Database(original, tmp_path)
    columns = list(database.columns())

    @settings(max_examples=15, deadline=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        statements = []
        for _ in range(data.draw(st.integers(1, 4))):
            table, column, rows = data.draw(st.sampled_from(columns))
            row = data.draw(st.integers(0, rows - 1))
            statements.append(_replace(table, column, row, data.draw(VALUES)))
        database.read(*statements)

    check()


@EACH
def test_a_file_cut_off_or_with_other_bytes(original: Path | str, tmp_path: Path) -> None:
    name, path = copied(original, tmp_path)
    data = path.read_bytes()
    rng = random.Random(7)
    damaged = [data[:end] for end in rng.sample(range(len(data)), 8)]
    for _ in range(15):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 40)):
            changed[rng.randrange(16, len(data))] = rng.randrange(256)
        damaged.append(bytes(changed))
    for content in damaged:
        path.write_bytes(content)
        source = Source.open(path, "copy.db")
        for adapter in ADAPTERS.values():
            adapter.sniff(source)
        read(name, source)
        assert path.read_bytes() == content
        assert [each.name for each in tmp_path.iterdir()] == ["copy.db"]


@EACH
def test_rows_in_the_log_are_read_and_the_log_is_left_alone(
    original: Path | str, tmp_path: Path
) -> None:
    name, path = copied(original, tmp_path)
    source = Source.open(path, "copy.db")
    assert [adapter.name for adapter in ADAPTERS.values() if adapter.sniff(source)] == [name]
    whole = read(name, source)
    with closing(sqlite3.connect(path, isolation_level=None)) as live:
        table = tables_of(name, live)[1]
        live.execute("PRAGMA journal_mode = wal")
        live.execute("PRAGMA wal_autocheckpoint = 0")
        live.execute(f"CREATE TABLE _kept AS SELECT * FROM {table}")
        live.execute(f"DELETE FROM {table}")
        live.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        live.execute(f"INSERT INTO {table} SELECT * FROM _kept")  # in the log only
        before = _contents(tmp_path)
        assert before["copy.db-wal"]
        found = read(name, Source.open(path, "copy.db"))
        assert _contents(tmp_path) == before
    assert found.steps == whole.steps


def _contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder; the log's index holds the locks of who reads."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {name: b"" if name.endswith("-shm") else data for name, data in files.items()}
