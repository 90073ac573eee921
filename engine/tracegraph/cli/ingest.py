"""``tracegraph ingest``: a corpus, or one portable artifact."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracegraph.cli.artifact import RedactOption, kept, save
from tracegraph.cli.emit import emit, notice
from tracegraph.cli.loading import disclose, loaded, progress
from tracegraph.cli.mapping import MapOption, TemplateOption, write_map_template
from tracegraph.cli.options import (
    FormatOption,
    Keep,
    KeepOption,
    NoCacheOption,
    StrictOption,
)
from tracegraph.errors import UsageError
from tracegraph.export.table import Format

if TYPE_CHECKING:
    from tracegraph.corpus.corpus import Corpus
    from tracegraph.ingest.adapter import ReadOptions

EXAMPLES = """\b
Examples:
  tracegraph ingest examples/traces
  tracegraph ingest examples/traces --into corpus
  tracegraph ingest examples/traces/react_ok.otlp.json -o react_ok.json
  tracegraph ingest --sqlite checkpoints.sqlite --thread A -o A.json
  tracegraph ingest --map-template examples/home-made/steps.jsonl -o steps.map.toml
  tracegraph ingest examples/home-made/steps.jsonl --map steps.map.toml --into corpus
"""


@dataclass(frozen=True, slots=True)
class _Database:
    """What is asked of a checkpoint database."""

    path: str | None
    thread: str | None
    error_channel: str | None
    graph: str | None


def ingest(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATHS", help="Files, folders (recursive), globs or -."),
    ] = None,
    sqlite: Annotated[
        str | None,
        typer.Option("--sqlite", metavar="DB", help="A LangGraph checkpoint database, for PATHS."),
    ] = None,
    thread: Annotated[
        str | None,
        typer.Option("-t", "--thread", metavar="ID", help="Write this thread of --sqlite."),
    ] = None,
    error_channel: Annotated[
        str | None,
        typer.Option(
            "--error-channel",
            metavar="NAME",
            help="State channel of --sqlite that holds errors, if it is not 'error'.",
        ),
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            metavar="FILE.py:ATTR",
            help="Compiled graph of --sqlite, or MODULE:ATTR, to find scheduled tasks. "
            "RUNS CODE: the module is imported, and the graph's state callbacks are called.",
        ),
    ] = None,
    into: Annotated[
        Path | None, typer.Option("--into", metavar="DIR", help="Make or update a corpus in DIR.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", "--out", metavar="FILE", help="Write one trace to FILE, portable."
        ),
    ] = None,
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="ID", help="Which trace, with -o.")
    ] = None,
    map_file: MapOption = None,
    map_template: TemplateOption = False,
    form: FormatOption = None,
    redact_errors: RedactOption = False,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Read traces: into a corpus, into one portable artifact, or into the cache.

    A corpus holds the traces as Parquet and the graph for Cypher; run it again to bring it up to
    date. Without --into and -o the cache is brought up to date. What was read is said either way.

    --map reads home-made logs by a mapping, and says which columns and values it did not use;
    --map-template writes one to start from.

    --sqlite with --thread writes one thread, to <id>.json here unless -o names a file. Reading a
    database never runs code, but for --graph.
    """
    if map_template:
        beside = {"--map": map_file, "--into": into, "--trace": trace, "--sqlite": sqlite}
        write_map_template(paths or [], output, {**beside, "--format": form})
        return
    database = _Database(sqlite, thread, error_channel, graph)
    _refuse_senseless(paths or [], database, into, output, trace, form)
    policy = kept(keep, redact_errors)
    options = _mapped_by(map_file, paths or [], output)
    if into is not None:
        _make_corpus(paths or [], database, into, form, policy, strict, options)
    elif paths:
        with loaded(
            paths, keep=policy, strict=strict, cache=not no_cache, quiet=True, options=options
        ) as corpus:
            _report_or_write(corpus, trace, paths[0], output, form, policy)
    else:
        _read_database(database, output, form, policy, strict, not no_cache)


def _mapped_by(
    map_file: Path | None, paths: list[str], output: Path | None
) -> "ReadOptions | None":
    """Return how a mapping reads the paths, None where there is no mapping.

    Raises:
        UsageError: there are no paths for it, or the mapping is to be overwritten.
        InputError: it cannot be read, or there is a corpus among the paths.
    """
    if map_file is None:
        return None
    if not paths:
        raise UsageError(f"--map {map_file} reads logs: name them as PATHS")
    from tracegraph.export.output import refuse_input
    from tracegraph.workflows.mapping import mapped_by, refuse_corpora

    if output is not None:
        refuse_input(output, [map_file])
    refuse_corpora(paths)
    return mapped_by(map_file)


