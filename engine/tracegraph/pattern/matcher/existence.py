"""Whether any step completes a counter-match, without listing those that do.

The last step of an ``unless`` path is asked for by existence only. Listing all steps after a
failure, or all model steps that a tool leads to, would be quadratic in the steps of a trace.
"""

from collections.abc import Iterator

import numpy as np

from tracegraph.model.columns import Ints, Mask
from tracegraph.pattern.before import Way, groups_of, ordering
from tracegraph.pattern.between import Blockers, Gaps
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.matcher.ends import Ends, Grouping, groupings
from tracegraph.pattern.operands import Values
from tracegraph.pattern.reach import Sources, Walks
from tracegraph.pattern.spans import compact
from tracegraph.pattern.truth import FALSE, TRUE, UNKNOWN, Truth

LISTED = -1
"""Stands for a truth that only listing the steps can tell."""


def best_of(ends: Ends, truth: Truth, ground: Ground) -> Truth | None:
    """Return for each line the truth of the best step at the far end.

    Args:
        ends: the link, without a filter; its keys are all that line and step must share.
        truth: truth of each far step by itself.
        ground: gives edges, tree and order.

    Returns:
        None where the steps have to be listed after all; single lines of which that is true get
        :data:`LISTED`.
    """
    if _partly_told(ends):
        return None
    if ends.edge.kind == "descendant":
        if ends.forward:
            return _below(ends, truth, ground)
        return None if ends.keys else _above(ends, truth, ground)
    if ends.edge.kind in ("scope", "trace"):
        return _after(ends, truth, ground)
    if ends.edge.kind == "cause" and ends.edge.high != 1:
        return _reached(ends, truth, ground)
    return None


def _told(values: Values) -> bool:
    return bool(values.known.all())


def anywhere(ends: Ends, truth: Truth, ground: Ground) -> Truth | None:
    """Return for each line the truth of the best other step of its unit, as :func:`best_of`."""
    if _partly_told(ends):
        return None
    best = np.full(len(ends.near), FALSE, dtype=np.int8)
    units = ground.unit_of(ends.near), ground.unit_of(ends.far)
    for part, least, items, groups in _graded(*units, ends, truth):
        held = np.bincount(groups, minlength=int(part.line_group.max(initial=0)) + 1)
        own_group = np.full(ground.columns.step_count, -1, dtype=np.int64)
        own_group[ends.far[items]] = groups
        itself = own_group[ends.near[part.lines]] == part.line_group
        found = part.lines[held[part.line_group] > itself]
        best[found] = np.maximum(best[found], least)
    return best


def _partly_told(ends: Ends) -> bool:
    """Tell whether it would matter which of several shared fields is unknown."""
    return len(ends.keys) > 1 and not all(known for pair in ends.keys for known in map(_told, pair))


def _graded(
    group: Ints, far_group: Ints, ends: Ends, truth: Truth
) -> Iterator[tuple[Grouping, int, Ints, Ints]]:
    """Yield lines with the items that are no less true than a truth, and the groups of those.

    Where a shared field is unknown nothing is more than unknown.
    """
    for number, part in enumerate(groupings(group, far_group, ends.keys)):
        for least in (UNKNOWN,) if number else (UNKNOWN, TRUE):
            chosen = truth[part.items] >= least
            yield part, least, part.items[chosen], part.item_group[chosen]


def _below(ends: Ends, truth: Truth, ground: Ground) -> Truth:
    """Count the steps in the range of the preorder."""
    pre, last = ground.columns.steps.pre, ground.columns.steps.last
    size = ground.columns.step_count
    best = np.full(len(ends.near), FALSE, dtype=np.int8)
    everywhere = np.zeros_like(ends.near), np.zeros_like(ends.far)
    for part, least, items, groups in _graded(*everywhere, ends, truth):
        numbers = np.sort(groups * size + pre[ends.far[items]])
        base, near = part.line_group * size, ends.near[part.lines]
        low = np.searchsorted(numbers, base + pre[near], side="right")
        found = part.lines[np.searchsorted(numbers, base + last[near], side="right") > low]
        best[found] = np.maximum(best[found], least)
    return best


