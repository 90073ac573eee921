"""What the choice of a backend and the compiler need to know about a corpus."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from tracegraph.model.columns import Columns

ABSENT_CODE = -2
"""Code of a text that no step holds: it equals no stored code, the one for unknown included."""


@dataclass(frozen=True)
class CorpusFacts:
    """Sizes and shapes of a corpus, over all its segments.

    Attributes:
        graph_built: a graph of this corpus is there to be asked.
        total_steps: number of steps.
        largest_trace: steps of the largest trace; no causal path has as many edges.
        largest_scope: steps of the largest scope (candidates of ``~>`` on one side).
        cyclic: some trace holds a causal cycle.
        code: global code of a text, :data:`ABSENT_CODE` where no step holds it.
    """

    graph_built: bool
    total_steps: int
    largest_trace: int
    largest_scope: int
    cyclic: bool
    code: Callable[[str], int]


def facts_of(
    segments: Iterable[Columns], code: Callable[[str], int], *, graph_built: bool
) -> CorpusFacts:
    """Measure a corpus.

    Args:
        segments: its columns.
        code: as :attr:`CorpusFacts.code`.
        graph_built: as :attr:`CorpusFacts.graph_built`.
    """
    steps = largest_trace = largest_scope = 0
    cyclic = False
    for columns in segments:
        steps += columns.step_count
        sizes = np.diff(columns.offsets)
        largest_trace = max(largest_trace, int(sizes.max(initial=0)))
        largest_scope = max(largest_scope, _largest_scope(columns, sizes))
        cyclic = cyclic or bool(columns.traces.cyclic.any())
    return CorpusFacts(graph_built, steps, largest_trace, largest_scope, cyclic, code)


def _largest_scope(columns: Columns, sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """Count the steps of the largest scope: of one ancestor, or of a trace outside of any."""
    trace = np.repeat(np.arange(columns.trace_count), sizes)
    scope = columns.steps.scope.astype(np.int64)
    holder = np.where(scope >= 0, scope, columns.step_count + trace)
    return int(np.bincount(holder).max(initial=0)) if len(holder) else 0
