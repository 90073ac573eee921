"""Read what people named, with a progress bar on a terminal, and say what was not read."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tracegraph.cli.emit import is_dumb, notice
from tracegraph.cli.options import Keep

if TYPE_CHECKING:
    from tracegraph.corpus.corpus import Corpus
    from tracegraph.graph.session import GraphSession
    from tracegraph.ingest.adapter import ReadOptions
    from tracegraph.workflows.request import Progress

_NAMED = 5
"""Files that are named; the others are counted, and ``tracegraph ingest`` lists skipped ones."""


@contextmanager
def loaded(
    paths: Sequence[str],
    *,
    keep: Keep,
    strict: bool,
    cache: bool,
    quiet: bool = False,
    options: "ReadOptions | None" = None,
) -> "Iterator[Corpus]":
    """Give the traces that paths hold, and say what was not read unless told to be quiet."""
    from tracegraph.workflows.load import load

    with progress() as heard:
        corpus = load(
            paths,
            keep=keep.value,
            strict=strict,
            cache=cache,
            progress=heard,
            options=options,
        )
    with corpus:
        if not quiet:
            disclose(corpus)
        said = len(corpus.notices)
        try:
            yield corpus
        finally:  # what turned up while the graph was opened or built
            for text in corpus.notices[said:]:
                notice(text)


@contextmanager
def graph_of(corpus: "Corpus") -> "Iterator[GraphSession]":
    """Give the graph of a corpus, built now where it is not there."""
    from tracegraph.workflows.graphs import open_graph

    with open_graph(corpus) as graph:
        yield graph


@contextmanager
def progress() -> "Iterator[Progress | None]":
    """Give a progress bar on standard error, if that is a terminal."""
    if not sys.stderr.isatty() or is_dumb():
        yield None
        return
    from tracegraph.cli.progress import ReadingBar

    with ReadingBar() as bar:
        yield bar


def disclose(corpus: "Corpus") -> None:
    """Say what people should know of how a corpus was read."""
    for text in corpus.notices:
        notice(text)
    skipped = corpus.skipped
    for file in skipped[:_NAMED]:
        notice(f"skipped {file.name}: {file.reason}")
    if len(skipped) > _NAMED:
        notice(f"skipped {len(skipped) - _NAMED} more files; tracegraph ingest lists them all")
    lossy = [entry for entry in corpus.manifest.files if entry.gaps]
    for entry in lossy[:_NAMED]:
        gaps = ", ".join(f"{code} {count}" for code, count in sorted(entry.gaps.items()))
        notice(f"in {entry.name}, of no trace alone: {gaps}")
    if len(lossy) > _NAMED:
        notice(f"the same in {len(lossy) - _NAMED} more files")


def inputs(corpus: "Corpus", pattern: Path | None = None) -> Iterator[Path]:
    """Yield the files behind a corpus, and that of a pattern: no output may replace one of them.

    Files that may hold traces and could not be read are among them; others that were skipped, such
    as the answer to an earlier query, are not.
    """
    from tracegraph.ingest.companions import SUFFIXES, beside

    for entry in corpus.manifest.files:
        if entry.path and (not entry.skipped or entry.lost):
            yield Path(entry.path)
            if entry.beside:
                yield from (beside(Path(entry.path), suffix) for suffix in SUFFIXES)
    if pattern is not None:
        yield pattern
    if corpus.directory is not None:
        yield from (path for path in corpus.directory.rglob("*") if path.is_file())
