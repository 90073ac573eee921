"""What the shipped presets find in one trace, counted."""

import math
from dataclasses import dataclass

from tracegraph.model.columns import Columns
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.filters import of_kinds
from tracegraph.pattern.finish import finish
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.load import bind
from tracegraph.pattern.matcher import match_rows
from tracegraph.pattern.matcher.candidates import conditions_of, steps_for
from tracegraph.pattern.operands import Frame
from tracegraph.pattern.plan import BranchPlan, PatternPlan, Slot, plan
from tracegraph.pattern.presets import presets
from tracegraph.pattern.result import MatchSet

MOST_TUPLES = 1_000_000
"""Tuples of steps up to which matches are counted. A pattern without a bound on its distance may
hold of any two steps: 2,000 nested failures of one tool are 2 million matches, in 310 MB."""
SHOWN = 3
"""Matches that are given with their steps."""
_FOLLOWED = ("cause", "child")


@dataclass(frozen=True, slots=True)
class PatternMatches:
    """What one preset found.

    Attributes:
        pattern: the preset.
        confirmed: number of confirmed matches; None where there may be too many to count.
        possible: number of possible ones, likewise.
        needs: what the pattern needs and no step records, which is why it cannot be judged.
        examples: rows of the first confirmed matches, in the order of the pattern's positions.
    """

    pattern: Pattern
    confirmed: int | None
    possible: int | None
    needs: tuple[str, ...] = ()
    examples: tuple[tuple[int, ...], ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether the number of matches is known: none is merely possible."""
        return self.confirmed is not None and not self.possible and not self.needs


def find_patterns(columns: Columns) -> list[PatternMatches]:
    """Ask one trace all presets that ship; in the order of their ids."""
    ground = Ground(columns)
    return [_matches(bind(preset), columns, ground) for preset in presets()]


def match_all(pattern: Pattern, columns: Columns, ground: Ground) -> MatchSet | None:
    """Match one pattern on one trace; None where there may be too many matches to count."""
    planned = plan(pattern)
    if _most_tuples(planned, ground) > MOST_TUPLES:
        return None
    return finish(planned, match_rows(planned, columns), columns)


def _matches(pattern: Pattern, columns: Columns, ground: Ground) -> PatternMatches:
    found = match_all(pattern, columns, ground)
    if found is None:
        return PatternMatches(pattern, None, None)
    needs = found.not_evaluable[0][1] if found.not_evaluable else ()
    examples = []
    for index in found.certain.nonzero()[0][:SHOWN].tolist():
        match = found[index]
        steps = match.members[0] if match.members else match.steps
        examples.append(tuple(position.row for position in steps))
    return PatternMatches(pattern, found.confirmed, found.possible, needs, tuple(examples))


def _most_tuples(planned: PatternPlan, ground: Ground) -> int:
    """Return how many tuples of steps the branches of a pattern could hold of."""
    return sum(_branch_tuples(branch, ground) for branch, _ in planned.branches)


def _branch_tuples(branch: BranchPlan, ground: Ground) -> int:
    """Multiply the candidates of all positions but those that a bounded walk of causes leads to."""
    followed = {
        link.right
        for link in branch.links
        if link.edge.kind in _FOLLOWED and link.edge.high is not None
    }
    return math.prod(
        _candidates(slot, branch, ground) for slot in branch.slots if slot.index not in followed
    )


def _candidates(slot: Slot, branch: BranchPlan, ground: Ground) -> int:
    """Count the steps that satisfy what a position asks of its step alone."""
    if slot.run is not None:
        return len(of_kinds(slot.kinds, ground))
    slots = {each.index: each for each in branch.slots}
    lefts = {each.index: each.left for each in branch.slots}
    frame = Frame(ground.columns, ground.texts, variables=branch.variables, lefts=lefts)
    own = conditions_of(slot, slots, branch.variables).own
    return len(steps_for(slot, own, frame, ground))
