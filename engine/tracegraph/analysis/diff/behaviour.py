"""Did corresponding steps do the same: kind, name, status, type of failure?"""

from dataclasses import dataclass

import numpy as np

from tracegraph.analysis.diff.align import Correspondence
from tracegraph.analysis.diff.sides import Side
from tracegraph.analysis.diff.topology import FIELDS, StepDifferences, differing, gathered


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Verdict on the steps one by one, wherever they stand.

    Attributes:
        differences: steps that only one run has, and corresponding ones that differ.
    """

    differences: StepDifferences

    @property
    def identical(self) -> bool:
        """Whether every step has a counterpart that did the same."""
        return len(self.differences) == 0


def compare_behaviour(a: Side, b: Side, steps: Correspondence) -> Behaviour:
    """Compare what was recorded: a value against none is a difference, none against none is not."""
    rows, counterparts = steps.pairs
    fields = differing(a, b, rows, counterparts, FIELDS)
    changed = fields > 0
    return Behaviour(
        gathered(
            rows[changed],
            counterparts[changed],
            fields[changed],
            np.flatnonzero(steps.to_b < 0),
            np.flatnonzero(steps.to_a < 0),
        )
    )
