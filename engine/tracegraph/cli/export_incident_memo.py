"""``tracegraph export-incident-memo``: a post-mortem without names, for long-term memory."""

from pathlib import Path
from typing import Annotated

import typer

from tracegraph.cli.emit import emit_text, notice
from tracegraph.cli.loading import inputs, loaded
from tracegraph.cli.options import Keep, NoCacheOption, StrictOption, TraceArgument

EXAMPLES = """\b
Examples:
  tracegraph export-incident-memo examples/traces/tool_error_fatal.otlp.json -o incident.md
  tracegraph export-incident-memo examples/traces#6f3d -o incident.md
"""


def export_incident_memo(
    trace: TraceArgument,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", "--out", metavar="FILE.md", help="The memo to write."),
    ],
    strict: StrictOption = False,
    no_cache: NoCacheOption = False,
) -> None:
    """Write what failed in a run as Markdown that can be kept and passed on.

    Built from an allowlist: steps appear by place and kind, the run as a digest; no names, no
    messages, no ids of the source. Its front matter holds the contract incident-memo.
    """
    from tracegraph.export.incident_memo import memo_text
    from tracegraph.export.text import counted
    from tracegraph.workflows.analyze import analyze, run_in
    from tracegraph.workflows.traces import split_trace

    path, trace_id = split_trace(trace)
    with loaded([path], keep=Keep.ERRORS, strict=strict, cache=not no_cache) as corpus:
        _, run = run_in(corpus, path, trace_id)
        told = analyze(run)
        emit_text(memo_text(told.analysis, told.digest), output, inputs(corpus))
        notice(f"{output}: {counted(len(told.analysis.incidents), 'incident')}")
