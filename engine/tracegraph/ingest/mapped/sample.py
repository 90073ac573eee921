"""The columns of a log's first records and what they hold: what a template is made from."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from tracegraph.errors import InputError
from tracegraph.ingest.mapped.field_map import word_of
from tracegraph.ingest.mapped.path import parse_path, path_text
from tracegraph.ingest.mapped.records import Records
from tracegraph.ingest.mapped.values import number
from tracegraph.ingest.mapped.words import NOTHING
from tracegraph.ingest.source import Source

RECORDS: Final = 1_000
"""Records that are looked at."""
_LEVELS: Final = 3
_COLUMNS: Final = 500
_WORDS: Final = 40


@dataclass(slots=True)
class Column:
    """A column, or a member of an object in one.

    Attributes:
        keys: the names that lead to it.
        values: what it holds, in order, without null, blank and what stands for nothing.
        nothing: texts that stand for nothing in it.
    """

    keys: tuple[str, ...]
    values: list[Any] = field(default_factory=list)
    nothing: set[str] = field(default_factory=set)

    @property
    def text(self) -> str:
        """The path to it."""
        return path_text(self.keys)

    @property
    def words(self) -> dict[str, Any]:
        """The different words in it, in order of appearance, and a value that each is of."""
        found: dict[str, Any] = {}
        for value in self.values:
            word = word_of(value)
            if word is not None and len(found) <= _WORDS:
                found.setdefault(word, value)
        return found

    @property
    def is_vocabulary(self) -> bool:
        """Whether it holds few words, not texts of any kind."""
        return 0 < len(self.words) <= _WORDS

    def note(self, value: Any) -> None:
        """Take note of a value."""
        if isinstance(value, str):
            if value.strip().casefold() in NOTHING:
                self.nothing.add(value.strip())
            if not value.strip() or value.strip().casefold() in NOTHING:
                return
        if value is not None:
            self.values.append(value)


@dataclass(slots=True)
class Sample:
    """What the first records of a log hold.

    Attributes:
        shape: what it is written in.
        columns: by path, in order of first appearance.
        records: the records themselves.
        path: where the list of records is in the document; None where each is a record.
        lists: other lists of objects in the document, as paths.
        notes: what is doubtful about the file.
    """

    shape: str
    columns: dict[tuple[str, ...], Column] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    path: str | None = None
    lists: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def sample_of(source: Source) -> Sample:
    """Look at the first records of a log.

    Raises:
        InputError: it holds none, or cannot be read.
    """
    records = Records(source, strict=False)
    found = [record.values for record in islice(records, RECORDS)]
    sample = Sample(records.shape)
    if records.is_json and len(found) == 1:
        lists = sorted(_lists(found[0], ()), key=lambda item: -len(item[1]))
        if lists:
            sample.path, *sample.lists = (path_text(keys) for keys, _ in lists)
            within = Records(source, strict=False, records=parse_path(sample.path))
            found = [record.values for record in islice(within, RECORDS)]
    if not found:
        raise records.refusal or InputError(
            f"{source.name}: holds no record; a log has one JSON object a line, or a CSV header "
            "and rows"
        )
    sample.records = found
    if records.columns and all(number(name) is not None for name in records.columns):
        sample.notes.append(
            "Its first line holds numbers only. If they are data, write a line of names above it."
        )
    if records.outside.counts["text.invalid_utf8"]:
        sample.notes.append("Some of its text is no UTF-8: save it as UTF-8, or it is replaced.")
    for keys in records.columns:
        sample.columns[keys,] = Column((keys,))
    for record in found:
        for path, value in _members(record, ()):
            if path in sample.columns or len(sample.columns) < _COLUMNS:
                sample.columns.setdefault(path, Column(path)).note(value)
    return sample


def _members(
    value: dict[str, Any], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, item in value.items():
        path = (*above, key)
        yield path, item
        if isinstance(item, dict) and len(path) < _LEVELS:
            yield from _members(item, path)


def _lists(
    value: dict[str, Any], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Yield the lists of at least two objects in a document."""
    for key, item in value.items():
        path = (*above, key)
        if isinstance(item, dict) and len(path) < _LEVELS:
            yield from _lists(item, path)
        elif isinstance(item, list) and len(item) > 1 and all(isinstance(i, dict) for i in item):
            yield path, item
