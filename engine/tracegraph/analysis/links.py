"""The causes of one trace as the analyses walk them: what ran in what, and what led to what."""

from dataclasses import dataclass

import numpy as np

from tracegraph.corpus.merge import take
from tracegraph.model.codes import HEURISTIC, ORIGIN_CODE
from tracegraph.model.columns import Columns, Ints
from tracegraph.model.run_status import NOT_HOLDING
from tracegraph.model.trace import Trace

_HOLDING = (ORIGIN_CODE["span_parent"], ORIGIN_CODE["graph_parent"])
"""Origins of which the cause holds the effect: the effect ran inside it."""


def alone(trace: Trace) -> Columns:
    """Return the columns of one trace by itself, so that its rows count from 0."""
    columns = trace.columns
    if columns.trace_count == 1:
        return columns
    return take(columns, np.array([trace.index], dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Links:
    """The causal edges of one trace, of which each leads from a step to a later one.

    Edges against ``seq`` (in cycles) and heuristic ones are left out: they prove nothing.

    Attributes:
        container: for each row the row of the step that it ran in, the innermost if several; -1.
            A step that nothing is recorded to hold ran where the step that led to it ran, unless
            a holder is recorded and missing.
        causes: for each row the rows of its other causes, ascending.
        effects: for each row the rows of its other effects, ascending.
    """

    container: list[int]
    causes: list[list[int]]
    effects: list[list[int]]


def containers(columns: Columns) -> Ints:
    """Return for each row the row of the step that it is recorded to have run in, -1 for none."""
    edges = columns.causes
    holding = (edges.cause < edges.effect) & np.isin(edges.origin, _HOLDING)
    container = np.full(columns.step_count, -1, dtype=np.int64)
    np.maximum.at(container, edges.effect[holding], edges.cause[holding])
    return container


def links_of(columns: Columns) -> Links:
    """Sort the edges of a trace into what contains and what leads on."""
    edges = columns.causes
    recorded = containers(columns)
    leading = np.full_like(recorded, -1)
    led = (edges.cause < edges.effect) & (edges.evidence < HEURISTIC)
    inner = led & ~np.isin(edges.origin, NOT_HOLDING)
    np.maximum.at(leading, edges.effect[inner], edges.cause[inner])
    container: list[int] = recorded.tolist()
    for row in np.flatnonzero((leading >= 0) & (recorded < 0) & ~columns.steps.orphan).tolist():
        container[row] = container[leading[row]]  # rows ascend, so the cause's is known

    other = led & ~np.isin(edges.origin, _HOLDING)
    # A declared edge to the holder of a step says no more than that it holds it.
    other &= recorded[edges.effect] != edges.cause
    causes: list[list[int]] = [[] for _ in container]
    effects: list[list[int]] = [[] for _ in container]
    pairs = np.unique(np.stack([edges.effect[other], edges.cause[other]]), axis=1)
    for effect, cause in zip(*pairs.tolist(), strict=True):
        causes[effect].append(cause)
        effects[cause].append(effect)
    return Links(container, causes, effects)
