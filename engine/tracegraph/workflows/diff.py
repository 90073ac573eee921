"""What changed between two runs?"""

from collections import Counter
from collections.abc import Collection

from tracegraph.analysis.diff.compare import Diff, compare
from tracegraph.corpus.corpus import Corpus
from tracegraph.workflows.analyze import run_of
from tracegraph.workflows.traces import select_trace, split_trace


def compare_traces(
    a: tuple[str, Corpus], b: tuple[str, Corpus], *, structure: bool = False
) -> Diff:
    """Compare two traces.

    Args:
        a: TRACE as people write it, and the corpus that its path was read to.
        b: the same of the other.
        structure: compare the shape of the trees without kinds and names.

    Raises:
        UsageError: a path holds several traces and none is named, or none has that name.
    """
    chosen = []
    unowned = []
    for written, corpus in (a, b):
        path, trace_id = split_trace(written)
        listed = select_trace(corpus, trace_id, path, f"{path}#ID")
        chosen.append(listed.trace)
        unowned.append(sum(unowned_gaps(corpus, listed.files).values()))
    return compare(*chosen, structure=structure, unowned=(unowned[0], unowned[1]))


def artifact_digests(diff: Diff) -> tuple[str, str]:
    """Return the SHA-256 of the artifacts of both runs, by which reports name them."""
    return run_of(diff.a.trace).digest, run_of(diff.b.trace).digest


def unowned_gaps(corpus: Corpus, files: Collection[str]) -> Counter[str]:
    """Count the losses of files that belong to no trace of them: each may have been a step."""
    gaps: Counter[str] = Counter()
    for entry in corpus.manifest.files:
        if entry.name in files:
            gaps.update(entry.gaps)
    return gaps
