"""``tracegraph why``: the shortest honest account of a failure."""

from tracegraph.cli.emit import emit, emit_text
from tracegraph.cli.loading import inputs, loaded
from tracegraph.cli.options import (
    FormatOption,
    Keep,
    KeepOption,
    NoCacheOption,
    OutputOption,
    StrictOption,
    TraceArgument,
    form_of,
)
from tracegraph.export.table import Format

EXAMPLES = """\b
Examples:
  tracegraph why examples/traces/tool_error_fatal.otlp.json
  tracegraph why examples/traces#6f3d
  tracegraph why examples/traces#6f3d --format json
"""


def why(
    trace: TraceArgument,
    form: FormatOption = None,
    output: OutputOption = None,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Say on one screen why a run failed: where it began, because of what, what is not known.

    Also where to look first, by structure alone, in a run without a failing step too. Ends with the
    command to run next. A healthy run takes one line. A local answer: names and error text stand as
    recorded; tracegraph analyze makes a report to pass on.
    """
    from tracegraph.export.why import why_report
    from tracegraph.export.why_text import why_lines
    from tracegraph.workflows.traces import split_trace
    from tracegraph.workflows.why import why as ask

    path, trace_id = split_trace(trace)
    shape = form_of(form, output)
    with loaded([path], keep=keep, strict=strict, cache=not no_cache) as corpus:
        told = ask(corpus, path, trace_id)
        read = inputs(corpus)
        if shape is Format.TABLE:
            emit_text(why_lines(told), output, read)
        else:
            emit(why_report(told), shape, output, read)