def _above(ends: Ends, truth: Truth, ground: Ground) -> Truth:
    """Count the steps among the tree ancestors."""
    best = np.full(len(ends.near), FALSE, dtype=np.int8)
    for least in (UNKNOWN, TRUE):
        marked = np.zeros(ground.columns.step_count, dtype=bool)
        marked[ends.far[truth >= least]] = True
        best[ground.above(marked)[ends.near] > marked[ends.near]] = least
    return best


def _after(ends: Ends, truth: Truth, ground: Ground) -> Truth:
    """Look for a step that begins after the line's, or ends before it."""
    way: Way = "scope" if ends.edge.kind == "scope" else "trace"
    ranks = ordering(np.concatenate([ends.near, ends.far]), ground, forward=ends.forward)
    leaving = ranks.leaving(ends.near)
    group, far_group = groups_of(way, ends.near, ground), groups_of(way, ends.far, ground)
    best = np.full(len(ends.near), FALSE, dtype=np.int8)
    for part, least, items, groups in _graded(group, far_group, ends, truth):
        nowhere = np.full(len(part.lines), ranks.limit)
        gaps = Gaps(part.line_group, ends.near[part.lines], None, leaving[part.lines], nowhere)
        lenient = least == UNKNOWN
        steps = Blockers(ends.far[items], groups, ranks, ground, lenient=lenient, until_end=False)
        found = part.lines[steps.count(gaps, 0) > 0]
        best[found] = np.maximum(best[found], least)
    return best


def _reached(ends: Ends, truth: Truth, ground: Ground) -> Truth:
    """Sweep from all far steps together; those that share the keys need not be told apart.

    In a trace with a causal cycle a step may lead to itself, so there they have to be.
    """
    columns = ground.columns
    trace, far_trace = ground.trace_of(ends.near), ground.trace_of(ends.far)
    (code, far_code), (told, far_told) = _codes(ends)
    best = np.full(len(ends.near), FALSE, dtype=np.int8)
    walks = Walks(ground.edges(ends.exact), columns.offsets, ends.edge.low, ends.edge.high)
    near, far = ends.near, ends.far
    if ends.forward:
        walks = walks.backward()
        near, far = columns.step_count - 1 - near, columns.step_count - 1 - far
        trace, far_trace = columns.trace_count - 1 - trace, columns.trace_count - 1 - far_trace
    lines = np.argsort(near, kind="stable")
    anyone = np.zeros_like(code), np.zeros_like(far_code)
    # What is unknown meets everything, and then the truth is unknown.
    for at, steps, (one, other), most in (
        (lines[told[lines]], far_told, (code, far_code), TRUE),
        (lines[told[lines]], ~far_told, anyone, UNKNOWN),
        (lines[~told[lines]], np.ones(len(far), dtype=bool), anyone, UNKNOWN),
    ):
        for least in (UNKNOWN, TRUE)[:most]:
            there = np.flatnonzero(steps & (truth >= least))
            wanted, number = compact((trace[at], far_trace[there]), (one[at], other[there]))
            order = np.argsort(number, kind="stable")
            led = walks.led(Sources(far[there[order]], number[order]), near[at], wanted)
            best[at[led]] = np.maximum(best[at[led]], least)
    best[columns.traces.cyclic[ground.trace_of(ends.near)]] = LISTED
    return best


def _codes(ends: Ends) -> tuple[tuple[Ints, Ints], tuple[Mask, Mask]]:
    """Number what lines and far steps must share, and tell where it is known."""
    known = np.ones(len(ends.near), dtype=bool), np.ones(len(ends.far), dtype=bool)
    if not ends.keys:
        return (np.zeros_like(ends.near), np.zeros_like(ends.far)), known
    codes = compact(*((line.data, far.data) for line, far in ends.keys))
    told = np.logical_and.reduce([line.known for line, _ in ends.keys])
    far_told = np.logical_and.reduce([far.known for _, far in ends.keys])
    return codes, (told, far_told)
