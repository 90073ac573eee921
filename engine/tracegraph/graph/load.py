"""Build a graph from segments: bulk COPY, aside, then a rename.

A graph is immutable once it has its name; a later generation is a new file. Beside the database
``<path>`` lies ``<path>.texts``, the texts behind its global codes.
"""

import glob
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tracegraph.errors import CorpusError
from tracegraph.graph.engine import reason
from tracegraph.graph.filling import Filling, GraphCounts, fill, fill_apart
from tracegraph.graph.tables import SegmentTables
from tracegraph.graph.texts import Texts, TextUnion
from tracegraph.model.columns import Columns
from tracegraph.resources import read_data

DDL: Final = "kuzu/0001_trace.cypher"
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


def texts_path(path: Path) -> Path:
    """Return where the texts of the graph at ``path`` lie."""
    return path.with_name(path.name + ".texts")


def remove_graph(path: Path) -> None:
    """Remove a graph and everything that belongs to it; nothing there is no error."""
    for file in path.parent.glob(f"{glob.escape(path.name)}*"):
        file.unlink(missing_ok=True)


def build_graph(
    path: Path, segments: Sequence[tuple[int, Columns]], *, apart: bool = False
) -> GraphCounts:
    """Build the graph of segments at ``path``.

    Args:
        path: where the database file goes; what is there is replaced.
        segments: (number, columns) in ascending order of number. Items are taken one at a time, so
            a lazy sequence keeps memory at one segment.
        apart: let a process of its own write the file, see :mod:`tracegraph.graph.filling`.

    Raises:
        CorpusError: the graph cannot be written.
    """
    with _built_aside(path) as aside:
        return _load(aside, TextUnion(), segments, read_data("schema", DDL), apart=apart)


def append_graph(
    old_path: Path,
    new_path: Path,
    new_segments: Sequence[tuple[int, Columns]],
    *,
    apart: bool = False,
) -> GraphCounts:
    """Build a generation from a copy of the last one and segments that it does not hold.

    The result equals a graph built from all segments at once. ``old_path`` is only read.

    Raises:
        CorpusError: the graph cannot be read or written, or holds one of the segments already.
    """
    with _built_aside(new_path) as aside:
        shutil.copyfile(old_path, aside)
        texts = TextUnion(Texts(texts_path(old_path)).all())
        return _load(aside, texts, new_segments, apart=apart)


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
    path: Path,
    texts: TextUnion,
    segments: Iterable[tuple[int, Columns]],
    ddl: str = "",
    *,
    apart: bool,
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
    statements = [*([ddl] if ddl else ()), *rows.statements()]
    counts = (fill_apart if apart else fill)(Filling(str(path), pool, statements))
    rows.remove()
    return counts


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

    def statements(self) -> list[str]:
        """Return what loads the files, nodes first."""
        return [
            f"COPY {table} FROM [{', '.join(map(_quoted, files))}]"
            for table, files in self._files.items()
            if files
        ]

    def remove(self) -> None:
        """Remove the files."""
        for files in self._files.values():
            for file in files:
                file.unlink()


def _quoted(file: Path) -> str:
    """Return a path as a Cypher string in which no character is a wildcard."""
    return "'" + re.sub(r"(['\\])", r"\\\1", glob.escape(str(file))) + "'"
