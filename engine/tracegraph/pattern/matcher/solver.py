"""All assignments of a branch, or of a counter-match to given lines, that are not false."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tracegraph.model.columns import Ints, Mask
from tracegraph.pattern.ast import Edge
from tracegraph.pattern.embedder import Embedder
from tracegraph.pattern.filters import shares
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.matcher.candidates import (
    EMPTY_RUNS,
    NO_STEPS,
    Candidates,
    Conditions,
    conditions_of,
    runs_for,
    steps_for,
)
from tracegraph.pattern.matcher.ends import Ends, Join
from tracegraph.pattern.matcher.existence import LISTED, anywhere, best_of
from tracegraph.pattern.matcher.links import UnitJoin, join_of
from tracegraph.pattern.matcher.parts import Part, Parts
from tracegraph.pattern.matcher.planner import Bind, Check, Task, Wants, tasks_for
from tracegraph.pattern.matcher.table import Table
from tracegraph.pattern.operands import Frame, slots_of
from tracegraph.pattern.plan import Link, Slot
from tracegraph.pattern.rows import overlap
from tracegraph.pattern.truth import FALSE, TRUE, Truth

ANYWHERE = Edge("trace")


@dataclass(slots=True)
class Problem:
    """Slots to bind and links to hold.

    Attributes:
        slots: the slots to bind.
        links: the links between them and the bound ones.
        variables: slot of each name.
        exact: only declared and containment edges count.
        bound: slots that are bound already, with what fills them.
        apart: bound slots whose steps new ones must not repeat.
    """

    slots: tuple[Slot, ...]
    links: tuple[Link, ...]
    variables: Mapping[str, int]
    exact: bool
    bound: dict[int, tuple[Slot, Candidates]] = field(default_factory=dict)
    apart: tuple[int, ...] = ()


def _numbers(chosen: slice) -> Ints:
    return np.arange(chosen.start, chosen.stop)


def _explodes(edge: Edge) -> bool:
    """Tell whether a step may have so many partners along an edge that equal fields prune first."""
    return edge.kind in ("scope", "trace") or (edge.kind == "cause" and edge.high != 1)


class Solver:
    """Finds the assignments of one problem."""

    def __init__(self, problem: Problem, ground: Ground, embedder: Embedder | None) -> None:
        self._problem, self._ground = problem, ground
        self.slots: dict[int, Slot] = {s: slot for s, (slot, _) in problem.bound.items()}
        self.slots |= {slot.index: slot for slot in problem.slots}
        self.candidates: dict[int, Candidates] = {
            slot.index: NO_STEPS if slot.run is None else EMPTY_RUNS for slot in problem.slots
        }
        self.candidates |= {s: found for s, (_, found) in problem.bound.items()}
        lefts = {index: slot.left for index, slot in self.slots.items()}
        self._base = Frame(
            ground.columns,
            ground.texts,
            variables=problem.variables,
            lefts=lefts,
            embedder=embedder,
        )
        self._conditions: dict[int, Conditions] = {
            slot.index: conditions_of(slot, self.slots, problem.variables) for slot in problem.slots
        }
        crossing = [
            Part(expr, slot, named)
            for slot in problem.slots
            if slot.run is None
            for expr, named in self._conditions[slot.index].others
        ]
        self._parts = Parts(crossing, self.slots, self.candidates, self._base)

    def solve(self, table: Table) -> Iterator[Table]:
        """Yield the assignments that extend some lines, a bounded number at once."""
        tasks = self._tasks(table)
        if tasks is not None:
            yield from self._run(table, tasks)

    def best(self, table: Table) -> Truth:
        """Return for each line the truth of the best assignment that extends it."""
        best = np.full(len(table), FALSE, dtype=np.int8)
        tasks = self._tasks(table)
        if tasks is None:
            return best
        for part in self._run(table, tasks[:-1]):
            open_ = part.take(best[part.origin] != TRUE)
            found = self._existence(open_, tasks[-1])
            if found is not None:
                told = found != LISTED
                np.maximum.at(best, open_.origin, np.minimum(found, open_.truth))
                open_ = open_.take(~told)
            for extended in self._run(open_, tasks[-1:]):
                np.maximum.at(best, extended.origin, extended.truth)
        return best

    def _existence(self, table: Table, task: Task) -> Truth | None:
        """Return the truth of the best item of the last slot, if that need not be listed."""
        if not isinstance(task, Bind) or self.slots[task.slot].run is not None:
            return None
        slot, link = task.slot, task.link
        new = {s.index for s in self._problem.slots} | set(self._problem.apart)
        different = sorted(new & table.items.keys())
        if len(different) != 1 or self.slots[different[0]].run is not None:
            return None
        parts = self._parts.ready(slot, table)
        chosen = slice(0, len(self.candidates[slot]))
        keys = self._parts.keys(parts, table, slot, _numbers(chosen))
        if len(keys) < len(parts):
            return None
        truth = self.candidates[slot].truth
        if link is None:
            ends = replace(self._apart_ends(table, different[0], slot, chosen), keys=keys)
            return anywhere(ends, truth, self._ground)
        other = link.left if link.right == slot else link.right
        if other != different[0] or link.edge.between is not None:
            return None
        ends = replace(self._ends(table, link, slot, chosen), keys=keys)
        return best_of(ends, truth, self._ground)

    def _tasks(self, table: Table) -> list[Task] | None:
        """Find what may fill the slots and plan the work; None where a slot stays empty."""
        runs_in_need = {
            slot.index: frozenset().union(*(n for _, n in self._conditions[slot.index].others))
            for slot in self._problem.slots
            if slot.run is not None
        }
        for slot in self._problem.slots:
            found = self._alone(slot, bool(runs_in_need.get(slot.index)))
            self.candidates[slot.index] = found
            if not len(found) and not runs_in_need.get(slot.index):
                return None
        wants = Wants({link: self._named_by(link) for link in self._problem.links}, runs_in_need)
        return tasks_for(
            [slot.index for slot in self._problem.slots],
            self._problem.links,
            table.items,
            wants,
            {slot: len(found) for slot, found in self.candidates.items()},
        )

    def _alone(self, slot: Slot, in_need: bool) -> Candidates:
        if slot.run is None:
            own = self._conditions[slot.index].own
            return steps_for(slot, own, self._base, self._ground)
        if in_need:
            return EMPTY_RUNS
        return runs_for(slot, self._base, self._ground)

    def _named_by(self, link: Link) -> frozenset[int]:
        between = link.edge.between
        where = None if between is None else between.where
        return frozenset(slots_of(where, None, self.slots, self._problem.variables))

    def _run(self, table: Table, tasks: list[Task]) -> Iterator[Table]:
        if not len(table):
            return
        if not tasks:
            yield table
            return
        task, rest = tasks[0], tasks[1:]
        if isinstance(task, Check):
            yield from self._run(self._checked(table, task.link), rest)
            return
        for extended in self._bound(table, task):
            yield from self._run(extended, rest)

    # ------------------------------------------------------------ one task

    def _checked(self, table: Table, link: Link) -> Table:
        left = self.candidates[link.left].exit[table.items[link.left]]
        right = self.candidates[link.right].entry[table.items[link.right]]
        frame = self._parts.frame(table, self._named_by(link))
        ends = Ends(link.edge, self._problem.exact, left, right, True, frame)
        return table.also(join_of(ends, self._ground).truth(np.arange(len(table)), right))

    def _bound(self, table: Table, task: Bind) -> Iterator[Table]:
        slot = self.slots[task.slot]
        if not table.items:
            found = self.candidates[slot.index]
            everything = np.arange(len(found))
            yield Table({slot.index: everything}, found.truth, np.zeros_like(everything))
            return
        needed = self._conditions[slot.index].others if slot.run is not None else []
        if not needed:
            yield from self._joined(table, task, slice(0, len(self.candidates[slot.index])))
            return
        frame = self._parts.frame(table, frozenset().union(*(named for _, named in needed)))
        if slot.left is not None and slot.left in frame.slots:
            left = self.candidates[slot.left].exit[table.items[slot.left]]
            frame = replace(frame, left=left)
        for share in shares([part for part, _ in needed], frame, np.arange(len(table))):
            old = self.candidates[slot.index]
            new = old.joined(runs_for(slot, frame, self._ground, int(share[0])))
            self.candidates[slot.index] = new
            yield from self._joined(table.take(share), task, slice(len(old), len(new)))

    def _joined(self, table: Table, task: Bind, chosen: slice) -> Iterator[Table]:
        """Bind some of a slot's items to all lines that they fit."""
        slot, link = task.slot, task.link
        parts = self._parts.ready(slot, table)
        if link is None:
            ends = self._apart_ends(table, next(iter(table.items)), slot, chosen)
            ends = replace(ends, keys=self._parts.keys(parts, table, slot, _numbers(chosen)))
            join: Join = UnitJoin(ends, self._ground)
        else:
            ends = self._ends(table, link, slot, chosen)
            if _explodes(link.edge):
                ends = replace(ends, keys=self._parts.keys(parts, table, slot, _numbers(chosen)))
            join = join_of(ends, self._ground)
        for spans in join.spans():
            for line, item, truth in spans.blocks():
                yield self._admitted(table, slot, parts, join, ends, line, item, truth, chosen)

    def _ends(self, table: Table, link: Link, slot: int, chosen: slice) -> Ends:
        forward = link.right == slot
        other = link.left if forward else link.right
        bound, found = self.candidates[other], self.candidates[slot]
        near = (bound.exit if forward else bound.entry)[table.items[other]]
        far = (found.entry if forward else found.exit)[chosen]
        frame = self._parts.frame(table, self._named_by(link))
        return Ends(link.edge, self._problem.exact, near, far, forward, frame)

    def _apart_ends(self, table: Table, other: int, slot: int, chosen: slice) -> Ends:
        """Return the ends of no link: a bound slot, and one that may lie anywhere in the unit."""
        near = self.candidates[other].entry[table.items[other]]
        far = self.candidates[slot].entry[chosen]
        return Ends(ANYWHERE, False, near, far, True, self._base)

    def _admitted(
        self,
        table: Table,
        slot: int,
        parts: list[Part],
        join: Join,
        ends: Ends,
        line: Ints,
        item: Ints,
        truth: Truth | None,
        chosen: slice,
    ) -> Table:
        """Keep the pairs of a line and an item for which nothing is false."""
        far = ends.far[item]
        item = item + chosen.start
        found = self.candidates[slot]
        apart = self._apart(table, slot, line, item)
        line, item, far = line[apart], item[apart], far[apart]
        both = np.minimum(table.truth[line], found.truth[item])
        if truth is not None:
            both = np.minimum(both, truth[apart])
        for part in parts:
            both = np.minimum(both, self._parts.truth(part, table, slot, line, item))
            kept = np.flatnonzero(both)
            line, item, far, both = line[kept], item[kept], far[kept], both[kept]
        if not join.settled:
            both = np.minimum(both, join.truth(line, far))
            kept = np.flatnonzero(both)
            line, item, both = line[kept], item[kept], both[kept]
        return table.take(line).bound(slot, item, both)

    # ------------------------------------------------------------ different steps

    def _apart(self, table: Table, slot: int, line: Ints, item: Ints) -> Mask:
        """Tell which items hold none of the steps that the line must not repeat."""
        apart = np.ones(len(line), dtype=bool)
        new = {s.index for s in self._problem.slots} | set(self._problem.apart)
        for other, items in table.items.items():
            if other in new:
                one = self.candidates[slot].column(item)
                apart &= ~overlap(one, self.candidates[other].column(items[line]))
        return apart
