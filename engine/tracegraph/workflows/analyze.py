"""What happened in a run: its analysis, alone or against a baseline, ready to be reported."""

from dataclasses import dataclass

from tracegraph.analysis.analysis import analyse
from tracegraph.analysis.comparison import compare
from tracegraph.corpus.corpus import Corpus
from tracegraph.export.analysis import Analysed
from tracegraph.export.artifact import artifact_digest, write_artifact
from tracegraph.model.trace import Trace
from tracegraph.workflows.traces import select_trace


@dataclass(frozen=True, slots=True)
class Run:
    """A trace to analyse, and the artifact that stands for it in reports.

    Attributes:
        trace: the trace as it was read.
        artifact: its canonical bytes.
    """

    trace: Trace
    artifact: bytes

    @property
    def digest(self) -> str:
        """SHA-256 of the artifact."""
        return artifact_digest(self.artifact)


def run_of(trace: Trace) -> Run:
    """Return a trace with the artifact that ``tracegraph ingest -o`` writes of it."""
    return Run(trace, write_artifact(trace))


def run_in(corpus: Corpus, path: str, trace_id: str | None) -> tuple[str, Run]:
    """Return what a trace of a corpus is called, and the trace with its artifact.

    Args:
        corpus: what the path was read to.
        path: the path, for messages.
        trace_id: which trace; None for the only one.

    Raises:
        UsageError: there is no such trace, or there are several.
    """
    chosen = select_trace(corpus, trace_id, path, f"{path}#ID")
    return chosen.label, run_of(chosen.trace)


def analyze(run: Run, baseline: Run | None = None, limit: int | None = None) -> Analysed:
    """Analyse a run.

    Args:
        run: the run.
        baseline: what it is compared with.
        limit: incidents that a report lists at most; None for all.
    """
    analysis = analyse(run.trace)
    if baseline is None:
        return Analysed(analysis, run.digest, limit=limit)
    comparison = compare(analysis, analyse(baseline.trace))
    return Analysed(analysis, run.digest, comparison, baseline.digest, limit)
