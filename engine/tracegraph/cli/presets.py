"""``tracegraph presets``: the patterns that ship, and people's own."""

from pathlib import Path
from typing import Annotated

import typer

from tracegraph.cli.command import Command, Group
from tracegraph.cli.emit import emit, emit_text, notice
from tracegraph.cli.options import FormatOption, OutputOption, form_of
from tracegraph.errors import UsageError
from tracegraph.export.table import Format
from tracegraph.export.text import counted

FAILED = 1

app = typer.Typer(
    cls=Group, help="Patterns that ship, and your own: list, show, check and try them."
)


@app.callback(invoke_without_command=True)
def presets(context: typer.Context) -> None:
    """List the patterns that ship; see the sub-commands for more."""
    if context.invoked_subcommand is None:
        list_presets()


@app.command("list", cls=Command)
def list_presets(form: FormatOption = None, output: OutputOption = None) -> None:
    """List the presets: id, version, severity and what a match means."""
    from tracegraph.export.presets import presets_report
    from tracegraph.pattern.presets import presets as shipped

    emit(presets_report(shipped()), form_of(form, output), output)


@app.command("show", cls=Command, epilog="Example: tracegraph presets show tool-retry-failure")
def show(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="E.g. tool-failure, or tool-failure@1.")
    ],
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Show the text of a preset, to read it or to start your own from it."""
    from tracegraph.export.presets import preset_report
    from tracegraph.pattern.presets import preset
    from tracegraph.pattern.printer import print_pattern

    pattern = preset(name)
    shape = form_of(form, output)
    if shape is not Format.TABLE:
        emit(preset_report(pattern), shape, output)
    else:
        emit_text([print_pattern(pattern)], output)


@app.command("lint", cls=Command, epilog="Example: tracegraph presets lint examples/patterns")
def lint(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILES...", help=".tgp files or folders; none: those that ship."),
    ] = None,
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Check pattern files: exit 0 if all load, 1 if not."""
    from tracegraph.export.presets import lint_report
    from tracegraph.workflows.presets import lint_files, lint_library

    linted = lint_files(files) if files else [lint_library()]
    if not linted:
        raise UsageError(f"{', '.join(map(str, files or ()))}: no .tgp file there")
    read = [Path(file.file) for file in linted] if files else []
    emit(lint_report(linted), form_of(form, output), output, read)
    if not files:
        notice(f"{counted(len(linted[0].errors), 'problem')} in the presets that ship")
    if any(file.errors for file in linted):
        raise typer.Exit(FAILED)


@app.command("test", cls=Command, epilog="Example: tracegraph presets test tool-failure")
def test(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PRESETS...", help="Ids, .tgp files or folders; none: all that ship."
        ),
    ] = None,
    form: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Run patterns on the examples beside them, on both backends: exit 1 if one fails.

    The examples of a pattern are the traces match-* and no-match-* in the folder ID.examples
    beside its file.
    """
    from tracegraph.export.presets import tried_report
    from tracegraph.workflows.presets import try_presets

    trial = try_presets(names or ())
    if not trial.tried:
        raise UsageError(f"no examples beside {', '.join(trial.untried)}: see --help")
    emit(tried_report(trial.tried), form_of(form, output), output)
    failed = sum(each.outcome == "fail" for each in trial.tried)
    notice(f"{counted(len(trial.tried), 'run')}, {failed} failed")
    if trial.untried:
        notice(f"without examples: {', '.join(trial.untried)}")
    if failed:
        raise typer.Exit(FAILED)
