"""Fields, values and factors of a predicate as Cypher over the engine's columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tracegraph.errors import UnsupportedPatternError
from tracegraph.model.codes import FIDELITY_CODE, KIND_CODE, STATUS_CODE
from tracegraph.pattern.ast import (
    Duration,
    Field,
    Number,
    Of,
    OfTrace,
    Param,
    Scaled,
    Text,
    Times,
    Value,
    Word,
)
from tracegraph.pattern.cypher_text import Parameters
from tracegraph.pattern.facts import ABSENT_CODE
from tracegraph.pattern.fields import STEP_FIELDS, TRACE_FIELDS, FieldType
from tracegraph.pattern.labels import print_operand
from tracegraph.pattern.plan import Slot

TRACE = "t"
"""Name of the Trace node; it is bound where a statement reads a field of the trace."""

_ALWAYS_KNOWN = {"kind", "status", "signals", "seq", "children", "lossy", "id"}
_READABLE_ONLY = {"id"}
_CONTENT = {"input", "output"}


@dataclass(frozen=True)
class View:
    """What a predicate can see.

    Attributes:
        own: name of the step that bare fields belong to.
        left: name of the step on the left of its edge, for ``gap``.
        slots: the slots of the branch and, inside a counter-match, its own.
        names: names of the steps by slot; a run has none.
        variables: slots by the names of the pattern.
        local: names bound in the same part of the statement. Only their readable texts, which may
            be NULL, can be asked: a NULL from outside makes EXISTS false and NOT EXISTS true.
        code: global code of a text.
        parameters: takes the values.
    """

    own: str
    left: str | None
    slots: Mapping[int, Slot]
    names: Mapping[int, str]
    variables: Mapping[str, int]
    local: frozenset[str]
    code: Callable[[str], int]
    parameters: Parameters


@dataclass(frozen=True)
class Side:
    """One side of a predicate.

    Attributes:
        type: type of the value.
        engine: text for its value or code in the engine's columns; empty where there is none.
        columns: what it is read from, negative where unknown; none if it is always known.
        readable: text for a string that is never NULL; empty where there is none.
        owner: name of the node it is read from; None for a literal.
        literal: the string itself, of a literal.
        whole: it is an integer, of 64 bits.
    """

    type: FieldType
    engine: str
    columns: tuple[str, ...] = ()
    readable: str = ""
    owner: str | None = None
    literal: str | None = None
    whole: bool = True


def side(node: Scaled, view: View) -> Side:
    """Compile one side of a predicate.

    Raises:
        UnsupportedPatternError: it reads what is not in the graph.
    """
    match node:
        case Times(factor, operand):
            return _times(factor, side(operand, view), view)
        case Field(field):
            return _step_field(field, view.own, view.left, view)
        case Of(var, field):
            slot = view.slots[view.variables[var]]
            if slot.index not in view.names:
                raise UnsupportedPatternError(f"{print_operand(node)} reads a run")
            left = None if slot.left is None else view.names.get(slot.left)
            return _step_field(field, view.names[slot.index], left, view)
        case OfTrace(field):
            return _trace_field(field)
        case Number() | Duration() | Text() | Word() | Param():
            return _literal(node, view)
        case _:
            raise UnsupportedPatternError(f"{print_operand(node)} is not a column of the graph")


def code_of(literal: Side, other: Side, view: View) -> int:
    """Return the code of a literal among the values of the other side."""
    text = literal.literal or ""
    if other.type == "kind":
        return KIND_CODE.get(text, ABSENT_CODE)
    if other.type == "status":
        return STATUS_CODE.get(text, ABSENT_CODE)
    if other.engine == f"{TRACE}._fidelity":
        return FIDELITY_CODE.get(text, ABSENT_CODE)
    return view.code(text)


def _step_field(field: str, owner: str, left: str | None, view: View) -> Side:
    if field in _CONTENT:
        raise UnsupportedPatternError(f"'{field}' is content, which is not in the graph's columns")
    if field == "gap":
        return _gap(owner, left)
    kind = STEP_FIELDS[field]
    if field in _READABLE_ONLY:
        return Side(kind, "", readable=f"{owner}.step_id", owner=owner)
    column = field.replace(".", "_")
    engine = f"{owner}._{column}"
    columns = () if field in _ALWAYS_KNOWN else (engine,)
    readable = f"coalesce({owner}.{column}, '')" if kind == "text" else ""
    return Side(kind, engine, columns, readable, owner, whole=field != "cost")


def _gap(owner: str, left: str | None) -> Side:
    if left is None:
        raise UnsupportedPatternError("'gap' is measured from a run")
    columns = (f"{owner}._start", f"{left}._end")
    return Side("duration", f"({owner}._start - {left}._end)", columns, owner=owner)


def _trace_field(field: str) -> Side:
    engine = f"{TRACE}._{field}"
    kind = TRACE_FIELDS[field]
    columns = () if field in ("status", "fidelity") else (engine,)
    return Side(kind, engine, columns, f"coalesce({TRACE}.{field}, '')", TRACE)


def _times(factor: int | float, of: Side, view: View) -> Side:
    """Multiply; integers in 128 bits, since the database refuses a product that needs them."""
    name = view.parameters.add(factor)
    if isinstance(factor, int) and of.whole:
        return replace(of, engine=f"(CAST({name} AS INT128) * {of.engine})")
    return replace(of, engine=f"({name} * {of.engine})", whole=False)


def _literal(value: Value, view: View) -> Side:
    match value:
        case Number(number):
            return Side("number", view.parameters.add(number), whole=isinstance(number, int))
        case Duration(ns):
            return Side("duration", view.parameters.add(ns))
        case Word("true" | "false" as word):
            return Side("bool", view.parameters.add(word == "true"))
        case Text(text) | Word(text):
            return Side("text", "", readable=view.parameters.add(text), literal=text)
        case Param(name):
            raise UnsupportedPatternError(f"@{name} has no value")
