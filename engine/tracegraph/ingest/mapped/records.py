"""The records of a home-made log, whatever it is written in: JSON Lines, JSON or CSV.

A record is an object by column: of JSON with any values, of CSV with texts, where a blank cell is
no value. Broken ones are counted too, so that the number of a record does not depend on them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from tracegraph.errors import InputError, StrictError, UnknownFormatError
from tracegraph.ingest.documents import documents
from tracegraph.ingest.json_lines import is_json_lines
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.mapped.csv_rows import Row, csv_rows, find_delimiter, names_of
from tracegraph.ingest.mapped.path import ColumnPath
from tracegraph.ingest.source import Source
from tracegraph.ingest.tolerant_json import decode_json

_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
JSON_LINES: Final = "JSON Lines"
_SHOWN: Final = 8
_LONGEST: Final = 40


@dataclass(slots=True)
class Record:
    """One record.

    Attributes:
        number: which record of the file it is, from 1.
        place: where it is, in words.
        values: by column.
        document: what is around the list that it is in; itself where there is none.
        unit: number of the document that it is in.
        gaps: codes of what is the matter with it as a whole.
    """

    number: int
    place: str
    values: dict[str, Any]
    document: Any
    unit: int = 0
    gaps: tuple[str, ...] = ()


class Records:
    """The records of a source.

    Attributes:
        columns: of CSV, the names in the header; else empty.
        is_json: it is JSON or JSON Lines.
        shape: JSON Lines, JSON or CSV.
        outside: what was lost of the file and of no record.
        refusal: why the first of those that cannot be read cannot.
        count: how many records there are so far, those that cannot be read among them.
    """

    def __init__(
        self,
        source: Source,
        strict: bool,
        records: ColumnPath | None = None,
        delimiter: str | None = None,
        wanted: Iterable[ColumnPath] = (),
    ) -> None:
        self.columns: list[str] = []
        self.outside = Losses(source.name, strict)
        self.refusal: InputError | None = None
        self._source, self._records, self._delimiter = source, records, delimiter
        self._wanted = frozenset(str(each) for path in wanted for each in (path.text, path.keys[0]))
        self.count = 0
        if not source.head.strip():
            raise UnknownFormatError(f"{source.name}: the file is empty")
        if source.head.startswith(_UTF16) or b"\0" in source.head[:64]:
            raise _no_utf8(source)
        start = source.head.lstrip()[:1]
        has_lines = is_json_lines(source)
        self.is_json = has_lines or start in (b"{", b"[")
        self.shape = JSON_LINES if has_lines else "JSON" if self.is_json else "CSV"

    def __iter__(self) -> Iterator[Record]:
        """Yield the records.

        Gap codes: ``mapped.unreadable_record``, ``mapped.extra_cells``, ``mapped.missing_cells``,
        ``text.invalid_utf8``.

        Raises:
            UnknownFormatError: a CSV file has none of the wanted columns, or the names of its
                columns are no UTF-8.
            RecordLimitError: a record is larger than the limit.
        """
        return self._of_json() if self.is_json else self._of_csv()

    def lose(self, what: str) -> None:
        """Disclose a record that cannot be read: where it is, and what is the matter."""
        self.outside.add("mapped.unreadable_record", what)

    def _of_json(self) -> Iterator[Record]:
        for unit, (shown, data) in enumerate(documents(self._source, self.outside)):
            place = shown.removeprefix(self._source.name).lstrip(": ")
            try:
                document = decode_json(data, shown, self.outside)
            except StrictError:
                raise
            except InputError as error:
                self.count += 1
                told = str(error)
                if self.shape == JSON_LINES:  # which has one line, that of the file
                    told = told.replace(f"{shown}: line 1, column ", f"{shown}, column ")
                self.refusal = self.refusal or InputError(told)
                self.lose(told.removeprefix(f"{self._source.name}: "))
                continue
            for inner, value in self._in(document, place):
                self.count += 1
                if isinstance(value, dict):
                    yield Record(self.count, inner, value, document, unit)
                else:
                    self.lose(f"{inner}: no object")

    def _in(self, document: Any, place: str) -> Iterator[tuple[str, Any]]:
        """Yield (place, record) of each record of a document."""
        if self._records is None:
            yield place or "record 1", document
            return
        listed = self._records.find(document)
        if not isinstance(listed, list):
            self.count += 1
            self.lose(f"{place or 'the document'}: no list of records at {self._records.text}")
            return
        for at, value in enumerate(listed, 1):
            yield f"{place}, record {at}" if place else f"record {at}", value

    def _of_csv(self) -> Iterator[Record]:
        source = self._source
        delimiter = self._delimiter or find_delimiter(source, self._wanted)
        rows = csv_rows(source, delimiter, self._broken, self.outside)
        _, header = next(rows, (0, []))
        if self.outside.counts["text.invalid_utf8"]:  # no mapping names such columns
            raise _no_utf8(source)
        self.columns = names_of(header)
        if self._wanted and not self._wanted.intersection(self.columns):
            raise none_of(source.name, self.columns)
        for row in rows:
            self.count += 1
            yield self._record(row)

    def _record(self, row: Row) -> Record:
        line, cells = row
        gaps: tuple[str, ...] = ()
        if len(cells) > len(self.columns):
            gaps = ("mapped.extra_cells",)
        elif len(cells) < len(self.columns):
            gaps = ("mapped.missing_cells",)
        values: dict[str, Any] = dict(zip(self.columns, cells, strict=False))
        return Record(self.count, f"line {line}", values, values, 0, gaps)

    def _broken(self, line: int, what: str) -> None:
        self.count += 1
        told = f"line {line}: no CSV: {what}"
        self.refusal = self.refusal or InputError(f"{self._source.name}: {told}")
        self.lose(told)


def _no_utf8(source: Source) -> UnknownFormatError:
    return UnknownFormatError(
        f"{source.name}: no text in UTF-8; save it as UTF-8 to read it by a mapping"
    )


def none_of(file: str, columns: Iterable[str]) -> UnknownFormatError:
    """Return the error that a file has none of the columns of the mapping, and which it has."""
    names = [" ".join(name[:_LONGEST].split()) for name in columns]
    more = ", ..." if len(names) > _SHOWN else ""
    has = f" (it has {', '.join(names[:_SHOWN])}{more})" if names else ""
    reason = f"{file}: has none of the columns of the mapping{has}"
    return UnknownFormatError(reason, "tracegraph ingest --map-template FILE starts a mapping")
