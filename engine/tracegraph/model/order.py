"""``seq``: the total order of a trace's steps (DESIGN section 3).

The order of the condensation of CAUSED_BY, a cycle counting as one; ties, and the members of a
cycle, by start where it is known (unknown last) and then by position in the source.
"""

import heapq
from collections.abc import Iterator

import numpy as np

from tracegraph.model.columns import Array, Ints

_LAST = np.iinfo(np.int64).max


def total_order(
    trace: Ints, start: Array, effect: Array, cause: Array, traces: int
) -> tuple[Ints, list[int]]:
    """Order the steps of many traces at once.

    Args:
        trace: trace index of each step, ascending.
        start: start of each step in ns, -1 unknown.
        effect: row of the effect of each edge.
        cause: row of the cause of each edge, in the same trace.
        traces: number of traces.

    Returns:
        The rows in order (traces stay contiguous), and the indices of the traces whose causes hold
        a cycle.
    """
    rows = np.arange(len(trace), dtype=np.int64)
    key = np.where(start < 0, _LAST, start)
    order = np.lexsort((rows, key, trace))
    rank = np.empty_like(order)
    rank[order] = rows
    # Where order by (start, position) already puts every cause first it is the smallest
    # topological order, so only the other traces need the search.
    crossed = np.unique(trace[effect[rank[cause] >= rank[effect]]])
    cyclic: list[int] = []
    if len(crossed):
        by_trace = np.argsort(trace[effect], kind="stable")
        edge_trace = trace[effect][by_trace]
        for t in crossed.tolist():
            low, high = np.searchsorted(trace, [t, t + 1])
            edges = by_trace[slice(*np.searchsorted(edge_trace, [t, t + 1]))]
            ranks, has_cycle = _search(
                high - low, rank[cause[edges]] - low, rank[effect[edges]] - low
            )
            order[low:high] = order[low:high][ranks]
            if has_cycle:
                cyclic.append(t)
    return order.astype(np.int64), cyclic


def _search(count: int, cause: Ints, effect: Ints) -> tuple[Ints, bool]:
    """Order one trace whose nodes are numbered by tie-breaking key. Return (order, has a cycle)."""
    effects: list[list[int]] = [[] for _ in range(count)]
    for c, e in zip(cause.tolist(), effect.tolist(), strict=True):
        effects[c].append(e)
    component = _components(effects)
    members: dict[int, list[int]] = {}
    for node in range(count):
        members.setdefault(component[node], []).append(node)
    waiting = dict.fromkeys(members, 0)
    for c, e in zip(cause.tolist(), effect.tolist(), strict=True):
        if component[c] != component[e]:
            waiting[component[e]] += 1
    ready = [(nodes[0], comp) for comp, nodes in members.items() if not waiting[comp]]
    heapq.heapify(ready)
    result: list[int] = []
    while ready:
        _, comp = heapq.heappop(ready)
        result += members[comp]
        for node in members[comp]:
            for other in effects[node]:
                target = component[other]
                if target != comp:
                    waiting[target] -= 1
                    if not waiting[target]:
                        heapq.heappush(ready, (members[target][0], target))
    return np.array(result, dtype=np.int64), len(members) < count


def _components(effects: list[list[int]]) -> list[int]:
    """Return the strongly connected component of each node (Tarjan, without recursion)."""
    count = len(effects)
    index = [-1] * count
    low = [0] * count
    component = [-1] * count
    stack: list[int] = []
    found = 0
    for root in range(count):
        if index[root] >= 0:
            continue
        path: list[tuple[int, Iterator[int]]] = [(root, iter(effects[root]))]
        index[root] = low[root] = found
        found += 1
        stack.append(root)
        while path:
            node, successors = path[-1]
            for other in successors:
                if index[other] < 0:
                    index[other] = low[other] = found
                    found += 1
                    stack.append(other)
                    path.append((other, iter(effects[other])))
                    break
                if component[other] < 0:
                    low[node] = min(low[node], index[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    while True:
                        member = stack.pop()
                        component[member] = node
                        if member == node:
                            break
    return component
