"""The two tables of LangGraph's SqliteSaver: which columns they have, and the rows of one thread.

The layout changed: before 2024-08 a checkpoint was named by ``thread_ts`` and had no namespace,
``type`` came in 2024-09, ``task_path`` in 2025. Values stay in the database until they are asked
for; those over the record limit are never loaded.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from tracegraph.ingest.langgraph.blob import BlobReader

_NAMED_NOW = ({"thread_id", "checkpoint_id", "checkpoint"}, {"thread_id", "checkpoint_id"})
_NAMED_BEFORE = ({"thread_id", "thread_ts", "checkpoint"}, {"thread_id", "thread_ts"})
_WRITES = {"task_id", "channel"}

Layout = Mapping[str, frozenset[str]]
"""Column names by table."""


def is_checkpoints(tables: Layout) -> bool:
    """Tell whether tables are those of a SqliteSaver."""
    checkpoints, writes = tables.get("checkpoints"), tables.get("writes")
    if checkpoints is None or writes is None or not writes >= _WRITES:
        return False
    return any(
        checkpoints >= of_checkpoints and writes >= of_writes
        for of_checkpoints, of_writes in (_NAMED_NOW, _NAMED_BEFORE)
    )


class CheckpointRow(Struct, gc=False):
    """A row of ``checkpoints`` without its blobs; ``place`` is its rowid."""

    place: int
    namespace: str
    id: str
    parent: str | None


class WriteRow(Struct, gc=False):
    """A row of ``writes`` without its blob; ``place`` is its rowid."""

    place: int
    namespace: str
    checkpoint: str
    task: str
    path: str
    channel: str
    kind: Any


class Tables:
    """The tables of one database.

    Args:
        connection: the database.
        layout: its column names.
        limit: largest blob that is loaded, 0 for any.
    """

    def __init__(self, connection: sqlite3.Connection, layout: Layout, limit: int) -> None:
        self._connection = connection
        connection.text_factory = _text
        self._limit = limit
        checkpoints, writes = layout["checkpoints"], layout["writes"]
        is_new = "checkpoint_id" in checkpoints
        self._id = "checkpoint_id" if is_new else "thread_ts"
        self._parent = _column(checkpoints, "parent_checkpoint_id" if is_new else "parent_ts")
        self._namespaces = (
            _column(checkpoints, "checkpoint_ns", "''"),
            _column(writes, "checkpoint_ns", "''"),
        )
        self._types = (_column(checkpoints, "type"), _column(writes, "type"))
        self._metadata = _column(checkpoints, "metadata")
        self._value = _column(writes, "value")
        self._path = _column(writes, "task_path", "''")
        self._index = _column(writes, "idx", "rowid")

    def threads(self) -> list[Any]:
        """Return the ids of all threads as they are stored, in order."""
        query = "SELECT thread_id FROM checkpoints UNION SELECT thread_id FROM writes ORDER BY 1"
        return [thread for (thread,) in self._connection.execute(query)]

    def checkpoints(self, thread: Any) -> list[CheckpointRow]:
        """Return a thread's checkpoints by namespace and id: ids ascend with time."""
        query = (
            f"SELECT rowid, {self._namespaces[0]}, {self._id}, {self._parent} FROM checkpoints "
            f"WHERE thread_id IS ? ORDER BY 2, 3, 1"
        )
        return [
            CheckpointRow(place, name(namespace), name(key), name(parent) or None)
            for place, namespace, key, parent in self._connection.execute(query, (thread,))
        ]

    def newest(self, limit: int) -> list[CheckpointRow]:
        """Return the last checkpoint of each graph of each thread, the newest of them first."""
        query = (
            f"SELECT rowid, {self._namespaces[0]}, max({self._id}) FROM checkpoints "
            f"GROUP BY thread_id, 2 ORDER BY 3 DESC, 1 LIMIT ?"
        )
        return [
            CheckpointRow(place, name(namespace), name(key), None)
            for place, namespace, key in self._connection.execute(query, (limit,))
        ]

    def writes(self, thread: Any) -> list[WriteRow]:
        """Return a thread's writes by checkpoint and task, those of a task in their order."""
        query = (
            f"SELECT rowid, {self._namespaces[1]}, {self._id}, task_id, {self._path}, channel, "
            f"{self._types[1]} FROM writes WHERE thread_id IS ? "
            f"ORDER BY 2, 3, 4, {self._index}, 1"
        )
        return [
            WriteRow(place, name(ns), name(key), name(task), name(path), name(channel), kind)
            for place, ns, key, task, path, channel, kind in self._connection.execute(
                query, (thread,)
            )
        ]

    def metadata(self, place: int, read: BlobReader) -> Any:
        """Return the decoded metadata of a checkpoint, which is JSON whatever the ``type``."""
        query = f"SELECT {_sized(self._metadata)} FROM checkpoints WHERE rowid = ?"
        return self._read(query, place, "checkpoints", read, "json")

    def checkpoint(self, place: int, read: BlobReader) -> Any:
        """Return the decoded state of a checkpoint."""
        query = f"SELECT {_sized('checkpoint')}, {self._types[0]} FROM checkpoints WHERE rowid = ?"
        return self._read(query, place, "checkpoints", read)

    def value(self, place: int, read: BlobReader) -> Any:
        """Return the decoded value of a write."""
        query = f"SELECT {_sized(self._value)}, {self._types[1]} FROM writes WHERE rowid = ?"
        return self._read(query, place, "writes", read)

    def _read(
        self, query: str, place: int, table: str, read: BlobReader, kind: str | None = None
    ) -> Any:
        limit = self._limit or 2**62
        rows: Iterator[Any] = self._connection.execute(query, (limit, place))
        where = f"table {table}, row {place}"
        found = next(rows, None)
        if found is None:  # the index of a damaged table lists rows that are not in it
            return read.missing(where)
        size, data, *stored = found
        if size is not None and size > limit:
            return read.too_large(where)
        return read.read(kind or stored[0], data, where)


def _column(columns: frozenset[str], column: str, otherwise: str = "NULL") -> str:
    return column if column in columns else otherwise


def _sized(column: str) -> str:
    """Select the size of a blob, and the blob where it is not over the limit."""
    return f"length({column}), CASE WHEN length({column}) <= ? THEN {column} END"


def _text(data: bytes) -> str:
    """Read text as SQLite stores it; bytes that are no UTF-8 must not end the reading."""
    return data.decode("utf-8", "replace")


def name(value: Any) -> str:
    """Return an id, name or path as text, whatever type the column holds."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return _text(value) if isinstance(value, bytes) else str(value)
