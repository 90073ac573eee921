"""The graph of a corpus: built when Cypher first needs it, published for the next query."""

import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

import msgspec

from tracegraph.corpus.corpus import Corpus, graph_file
from tracegraph.corpus.lock import writing
from tracegraph.corpus.manifest import GraphEntry, as_of, read_manifest, write_manifest
from tracegraph.errors import CorpusError, DamagedGraphError, described
from tracegraph.graph.filling import GraphCounts
from tracegraph.graph.load import append_graph, build_graph, remove_graph
from tracegraph.graph.session import GraphSession

GRAPH_WAIT = 30.0
"""Seconds to wait for another process that may be building the same graph."""


def open_graph(corpus: Corpus, *, repair: bool = True) -> GraphSession:
    """Open the graph of a corpus, building it where need be, and check its counts.

    Args:
        corpus: the corpus.
        repair: build a damaged graph anew: it is an index, and the segments hold everything.

    Raises:
        CorpusError: it can be written nowhere, or does not hold what the segments hold.
    """
    counts = GraphCounts(corpus.trace_count, corpus.step_count, corpus.cause_count)
    path = ensure_graph(corpus)
    try:
        return GraphSession.open(path, counts)
    except DamagedGraphError:
        if not repair or corpus.directory is None or path == corpus.private_graph:
            raise
        corpus.notices.append(f"{path}: is damaged; the graph is built anew")
        _discard(corpus, corpus.directory)
    return GraphSession.open(ensure_graph(corpus), counts)


def ensure_graph(corpus: Corpus) -> Path:
    """Return the graph of a corpus; build it where it is not built yet.

    In a corpus on disk it is published for the next query. A corpus in memory, or one that cannot
    be written, gets one for this process, in a private temporary folder.

    Raises:
        CorpusError: it can be written nowhere.
    """
    if corpus.graph_path is not None:
        return corpus.graph_path
    if corpus.directory is not None:
        try:
            with writing(corpus.directory, GRAPH_WAIT):
                path = _published(corpus, corpus.directory)
            if path is not None:
                return path
        except (OSError, CorpusError) as error:
            corpus.notices.append(f"the graph is built for this query only: {described(error)}")
    folder = Path(tempfile.mkdtemp(prefix="tracegraph-"))
    weakref.finalize(corpus, shutil.rmtree, folder, ignore_errors=True)
    path = folder / "graph.kuzu"
    build_graph(path, corpus.segments, apart=True)
    corpus.private_graph = path
    return path


def _discard(corpus: Corpus, directory: Path) -> None:
    """Remove a damaged graph, if it is still the published one, and forget it."""
    damaged = corpus.manifest.graph
    corpus.manifest = msgspec.structs.replace(corpus.manifest, graph=None)
    with suppress(OSError, CorpusError), writing(directory, GRAPH_WAIT):
        if damaged and read_manifest(directory).graph == damaged:
            remove_graph(graph_file(directory, damaged.generation))


def _published(corpus: Corpus, directory: Path) -> Path | None:
    """Build the next generation and publish it, as the holder of the lock.

    Returns:
        Its path, or None where the corpus on disk has moved on from the one that is open.
    """
    current = read_manifest(directory)
    if current.segments != corpus.manifest.segments:
        return None
    corpus.manifest = current
    if corpus.graph_path is not None:  # another process built it meanwhile
        return corpus.graph_path
    last = current.graph
    path = graph_file(directory, current.next_generation)
    numbers = tuple(segment.number for segment in corpus.parts)
    held = last.segments if last else ()
    if last and held == numbers[: len(held)] and graph_file(directory, last.generation).exists():
        added = corpus.segments[len(held) :]
        append_graph(graph_file(directory, last.generation), path, added, apart=True)
    else:
        build_graph(path, corpus.segments, apart=True)
    corpus.manifest = msgspec.structs.replace(
        current,
        graph=GraphEntry(generation=current.next_generation, segments=numbers),
        next_generation=current.next_generation + 1,
    )
    write_manifest(directory, corpus.manifest, as_of(directory))
    for generation in range(last.generation if last else 0):  # the last one may still be opened
        remove_graph(graph_file(directory, generation))
    return path
