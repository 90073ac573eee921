"""``tracegraph phoenix``: diagnose runs that Phoenix holds, through its own program ``px``."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tracegraph.cli.command import Command, Group
from tracegraph.cli.emit import STDOUT, emit, emit_text, notice, put
from tracegraph.cli.options import FormatOption, LimitOption, ReportOutOption
from tracegraph.errors import UsageError
from tracegraph.export.table import Format

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Diagnose runs that Phoenix holds, through its official program px; nothing is written "
    "to Phoenix.",
)
LISTED = 3
"""Incidents that people are shown unless they ask for more; JSON has them all."""
FAILED = 1
DOCTOR_EXAMPLES = """\b
Examples:
  tracegraph phoenix doctor
  tracegraph phoenix doctor --project my-agent
"""
DIAGNOSE_EXAMPLES = """\b
Examples:
  tracegraph phoenix diagnose
  tracegraph phoenix diagnose --project my-agent
  tracegraph phoenix diagnose 4bf92f35 --baseline 7c6f3750
  tracegraph phoenix diagnose 4bf92f35 --save-artifact safe.json --json-out report.json
"""
ProjectOption = Annotated[
    str | None,
    typer.Option("--project", metavar="P", help="The project; else the one that px is set to."),
]


@app.command("doctor", cls=Command, epilog=DOCTOR_EXAMPLES)
def doctor(project: ProjectOption = None) -> None:
    """Look whether px is there, new enough, and reaches the server. Exit 1: something is missing.

    Each line says what to do where it is.
    """
    from tracegraph.export.text import visible
    from tracegraph.workflows.phoenix import doctor as look

    checks = look(project)
    put(visible(f"{check.name:<8} {check.outcome:<8} {check.text}") + "\n" for check in checks)
    if any(check.outcome == "failed" for check in checks):
        raise typer.Exit(FAILED)


@app.command("diagnose", cls=Command, epilog=DIAGNOSE_EXAMPLES)
def diagnose(
    trace_id: Annotated[
        str | None,
        typer.Argument(
            metavar="[TRACE_ID]",
            help="A trace, by its id or the start of it; else the newest failed one of the last "
            "20, and where none failed the newest.",
        ),
    ] = None,
    project: ProjectOption = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="ID", help="A run to compare it with."),
    ] = None,
    save_artifact: Annotated[
        Path | None,
        typer.Option("--save-artifact", metavar="FILE", help="Write the body-free artifact."),
    ] = None,
    json_out: ReportOutOption = None,
    form: FormatOption = None,
    limit: LimitOption = None,
) -> None:
    """Say what failed in a run, why, and what the record cannot tell. Exit 1: px did not answer.

    Only px trace list, px trace get and px --version are run; what they export is read in memory
    and never written. Reports and the artifact hold no prompts, outputs, arguments or error texts.
    """
    from tracegraph.export.analysis import analysis_report
    from tracegraph.export.analysis_text import analysis_lines
    from tracegraph.workflows.phoenix import diagnose as ask

    _refuse_one_file(save_artifact, json_out)
    found = ask(trace_id, project=project, baseline=baseline, limit=limit)
    report = analysis_report(found.analysed)
    # Files come first: who closes the pipe early still has them.
    if save_artifact is not None:
        emit_text([found.artifact.decode()], save_artifact)
    if json_out is not None:
        emit(report, Format.JSON, json_out)
    for text in found.notices:
        notice(text)
    if STDOUT in {save_artifact, json_out}:  # one answer to a stream
        return
    if form in {None, Format.TABLE}:
        put(analysis_lines(found.analysed, LISTED if limit is None else limit))
    else:
        emit(report, form, None)


def _refuse_one_file(artifact: Path | None, report: Path | None) -> None:
    """Refuse to write both outputs to one file, under whatever names, before px is asked."""
    if artifact is None or report is None:
        return
    is_same = os.path.realpath(artifact) == os.path.realpath(report)
    if is_same or (artifact.exists() and report.exists() and artifact.samefile(report)):
        raise UsageError(f"{report}: is the artifact's file; name another one for the report")
