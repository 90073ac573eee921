"""Edges between steps as Cypher: relationships to match, and conditions on the engine's columns."""

from dataclasses import dataclass, field

from tracegraph.errors import UnsupportedPatternError
from tracegraph.model.codes import CONTAINMENT, EVIDENCE
from tracegraph.pattern.ast import Edge
from tracegraph.pattern.cypher_text import Aliases, Parameters, Truth, certain, guarded
from tracegraph.pattern.facts import CorpusFacts

MAX_FIXED = 4
"""Most hops of ``->{m,n}`` that are written out edge by edge."""
DEFAULT_DEPTH = 30
"""Longest bound that the database takes without ``var_length_extend_max_depth``."""


@dataclass
class Part:
    """What one MATCH of a statement, the outer one or a subquery's, is put together from.

    Attributes:
        matches: node and relationship patterns.
        truths: conditions; all must hold.
    """

    matches: list[str] = field(default_factory=list)
    truths: list[Truth] = field(default_factory=list)


class Edges:
    """Compiles edges for one statement and notes how deep its walks go."""

    def __init__(self, facts: CorpusFacts, parameters: Parameters, aliases: Aliases) -> None:
        self.facts = facts
        self.depth = 0
        """Largest bound of a walk so far."""
        self._parameters = parameters
        self._aliases = aliases

    def add(self, edge: Edge, left: str, right: str, part: Part, *, exact: bool) -> None:
        """Add an edge, without what may lie between, to a part.

        Args:
            edge: the edge.
            left: name of the earlier step.
            right: name of the later step.
            part: takes the patterns and conditions.
            exact: only declared and containment edges count.

        Raises:
            UnsupportedPatternError: Cypher would answer wrongly or not completely.
        """
        if left == right:
            raise UnsupportedPatternError("an edge leads from a step to itself")
        match edge.kind:
            case "cause":
                self._cause(edge, left, right, part, exact)
            case "child":
                self._child(left, right, part, exact)
            case "descendant":
                part.truths.append(certain(below(right, left)))
                if exact:
                    part.truths.append(self._strong_path(left, right))
            case _:
                part.truths.append(before(edge.kind, left, right))

    def _cause(self, edge: Edge, left: str, right: str, part: Part, exact: bool) -> None:
        if edge.between is not None:
            raise UnsupportedPatternError("[no ...] on a causal walk is not exact in Cypher")
        if edge.low > MAX_FIXED:
            raise UnsupportedPatternError(
                f"a walk of at least {edge.low} edges (at most {MAX_FIXED} compile)"
            )
        fixed = edge.low if edge.high == edge.low else edge.low - 1
        if edge.low > 1 and edge.high != edge.low and self.facts.cyclic:
            raise UnsupportedPatternError(
                "a trace has a causal cycle, where a walk of 2 or more edges may return"
            )
        strongest = self._parameters.add(int(CONTAINMENT))
        path = f"({right})"
        for hop in range(fixed):
            link = self._aliases.new("r")
            last = hop == fixed - 1 and edge.high == edge.low
            target = left if last else f"{self._aliases.new('y')}:Step"
            path += f"-[{link}:CAUSED_BY]->({target})"
            if exact:
                part.truths.append(certain(f"{link}._evidence <= {strongest}"))
        if edge.high != edge.low:
            # No path has as many edges as the largest trace has steps: the bound loses nothing.
            longest = max(self.facts.largest_trace, 1)
            bound = longest if edge.high is None else min(edge.high - edge.low + 1, longest)
            self.depth = max(self.depth, bound)
            condition = f" (e, n | WHERE e._evidence <= {strongest})" if exact else ""
            path += f"-[:CAUSED_BY* SHORTEST 1..{bound}{condition}]->({left})"
        part.matches.append(path)

    def _child(self, left: str, right: str, part: Part, exact: bool) -> None:
        link = self._aliases.new("r")
        part.matches.append(f"({right})-[{link}:TREE_PARENT]->({left})")
        if exact:
            part.truths.append(certain(f"{link}.evidence IN {self._strong()}"))

    def _strong_path(self, left: str, right: str) -> Truth:
        """Test that no tree edge on the way down from ``left`` to ``right`` is weak."""
        child, link, parent = (self._aliases.new(letter) for letter in "crq")
        return certain(
            f"NOT EXISTS {{ MATCH ({child}:Step)-[{link}:TREE_PARENT]->({parent}:Step) "
            f"WHERE {child}._trace = {left}._trace AND {below(child, left)} "
            f"AND {at_or_below(right, child)} AND NOT {link}.evidence IN {self._strong()} }}"
        )

    def _strong(self) -> str:
        return self._parameters.add(EVIDENCE[1 : CONTAINMENT + 1])


def before(kind: str, left: str, right: str) -> Truth:
    """Test ``left ~> right`` (kind ``scope``) or ``left ~>> right`` (kind ``trace``)."""
    place = [f"{left}._key <> {right}._key", f"{left}._trace = {right}._trace"]
    if kind == "scope":
        place.append(f"{left}._scope = {right}._scope")
    place += [f"NOT ({below(right, left)})", f"NOT ({below(left, right)})"]
    order = guarded(
        (f"{left}._o1", f"{right}._o0"),
        f"({left}._o1 < {right}._o0 OR ({left}._o1 = {right}._o0 AND {left}._seq < {right}._seq))",
    )
    where = " AND ".join(place)
    return Truth(f"({where} AND {order.true})", f"({where} AND {order.maybe})")


def below(lower: str, upper: str) -> str:
    """Test that one step is a tree descendant of another."""
    return f"{lower}._pre > {upper}._pre AND {lower}._pre <= {upper}._last"


def at_or_below(lower: str, upper: str) -> str:
    """Test that one step is another or its tree descendant."""
    return f"{lower}._pre >= {upper}._pre AND {lower}._pre <= {upper}._last"
