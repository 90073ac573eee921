"""``tracegraph traces``: what is there."""

from tracegraph.cli.emit import emit, notice
from tracegraph.cli.loading import inputs, loaded
from tracegraph.cli.options import (
    FormatOption,
    Keep,
    KeepOption,
    LimitOption,
    NoCacheOption,
    OutputOption,
    Paths,
    StrictOption,
    form_of,
    listed,
    listed_note,
)
from tracegraph.export.text import counted, gaps_text

EXAMPLES = """\b
Examples:
  tracegraph traces examples/traces
  tracegraph traces examples/traces --format csv -o traces.csv
"""


def traces(
    paths: Paths,
    form: FormatOption = None,
    output: OutputOption = None,
    limit: LimitOption = None,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """List the traces of files, folders or a corpus: status, steps, failing steps, start, file."""
    from tracegraph.workflows.traces import report_traces, totals

    shape = form_of(form, output)
    with loaded(paths, keep=keep, strict=strict, cache=not no_cache) as corpus:
        bound = listed(limit, shape)
        emit(report_traces(corpus, bound), shape, output, inputs(corpus))
        total = totals(corpus)
        text = f"{counted(total.traces, 'trace')}, {counted(total.steps, 'step')}"
        text += f", {total.errors} failing" + listed_note(bound, total.traces)
        notice(text + gaps_text(corpus.gaps))
