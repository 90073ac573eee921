"""Send a result where it was asked to go: a file, a pipe, or a terminal."""

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

import typer

from tracegraph.errors import UsageError, system_reason
from tracegraph.export.output import write_file
from tracegraph.export.table import Format, Report, Table, cell, render
from tracegraph.export.text import visible

_NARROWEST = 8
"""Characters that a column of a table has on a terminal at the least, with its edge."""
STDOUT = Path("-")
"""Names standard output where a file is asked for, as it names standard input among the PATHS."""
CLOSED_PIPE = 141
"""Exit code when the reader of a pipe has gone: what a shell reports for a death by SIGPIPE."""


def emit(report: Report, form: Format, output: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Write a result to a file or to standard output, which alone may be a terminal."""
    if output is not None and output != STDOUT:
        write_file(output, render(report, form), inputs)
    elif form is Format.TABLE and sys.stdout.isatty():
        _terminal_table(report.table())
    else:
        put(render(report, form))


def emit_text(chunks: Iterable[str], output: Path | None, inputs: Iterable[Path] = ()) -> None:
    """Write text to a file or to standard output."""
    if output is not None and output != STDOUT:
        write_file(output, chunks, inputs)
    else:
        put(chunks)


def put(chunks: Iterable[str]) -> None:
    """Write text to standard output; end quietly when nobody reads it any more."""
    try:
        for chunk in chunks:
            sys.stdout.write(chunk)
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
        raise typer.Exit(CLOSED_PIPE) from None
    except OSError as error:
        silence(sys.stdout)
        raise UsageError(f"standard output: cannot be written: {system_reason(error)}") from None


def notice(text: str) -> None:
    """Say something about the answer, or about reading, on standard error.

    Where that cannot be written nobody hears it, and the answer stays the answer.
    """
    try:
        print(visible(text), file=sys.stderr, flush=True)
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Let a stream that nobody can read lead nowhere: Python flushes it once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def is_dumb() -> bool:
    """Tell whether the terminal can neither colour nor move the cursor."""
    return os.environ.get("TERM", "").lower() in {"dumb", "unknown"}


def _terminal_table(table: Table) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(show_edge=False, pad_edge=False)
    for name in table.columns:
        shown.add_column(name, overflow="fold")
    for row in table.rows:
        cells = [cell(value) for value in row]
        style = "red" if "error" in cells else None
        shown.add_row(*map(Text, cells), style=style)
    # Narrower, Rich leaves columns out unsaid; wider than the terminal, lines run on.
    width = max(shutil.get_terminal_size().columns, _NARROWEST * len(table.columns))
    Console(width=width).print(shown)
