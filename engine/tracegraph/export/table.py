"""A result in its forms: JSON document, JSON Lines, CSV, Markdown, plain table."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tracegraph.export.document import document, lines, to_json
from tracegraph.export.text import markdown, visible, width


class Format(StrEnum):
    """The forms in which a result can be had."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    MD = "md"


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns and rows of JSON values; rows may be an iterator that is read once."""

    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Report:
    """One result; the form that is asked for is made, the others are not.

    Attributes:
        name: name of the contract, without ``tracegraph.``.
        version: version of the contract.
        members: makes the members of the JSON document; iterators are written as lists.
        items: makes the objects of JSON Lines.
        table: makes the rows of the other forms.
    """

    name: str
    version: int
    members: Callable[[], Mapping[str, Any]]
    items: Callable[[], Iterable[Any]]
    table: Callable[[], Table]


def render(report: Report, form: Format) -> Iterator[str]:
    """Yield the text of a result in one form."""
    if form is Format.JSON:
        return document(report.name, report.version, report.members())
    if form is Format.JSONL:
        return lines(report.items())
    make = {Format.CSV: _csv, Format.MD: _markdown, Format.TABLE: _plain}[form]
    return make(report.table())


def cell(value: Any) -> str:
    """Return a value as the visible text of a cell; unknown is empty, structures are JSON."""
    if value is None:
        return ""
    if isinstance(value, bool | dict | list | tuple):
        return visible(to_json(value))
    return visible(str(value))


def _csv(table: Table) -> Iterator[str]:
    """Control characters are written out, so that a row is a line."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in _with_head(table):
        writer.writerow([cell(value) for value in row])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _markdown(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(map(markdown, table.columns))} |\n"
    yield f"|{' --- |' * len(table.columns)}\n"
    for row in table.rows:
        yield f"| {' | '.join(markdown(cell(value)) for value in row)} |\n"


def _plain(table: Table) -> Iterator[str]:
    """No box and no colour, and nothing is folded or cut."""
    rows = [[cell(value) for value in row] for row in _with_head(table)]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (text + " " * (w - width(text)) for text, w in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip() + "\n"


def _with_head(table: Table) -> Iterator[Sequence[Any]]:
    yield table.columns
    yield from table.rows
