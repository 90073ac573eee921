"""The finishing pass: from bindings, whichever backend found them, to the answer.

It adds the possible runs that Cypher leaves out, applies ``within``, weighs evidence, unites equal
tuples of all branches, sets aside what cannot be evaluated, forms the rows of ``having`` and reads
the returned values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.model.columns import Columns, Ints, Mask
from tracegraph.pattern.ast import Field, Of, Operand
from tracegraph.pattern.embedder import Embedder
from tracegraph.pattern.evidence import evidence_of
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.identity import place_keys
from tracegraph.pattern.matcher.candidates import runs_for
from tracegraph.pattern.needs import lacking
from tracegraph.pattern.operands import Frame, Values, values_of
from tracegraph.pattern.plan import BranchPlan, PatternPlan
from tracegraph.pattern.result import MatchSet, Position, Value, decode
from tracegraph.pattern.rows import Rows, RunColumn, pooled
from tracegraph.pattern.spans import Spans, compact
from tracegraph.pattern.truth import FALSE, TRUE, UNKNOWN, Truth
from tracegraph.pattern.windows import rows_of, within


def finish(
    plan: PatternPlan,
    rows_by_branch: Sequence[Rows],
    columns: Columns,
    units: Ints | None = None,
    *,
    confirmed_runs_only: bool = False,
    embedder: Embedder | None = None,
) -> MatchSet:
    """Turn the bindings of all branches into the answer.

    Args:
        plan: the pattern.
        rows_by_branch: one entry per branch.
        columns: where the rows point.
        units: unit of each trace in session scope, else None.
        confirmed_runs_only: the backend found no possible runs; they are added.
        embedder: what ``similar()`` asks.
    """
    return _Finish(plan, columns, units, embedder).answer(rows_by_branch, confirmed_runs_only)


@dataclass(frozen=True, slots=True)
class _Branch:
    """The bindings of a branch that are not false."""

    plan: BranchPlan
    rows: Rows
    evidence: Ints
    frame: Frame


@dataclass(frozen=True, slots=True)
class _Listing:
    """The distinct matches of all branches, in order."""

    branch: Ints
    at: Ints
    trace: Ints
    unit: Ints
    certain: Mask
    evidence: Ints

    def take(self, index: Ints | Mask) -> "_Listing":
        return _Listing(
            self.branch[index],
            self.at[index],
            self.trace[index],
            self.unit[index],
            self.certain[index],
            self.evidence[index],
        )


class _Finish:
    def __init__(
        self, plan: PatternPlan, columns: Columns, units: Ints | None, embedder: Embedder | None
    ) -> None:
        self._plan, self._columns, self._embedder = plan, columns, embedder
        self._ground = Ground(columns, units)
        self._branches: list[_Branch] = []

    def answer(self, rows_by_branch: Sequence[Rows], confirmed_runs_only: bool) -> MatchSet:
        pattern = self._plan.pattern
        for (branch, _), rows in zip(self._plan.branches, rows_by_branch, strict=True):
            completed = rows
            if confirmed_runs_only and branch.slots[0].run is not None:
                completed = self._with_possible_runs(branch, rows)
            self._branches.append(self._weighed(branch, completed))
        listing = self._united()
        missing: tuple[tuple[int, tuple[str, ...]], ...] = ()
        if pattern.needs:
            lacks, usable = lacking(pattern.needs, self._ground)
            listing = listing.take(usable[listing.unit])
            missing = tuple(sorted(lacks.items()))
        if pattern.body.having is not None:
            return self._counted(listing, missing)
        values = {item.label: self._values(item.operand, listing) for item in pattern.body.returns}
        return MatchSet(
            self._columns,
            listing.trace,
            listing.certain,
            listing.evidence,
            missing,
            {label: found.type for label, found in values.items()},
            lambda number: self._steps(listing, number),
            None,
            lambda number: self._decoded(values, number),
        )

    # ------------------------------------------------------------ one branch

    def _frame(self, branch: BranchPlan, rows: Rows) -> Frame:
        return Frame(
            self._columns,
            self._ground.texts,
            slots={slot.index: rows.columns[slot.index] for slot in branch.slots},
            variables=branch.variables,
            lefts={slot.index: slot.left for slot in branch.slots},
            embedder=self._embedder,
        )

    def _with_possible_runs(self, branch: BranchPlan, rows: Rows) -> Rows:
        (slot,), (column,) = branch.slots, rows.columns
        assert isinstance(column, RunColumn)
        found = runs_for(slot, self._frame(branch, rows), self._ground)
        assert found.pool is not None
        possible = np.flatnonzero(found.truth != TRUE)
        which = np.r_[column.which, possible + len(column.pool)]
        both = RunColumn(which, pooled([column.pool, found.pool]))
        return Rows((both,), np.r_[rows.certain, np.zeros(len(possible), dtype=bool)])

    def _weighed(self, branch: BranchPlan, rows: Rows) -> _Branch:
        """Apply ``within`` and add evidence."""
        body = self._plan.pattern.body
        if body.within is not None and body.having is None:
            truth: Truth = np.minimum(
                np.where(rows.certain, TRUE, UNKNOWN), within(body.within, rows, self._columns)
            )
            kept = truth != FALSE
            rows = replace(rows.take(kept), certain=truth[kept] == TRUE)
        frame = self._frame(branch, rows)
        exact = self._plan.pattern.confidence == "exact"
        evidence = evidence_of(branch, rows, self._ground, frame, exact=exact)
        return _Branch(branch, rows, evidence, frame)

    # ------------------------------------------------------------ all branches

    def _united(self) -> _Listing:
        """Put the branches together; of equal tuples the better certainty, then evidence, stays."""
        branches = self._branches
        sizes = [len(branch.rows) for branch in branches]
        first = np.concatenate([branch.rows.entry(0) for branch in branches])
        listing = _Listing(
            np.repeat(np.arange(len(branches)), sizes),
            np.concatenate([np.arange(size) for size in sizes]),
            self._ground.trace_of(first),
            self._ground.unit_of(first),
            np.concatenate([branch.rows.certain for branch in branches]),
            np.concatenate([branch.evidence for branch in branches]),
        )
        keys = [
            place_keys([branch.rows for branch in branches], position)
            for position in range(max(len(branch.plan.slots) for branch in branches))
        ]
        order = np.lexsort((listing.evidence, ~listing.certain, *reversed(keys)))
        new = np.ones(len(order), dtype=bool)
        new[1:] = np.logical_or.reduce([np.diff(key[order]) != 0 for key in keys])
        return listing.take(order[new])

    def _steps(self, listing: _Listing, number: int) -> tuple[Position, ...]:
        branch = self._branches[int(listing.branch[number])]
        at = int(listing.at[number])
        steps: list[Position] = []
        for slot in branch.plan.slots:
            column = branch.rows.columns[slot.index]
            if isinstance(column, RunColumn):
                members = column.pool.of(int(column.which[at])).tolist()
                steps += [Position(slot.var, index, row) for index, row in enumerate(members)]
            else:
                steps.append(Position(slot.var, None, int(column[at])))
        return tuple(steps)

    # ------------------------------------------------------------ values

    def _values(self, operand: Operand, listing: _Listing) -> Values:
        """Return an operand on every match."""
        found = [values_of(operand, branch.frame) for branch in self._branches]
        if len(found) == 1:
            return found[0].take(listing.at)
        begins = np.cumsum([0, *(len(values.data) for values in found)])
        whole = Values(
            found[0].type,
            np.concatenate([values.data for values in found]),
            np.concatenate([values.known for values in found]),
        )
        return whole.take(begins[listing.branch] + listing.at)

    def _decoded(self, values: dict[str, Values], number: int) -> dict[str, Value]:
        return {label: decode(found, number, self._columns) for label, found in values.items()}

    # ------------------------------------------------------------ having

    def _counted(
        self, listing: _Listing, missing: tuple[tuple[int, tuple[str, ...]], ...]
    ) -> MatchSet:
        body = self._plan.pattern.body
        assert body.having is not None
        by = {operand: self._values(operand, listing) for operand in body.having.by}
        keys = list(by.values())
        time, ns = None, 0
        if body.within is not None:
            time, ns = self._times(listing), body.within.ns or 0
        group = _groups(listing.unit, keys)
        rows = rows_of(
            group,
            _joinable(listing.unit, group, keys),
            listing.certain,
            body.having.minimum,
            time,
            ns,
        )
        rows.sort(key=lambda row: (row.members.tolist(), row.of))
        first = np.array([row.members[0] for row in rows], dtype=np.int64)
        of = np.array([row.of for row in rows], dtype=np.int64)
        values = {item.label: by[_by(item.operand)].take(of) for item in body.returns}
        return MatchSet(
            self._columns,
            listing.trace[first],
            np.array([row.certain for row in rows], dtype=bool),
            np.array([listing.evidence[row.members].max() for row in rows], dtype=np.int64),
            missing,
            {label: found.type for label, found in values.items()},
            lambda number: (),
            lambda number: tuple(
                self._steps(listing, member) for member in rows[number].members.tolist()
            ),
            lambda number: self._decoded(values, number),
        )

    def _times(self, listing: _Listing) -> Ints:
        """Return where matches slide: the start of their first position."""
        first = np.concatenate([branch.rows.entry(0) for branch in self._branches])
        begins = np.cumsum([0, *(len(branch.rows) for branch in self._branches)])
        starts: Ints = self._columns.steps.start[first[begins[listing.branch] + listing.at]]
        return starts


def _by(operand: Operand) -> Field | Of:
    assert isinstance(operand, Field | Of)
    return operand


def _groups(unit: Ints, keys: Sequence[Values]) -> Ints:
    """Number the tuples of unit and by-values, -1 where a by-value is unknown."""
    group = np.full(len(unit), -1, dtype=np.int64)
    told = np.logical_and.reduce([values.known for values in keys])
    data = [values.data[told] for values in keys]
    group[told] = compact((unit[told], unit[:0]), *((d, d[:0]) for d in data))[0]
    return group


def _joinable(unit: Ints, group: Ints, keys: Sequence[Values]) -> tuple[Ints, Ints]:
    """Return pairs of a match with an unknown by-value and a group that it could join."""
    open_, told = np.flatnonzero(group < 0), np.flatnonzero(group >= 0)
    _, of = np.unique(group[told], return_index=True)
    of = told[of]  # a match of each group
    of = of[np.argsort(unit[of], kind="stable")]
    low = np.searchsorted(unit[of], unit[open_], side="left")
    high = np.searchsorted(unit[of], unit[open_], side="right")
    matches, groups = [open_[:0]], [open_[:0]]
    for line, model, _ in Spans(open_, low, high, of).blocks():
        fits = np.ones(len(line), dtype=bool)
        for values in keys:
            fits &= ~values.known[line] | (values.data[line] == values.data[model])
        matches.append(line[fits])
        groups.append(group[model[fits]])
    return np.concatenate(matches), np.concatenate(groups)
