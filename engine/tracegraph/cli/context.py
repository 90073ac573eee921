"""``tracegraph context``: what was in view at a step, and what changed since another one."""

from typing import Annotated

import typer

from tracegraph.cli.emit import emit, emit_text
from tracegraph.cli.loading import disclose, inputs, progress
from tracegraph.cli.options import (
    FormatOption,
    OutputOption,
    StrictOption,
    TraceArgument,
    form_of,
)
from tracegraph.export.table import Format

EXAMPLES = """\b
Examples:
  tracegraph context examples/traces/react_ok.otlp.json 6500
  tracegraph context examples/traces/react_ok.otlp.json 6500 --diff 1e32
  tracegraph context "examples/langgraph/trace.db#A" f222 --diff 2af7
"""


def context(
    trace: TraceArgument,
    step: Annotated[
        str, typer.Argument(metavar="STEP", help="Its id, or a start or end that only it has.")
    ],
    diff: Annotated[
        str | None,
        typer.Option("--diff", metavar="STEP", help="Show what entered and left since that step."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show values whole; with --diff, what stayed as well.")
    ] = False,
    form: FormatOption = None,
    output: OutputOption = None,
    strict: StrictOption = False,
) -> None:
    """Show what was in view at a step: a model's messages and tools, a graph's state, a log so far.

    Bodies are read from the source file, in memory, for this answer; none is ever stored, and no
    cache is read or written. JSON has every value whole. A local answer: values stand as recorded.
    """
    from tracegraph.export.context import context_report
    from tracegraph.export.context_text import LONGEST, context_lines
    from tracegraph.workflows.context import in_view
    from tracegraph.workflows.traces import split_trace

    path, trace_id = split_trace(trace)
    shape = form_of(form, output)
    with progress() as heard:
        found = in_view(path, trace_id, step, diff, strict=strict, progress=heard)
    with found.corpus as corpus:
        disclose(corpus)
        asked = found.listed, found.context, found.since, found.change
        read = inputs(corpus)
        if shape is Format.TABLE:
            emit_text(context_lines(*asked, full=full), output, read)
        else:
            longest = None if full or shape is Format.CSV else LONGEST
            emit(context_report(*asked, longest), shape, output, read)
