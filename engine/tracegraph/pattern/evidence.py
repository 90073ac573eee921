"""Evidence of matches: the weakest over their ``match`` edges, from the columns for both backends.

Parallel edges count by the strongest, a walk by the best walk, a tree path by its weakest edge;
``~>``, ``~>>`` and runs are heuristic; a match without edges has none.
"""

import numpy as np

from tracegraph.model.codes import CONTAINMENT, DECLARED, DERIVED, HEURISTIC
from tracegraph.model.columns import Ints
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.matcher.ends import Ends
from tracegraph.pattern.matcher.walk_join import WalkJoin
from tracegraph.pattern.operands import Frame, slots_of
from tracegraph.pattern.plan import BranchPlan, Link
from tracegraph.pattern.rows import Rows
from tracegraph.pattern.truth import TRUE


def evidence_of(
    branch: BranchPlan, rows: Rows, ground: Ground, frame: Frame, *, exact: bool
) -> Ints:
    """Return the code of EVIDENCE of each binding, 0 for none.

    Args:
        branch: the plan of the branch.
        rows: its bindings.
        ground: gives edges and tree.
        frame: all bindings, for filters that name slots.
        exact: whether the branch saw only declared and containment edges.
    """
    weakest = np.zeros(len(rows), dtype=np.int64)
    if any(slot.run is not None for slot in branch.slots):
        weakest[:] = HEURISTIC
    for link in branch.links:
        weakest = np.maximum(weakest, _of_link(link, branch, rows, ground, frame, exact))
    return weakest


def _of_link(
    link: Link, branch: BranchPlan, rows: Rows, ground: Ground, frame: Frame, exact: bool
) -> Ints:
    edge = link.edge
    left, right = rows.exit(link.left), rows.entry(link.right)
    if edge.kind == "child":
        return ground.columns.steps.parent_evidence[right].astype(np.int64)
    if edge.kind == "descendant":
        weakest = np.full(len(rows), DECLARED, dtype=np.int64)
        for code in (DECLARED, CONTAINMENT, DERIVED):
            weaker = ground.weak_above(code)
            weakest += weaker[right] > weaker[left]
        return weakest
    if edge.kind != "cause":
        return np.full(len(rows), HEURISTIC, dtype=np.int64)
    if edge.high == 1:
        return ground.edges(exact).evidence_of(left, right)
    named = set()
    if edge.between is not None:
        slots = {slot.index: slot for slot in branch.slots}
        named = slots_of(edge.between.where, None, slots, branch.variables)
    seen = frame.of(named)
    join = WalkJoin(Ends(edge, exact, left, right, True, seen), ground)
    lines = np.arange(len(rows))
    truth = np.full(len(rows), TRUE, dtype=np.int8)
    if not join.settled:
        truth = join.truth(lines, right)
    return join.evidence(lines, right, truth)
