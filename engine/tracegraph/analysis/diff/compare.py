"""Compare two runs."""

from dataclasses import dataclass

from tracegraph.analysis.diff.align import Correspondence, align_labelled, align_shapes
from tracegraph.analysis.diff.behaviour import Behaviour, compare_behaviour
from tracegraph.analysis.diff.causal_edges import CausalEdges, compare_causal_edges
from tracegraph.analysis.diff.limitations import Limitation, limitations
from tracegraph.analysis.diff.metrics import Metrics, compare_metrics
from tracegraph.analysis.diff.sides import Side, sides
from tracegraph.analysis.diff.topology import Topology, compare_topology, subtree_codes
from tracegraph.model.trace import Trace


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed from run A to run B, in four verdicts that do not depend on each other.

    Attributes:
        a: the first run.
        b: the second.
        steps: which step of A is which step of B.
        topology: the derived trees.
        causal_edges: the causal graphs.
        behaviour: the steps one by one.
        metrics: the totals.
        limitations: what the comparison cannot see.
    """

    a: Side
    b: Side
    steps: Correspondence
    topology: Topology
    causal_edges: CausalEdges
    behaviour: Behaviour
    metrics: Metrics
    limitations: tuple[Limitation, ...]

    @property
    def identical(self) -> bool:
        """Whether the runs did the same. Metrics have no say: no two runs take equally long."""
        verdicts = (self.topology, self.causal_edges, self.behaviour)
        return all(verdict.identical for verdict in verdicts)


def compare(
    a: Trace, b: Trace, *, structure: bool = False, unowned: tuple[int, int] = (0, 0)
) -> Diff:
    """Compare two traces, in time near linear in their steps whatever the shape of their trees.

    Args:
        a: the first run.
        b: the second.
        structure: compare the shape of the trees without kinds and names. Which steps correspond,
            and with it the other verdicts, stays as it is.
        unowned: losses of each input that belong to no trace of it.
    """
    side_a, side_b = sides(a, b)
    codes = subtree_codes(side_a, side_b, labelled=True)
    steps = align_labelled(side_a, side_b, codes)
    if structure:
        shapes = subtree_codes(side_a, side_b, labelled=False)
        places = align_shapes(side_a, side_b, shapes)
        topology = compare_topology(side_a, side_b, shapes, places, "shape")
    else:
        topology = compare_topology(side_a, side_b, codes, steps, "labelled")
    return Diff(
        side_a,
        side_b,
        steps,
        topology,
        compare_causal_edges(side_a, side_b, steps),
        compare_behaviour(side_a, side_b, steps),
        compare_metrics(side_a, side_b),
        tuple(limitations(side_a, side_b, steps, unowned)),
    )
