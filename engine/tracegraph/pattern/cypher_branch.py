"""One alternative of a pattern, without runs, as its two Cypher statements."""

import re
from collections.abc import Iterable, Mapping
from itertools import combinations, product
from typing import NamedTuple

from tracegraph.errors import UnsupportedPatternError
from tracegraph.pattern.ast import Between, Window
from tracegraph.pattern.cypher_edges import Edges, Part, before, below
from tracegraph.pattern.cypher_operands import TRACE, View
from tracegraph.pattern.cypher_predicates import step_truth
from tracegraph.pattern.cypher_text import (
    Aliases,
    Parameters,
    Statement,
    Truth,
    certain,
    conjunction,
    guarded,
    negation,
)
from tracegraph.pattern.facts import CorpusFacts
from tracegraph.pattern.plan import BranchPlan, CounterPlan, Link, Slot

_TRACE_FIELD = re.compile(rf"\b{TRACE}\.")


class _Bound(NamedTuple):
    """The positions that a condition can name: slots, names of their steps, slots by variable."""

    slots: Mapping[int, Slot]
    names: Mapping[int, str]
    variables: Mapping[str, int]


class BranchCompiler:
    """Compiles one branch with its counter-matches.

    Args:
        branch: the branch; none of its slots is a run.
        exact: only declared and containment edges count in it.
        window: ``within``, unless it belongs to ``having``.
        facts: the corpus that the text is for.
    """

    def __init__(
        self, branch: BranchPlan, *, exact: bool, window: Window | None, facts: CorpusFacts
    ) -> None:
        self._branch = branch
        self._exact = exact
        self._window = window
        self._facts = facts
        self._parameters = Parameters()
        self._aliases = Aliases()
        self._edges = Edges(facts, self._parameters, self._aliases)
        self._names = {slot.index: self._aliases.new("x") for slot in branch.slots}
        self._slots = {slot.index: slot for slot in branch.slots}

    @property
    def depth(self) -> int:
        """Largest bound of a walk in the statements."""
        return self._edges.depth

    def statements(self, counters: tuple[CounterPlan, ...]) -> tuple[Statement, Statement]:
        """Return the statements for the confirmed matches and for the candidates.

        Raises:
            UnsupportedPatternError: Cypher would answer wrongly, incompletely or explosively.
        """
        names = self._names
        part = Part([f"({name}:Step)" for name in names.values()])
        bound = _Bound(self._slots, names, self._branch.variables)
        local = frozenset({TRACE, *names.values()})
        self._fill(part, self._branch.slots, self._branch.links, bound, local, self._exact)
        part.truths += _one_trace(self._branch, names)
        part.truths += map(certain, _distinct(combinations(names.values(), 2)))
        if self._window is not None:
            part.truths += _within(self._window, tuple(names.values()), self._parameters)
        part.truths += [negation(self._counter(counter)) for counter in counters]
        keys = ", ".join(f"{name}._key AS k{i}" for i, name in enumerate(names.values()))
        return (
            self._statement(part, [truth.true for truth in part.truths], keys),
            self._statement(part, [truth.maybe for truth in part.truths], keys),
        )

    def _statement(self, part: Part, where: list[str], keys: str) -> Statement:
        matches = list(part.matches)
        if any(map(_TRACE_FIELD.search, where)):
            first = next(iter(self._names.values()))
            matches.append(f"({first})-[:IN_TRACE]->({TRACE}:Trace)")
        conditions = "\nWHERE " + "\n  AND ".join(where) if where else ""
        return self._parameters.statement(
            f"MATCH {', '.join(matches)}{conditions}\nRETURN DISTINCT {keys}"
        )

    def _fill(
        self,
        part: Part,
        slots: Iterable[Slot],
        links: Iterable[Link],
        bound: _Bound,
        local: frozenset[str],
        exact: bool,
    ) -> None:
        """Add the conditions of slots and the edges between them."""
        names = bound.names
        for slot in slots:
            left = None if slot.left is None else names[slot.left]
            view = self._view(names[slot.index], left, bound, local)
            part.truths += step_truth(slot.kinds, slot.glob, slot.where, view)
        for link in links:
            left_name, right_name = names[link.left], names[link.right]
            self._edges.add(link.edge, left_name, right_name, part, exact=exact)
            if link.edge.between is not None:
                part.truths.append(self._between(link.edge.between, link, bound))

    def _view(self, own: str, left: str | None, bound: _Bound, local: frozenset[str]) -> View:
        return View(own, left, *bound, local, self._facts.code, self._parameters)

    def _between(self, between: Between, link: Link, bound: _Bound) -> Truth:
        """Test ``[no ...]`` and ``[at most k ...]`` on a tree or an order edge."""
        left, right = bound.names[link.left], bound.names[link.right]
        own = self._aliases.new("z")
        if link.edge.kind == "descendant":
            inside = [
                certain(f"{own}._trace = {left}._trace"),
                certain(below(own, left)),
                certain(below(right, own)),
            ]
        else:
            inside = [before(link.edge.kind, left, own), before(link.edge.kind, own, right)]
        view = self._view(own, None, bound, frozenset({own}))
        inside += step_truth(between.kinds, between.glob, between.where, view)
        whole = conjunction(inside)
        if between.at_most == 0:
            return negation(_exists(Part([f"({own}:Step)"], [whole])))
        head = f"COUNT {{ MATCH ({own}:Step) WHERE "
        tail = f" }} <= {self._parameters.add(between.at_most)}"
        return Truth(head + whole.maybe + tail, head + whole.true + tail)

    def _counter(self, counter: CounterPlan) -> Truth:
        """Test that a counter-match exists."""
        for slot in counter.slots:
            if slot.run is not None:
                raise UnsupportedPatternError("a run in 'unless'")
        own = {slot.index: self._aliases.new("x") for slot in counter.slots}
        names = self._names | own
        slots = self._slots | {slot.index: slot for slot in counter.slots}
        part = Part([f"({name}:Step)" for name in own.values()])
        first = next(iter(self._names.values()))
        part.truths += [certain(f"{name}._trace = {first}._trace") for name in own.values()]
        outer = [self._names[index] for index in counter.outer]
        part.truths += map(certain, _distinct(combinations(own.values(), 2)))
        part.truths += map(certain, _distinct(product(own.values(), outer)))
        bound = _Bound(slots, names, counter.variables)
        self._fill(part, counter.slots, counter.links, bound, frozenset(own.values()), exact=False)
        return _exists(part) if part.matches else conjunction(part.truths)


