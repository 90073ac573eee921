"""One segment on disk: whole traces as a folder of files.

``hot.arrow`` holds every column uncompressed and is memory-mapped: opening it costs a millisecond
whatever its size, and a query touches only the columns that it reads. It is an ordinary Arrow IPC
file of one record, in which each field is the list of one column's values, since the columns of
steps, traces and causes differ in length. ``content.parquet`` is there where bodies are kept. The
Parquet record for other programs is written by :mod:`tracegraph.corpus.record`.

Input order and file order differ once files change, so a segment also says where each of its traces
comes from: ``home``, the number of the file that holds it first, and ``position``, its place there.
"""

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np

from tracegraph.corpus.durable import sync
from tracegraph.corpus.manifest import ANEW
from tracegraph.corpus.texts import Texts
from tracegraph.errors import CorpusError
from tracegraph.model.columns import (
    Array,
    CauseColumns,
    Columns,
    Content,
    Ints,
    StepColumns,
    TraceColumns,
    dtype,
    names,
)

HOT = "hot.arrow"
CONTENT = "content.parquet"
_TABLES = {"traces": TraceColumns, "steps": StepColumns, "causes": CauseColumns}
_TEXTS = ("trace_id", "step_id", "vocabulary")
_BODIES = ("input", "output", "attributes")


@dataclass(slots=True, eq=False)
class Held:
    """Traces and where they come from.

    Attributes:
        columns: the traces.
        home: number of the file that each trace belongs to, int64.
        position: place of each trace in that file, int64.
        mapping: the mapped file behind the columns, if there is one.
    """

    columns: Columns
    home: Ints
    position: Ints
    mapping: mmap.mmap | None = None

    def rest(self) -> None:
        """Give the memory of mapped pages back; they are read again when they are used."""
        if self.mapping is not None and hasattr(self.mapping, "madvise"):
            self.mapping.madvise(mmap.MADV_DONTNEED)


def write_segment(folder: Path, held: Held) -> None:
    """Write ``hot.arrow`` and, where there is content, ``content.parquet`` into a new folder."""
    folder.mkdir(parents=True)
    _write_hot(folder / HOT, held)
    if held.columns.content is not None:
        _write_content(folder / CONTENT, held.columns.content)
    sync(folder)


def open_segment(folder: Path) -> Held:
    """Map a segment; nothing is decoded.

    Raises:
        FileNotFoundError: there is no such segment (any more).
        CorpusError: its files are damaged.
    """
    import pyarrow as pa

    path = folder / HOT
    try:
        with path.open("rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        batch = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapping))).get_batch(0)
        fields = dict(zip(batch.schema.names, batch.columns, strict=True))
        tables: dict[str, Any] = {
            prefix: table(
                **{n: _numbers(fields[f"{prefix}.{n}"], dtype(table, n)) for n in names(table)}
            )
            for prefix, table in _TABLES.items()
        }
        texts: dict[str, Any] = {name: _texts(fields[name]) for name in _TEXTS}
        arrays = [
            _numbers(fields[name], np.dtype("int64")) for name in ("offsets", "home", "position")
        ]
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise CorpusError(f"{path}: damaged ({error}); {ANEW}") from None
    content = None
    if (folder / CONTENT).exists():
        content = Content(*(_Bodies(folder / CONTENT, name) for name in _BODIES))
    return Held(
        Columns(offsets=arrays[0], **texts, **tables, content=content),
        arrays[1],
        arrays[2],
        mapping,
    )


def _write_hot(path: Path, held: Held) -> None:
    import pyarrow as pa

    columns = held.columns
    values: dict[str, Any] = {
        "offsets": _array(columns.offsets),
        "home": _array(held.home),
        "position": _array(held.position),
        **{name: arrow_texts(getattr(columns, name)) for name in _TEXTS},
    }
    for prefix, table in _TABLES.items():
        for name in names(table):
            values[f"{prefix}.{name}"] = _array(getattr(getattr(columns, prefix), name))
    rows = [
        pa.LargeListArray.from_arrays(pa.array([0, len(v)], pa.int64()), v) for v in values.values()
    ]
    batch = pa.record_batch(rows, names=list(values))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    sync(path)


def _write_content(path: Path, content: Content) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        {name: pa.array(list(getattr(content, name)), pa.large_string()) for name in _BODIES}
    )
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    sync(path)


def arrow_texts(texts: Sequence[str]) -> Any:
    """Return texts as an Arrow array over the same bytes."""
    import pyarrow as pa

    held = Texts.of(texts)
    buffers = [None, pa.py_buffer(held.offsets), pa.py_buffer(held.data)]
    return pa.Array.from_buffers(pa.large_string(), len(held), buffers)


def _array(values: Array) -> Any:
    """Return a NumPy column as an Arrow array over the same bytes.

    Flags become bytes of 0 and 1, since Arrow packs booleans to bits, which NumPy cannot map.
    """
    import pyarrow as pa

    flat = np.ascontiguousarray(values)
    return pa.array(flat.view(np.uint8) if flat.dtype == np.bool_ else flat)


def _numbers(column: Any, kind: "np.dtype[Any]") -> Array:
    values: Array = column.values.to_numpy(zero_copy_only=True)
    return values.view(kind) if kind == np.bool_ else values


def _texts(column: Any) -> Texts:
    values = column.values
    if not len(values):
        return Texts(np.zeros(1, np.int64), np.empty(0, np.uint8))
    _, offsets, data = values.buffers()
    return Texts(
        np.frombuffer(offsets, np.int64, len(values) + 1),
        np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8),
    )


class _Bodies(Sequence[str | None]):
    """One content column, read from disk when a body is asked for."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name

    @cached_property
    def _column(self) -> Any:
        import pyarrow.parquet as pq

        try:
            return pq.read_table(self._path, columns=[self._name]).column(0).combine_chunks()
        except (OSError, ValueError) as error:
            place = "/".join(self._path.parts[-3:])
            raise CorpusError(f"{place}: cannot be read ({error}); run again") from None

    def __len__(self) -> int:
        return len(self._column)

    @overload
    def __getitem__(self, index: int) -> str | None: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str | None]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str | None] | None:
        if isinstance(index, slice):
            found: list[str | None] = self._column[index].to_pylist()
            return found
        body: str | None = self._column[int(index)].as_py()
        return body
