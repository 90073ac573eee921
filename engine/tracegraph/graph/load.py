"""Build a graph from segments: bulk COPY, aside, then a rename.

A graph is immutable once it has its name; a later generation is a new file. Beside the database
``<path>`` lies ``<path>.texts``, the texts behind its global codes.
"""

import glob
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tracegraph.errors import CorpusError
from tracegraph.graph.engine import engine, reason
from tracegraph.graph.tables import SegmentTables
from tracegraph.graph.texts import Texts, TextUnion
from tracegraph.model.columns import Columns
from tracegraph.resources import read_data

DDL: Final = "kuzu/0001_trace.cypher"
MAX_DB_BYTES: Final = 1 << 38
"""Address space that the engine reserves, not memory: its default of 8 TB is refused in some
containers."""

_ROW_GROUP: Final = 1 << 17
_POOL_BYTES: Final = 1 << 28
_POOL_BYTES_PER_ROW: Final = 256
"""A COPY of edges holds all of them in the engine's buffer pool, which fails when it is full."""

_TABLES: Final = {
    "Trace": SegmentTables.traces,
    "Step": SegmentTables.steps,
    "CAUSED_BY": SegmentTables.causes,
    "TREE_PARENT": SegmentTables.tree,
    "IN_TRACE": SegmentTables.membership,
}
"""Nodes before the edges that need them."""


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """What a graph holds; checked when it is opened."""

    traces: int = 0
    steps: int = 0
    causes: int = 0


def texts_path(path: Path) -> Path:
    """Return where the texts of the graph at ``path`` lie."""
    return path.with_name(path.name + ".texts")


def remove_graph(path: Path) -> None:
    """Remove a graph and everything that belongs to it; nothing there is no error."""
    for file in path.parent.glob(f"{glob.escape(path.name)}*"):
        file.unlink(missing_ok=True)


def build_graph(path: Path, segments: Sequence[tuple[int, Columns]]) -> GraphCounts:
    """Build the graph of segments at ``path``.

    Args:
        path: where the database file goes; what is there is replaced.
        segments: (number, columns) in ascending order of number. Items are taken one at a time, so
            a lazy sequence keeps memory at one segment.

    Raises:
        CorpusError: the graph cannot be written.
    """
    with _built_aside(path) as aside:
        return _load(aside, TextUnion(), segments, read_data("schema", DDL))


def append_graph(
    old_path: Path, new_path: Path, new_segments: Sequence[tuple[int, Columns]]
) -> GraphCounts:
    """Build a generation from a copy of the last one and segments that it does not hold.

    The result equals a graph built from all segments at once. ``old_path`` is only read.

    Raises:
        CorpusError: the graph cannot be read or written, or holds one of the segments already.
    """
    with _built_aside(new_path) as aside:
        shutil.copyfile(old_path, aside)
        return _load(aside, TextUnion(Texts(texts_path(old_path)).all()), new_segments)


@contextmanager
def _built_aside(path: Path) -> Iterator[Path]:
    """Give a path to build at, and rename what was built there; on failure leave nothing."""
    aside = path.with_name(f".{path.name}.building")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_graph(aside)  # of a build that was killed
        yield aside
        remove_graph(path)
        os.replace(texts_path(aside), texts_path(path))
        os.replace(aside, path)
    except (OSError, RuntimeError) as error:  # the engine raises RuntimeError for everything
        raise CorpusError(f"{path}: the graph cannot be built: {reason(error)}") from None
    finally:
        with suppress(OSError):
            remove_graph(aside)


def _load(
    path: Path, texts: TextUnion, segments: Iterable[tuple[int, Columns]], ddl: str = ""
) -> GraphCounts:
    """Load segments into the database at ``path`` and return what it holds then.

    One COPY a table: into a table that holds rows already it costs up to twice as much.
    """
    held = path.stat().st_size if path.exists() else 0
    rows = _Rows(path)
    for number, columns in segments:
        rows.write(SegmentTables(number, columns, texts.add(columns.vocabulary)))
    texts.write(texts_path(path))
    pool = _POOL_BYTES + held + _POOL_BYTES_PER_ROW * rows.count
    database = engine().Database(str(path), buffer_pool_size=pool, max_db_size=MAX_DB_BYTES)
    with closing(database), closing(engine().Connection(database)) as connection:
        if ddl:
            connection.execute(ddl)
        rows.copy_into(connection)
        return count(connection)


class _Rows:
    """Rows on their way into a database: Parquet files beside it, so memory holds one segment."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[str, list[Path]] = {table: [] for table in _TABLES}
        self.count = 0

    def write(self, segment: SegmentTables) -> None:
        """Add the rows of a segment."""
        import pyarrow.parquet as pq

        for table, rows_of in _TABLES.items():
            rows = rows_of(segment)
            if not rows.num_rows:
                continue
            file = self._path.with_name(f"{self._path.name}.{table}.{segment.number}.parquet")
            # Plain and uncompressed is cheapest for a file that is read once.
            pq.write_table(
                rows,
                file,
                compression="none",
                use_dictionary=False,
                write_statistics=False,
                store_schema=False,
                row_group_size=_ROW_GROUP,
            )
            self._files[table].append(file)
        self.count += max(segment.columns.step_count, len(segment.columns.causes.effect))

    def copy_into(self, connection: Any) -> None:
        """Load what was written and remove it."""
        for table, files in self._files.items():
            if files:
                connection.execute(f"COPY {table} FROM [{', '.join(map(_quoted, files))}]")
            for file in files:
                file.unlink()


def _quoted(file: Path) -> str:
    """Return a path as a Cypher string in which no character is a wildcard."""
    return "'" + re.sub(r"(['\\])", r"\\\1", glob.escape(str(file))) + "'"


def count(connection: Any) -> GraphCounts:
    """Ask a database how much it holds."""
    return GraphCounts(
        *(
            connection.execute(f"MATCH {pattern} RETURN count(*)").get_next()[0]
            for pattern in ("(:Trace)", "(:Step)", "()-[:CAUSED_BY]->()")
        )
    )
