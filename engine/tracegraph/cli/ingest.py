"""``tracegraph ingest``: a corpus, or one portable artifact."""

from pathlib import Path
from typing import Annotated

import typer

from tracegraph.cli.emit import emit, notice
from tracegraph.cli.loading import disclose, inputs, loaded, progress
from tracegraph.cli.options import (
    FormatOption,
    Keep,
    KeepOption,
    NoCacheOption,
    Paths,
    StrictOption,
)
from tracegraph.errors import UsageError
from tracegraph.export.output import write_file
from tracegraph.export.table import Format

EXAMPLES = """\b
Examples:
  tracegraph ingest examples/traces
  tracegraph ingest examples/traces --into corpus
  tracegraph ingest examples/traces/react_ok.otlp.json -o react_ok.json
"""


def ingest(
    paths: Paths,
    into: Annotated[
        Path | None, typer.Option("--into", metavar="DIR", help="Make or update a corpus in DIR.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write one trace to FILE, portable."),
    ] = None,
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="ID", help="Which trace, with -o.")
    ] = None,
    form: FormatOption = None,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Read traces: into a corpus, into one portable artifact, or into the cache.

    A corpus holds the traces as Parquet and the graph for Cypher; run it again to bring it up to
    date. Without --into and -o the cache is brought up to date. What was read is said either way.
    """
    from tracegraph.export.ingest import ingest_report
    from tracegraph.workflows.ingest import artifact_text, build_corpus
    from tracegraph.workflows.traces import totals

    if into is not None and output is not None:
        raise UsageError("--into makes a corpus and -o a file: give one or the other")
    if trace is not None and output is None:
        raise UsageError("--trace chooses the trace of -o FILE: give that too")
    shape = form or Format.TABLE
    if into is not None:
        with progress() as heard:
            corpus = build_corpus(paths, into, keep=keep.value, strict=strict, progress=heard)
        with corpus:
            for text in corpus.notices:
                notice(text)
            emit(ingest_report(corpus, totals(corpus)), shape, None)
        return
    with loaded(paths, keep=keep, strict=strict, cache=not no_cache, quiet=True) as corpus:
        if output is not None:
            disclose(corpus)
            text = artifact_text(corpus, trace, paths[0], keep.value)
            write_file(output, [text], inputs(corpus))
        else:
            emit(ingest_report(corpus, totals(corpus)), shape, None)
