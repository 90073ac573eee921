"""The reference backend: patterns matched on columns with NumPy, every construct of the language.

Bindings grow slot by slot along links, all lines of all traces at once; a counter-match is sought
for the distinct tuples of steps that it names.
"""

from collections.abc import Iterator

import numpy as np

from tracegraph.errors import UnsupportedPatternError
from tracegraph.model.columns import Columns, Ints
from tracegraph.pattern.ast import Similar
from tracegraph.pattern.embedder import Embedder
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.matcher.solver import Problem, Solver
from tracegraph.pattern.matcher.table import Table, lines
from tracegraph.pattern.operands import slots_of
from tracegraph.pattern.plan import BranchPlan, CounterPlan, PatternPlan
from tracegraph.pattern.rows import Rows
from tracegraph.pattern.truth import TRUE, Truth
from tracegraph.pattern.walk import nodes

__all__ = ["match_rows"]


def match_rows(
    plan: PatternPlan,
    columns: Columns,
    units: Ints | None = None,
    embedder: Embedder | None = None,
) -> list[Rows]:
    """Find the bindings of every branch of a pattern.

    Args:
        plan: the pattern.
        columns: whole traces; in session scope those of :func:`tracegraph.pattern.session.gather`.
        units: unit of each trace in session scope, else None.
        embedder: what ``similar()`` asks.

    Returns:
        One entry per branch, ``within`` and ``having`` not yet applied.

    Raises:
        UnsupportedPatternError: ``similar()`` without an embedder.
    """
    if embedder is None and any(isinstance(node, Similar) for node in nodes(plan.pattern)):
        raise UnsupportedPatternError("similar() needs an embedder, and this version ships none")
    ground = Ground(columns, units)
    exact = plan.pattern.confidence == "exact"
    return [
        _branch(branch, counters, exact, ground, embedder) for branch, counters in plan.branches
    ]


def _branch(
    branch: BranchPlan,
    counters: tuple[CounterPlan, ...],
    exact: bool,
    ground: Ground,
    embedder: Embedder | None,
) -> Rows:
    solver = Solver(Problem(branch.slots, branch.links, branch.variables, exact), ground, embedder)
    table = _whole(solver.solve(lines(1)), [slot.index for slot in branch.slots])
    for counter in counters:
        silenced = _counter(counter, branch, table, solver, ground, embedder)
        table = table.also((TRUE - silenced).astype(np.int8))
    columns = tuple(
        solver.candidates[slot.index].column(table.items[slot.index]) for slot in branch.slots
    )
    return Rows(columns, table.truth == TRUE)


def _counter(
    counter: CounterPlan,
    branch: BranchPlan,
    table: Table,
    solver: Solver,
    ground: Ground,
    embedder: Embedder | None,
) -> Truth:
    """Return for each line the truth of the best counter-match."""
    if not len(table):
        return np.zeros(0, dtype=np.int8)
    read = sorted({*counter.outer, *_lefts_read(counter, branch)})
    named = np.stack([table.items[slot] for slot in read])
    distinct, line = np.unique(named, axis=1, return_inverse=True)
    start = lines(distinct.shape[1])
    items = dict(zip(read, distinct, strict=True))
    problem = Problem(
        counter.slots,
        counter.links,
        counter.variables,
        exact=False,
        bound={slot: (branch.slots[slot], solver.candidates[slot]) for slot in read},
        apart=counter.outer,
    )
    best = Solver(problem, ground, embedder).best(Table(items, start.truth, start.origin))
    return best[line.reshape(-1)]


def _lefts_read(counter: CounterPlan, branch: BranchPlan) -> set[int]:
    """Return the slots left of those whose ``gap`` a counter-match reads."""
    slots = {slot.index: slot for slot in (*branch.slots, *counter.slots)}
    conditions = [slot.where for slot in counter.slots]
    conditions += [link.edge.between.where for link in counter.links if link.edge.between]
    named = set().union(*(slots_of(c, None, slots, counter.variables) for c in conditions))
    return {slot for slot in named if slot < len(branch.slots)}


def _whole(parts: Iterator[Table], slots: list[int]) -> Table:
    """Put blocks of lines together."""
    tables = list(parts)
    none = np.zeros(0, dtype=np.int64)
    return Table(
        {slot: np.concatenate([none, *(t.items[slot] for t in tables)]) for slot in slots},
        np.concatenate([none.astype(np.int8), *(t.truth for t in tables)]),
        np.concatenate([none, *(t.origin for t in tables)]),
    )
