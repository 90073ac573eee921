"""Edges between steps, for the oracle: tried walk by walk, from the table of the contract."""

from pattern.oracle_trace import PlainStep
from pattern.oracle_truth import Conditions, Named, Truth, both, opposite
from tracegraph.pattern import ast

HEURISTIC, CONTAINMENT = 4, 2


class Edges(Conditions):
    """Evaluates edges within one trace."""

    def edge(
        self, edge: ast.Edge, a: PlainStep, b: PlainStep, named: Named, exact: bool
    ) -> tuple[Truth, int]:
        """Return the truth of an edge and its evidence."""
        match edge.kind:
            case "cause":
                return self.walk(edge, a, b, named, exact)
            case "child":
                holds = b.parent is a and not (exact and b.parent_evidence > CONTAINMENT)
                return holds, b.parent_evidence
            case "descendant":
                return self.descent(edge, a, b, named, exact)
            case _:
                return self.order(edge, a, b, named), HEURISTIC

    def order(self, edge: ast.Edge, a: PlainStep, b: PlainStep, named: Named) -> Truth:
        earlier = self.before(edge.kind, a, b)
        if edge.between is None:
            return earlier
        inside = [
            both(
                [
                    self.before(edge.kind, a, c),
                    self.before(edge.kind, c, b),
                    self.stops(edge.between, c, named),
                ]
            )
            for c in self.trace.steps
        ]
        sure = sum(t is True for t in inside)
        most = sum(t is not False for t in inside)
        few: Truth = None
        if sure > edge.between.at_most:
            few = False
        elif most <= edge.between.at_most:
            few = True
        return both([earlier, few])

    def before(self, kind: str, a: PlainStep, b: PlainStep) -> Truth:
        if a is b or a in b.ancestors() or b in a.ancestors():
            return False
        if kind == "scope" and (a.scope() is not b.scope() or a.trace != b.trace):
            return False
        if self.trace.timed():
            end, start = a.fields["end"], b.fields["start"]
        else:
            end, start = a.seq, b.seq
        if end is None or start is None:
            return None
        return bool(end < start or (end == start and a.seq < b.seq))

    def stops(self, between: ast.Between, c: PlainStep, named: Named) -> Truth:
        return self.fits(between.kinds, between.glob, between.where, c, None, named)

    def descent(
        self, edge: ast.Edge, a: PlainStep, b: PlainStep, named: Named, exact: bool
    ) -> tuple[Truth, int]:
        chain = b.ancestors()
        if a not in chain:
            return False, 0
        inside = chain[: chain.index(a)]
        evidence = max(step.parent_evidence for step in (b, *inside))
        free = (
            True
            if edge.between is None
            else both(opposite(self.stops(edge.between, c, named)) for c in inside)
        )
        return both([free, not (exact and evidence > CONTAINMENT)]), evidence

    def walk(
        self, edge: ast.Edge, a: PlainStep, b: PlainStep, named: Named, exact: bool
    ) -> tuple[Truth, int]:
        """Try the strongest edges first: the first that connect give the evidence."""
        for truth in (True, None):
            for strength in range(1, (CONTAINMENT if exact else HEURISTIC) + 1):
                if self.connects(edge, a, b, named, strength, truth):
                    return truth, strength
        return False, 0

    def connects(
        self,
        edge: ast.Edge,
        a: PlainStep,
        b: PlainStep,
        named: Named,
        strength: int,
        truth: Truth,
    ) -> bool:
        """Is there a walk over edges this strong or stronger, with no worse truth inside?"""
        usable = [(c, e) for c, e, evidence in self.trace.edges if evidence <= strength]
        # A longer walk than this one repeats a step beyond the least length, so it can be cut.
        longest = edge.low + len(self.trace.steps) if edge.high is None else edge.high
        reached = {a}
        for hops in range(1, longest + 1):
            if hops > 1 and edge.between is not None:
                allowed = (True,) if truth else (True, None)
                reached = {
                    c for c in reached if opposite(self.stops(edge.between, c, named)) in allowed
                }
            reached = {e for c, e in usable if c in reached}
            if hops >= edge.low and b in reached:
                return True
        return False
