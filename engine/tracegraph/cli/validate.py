"""``tracegraph validate``: do artifacts hold their contract?"""

from typing import Annotated

import typer

from tracegraph.cli.emit import emit, emit_text, notice
from tracegraph.cli.options import FormatOption, OutputOption, form_of
from tracegraph.export.table import Format

INVALID = 1
_NAMED = 5
"""Files that are no artifacts and are named; JSON has them all."""
EXAMPLES = """\b
Examples:
  tracegraph validate examples/made
  tracegraph validate A.json traces/
  tracegraph validate A.json --format json
"""


def validate(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATHS", help="Artifacts, folders of them, globs, or -.")
    ],
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Check trace artifacts before jobs rely on them. Exit 0: all are valid, 1: one is not.

    Form and every derived field (order, parent, lossy marks, times and status of the run) must
    agree with the contract and with the rest; a line names the field that does not. Artifacts of
    agent-tracegraph are checked as far as they are read.
    """
    from tracegraph.export.text import counted
    from tracegraph.export.validation import validation_lines, validation_report
    from tracegraph.workflows.validate import validate as ask

    shape = form_of(form, output)
    found, read = ask(paths)
    if shape is Format.TABLE:
        emit_text(validation_lines(found), output, read)
    else:
        emit(validation_report(found), shape, output, read)
    for file, reason in found.passed[:_NAMED]:
        notice(f"passed over {file}: {reason}")
    if len(found.passed) > _NAMED:
        notice(f"passed over {len(found.passed) - _NAMED} more files; --format json lists them all")
    notice(f"{counted(len(found.files), 'file')}, {found.invalid_count} invalid")
    if found.invalid_count:
        raise typer.Exit(INVALID)
