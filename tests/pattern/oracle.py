"""A brute-force evaluator of patterns, written from the contract alone.

It tries every assignment of every position over tiny traces, in plain Python, and reads the syntax
tree itself: it shares no code with the plan, the matcher, the compiler or the finishing pass.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from pattern.oracle_edges import HEURISTIC, Edges
from pattern.oracle_runs import Line, blocks
from pattern.oracle_trace import PlainStep, PlainTrace, Value, in_sessions, plain
from pattern.oracle_truth import (
    Named,
    Position,
    Truth,
    both,
    compare,
    either,
    minus,
    opposite,
)
from tracegraph.model.columns import Columns
from tracegraph.pattern import ast


@dataclass(frozen=True)
class Answer:
    """A match.

    Attributes:
        trace: index of the trace of its first step.
        unit: number of what is read as one trace.
        places: place of the steps of each position in that.
        steps: (name of the position, place in its run or None, row) of each step.
        certain: whether it is confirmed.
        evidence: code, 0 without edges.
        start: start of the first step.
        by: values of the ``having`` fields.
        values: returned values by label.
    """

    trace: int
    unit: int
    places: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[str | None, int | None, int], ...]
    certain: bool
    evidence: int
    start: int | None
    by: tuple[Value, ...]
    values: dict[str, Value]


def matches(pattern: ast.Pattern, columns: Columns) -> list[Answer]:
    """Return all matches in order, before ``having``."""
    found: list[Answer] = []
    for number, trace in enumerate(units(pattern, columns)):
        best: dict[tuple[tuple[int, ...], ...], Answer] = {}
        for branch in pattern.body.branches:
            for answer in _Search(pattern, branch, trace, number).answers():
                old = best.get(answer.places)
                if old is None or _worth(answer) < _worth(old):
                    best[answer.places] = answer
        found += sorted(best.values(), key=lambda answer: answer.places)
    return found


def units(pattern: ast.Pattern, columns: Columns) -> list[PlainTrace]:
    """Return what the pattern reads as one trace each."""
    traces = plain(columns)
    return in_sessions(traces) if pattern.scope == "session" else traces


def _worth(answer: Answer) -> tuple[bool, int]:
    return (not answer.certain, answer.evidence)


class _Search(Edges):
    def __init__(
        self, pattern: ast.Pattern, branch: ast.Branch, trace: PlainTrace, unit: int
    ) -> None:
        self.body = pattern.body
        self.exact = pattern.confidence == "exact"
        self.branch = branch
        super().__init__(trace)
        self.unit = unit

    def answers(self) -> Iterator[Answer]:
        for positions, named, matched, evidence in self.assignments(
            self.branch.paths, [], {}, self.exact
        ):
            truth = both([matched, self.within(positions), self.silence(named)])
            if truth is not False:
                yield self.answer(positions, named, truth is True, evidence or 0)

    def answer(
        self, positions: list[Position], named: Named, certain: bool, evidence: int
    ) -> Answer:
        binds = [s for path in self.branch.paths for s in path.steps if isinstance(s, ast.Bind)]
        own = positions[0][0]  # bare fields stand in patterns of one position only
        having = self.body.having
        return Answer(
            trace=own.trace,
            unit=self.unit,
            places=tuple(tuple(step.seq for step in position) for position in positions),
            steps=tuple(
                (bind.name, None if bind.run is None else place, step.row)
                for bind, position in zip(binds, positions, strict=True)
                for place, step in enumerate(position)
            ),
            certain=certain,
            evidence=evidence,
            start=own.fields["start"],
            by=tuple(self.value(by, own, None, named) for by in having.by) if having else (),
            values={i.label: self.value(i.operand, own, None, named) for i in self.body.returns},
        )

    def silence(self, named: Named) -> Truth:
        """Truth of: no counter-match holds."""
        return both(opposite(self.counter(path, named)) for path in self.body.unless)

    def counter(self, path: ast.Path, named: Named) -> Truth:
        mentioned = {name for name in _names(path) if name in named}
        taken = [named[name] for name in sorted(mentioned)]
        return either(
            truth for _, _, truth, _ in self.assignments((path,), taken, named, exact=False)
        )

    def assignments(
        self,
        paths: tuple[ast.Path, ...],
        taken: list[Position],
        named: Named,
        exact: bool,
    ) -> Iterator[tuple[list[Position], Named, Truth, int | None]]:
        """Yield every assignment that is not false: new positions, names, truth, evidence."""
        steps: list[tuple[ast.Step, ast.Edge | None]] = []
        for path in paths:
            steps += zip(path.steps, (None, *path.edges), strict=True)

        def extend(
            at: int,
            left: Position | None,
            own: list[Position],
            names: Named,
            truth: Truth,
            evidence: int | None,
        ) -> Iterator[tuple[list[Position], Named, Truth, int | None]]:
            if at == len(steps):
                yield own, names, truth, evidence
                return
            step, edge = steps[at]
            before = left if edge is not None else None
            if isinstance(step, ast.Ref):
                choices: Iterable[tuple[Position, Truth]] = [(names[step.name], True)]
            else:
                choices = self.choices(step, before, names)
            for position, fits in choices:
                here, below = names, own
                strength = evidence
                if isinstance(step, ast.Bind):
                    used = {s.row for p in (*taken, *own) for s in p}
                    if used & {s.row for s in position}:
                        continue
                    below = [*own, position]
                    if step.name is not None:
                        here = {**names, step.name: position}
                    if step.run is not None:
                        strength = HEURISTIC
                joined: Truth = True
                if edge is not None and before is not None:
                    joined, weight = self.edge(edge, before[-1], position[0], names, exact)
                    strength = _weaker(strength, weight)
                now = both([truth, fits, joined])
                if now is not False:
                    yield from extend(at + 1, position, below, here, now, strength)

        yield from extend(0, None, [], named, True, None)

    # ------------------------------------------------------------ positions

    def choices(
        self, step: ast.Bind, left: Position | None, named: Named
    ) -> Iterator[tuple[Position, Truth]]:
        previous = None if left is None else left[-1]
        if step.run is None:
            for candidate in self.trace.steps:
                truth = self.fits(step.kinds, step.glob, step.where, candidate, previous, named)
                if truth is not False:
                    yield (candidate,), truth
            return
        line = [s for s in self.trace.steps if "ANY" in step.kinds or s.kind in step.kinds]
        for group in _grouped(line, step.run.per):
            values = [tuple(s.fields[f] for f in step.run.same) for s in group]
            truths = [self.fits(("ANY",), step.glob, step.where, s, previous, named) for s in group]
            for low, high, certain in blocks(
                Line(values, truths), step.run.minimum, step.run.period
            ):
                yield tuple(group[low:high]), True if certain else None

    def within(self, positions: list[Position]) -> Truth:
        window = self.body.within
        if window is None or self.body.having is not None:
            return True
        steps = [step for position in positions for step in position]
        if window.steps is not None:
            return max(s.seq for s in steps) - min(s.seq for s in steps) <= window.steps
        return both(
            compare("<=", minus(late.fields["end"], early.fields["start"]), window.ns)
            for late, early in product(steps, steps)
        )


def _weaker(one: int | None, other: int) -> int:
    return other if one is None else max(one, other)


def _grouped(line: list[PlainStep], per: str | None) -> list[list[PlainStep]]:
    groups: dict[Any, list[PlainStep]] = {}
    for step in line:
        key: Any = None
        if per == "agent":
            key = step.fields["agent"]
        elif per is not None:  # outside of any step it is the trace that holds a step
            holder = step.scope() if per == "scope" else step.parent
            key = (step.trace, None if holder is None else holder.row)
        groups.setdefault(key, []).append(step)
    return list(groups.values())


def _names(node: Any) -> Iterator[str]:
    if isinstance(node, ast.Ref):
        yield node.name
    if isinstance(node, ast.Of | ast.OfEnd | ast.RunCount | ast.AttrOf):
        yield node.var
    if isinstance(node, tuple):
        for item in node:
            yield from _names(item)
    elif isinstance(node, ast.Node):
        for field in node.__struct_fields__:
            yield from _names(getattr(node, field))
