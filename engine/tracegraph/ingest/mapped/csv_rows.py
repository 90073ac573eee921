"""The rows of a CSV file, where one that is broken costs itself only.

A quote that opens a cell and is closed wrongly, or never, would swallow what follows. So such a row
costs its first line, and reading goes on with the line after it. Lines of the file and rows are not
the same: a cell in quotes may hold line breaks.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tracegraph.errors import RecordLimitError
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.source import HEAD_BYTES, LIMIT_VARIABLE, Source
from tracegraph.ingest.tolerant_json import decode_text

Row = tuple[int, list[str]]
"""Number of the line that a row begins on, and its cells."""
DELIMITERS: Final = (",", "\t", ";", "|")
_LOOKED_AT: Final = 20
"""Rows that tell which delimiter it is."""
_FIELD_LIMIT: Final = 2**31 - 1


class _Lines:
    """The lines of a file as text, which can be taken back to where a row began.

    Attributes:
        number: of the line that was read last.
        first: of the line that the row began on.
    """

    def __init__(self, source: Source, losses: Losses, end: int, limit: int) -> None:
        self.number = self.first = 0
        self._name, self._data, self._losses = source.name, source.data, losses
        self._at, self._end, self._limit = source.start, end, limit
        self._began = self._second = self._at

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._at >= self._end:
            raise StopIteration
        end = self._data.find(b"\n", self._at, self._end) + 1 or self._end
        if self._limit and end - self._began > self._limit:
            raise RecordLimitError(
                f"{self._name} line {self.first + 1}: one record of more than {self._limit} bytes "
                f"is over the limit; raise {LIMIT_VARIABLE} (0 = no limit) to read it"
            )
        line = decode_text(self._data[self._at : end], self._losses)
        if self._at == self._began:
            self._second = end
        self._at = end
        self.number += 1
        return line

    def begin(self) -> None:
        """Note that a row begins with the next line."""
        self._began, self.first = self._at, self.number

    def back(self) -> None:
        """Go back to the second line of the row."""
        self._at, self.number = self._second, self.first + 1


def csv_rows(
    source: Source, delimiter: str, broken: Callable[[int, str], None], losses: Losses
) -> Iterator[Row]:
    """Yield the rows of a file that are not blank, the header among them.

    Args:
        source: the file.
        delimiter: what stands between cells.
        broken: hears of each row that cannot be read: its line, and what is the matter.
        losses: where bytes that are no UTF-8 are disclosed.

    Raises:
        RecordLimitError: a row is larger than the limit.
    """
    lines = _Lines(source, losses, len(source.data), source.limit)
    yield from _rows(lines, delimiter, broken)


def find_delimiter(source: Source, wanted: frozenset[str]) -> str:
    """Return the delimiter of a file: of which the header has most of the wanted columns.

    Where none decides it, that by which most rows have as many cells as the header.
    """
    return max(DELIMITERS, key=lambda delimiter: _fits(source, delimiter, wanted))


def names_of(header: Sequence[str]) -> list[str]:
    """Return a name for each column: what repeats is numbered, what is blank is its place."""
    names = FreeIds()
    stripped = (cell.strip() for cell in header)
    return [names.take(cell or f"column {at}") for at, cell in enumerate(stripped, 1)]


def _rows(lines: _Lines, delimiter: str, broken: Callable[[int, str], None]) -> Iterator[Row]:
    csv.field_size_limit(_FIELD_LIMIT)  # the limit is that of the record
    reader = _reader(lines, delimiter)
    while True:
        lines.begin()
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            broken(lines.first + 1, str(error))
            lines.back()
            reader = _reader(lines, delimiter)
            continue
        if any(cell and not cell.isspace() for cell in row):
            yield lines.first + 1, row


def _reader(lines: _Lines, delimiter: str) -> "Iterator[list[str]]":
    return csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)


def _fits(source: Source, delimiter: str, wanted: frozenset[str]) -> tuple[int, int, int]:
    """Return how many wanted columns are there, how many rows agree, and how many cells there are.

    Only the head is looked at, in which the last line may be cut off.
    """
    unheard = Losses(source.name, strict=False)
    head = _Lines(source, unheard, min(len(source.data), HEAD_BYTES), limit=0)
    rows: list[list[str]] = []
    for _, row in _rows(head, delimiter, lambda *_: None):
        rows.append(row)
        if len(rows) > _LOOKED_AT:
            break
    if not rows or len(rows[0]) < 2:
        return (len(wanted.intersection(names_of(rows[0]))) if rows else 0, 0, 0)
    agreeing = sum(len(row) == len(rows[0]) for row in rows[1:])
    return len(wanted.intersection(names_of(rows[0]))), agreeing, len(rows[0])
