"""A file as adapters see it: bytes, a name to disclose it by, and the record limit.

Sources are opened read-only; all but small files are mapped, never copied. What is compressed is
unpacked when somebody looks at it; places are those in the content. A record is one JSON document
or one line of a JSON Lines file; one over the limit is refused by name, limit and variable (DESIGN
section 6).
"""

import mmap
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from tracegraph.errors import InputError, RecordLimitError, system_reason
from tracegraph.ingest import compression
from tracegraph.ingest.companions import MAGIC, database_digest
from tracegraph.ingest.limits import limit_from
from tracegraph.model.digest import digest_bytes

LIMIT_VARIABLE = "TRACEGRAPH_MAX_RECORD_BYTES"
DEFAULT_LIMIT = 256 * 1024 * 1024
HEAD_BYTES = 64 * 1024
_SMALL = 16 * 1024 * 1024
"""Up to this size a file is read, which costs no more than mapping it; and a file that somebody
shortens meanwhile, as some rotate logs, cannot end the process."""
_BOM = b"\xef\xbb\xbf"


class Source:
    """The bytes of one file (or of standard input) and how to name it.

    Attributes:
        name: how people know the file: relative to what they named, ``/`` between folders.
        limit: largest record in bytes, 0 for none.
        path: where it lies, None for a stream; only databases, which are more than one file, ask.
        memo: what sniffing found out, so that no adapter finds it out again.
    """

    def __init__(
        self,
        name: str,
        data: bytes | mmap.mmap,
        limit: int = DEFAULT_LIMIT,
        path: Path | None = None,
    ) -> None:
        self.name = name
        self._stored = data
        self._packing = compression.packing(data[:4])
        self.limit = limit
        self.path = path
        self.memo: dict[str, Any] = {}

    @classmethod
    def open(cls, path: Path, name: str, limit: int = DEFAULT_LIMIT) -> "Source":
        """Open a file.

        Raises:
            InputError: the file cannot be opened.
        """
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size <= _SMALL:
                    return cls(name, file.read(size), limit, path)
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                return cls(name, data, limit, path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"{name}: cannot be read: {reason}") from None

    def __len__(self) -> int:
        return len(self.data)

    @cached_property
    def data(self) -> bytes | mmap.mmap:
        """The content: the bytes of the file, or what they unpack to, as far as they do.

        Raises:
            UnpackedLimitError: it would unpack to more than the limit for that.
            InputError: it is compressed and cannot be unpacked.
        """
        return self._content.data

    @property
    def fault(self) -> str:
        """What is wrong with a compressed file behind its content; empty if nothing is."""
        return self._content.fault

    @cached_property
    def _content(self) -> compression.Unpacked:
        if self._packing is None:
            return compression.Unpacked(self._stored)
        limit = compression.unpacked_limit()
        return compression.unpack(self.name, self._stored, self._packing, limit)

    @property
    def is_database(self) -> bool:
        """Whether it is a SQLite database, told by its first bytes."""
        return self._stored[: len(MAGIC)] == MAGIC

    @cached_property
    def digest(self) -> str:
        """BLAKE2b-128 of the bytes as they lie; of a database, of what lies beside it too."""
        if self.path is not None and self.is_database:
            try:
                return database_digest(self.path)
            except OSError as error:
                raise InputError(f"{self.name}: cannot be read: {system_reason(error)}") from None
        return digest_bytes(memoryview(self._stored))

    @cached_property
    def start(self) -> int:
        """Where the content begins: behind a byte-order mark, if there is one."""
        return len(_BOM) if self._first.startswith(_BOM) else 0

    @cached_property
    def head(self) -> bytes:
        """The first bytes, without a byte-order mark: what sniffing looks at."""
        return self._first[self.start :]

    @cached_property
    def _first(self) -> bytes:
        """The first bytes; of a compressed file only these are unpacked for it."""
        if self._packing is None:
            return self.data[:HEAD_BYTES]
        return compression.opening(self.name, self._stored, self._packing, HEAD_BYTES)

    def document(self) -> bytes:
        """Return the whole file as one record, without a byte-order mark.

        Raises:
            RecordLimitError: it is larger than the limit.
        """
        return bytes(self.view())

    def view(self) -> memoryview:
        """Return the whole file as one record like :meth:`document`, but without a copy.

        Raises:
            RecordLimitError: it is larger than the limit.
        """
        self.check(len(self.data), "")
        return memoryview(self.data)[self.start :]

    def lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield (line number from 1, byte offset, line) of each line that is not blank.

        Raises:
            RecordLimitError: a line is larger than the limit.
        """
        position, number, size = self.start, 0, len(self.data)
        while position < size:
            end = self.data.find(b"\n", position)
            end = size if end < 0 else end
            number += 1
            self.check(end - position, f" line {number}")
            line = self.data[position:end]
            if line and not line.isspace():
                yield number, position, line
            position = end + 1

    def check(self, size: int, place: str) -> None:
        """Refuse a record that is too large; ``place`` follows the name in the message.

        Raises:
            RecordLimitError: it is larger than the limit.
        """
        if self.limit and size > self.limit:
            raise RecordLimitError(
                f"{self.name}{place}: one record of {size} bytes is over the limit of "
                f"{self.limit}; raise {LIMIT_VARIABLE} (0 = no limit) to read it"
            )


def record_limit() -> int:
    """Return the limit that the environment sets.

    Raises:
        InputError: the variable holds no whole number.
    """
    return limit_from(LIMIT_VARIABLE, DEFAULT_LIMIT)
