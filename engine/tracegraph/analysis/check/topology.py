"""``topology-unchanged``: the derived tree, and the joins that a tree leaves out."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from tracegraph.analysis.check.evidence import (
    Judgement,
    Note,
    Unknown,
    decide,
    harmless,
    hidden,
    incomparable,
    uncertain_causes,
    unknown_labels,
)
from tracegraph.analysis.check.gaps import Hides
from tracegraph.analysis.check.runs import Label, Pair, Run
from tracegraph.analysis.diff.compare import Diff, compare
from tracegraph.analysis.diff.topology import Mode
from tracegraph.model.codes import HEURISTIC, ORIGIN_CODE

_HIDES = Hides.STEPS | Hides.CAUSES
Join = tuple[Label, Label] | None
"""Labels of cause and effect; None where labels do not count."""


@dataclass(frozen=True, slots=True)
class JoinChange:
    """Causes beside the tree, between steps of two labels, whose number changed."""

    join: Join
    baseline: int
    current: int


@dataclass(frozen=True, slots=True)
class TreeChange:
    """How two runs differ in shape.

    Attributes:
        diff: the comparison; its A is the baseline.
        joins: changed joins, by label.
    """

    diff: Diff
    joins: tuple[JoinChange, ...]

    @property
    def is_any(self) -> bool:
        """Whether there is a difference."""
        return bool(self.joins) or not self.diff.topology.identical


def judge_topology(pair: Pair, mode: Mode) -> tuple[Judgement, TreeChange]:
    """Judge whether the tree is the same: a gap on either side may hide either answer."""
    joins = [_joins(run, mode) for run in pair.runs]
    diff = compare(pair.baseline.trace, pair.current.trace, structure=mode == "shape")
    change = TreeChange(diff, _changed(*joins))
    blocking = [*incomparable(pair)]
    for run in pair.runs:
        blocking += hidden(run, _HIDES)
        blocking += unknown_labels(run) if mode == "labelled" else ()
    blocking += uncertain_causes(pair)
    limits = [note for run in pair.runs for note in harmless(run, _HIDES)]
    return decide(change.is_any, Unknown(blocking), Note("changed", "current"), limits), change


def _joins(run: Run, mode: Mode) -> Counter[Join]:
    """Count the causes that the tree does not show, by the labels of both ends.

    Those that were found in what was said stay out: no two runs say it alike. How a cause is known
    does not count, since a failing call lacks the id that its success would have had.
    """
    effect, cause, origin, evidence = run.side.edges
    beside = (run.side.parent[effect] != cause) & (evidence < HEURISTIC)
    beside &= origin != ORIGIN_CODE["data_flow"]
    pairs = np.unique(np.stack([cause[beside], effect[beside]]), axis=1)
    if mode == "shape":
        return Counter({None: pairs.shape[1]} if pairs.size else {})
    labels = run.side.label[pairs]
    _, first, counts = np.unique(labels, axis=1, return_index=True, return_counts=True)
    ends = pairs[:, first].T.tolist()
    return Counter(
        {
            (run.label(one), run.label(other)): count
            for (one, other), count in zip(ends, counts.tolist(), strict=True)
        }
    )


def _changed(current: Counter[Join], baseline: Counter[Join]) -> tuple[JoinChange, ...]:
    changed = [join for join in (*baseline, *current) if current[join] != baseline[join]]
    return tuple(JoinChange(join, baseline[join], current[join]) for join in dict.fromkeys(changed))
