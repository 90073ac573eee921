"""TREE_PARENT: a single-parent, lossy projection of CAUSED_BY, and what follows from it.

At most one parent a step: graph or checkpoint parent, then span parent, then other declared, then
derived, then heuristic; ties by (seq, step_id) of the cause (DESIGN section 3). A cause that comes
later in ``seq`` (only in a cycle) is never projected, so the result is always a forest.
"""

from dataclasses import dataclass

import numpy as np

from tracegraph.model.codes import DERIVED, HEURISTIC, ORIGIN_CODE
from tracegraph.model.columns import Array, Ints

_FIRST = [ORIGIN_CODE[o] for o in ("graph_parent", "checkpoint_parent", "subgraph_return")]


@dataclass(slots=True)
class Tree:
    """The derived tree over rows in seq order; see StepColumns for the meaning of each array."""

    parent: Ints
    parent_evidence: Ints
    depth: Ints
    children: Ints
    pre: Ints
    last: Ints
    scope: Ints


def derive_tree(
    offsets: Ints,
    effect: Array,
    cause: Array,
    origin: Array,
    evidence: Array,
    orphan: Array,
    wrapper: Array,
) -> Tree:
    """Project causes to a forest. Rows are in seq order, traces contiguous."""
    count = int(offsets[-1])
    parent = np.full(count, -1, dtype=np.int64)
    parent_evidence = np.zeros(count, dtype=np.int64)
    forward = np.flatnonzero(cause < effect)
    rank = _rank(origin[forward], evidence[forward])
    best = forward[np.lexsort((cause[forward], rank, effect[forward]))][::-1]
    parent[effect[best]] = cause[best]  # reversed, so that the best edge of a step is written last
    parent_evidence[effect[best]] = evidence[best]

    steps_up, root = _climb(parent)
    children = np.bincount(parent[parent >= 0], minlength=count)
    pre, last = _preorder(offsets, parent, steps_up)
    depth = np.where(orphan | orphan[root], -1, steps_up) if count else steps_up
    return Tree(parent, parent_evidence, depth, children, pre, last, _scope(parent, wrapper))


def _rank(origin: Array, evidence: Array) -> Ints:
    rank = np.full(len(origin), 2, dtype=np.int64)
    rank[np.isin(origin, _FIRST)] = 0
    rank[origin == ORIGIN_CODE["span_parent"]] = 1
    rank[evidence == DERIVED] = 3
    rank[evidence == HEURISTIC] = 4
    return rank


def _climb(parent: Ints) -> tuple[Ints, Ints]:
    """Return for each row the number of its ancestors and its root (pointer doubling)."""
    depth = (parent >= 0).astype(np.int64)
    root = np.where(parent >= 0, parent, np.arange(len(parent)))
    while True:
        above = root[root]
        if np.array_equal(above, root):
            return depth, root
        depth = depth + depth[root]
        root = above


def _preorder(offsets: Ints, parent: Ints, depth: Ints) -> tuple[Ints, Ints]:
    """Number the forest in preorder, siblings by row, each trace within its own rows."""
    count = len(parent)
    size = np.ones(count, dtype=np.int64)
    by_depth = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[by_depth], np.arange(1, int(depth.max(initial=0)) + 2))
    for low, high in zip(bounds[:-1][::-1], bounds[1:][::-1], strict=True):
        level = by_depth[low:high]
        np.add.at(size, parent[level], size[level])

    trace = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    holder = np.where(parent >= 0, parent, count + trace)  # the roots of a trace are siblings
    order = np.lexsort((np.arange(count), holder))
    before = np.cumsum(size[order]) - size[order]
    starts = np.flatnonzero(np.r_[True, holder[order][1:] != holder[order][:-1]])
    before -= np.repeat(before[starts], np.diff(np.r_[starts, count])) if count else 0
    offset = np.empty(count, dtype=np.int64)
    offset[order] = before
    offset += np.where(parent >= 0, 1, offsets[trace])

    pre, above = offset, parent.copy()
    while (above >= 0).any():
        has = above >= 0
        pre = np.where(has, pre + pre[above], pre)
        above = np.where(has, above[above], -1)
    return pre, pre + size - 1


def _scope(parent: Ints, wrapper: Array) -> Ints:
    """Return the nearest ancestor that is no wrapper, -1 where the trace itself is the scope."""
    scope = parent.copy()
    climbing = np.flatnonzero(scope >= 0)
    while len(climbing):
        climbing = climbing[wrapper[scope[climbing]]]
        scope[climbing] = parent[scope[climbing]]
        climbing = climbing[scope[climbing] >= 0]
    return scope
