"""``tracegraph analyze``: what failed in a run, what the presets find, what it took."""

from itertools import chain
from typing import Annotated

import typer

from tracegraph.cli.emit import STDOUT, emit, emit_text
from tracegraph.cli.loading import inputs, loaded
from tracegraph.cli.options import (
    FormatOption,
    Keep,
    KeepOption,
    LimitOption,
    NoCacheOption,
    OutputOption,
    ReportOutOption,
    StrictOption,
    TraceArgument,
    form_of,
)
from tracegraph.errors import UsageError
from tracegraph.export.table import Format

LISTED = 3
"""Incidents that people are shown unless they ask for more; the other forms have them all."""
EXAMPLES = """\b
Examples:
  tracegraph analyze examples/traces/tool_error_fatal.otlp.json
  tracegraph analyze examples/traces --trace c510 --baseline examples/traces#6f3d
  tracegraph analyze examples/traces/tool_error_fatal.otlp.json --json-out report.json
"""


def analyze(
    trace: TraceArgument,
    trace_id: Annotated[
        str | None,
        typer.Option("-t", "--trace", metavar="ID", help="The same as PATH#ID."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="B", help="A run to compare it with: PATH or PATH#ID."),
    ] = None,
    baseline_id: Annotated[
        str | None,
        typer.Option("--baseline-trace", metavar="ID", help="The same as B#ID."),
    ] = None,
    form: FormatOption = None,
    output: OutputOption = None,
    json_out: ReportOutOption = None,
    limit: LimitOption = None,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Say what failed in a run, why, what the presets find, and what the record cannot tell.

    A report: no prompts, outputs, arguments or error texts, and names that could be free text are
    aliases (privacy profile safe-v1). tracegraph why shows them as recorded. Failures in the run do
    not change the exit code.
    """
    from tracegraph.export.analysis import analysis_report
    from tracegraph.export.analysis_text import analysis_lines
    from tracegraph.export.next_step import explain_hint
    from tracegraph.workflows.analyze import analyze as ask
    from tracegraph.workflows.analyze import run_in
    from tracegraph.workflows.traces import name_trace

    if baseline_id is not None and baseline is None:
        raise UsageError("--baseline-trace names a trace of --baseline, which is missing")
    if json_out is not None and output is not None:
        raise UsageError("--json-out writes the report, -o what is shown: give one of them")
    path, wanted = name_trace(trace, trace_id)
    other, baseline_wanted = name_trace(baseline or path, baseline_id)
    if baseline is not None and path == other == "-":
        raise UsageError("standard input can be read once: name a file for TRACE or for --baseline")
    with loaded([path], keep=keep, strict=strict, cache=not no_cache) as corpus:
        label, run = run_in(corpus, path, wanted)
        read = list(inputs(corpus))
        against = None
        if baseline is not None:
            with loaded([other], keep=keep, strict=strict, cache=not no_cache) as before:
                _, against = run_in(before, other, baseline_wanted)
                read += inputs(before)
        told = ask(run, against, limit)
        report = analysis_report(told)
        if json_out is not None:  # first: who closes the pipe early still has it
            emit(report, Format.JSON, json_out, read)
        if json_out == STDOUT:  # one answer to a stream
            return
        shape = form_of(form, output)
        if shape is Format.TABLE:
            hint = explain_hint(path, label if corpus.trace_count > 1 else None, told.analysis)
            lines = analysis_lines(told, LISTED if limit is None else limit)
            # A file is a report: the path that was named, which may be anybody's, stays out of it.
            emit_text(lines if output else chain(lines, hint), output, read)
        else:
            emit(report, shape, output, read)
