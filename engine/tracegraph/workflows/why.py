"""Why did a run fail?"""

from tracegraph.analysis.analysis import analyse
from tracegraph.analysis.candidates import find_candidates
from tracegraph.corpus.corpus import Corpus
from tracegraph.export.why import Why
from tracegraph.workflows.traces import select_trace


def why(corpus: Corpus, path: str, trace_id: str | None) -> Why:
    """Account for a run of a corpus.

    Args:
        corpus: what the path was read to.
        path: the path, as it was named.
        trace_id: which trace; None for the only one.

    Raises:
        UsageError: there is no such trace, or there are several.
    """
    chosen = select_trace(corpus, trace_id, path, f"{path}#ID")
    analysis = analyse(chosen.trace, ask_presets=False)
    candidates = find_candidates(analysis.columns, analysis.incidents)
    return Why(chosen.label, analysis, tuple(candidates), path, corpus.trace_count == 1)
