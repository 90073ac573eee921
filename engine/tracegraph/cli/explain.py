"""``tracegraph explain``: the causes of a step, backward to every root."""

from enum import StrEnum
from typing import Annotated

import typer

from tracegraph.cli.emit import emit, emit_text
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
from tracegraph.export.table import Format

EXAMPLES = """\b
Examples:
  tracegraph explain examples/traces/tool_error_fatal.otlp.json 7047
  tracegraph explain examples/traces/tool_error_fatal.otlp.json 7047 --evidence derived
  tracegraph explain examples/traces/tool_error_fatal.otlp.json 7047 --format mermaid
"""


class Evidence(StrEnum):
    """Weakest evidence to follow, strongest first (DESIGN section 3)."""

    DECLARED = "declared"
    CONTAINMENT = "containment"
    DERIVED = "derived"
    HEURISTIC = "heuristic"


def explain(
    trace: TraceArgument,
    step: Annotated[
        str, typer.Argument(metavar="STEP", help="Its id, or a start or end that only it has.")
    ],
    depth: Annotated[
        int | None, typer.Option("--depth", metavar="N", min=0, help="Go back N edges at the most.")
    ] = None,
    evidence: Annotated[
        Evidence | None, typer.Option("--evidence", help="Follow only what is known this well.")
    ] = None,
    form: DrawnOption = None,
    output: OutputOption = None,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Walk every recorded cause of a step backward, through joins and branches, to every root.

    Nothing is projected away: a step with three causes shows three, each with how it is known. What
    was not recorded is said to be unknown, never taken for a root cause. A cycle is walked once.
    """
    from tracegraph.analysis.explain import explain as walk
    from tracegraph.export.drawing import dot, mermaid
    from tracegraph.export.explain import arrows, explain_lines, explain_report, steps
    from tracegraph.model.codes import EVIDENCE_CODE
    from tracegraph.workflows.steps import select_step
    from tracegraph.workflows.traces import select_trace, split_trace

    path, trace_id = split_trace(trace)
    shape = drawn_form(form, output)
    with loaded([path], keep=keep, strict=strict, cache=not no_cache) as corpus:
        chosen = select_trace(corpus, trace_id, path, f"{path}#ID")
        row = select_step(chosen, step)
        weakest = EVIDENCE_CODE[evidence.value] if evidence else None
        found = walk(chosen.trace, row, depth=depth, weakest=weakest)
        read = inputs(corpus)
        if shape in {Drawn.MERMAID, Drawn.DOT}:
            draw = mermaid if shape is Drawn.MERMAID else dot
            emit_text(draw(steps(found), arrows(found)), output, read)
        elif shape is Drawn.TABLE:
            emit_text(explain_lines(chosen.label, found), output, read)
        else:
            report = explain_report(chosen.label, found, depth, evidence and evidence.value)
            emit(report, Format(shape.value), output, read)
