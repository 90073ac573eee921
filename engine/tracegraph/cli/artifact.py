"""What the commands share that write one trace as a portable artifact."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracegraph.cli.emit import STDOUT, notice, put
from tracegraph.cli.loading import disclose, inputs, progress
from tracegraph.cli.options import Keep
from tracegraph.errors import UsageError
from tracegraph.export.output import write_file
from tracegraph.export.text import counted, gaps_text

if TYPE_CHECKING:
    from tracegraph.corpus.corpus import Corpus
    from tracegraph.export.traces import ListedTrace
    from tracegraph.workflows.ingest import How

FileOption = Annotated[
    str,
    typer.Option("-f", "--file", metavar="FILE", help="The file to read, - for standard input."),
]
TraceOption = Annotated[
    str | None,
    typer.Option("-t", "--trace", metavar="ID", help="Which trace; the start of an id is enough."),
]
ArtifactOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        "--out",
        metavar="FILE",
        help="Write to FILE; else to <id>.json here, if nothing has that name.",
    ),
]
RedactOption = Annotated[
    bool,
    typer.Option("--redact-errors", help="Leave error text out: the same as --keep structure."),
]


def kept(keep: Keep, redact: bool) -> Keep:
    """Return the content policy that two spellings ask for.

    Raises:
        UsageError: they contradict each other.
    """
    if redact and keep is Keep.CONTENT:
        raise UsageError("--redact-errors leaves error text out, --keep content keeps it: give one")
    return Keep.STRUCTURE if redact else keep


def ingest_file(
    read: "Callable[[str, How], Corpus]",
    file: str,
    trace: str | None,
    output: Path | None,
    *,
    keep: Keep,
    strict: bool,
    cache: bool,
) -> None:
    """Write one trace of a file as an artifact."""
    from tracegraph.workflows.ingest import How
    from tracegraph.workflows.traces import select_trace

    with progress() as heard:
        corpus = read(file, How(keep.value, strict, cache, heard))
    with corpus:
        disclose(corpus)
        chosen = select_trace(corpus, trace, file, "--trace ID")
        save(corpus, chosen, output, keep)


def save(corpus: "Corpus", chosen: "ListedTrace", output: Path | None, keep: Keep) -> None:
    """Write a trace of a corpus to a file, or to a new one that its id names, and say so."""
    from tracegraph.export.artifact_name import artifact_name
    from tracegraph.workflows.ingest import artifact_text

    trace = chosen.trace
    target = output or Path(artifact_name(trace.trace_id))
    text = artifact_text(trace, keep.value)
    if target == STDOUT:
        put([text])
    else:
        write_file(target, [text], inputs(corpus), fresh=output is None)
    gaps = {gap.code: gap.count for gap in trace.gaps}
    said = f"{target}: trace {trace.trace_id}, {counted(len(trace), 'step')}"
    notice(f"{said}, {chosen.error_count} failing{gaps_text(gaps)}")
