"""A corpus on purpose, or one trace of one file as a portable artifact."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.policy import Keep
from tracegraph.errors import InputError, UsageError
from tracegraph.export.artifact import write_artifact
from tracegraph.export.traces import ListedTrace
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.discover import STDIN
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.model.trace import Trace
from tracegraph.workflows.graphs import ensure_graph
from tracegraph.workflows.load import ingest_into, load
from tracegraph.workflows.request import Progress
from tracegraph.workflows.traces import select_trace

LANGGRAPH, OTLP, PHOENIX = "langgraph", "otlp", "phoenix"
_ARTIFACTS = frozenset({"artifact", "peer_artifact"})
_SAVED_AGAIN = frozenset({PHOENIX, "phoenix_cli"})
"""Sources of artifacts that :func:`read_phoenix` takes: ours and the peer's word for it."""


@dataclass(frozen=True, slots=True)
class How:
    """How one file is read.

    Attributes:
        keep: how much of the content is read.
        strict: refuse losses.
        cache: read from the cache, and write to it.
        progress: hears how far reading has come.
    """

    keep: Keep
    strict: bool = False
    cache: bool = True
    progress: Progress | None = None


def build_corpus(
    paths: Sequence[str],
    directory: Path,
    *,
    keep: Keep,
    strict: bool = False,
    progress: Progress | None = None,
    options: ReadOptions | None = None,
) -> Corpus:
    """Make a corpus with its graph, or bring one up to date.

    Raises:
        InputError, StrictError, CorpusError: as :func:`tracegraph.workflows.load.ingest_into`.
    """
    corpus = ingest_into(
        paths, directory, keep=keep, strict=strict, progress=progress, options=options
    )
    ensure_graph(corpus)
    return corpus


def artifact_text(trace: Trace, keep: Keep) -> str:
    """Return one trace as a portable artifact, with as much of its content as is kept."""
    return write_artifact(trace, keep).decode()


def read_threads(
    database: str,
    thread: str | None,
    how: How,
    *,
    error_channel: str | None = None,
    graph: str | None = None,
) -> Corpus:
    """Read the threads of a LangGraph checkpoint database.

    The names of the threads are looked up before code is run.

    Args:
        database: a SQLite file.
        thread: the only one to be read; None for all.
        how: how it is read.
        error_channel: the state channel that holds an error, if it is not the usual one.
        graph: ``file.py:attr`` of the compiled graph, whose module is run.

    Raises:
        InputError: the file cannot be read, or is something else.
        UsageError: it holds no such thread; the message lists those that it holds.
    """
    is_usual = error_channel is None and graph is None
    corpus = _read_one(database, how if is_usual else replace(how, strict=False))
    _refuse_other(corpus, database, LANGGRAPH)
    if thread is not None:
        thread_of(corpus, thread, database)
    if is_usual:
        return corpus
    corpus.close()
    usual = ReadOptions()
    options = ReadOptions(
        only=None if thread is None else frozenset({thread}),
        error_channel=usual.error_channel if error_channel is None else error_channel,
        graph=graph,
    )
    return _read_one(database, how, options)


def refuse_no_database(database: str) -> None:
    """Refuse, before anything is made of it, a file that is no LangGraph checkpoint database.

    Raises:
        InputError: it is not, or cannot be read.
    """
    _refuse_no_file(database)
    adapter = detect(Source.open(Path(database), database)).name
    if adapter != LANGGRAPH:
        raise _other(database, adapter, LANGGRAPH)


def read_otlp(file: str, how: How) -> Corpus:
    """Read a file of OTLP spans.

    Raises:
        InputError: it cannot be read, or is something else.
    """
    corpus = _read_one(file, how)
    _refuse_other(corpus, file, OTLP)
    return corpus


def read_phoenix(file: str, how: How) -> Corpus:
    """Read what Phoenix exported, or an artifact that was made of that.

    Raises:
        InputError: it cannot be read, or is something else.
    """
    corpus = _read_one(file, how)
    is_artifact = all(entry.adapter in _ARTIFACTS for entry in corpus.files)
    if not (is_artifact and all(trace.source in _SAVED_AGAIN for trace in corpus.traces())):
        _refuse_other(corpus, file, PHOENIX)
    return corpus


def thread_of(corpus: Corpus, thread: str | None, database: str) -> ListedTrace:
    """Return one thread, by its whole id, or the only one.

    Raises:
        UsageError: there is no such thread, or there are several; the message lists the ids.
    """
    remedy = "--thread ID" if thread is None else "its threads are"
    return select_trace(corpus, thread, database, remedy, whole=True)


def _read_one(file: str, how: How, options: ReadOptions | None = None) -> Corpus:
    if file != STDIN:
        _refuse_no_file(file)
    return load(
        [file],
        keep=how.keep,
        strict=how.strict,
        cache=how.cache,
        progress=how.progress,
        options=options,
    )


def _refuse_no_file(file: str) -> None:
    if os.path.isdir(file):
        raise UsageError(f"{file}: is a folder; name one file")
    if not os.path.lexists(file):
        raise InputError(f"{file}: cannot be read: there is no such file")


def _refuse_other(corpus: Corpus, name: str, wanted: str) -> None:
    for entry in corpus.files:
        if entry.adapter != wanted:
            raise _other(name, entry.adapter, wanted)


def _other(name: str, found: str, wanted: str) -> InputError:
    remedy = f"tracegraph ingest {name} -o FILE reads it"
    return InputError(f"{name}: holds {found}, not {wanted}; {remedy}")
