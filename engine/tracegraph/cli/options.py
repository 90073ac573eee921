"""Options that several commands share, so that they are spelled and explained alike."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from tracegraph.errors import UsageError
from tracegraph.export.table import Format

SUFFIXES = {".json": Format.JSON, ".jsonl": Format.JSONL, ".csv": Format.CSV, ".md": Format.MD}
TABLE_LIMIT = 50
_Form = TypeVar("_Form")


class Drawn(StrEnum):
    """The forms of an answer that can be drawn as well."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    MD = "md"
    MERMAID = "mermaid"
    DOT = "dot"


DRAWN_SUFFIXES = {".mmd": Drawn.MERMAID, ".dot": Drawn.DOT, ".gv": Drawn.DOT}


class Keep(StrEnum):
    """What may be written to disk (DESIGN section 3, content policy)."""

    STRUCTURE = "structure"
    ERRORS = "errors"
    CONTENT = "content"


Paths = Annotated[
    list[str],
    typer.Argument(metavar="PATHS", help="Files, folders (recursive), globs, - or a corpus."),
]
TraceArgument = Annotated[
    str,
    typer.Argument(
        metavar="TRACE",
        help="A path, or PATH#ID where it holds many traces; PATH#session=ID is all of a session.",
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="Form of the answer; else by the suffix of -o, else table."),
]
DrawnOption = Annotated[
    Drawn | None,
    typer.Option("--format", help="Form of the answer; else by the suffix of -o, else table."),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        "--out",
        metavar="FILE",
        help="Write the answer to FILE, whole; - is standard output.",
    ),
]
JsonOutOption = Annotated[
    Path | None,
    typer.Option("--json-out", metavar="FILE", help="Same as --format json -o FILE."),
]
ReportOutOption = Annotated[
    Path | None,
    typer.Option("--json-out", metavar="FILE", help="Write the report as JSON, too."),
]
LimitOption = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=0,
        max=sys.maxsize,
        help=f"List at most N; the total is always said. Tables: {TABLE_LIMIT}, else no limit.",
    ),
]
KeepOption = Annotated[
    Keep, typer.Option("--keep", help="What the cache or corpus may hold of the traces.")
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Exit 2 at the first loss instead of disclosing it.")
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Read everything again and write no cache.")
]
ParamOption = Annotated[
    list[str],
    typer.Option("--param", metavar="K=V", help="Value of @K in patterns, $K in Cypher."),
]


def form_of(form: Format | None, output: Path | None) -> Format:
    """Return the form of the answer: as asked, else by the suffix of the file, else a table."""
    if form is not None:
        return form
    return SUFFIXES.get(output.suffix.lower(), Format.TABLE) if output else Format.TABLE


def drawn_form(form: Drawn | None, output: Path | None) -> Drawn:
    """Return the form of an answer that can be drawn, as :func:`form_of` does."""
    if form is None and output is not None and output.suffix.lower() in DRAWN_SUFFIXES:
        return DRAWN_SUFFIXES[output.suffix.lower()]
    return form or Drawn(form_of(None, output).value)


def with_json_out(
    form: _Form | None, output: Path | None, json_out: Path | None, json: _Form
) -> tuple[_Form | None, Path | None]:
    """Return form and output as ``--json-out`` has them, where it is given.

    Raises:
        UsageError: it is given beside another output, or another form.
    """
    if json_out is None:
        return form, output
    if output is not None or form not in {None, json}:
        raise UsageError("--json-out stands for --format json -o: give one or the other")
    return json, json_out


def listed(limit: int | None, form: Format) -> int | None:
    """Return how many rows are listed: as asked, else all; in a table the first 50."""
    return TABLE_LIMIT if limit is None and form is Format.TABLE else limit


def listed_note(limit: int | None, total: int) -> str:
    """Return what says that fewer than all are listed; empty if all are."""
    return "" if limit is None or limit >= total else f"; {limit} listed"


def parameters(pairs: list[str]) -> dict[str, str]:
    """Split ``k=v`` pairs.

    Raises:
        UsageError: a pair without ``=``, or a name given twice.
    """
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--param {pair}: write it as NAME=VALUE")
        if name in values:
            raise UsageError(f"--param {name}: given twice")
        values[name] = value
    return values
