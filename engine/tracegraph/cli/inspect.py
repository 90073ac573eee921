"""``tracegraph inspect``: one trace as a tree."""

import os
import sys
from typing import Annotated

import typer

from tracegraph.cli.emit import emit, emit_text, is_dumb, notice
from tracegraph.cli.loading import inputs, loaded
from tracegraph.cli.options import (
    FormatOption,
    Keep,
    KeepOption,
    NoCacheOption,
    OutputOption,
    StrictOption,
    form_of,
)
from tracegraph.export.table import Format

EXAMPLES = """\b
Examples:
  tracegraph inspect examples/traces/react_ok.otlp.json
  tracegraph inspect examples/traces/react_ok.otlp.json --format json
"""


def inspect(
    trace: Annotated[
        str,
        typer.Argument(metavar="TRACE", help="A path, or PATH#ID where it holds many traces."),
    ],
    form: FormatOption = None,
    output: OutputOption = None,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Show one trace as a tree, with how each edge is known and what it cannot show.

    The tree has one parent per step; "1 of 3 causes" marks where there are more. The start of an id
    that only one trace has is enough. --format json has all steps, all causes and every field.
    """
    from tracegraph.export.traces import inspect_report
    from tracegraph.export.tree import DEEPEST_INDENT, deepest, tree_lines
    from tracegraph.workflows.traces import select_trace, split_trace

    path, trace_id = split_trace(trace)
    shape = form_of(form, output)
    with loaded([path], keep=keep, strict=strict, cache=not no_cache) as corpus:
        chosen = select_trace(corpus, trace_id, path, f"{path}#ID")
        if shape is not Format.TABLE:
            emit(inspect_report(chosen), shape, output, inputs(corpus))
            return
        plain = output is not None or not sys.stdout.isatty() or is_dumb()
        colour = not plain and "NO_COLOR" not in os.environ
        lines = (
            (typer.style(line, fg="red") if failing and colour else line) + "\n"
            for line, failing in tree_lines(chosen)
        )
        emit_text(lines, output, inputs(corpus))
        depth = deepest(chosen.trace)
        if depth > DEEPEST_INDENT:
            notice(f"{depth} levels deep: below level {DEEPEST_INDENT} the depth is a number")