def _make_corpus(
    paths: list[str],
    database: _Database,
    into: Path,
    form: Format | None,
    keep: Keep,
    strict: bool,
    options: "ReadOptions | None",
) -> None:
    from tracegraph.workflows.ingest import build_corpus, refuse_no_database

    if database.path is not None:
        refuse_no_database(database.path)
        paths = [database.path]
    with progress() as heard:
        corpus = build_corpus(
            paths, into, keep=keep.value, strict=strict, progress=heard, options=options
        )
    with corpus:
        for text in corpus.notices:
            notice(text)
        _report(corpus, form)


def _read_database(
    database: _Database,
    output: Path | None,
    form: Format | None,
    keep: Keep,
    strict: bool,
    cache: bool,
) -> None:
    from tracegraph.workflows.ingest import How, read_threads, thread_of

    path = str(database.path)
    with progress() as heard:
        corpus = read_threads(
            path,
            database.thread,
            How(keep.value, strict, cache, heard),
            error_channel=database.error_channel,
            graph=database.graph,
        )
    with corpus:
        if database.thread is None and output is None:
            _report(corpus, form)
            return
        disclose(corpus)
        save(corpus, thread_of(corpus, database.thread, path), output, keep)


def _report_or_write(
    corpus: "Corpus",
    trace: str | None,
    name: str,
    output: Path | None,
    form: Format | None,
    keep: Keep,
) -> None:
    from tracegraph.export.mapping import mapping_rows
    from tracegraph.workflows.traces import select_trace

    if output is None:
        _report(corpus, form)
        return
    disclose(corpus)
    for what, which, where in mapping_rows(corpus):
        notice(f"{what}: {which}: {where}")
    save(corpus, select_trace(corpus, trace, name, "--trace ID"), output, keep)


def _report(corpus: "Corpus", form: Format | None) -> None:
    from tracegraph.export.ingest import ingest_report
    from tracegraph.export.text import counted
    from tracegraph.ingest.registry import NO_FORMAT, known_formats
    from tracegraph.workflows.traces import formats, totals

    report = ingest_report(corpus, totals(corpus), formats(corpus))
    emit(report, form or Format.TABLE, None)
    unknown = sum(file.reason == NO_FORMAT for file in corpus.skipped)
    if unknown:
        notice(f"{counted(unknown, 'file')} of {NO_FORMAT}; {known_formats()}")


def _refuse_senseless(
    paths: list[str],
    database: _Database,
    into: Path | None,
    output: Path | None,
    trace: str | None,
    form: Format | None,
) -> None:
    """Refuse options that contradict each other, or say nothing where they stand.

    Raises:
        UsageError: they do.
    """
    only_database = {
        "--thread": database.thread,
        "--error-channel": database.error_channel,
        "--graph": database.graph,
    }
    changed = [name for name in ("--error-channel", "--graph") if only_database[name] is not None]
    if database.path is None:
        for name, value in only_database.items():
            if value is not None:
                raise UsageError(f"{name} is for a checkpoint database: name it with --sqlite DB")
        if not paths:
            raise UsageError("name PATHS to read, or a checkpoint database with --sqlite DB")
    elif paths:
        raise UsageError(f"--sqlite {database.path} stands for PATHS: leave {paths[0]} out")
    elif trace is not None:
        raise UsageError("--trace: a trace of a checkpoint database is a thread, give --thread ID")
    elif changed and database.thread is None and output is None:
        raise UsageError(f"{changed[0]} reads otherwise than the cache: name one --thread ID")
    if into is not None and output is not None:
        raise UsageError("--into makes a corpus and -o a file: give one or the other")
    if into is not None and (database.thread is not None or changed):
        name = changed[0] if changed else "--thread"
        raise UsageError(f"{name} is for one artifact; --into takes every thread as it is read")
    if trace is not None and output is None:
        raise UsageError("--trace chooses the trace of -o FILE: give that too")
    if form is not None and (output is not None or database.thread is not None):
        raise UsageError("--format is for what was read; an artifact has one form: leave it out")
