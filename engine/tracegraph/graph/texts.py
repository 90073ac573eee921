"""Global text codes: one integer for each distinct text of a graph.

A code is the position of the text in the union of the segments' vocabularies, taken in segment
order, so the union follows from the segments alone and only ever grows at the end. It is written
beside the graph as an Arrow file and memory-mapped to look up the texts of a query.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tracegraph.errors import CorpusError
from tracegraph.model.columns import Array, Ints


class TextUnion:
    """The growing union of vocabularies, while a graph is built."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._texts: list[str] = list(texts)
        self._code: dict[str, int] = {}

    def add(self, vocabulary: Sequence[str]) -> Ints:
        """Add a segment's vocabulary. Return the global code of each of its codes."""
        texts = list(vocabulary)
        if not self._texts:  # one segment needs no look-ups: its codes are the global codes
            self._texts = texts
            return np.arange(len(self._texts), dtype=np.int64)
        if not self._code:
            self._code = {text: code for code, text in enumerate(self._texts)}
        known, before = self._code, len(self._texts)
        codes = np.array([known.setdefault(t, len(known)) for t in texts], dtype=np.int64)
        new = np.flatnonzero(codes >= before)
        self._texts += [texts[i] for i in new.tolist()]
        return codes

    def write(self, path: Path) -> None:
        """Write the texts as an Arrow file of one column."""
        import pyarrow as pa

        table = pa.table({"text": pa.array(self._texts, pa.large_string())})
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)


def globalise(codes: Array, mapping: Ints) -> Ints:
    """Turn the text codes of a segment into global ones; -1 stays -1."""
    return np.append(mapping, -1)[codes]


class Texts:
    """The texts of a built graph, memory-mapped on first use."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def _column(self) -> Any:
        import pyarrow as pa

        try:
            with pa.memory_map(str(self._path)) as source:
                return pa.ipc.open_file(source).read_all().column("text")
        except (OSError, pa.ArrowInvalid) as error:
            raise CorpusError(
                f"{self._path}: the texts of the graph cannot be read ({error}); remove "
                f"{self._path.stem} beside it: the graph is built anew when it is needed"
            ) from None

    def __getitem__(self, code: int) -> str:
        return str(self._column[code].as_py())

    def all(self) -> list[str]:
        """Return every text in code order."""
        texts: list[str] = self._column.to_pylist()
        return texts

    def code_of(self, text: str) -> int:
        """Return the code of a text, or -1 where the graph does not hold it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            wanted = pa.scalar(text, pa.large_string())
        except UnicodeEncodeError:  # a lone surrogate: ingestion cleans them, so no text has one
            return -1
        return int(pc.index(self._column, wanted).as_py())
