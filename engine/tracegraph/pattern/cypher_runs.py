"""Confirmed runs as Cypher: by position minus rank, without any self-join."""

from tracegraph.errors import UnsupportedPatternError
from tracegraph.model.codes import KIND_CODE
from tracegraph.pattern.ast import Field, Run
from tracegraph.pattern.cypher_operands import TRACE, View, side
from tracegraph.pattern.cypher_predicates import step_truth
from tracegraph.pattern.cypher_text import Parameters, Statement
from tracegraph.pattern.facts import CorpusFacts
from tracegraph.pattern.plan import BranchPlan, Slot

_GROUPS = {None: "s._trace", "scope": "s._scope", "parent": "s._parent", "agent": "s._agent"}
_ROW = 1 << 32
"""A key is ``segment * 2^32 + row``; a rank and a row share one integer in the same way."""


def run_statement(branch: BranchPlan, facts: CorpusFacts) -> Statement:
    """Compile a branch that is one run.

    The steps of the kinds are lined up by group and numbered; those that satisfy the run are
    numbered again per tuple of ``same`` values; where both numbers advance together, neighbours in
    the line follow each other, so their difference names the block.

    Returns:
        A statement with the columns ``first`` (key of the first member) and ``member``.

    Raises:
        UnsupportedPatternError: the run is not one that grouping finds.
    """
    (slot,) = branch.slots
    run = slot.run
    if run is None or run.period is not None:
        raise UnsupportedPatternError("a run with a period")
    parameters = Parameters()
    view = View(
        "s", None, {0: slot}, {}, branch.variables, frozenset({"s", TRACE}), facts.code, parameters
    )
    members = [truth.true for truth in step_truth(None, slot.glob, slot.where, view)]
    values = []
    for field in run.same:
        value = side(Field(field), view)
        values.append(value.engine or value.readable)
        members += [f"{column} >= 0" for column in value.columns]
    return parameters.statement(_text(slot, run, members, values, parameters))


def _text(
    slot: Slot, run: Run, members: list[str], values: list[str], parameters: Parameters
) -> str:
    line = ""
    if slot.kinds is not None:
        codes = tuple(sorted({KIND_CODE[kind] for kind in slot.kinds}))
        line = f" WHERE s._kind IN {parameters.add(codes)}"
    trace = f", (s)-[:IN_TRACE]->({TRACE}:Trace)" if f"{TRACE}." in " ".join(members) else ""
    # The key is named before it is compared: else the database makes a cross product of the join.
    wanted = " AND ".join(["s._key = key", *members])
    same = "".join(f", {value} AS f{i}" for i, value in enumerate(values))
    names = "".join(f", f{i}" for i in range(len(values)))
    return f"""MATCH (s:Step){line}
WITH s._trace AS t0, {_GROUPS[run.per]} AS g0, list_sort(collect(s._key % {_ROW})) AS line
UNWIND list_transform(range(1, size(line)), i -> i * {_ROW} + line[i]) AS v
WITH t0, g0, v, t0 - t0 % {_ROW} + v % {_ROW} AS key
MATCH (s:Step){trace} WHERE {wanted}
WITH t0, g0{same}, list_sort(collect(v)) AS hits
UNWIND list_transform(range(1, size(hits)), i -> hits[i] - i * {_ROW}) AS h
WITH t0, g0{names}, h - h % {_ROW} AS block, t0 - t0 % {_ROW} + h % {_ROW} AS member
WITH t0, g0{names}, block, list_sort(collect(member)) AS members
WHERE size(members) >= {parameters.add(run.minimum)}
UNWIND members AS member
RETURN members[1] AS first, member"""
