"""``tracegraph inspect``: one trace as a tree."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracegraph.cli.emit import emit, emit_text, is_dumb, notice
from tracegraph.cli.loading import inputs, loaded
from tracegraph.cli.options import (
    Drawn,
    DrawnOption,
    Keep,
    KeepOption,
    NoCacheOption,
    OutputOption,
    StrictOption,
    TraceArgument,
    drawn_form,
)
from tracegraph.errors import UsageError
from tracegraph.export.table import Format

if TYPE_CHECKING:
    from tracegraph.export.traces import ListedTrace

EXAMPLES = """\b
Examples:
  tracegraph inspect examples/traces/react_ok.otlp.json
  tracegraph inspect examples/traces/react_ok.otlp.json --format json
  tracegraph inspect examples/traces/tool_error_fatal.otlp.json --errors
"""


def inspect(
    trace: TraceArgument,
    errors: Annotated[
        bool, typer.Option("--errors", help="Show failing steps and what is above them only.")
    ] = False,
    form: DrawnOption = None,
    output: OutputOption = None,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Show one trace as a tree, with how each edge is known and what it cannot show.

    The tree has one parent per step; "1 of 3 causes" marks where there are more. The start of an id
    that only one trace has is enough. --format json has all steps, all causes and every field;
    mermaid and dot draw all causes.
    """
    from tracegraph.export.drawing import dot, mermaid
    from tracegraph.export.traces import arrows, inspect_report
    from tracegraph.workflows.traces import select_trace, split_trace

    path, trace_id = split_trace(trace)
    shape = drawn_form(form, output)
    if errors and shape is not Drawn.TABLE:
        raise UsageError(f"--errors shortens the tree, which {shape.value} does not show")
    with loaded([path], keep=keep, strict=strict, cache=not no_cache) as corpus:
        chosen = select_trace(corpus, trace_id, path, f"{path}#ID")
        read = list(inputs(corpus))
        if shape is Drawn.TABLE:
            _show_tree(chosen, errors, output, read)
        elif shape in {Drawn.MERMAID, Drawn.DOT}:
            draw = mermaid if shape is Drawn.MERMAID else dot
            emit_text(draw(chosen.trace.steps, arrows(chosen.trace)), output, read)
        else:
            emit(inspect_report(chosen), Format(shape.value), output, read)


def _show_tree(chosen: "ListedTrace", errors: bool, output: Path | None, read: list[Path]) -> None:
    from tracegraph.export.tree import DEEPEST_INDENT, deepest, tree_lines

    plain = output is not None or not sys.stdout.isatty() or is_dumb()
    colour = not plain and "NO_COLOR" not in os.environ
    lines = (
        (typer.style(line, fg="red") if failing and colour else line) + "\n"
        for line, failing in tree_lines(chosen, errors)
    )
    emit_text(lines, output, read)
    depth = deepest(chosen.trace)
    if depth > DEEPEST_INDENT:
        notice(f"{depth} levels deep: below level {DEEPEST_INDENT} the depth is a number")
