"""The flat form of a validated pattern that both backends read.

Positions become numbered slots, edges become links between slots, and names are resolved, so that
neither backend walks paths. Slot numbers of a branch follow the text, which makes the tuple of
steps by slot the identity of a match.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tracegraph.pattern.ast import Bind, Branch, Edge, Expr, Path, Pattern, Run
from tracegraph.pattern.walk import fields_of as fields_of  # noqa: PLC0414  # for the backends
from tracegraph.pattern.walk import mentioned


@dataclass(frozen=True)
class Slot:
    """One position of a match.

    Attributes:
        index: number of the position, from 0 in textual order over the paths of the branch.
        var: its name in the pattern, if it has one.
        kinds: admitted kinds; None is every kind.
        glob: name glob, if any.
        run: set where the position holds a list of steps.
        where: predicate on the step (of a run: on each member).
        left: slot of the step on the left of its edge (for ``gap``); None for the first of a path.
            Where that is a run, its last member counts.
    """

    index: int
    var: str | None
    kinds: tuple[str, ...] | None
    glob: str | None
    run: Run | None
    where: Expr | None
    left: int | None


@dataclass(frozen=True)
class Link:
    """An edge between two slots; it leaves a run from its last member, enters at its first."""

    left: int
    right: int
    edge: Edge


@dataclass(frozen=True)
class BranchPlan:
    """The slots and links of one alternative, its ``also`` paths included."""

    slots: tuple[Slot, ...]
    links: tuple[Link, ...]
    variables: Mapping[str, int]


@dataclass(frozen=True)
class CounterPlan:
    """One ``unless`` path as seen from one branch.

    Attributes:
        slots: its new positions; their indices continue after those of the branch.
        links: its edges, which may touch slots of the branch.
        outer: the branch's slots that it names (as a step or in a predicate), ascending: new
            positions differ from these and from each other, and are free to equal any other.
        variables: the branch's names and its own.
    """

    slots: tuple[Slot, ...]
    links: tuple[Link, ...]
    outer: tuple[int, ...]
    variables: Mapping[str, int]


@dataclass(frozen=True)
class PatternPlan:
    """A pattern and, for each branch, its plan with the counter plans that may silence it."""

    pattern: Pattern
    branches: tuple[tuple[BranchPlan, tuple[CounterPlan, ...]], ...]


def plan(pattern: Pattern) -> PatternPlan:
    """Lower a validated pattern whose parameters are bound."""
    body = pattern.body
    branches = []
    for branch in body.branches:
        lowered = _branch(branch)
        branches.append((lowered, tuple(_counter(path, lowered) for path in body.unless)))
    return PatternPlan(pattern, tuple(branches))


def _branch(branch: Branch) -> BranchPlan:
    slots: list[Slot] = []
    links: list[Link] = []
    variables: dict[str, int] = {}
    for path in branch.paths:
        _lower(path, 0, slots, links, variables)
    return BranchPlan(tuple(slots), tuple(links), variables)


def _counter(path: Path, branch: BranchPlan) -> CounterPlan:
    slots: list[Slot] = []
    links: list[Link] = []
    variables = dict(branch.variables)
    _lower(path, len(branch.slots), slots, links, variables)
    outer = {branch.variables[name] for name in mentioned(path) if name in branch.variables}
    return CounterPlan(tuple(slots), tuple(links), tuple(sorted(outer)), variables)


def _lower(
    path: Path, offset: int, slots: list[Slot], links: list[Link], variables: dict[str, int]
) -> None:
    """Append the slots and links of one path; ``offset`` is the index of ``slots[0]``."""
    left: int | None = None
    for position, step in enumerate(path.steps):
        if isinstance(step, Bind):
            here = offset + len(slots)
            slots.append(_slot(step, here, left))
            if step.name is not None:
                variables[step.name] = here
        else:
            here = variables[step.name]
        if left is not None:
            links.append(Link(left, here, path.edges[position - 1]))
        left = here


def _slot(step: Bind, index: int, left: int | None) -> Slot:
    kinds = None if "ANY" in step.kinds else step.kinds
    return Slot(index, step.name, kinds, step.glob, step.run, step.where, left)
