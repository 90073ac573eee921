"""``tracegraph digest``: by what every report names a run."""

from typing import Annotated

import typer

from tracegraph.cli.emit import emit, emit_text
from tracegraph.cli.loading import inputs, loaded
from tracegraph.cli.options import FormatOption, Keep, NoCacheOption, OutputOption, form_of
from tracegraph.export.table import Format

EXAMPLES = """\b
Examples:
  tracegraph digest examples/made/retry_marker.json
  tracegraph digest examples/traces/react_ok.otlp.json
  tracegraph digest examples/traces#6f3d
"""


def digest(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A path, or PATH#ID where it holds many traces.")
    ],
    form: FormatOption = None,
    output: OutputOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Print the SHA-256 of the canonical bytes of a trace's artifact.

    It is the digest that every report carries, and what sha256sum says of the file that ingest -o
    writes. A copy in another layout, and the export that the artifact was made of, have the same.
    """
    from tracegraph.export.digest import digest_report
    from tracegraph.workflows.analyze import run_in
    from tracegraph.workflows.traces import split_trace

    path, trace_id = split_trace(file)
    shape = form_of(form, output)
    with loaded([path], keep=Keep.ERRORS, strict=False, cache=not no_cache) as corpus:
        label, run = run_in(corpus, path, trace_id)
        read = inputs(corpus)
        if shape is Format.TABLE:
            emit_text([f"{run.digest}\n"], output, read)
        else:
            emit(digest_report(run.trace, label, run.digest), shape, output, read)
