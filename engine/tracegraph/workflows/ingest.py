"""A corpus on purpose, or one trace as a portable artifact."""

from collections.abc import Sequence
from pathlib import Path

from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.policy import Keep
from tracegraph.export.artifact import write_artifact
from tracegraph.workflows.graphs import ensure_graph
from tracegraph.workflows.load import ingest_into
from tracegraph.workflows.request import Progress
from tracegraph.workflows.traces import select_trace


def build_corpus(
    paths: Sequence[str],
    directory: Path,
    *,
    keep: Keep,
    strict: bool = False,
    progress: Progress | None = None,
) -> Corpus:
    """Make a corpus with its graph, or bring one up to date.

    Raises:
        InputError, StrictError, CorpusError: as :func:`tracegraph.workflows.load.ingest_into`.
    """
    corpus = ingest_into(paths, directory, keep=keep, strict=strict, progress=progress)
    ensure_graph(corpus)
    return corpus


def artifact_text(corpus: Corpus, trace_id: str | None, name: str, keep: Keep) -> str:
    """Return one trace as a portable artifact.

    Args:
        corpus: where it is.
        trace_id: which one; None where there is only one.
        name: what the corpus was read from, for messages.
        keep: how much of the content of its steps goes along.

    Raises:
        UsageError: no trace or several fit.
    """
    return write_artifact(select_trace(corpus, trace_id, name, "--trace ID").trace, keep).decode()