def _exists(part: Part) -> Truth:
    whole = conjunction(part.truths) if part.truths else certain("true")
    head = f"EXISTS {{ MATCH {', '.join(part.matches)} WHERE "
    return Truth(head + whole.true + " }", head + whole.maybe + " }")


def _distinct(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{one}._key <> {other}._key" for one, other in pairs]


def _one_trace(branch: BranchPlan, names: Mapping[int, str]) -> list[Truth]:
    """Put steps that no edge joins into one trace."""
    joined = {slot.index: slot.index for slot in branch.slots}
    for link in branch.links:
        old, new = joined[link.right], joined[link.left]
        joined = {index: new if group == old else group for index, group in joined.items()}
    groups = sorted(set(joined.values()))
    return [certain(f"{names[g]}._trace = {names[groups[0]]}._trace") for g in groups[1:]]


def _within(window: Window, names: tuple[str, ...], parameters: Parameters) -> list[Truth]:
    """Bound the latest end minus the earliest start, one inequality for each ordered pair."""
    if window.steps is not None:
        most = parameters.add(window.steps)
        pairs = [pair for pair in product(names, names) if pair[0] != pair[1]]
        return [certain(f"{late}._seq - {early}._seq <= {most}") for late, early in pairs]
    most = parameters.add(window.ns)
    return [
        guarded(
            (f"{late}._end", f"{early}._start"),
            f"{late}._end - {early}._start <= {most}",
        )
        for late, early in product(names, names)
    ]
