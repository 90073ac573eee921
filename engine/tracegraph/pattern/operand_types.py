"""Types of conditions: which operands are known in a place, and what may be done with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tracegraph.errors import PatternError
from tracegraph.pattern.ast import (
    And,
    Attr,
    AttrOf,
    Bind,
    Compare,
    Contains,
    Duration,
    Expr,
    Field,
    In,
    Known,
    Like,
    Matches,
    Node,
    Not,
    Number,
    Of,
    OfEnd,
    OfTrace,
    Operand,
    Or,
    Param,
    RunCount,
    Scaled,
    Similar,
    Text,
    Times,
    Value,
    Word,
)
from tracegraph.pattern.fields import (
    KINDS,
    SIGNALS,
    STATUSES,
    STEP_FIELDS,
    TRACE_FIELDS,
    WORDS,
    FieldType,
    nearest,
)
from tracegraph.pattern.labels import print_operand
from tracegraph.pattern.parsed import Parsed
from tracegraph.pattern.regex import check

Type = FieldType | Literal["any"]
"""Type of an operand or value; ``any`` for an attribute and for a param without default."""

ORDERED = ("number", "duration", "time", "any")
TEXTS = ("text", "any")
CHOICES = {"status": STATUSES, "bool": ("true", "false"), "kind": KINDS[1:], "text": ()}
"""Words that values of a type can be; a text is no word, it stands in quotes."""


@dataclass(frozen=True)
class Bound:
    """A step that a name stands for; ``first``: it has no step on the left of it."""

    step: Bind
    first: bool


@dataclass(frozen=True)
class Scope:
    """What a place in a pattern can refer to.

    Attributes:
        names: steps bound before this place.
        absent: names that cannot be used here although the pattern binds them, with the reason.
        gap: why the step's own ``gap`` cannot be used here; empty where it can.
    """

    names: Mapping[str, Bound]
    absent: Mapping[str, str] = field(default_factory=dict)
    gap: str = ""


class Typer:
    """Finds the types of operands and checks conditions of one pattern."""

    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed
        self.defaults = dict(parsed.pattern.params)

    # ------------------------------------------------------------ types

    def operand(self, operand: Operand, scope: Scope) -> Type:
        """Return the type of an operand in a place; refuse it where it is unknown."""
        match operand:
            case Field(name):
                if name == "gap" and scope.gap:
                    raise self.parsed.error(scope.gap, operand)
                return self.field(name, operand)
            case OfTrace(name):
                if name not in TRACE_FIELDS:
                    hint = nearest(name, TRACE_FIELDS) or _other_trace_field(name)
                    raise self.parsed.error(f"unknown field 'trace.{name}'{hint}", operand)
                return TRACE_FIELDS[name]
            case Attr():
                return "any"
            case _:
                return self._of(operand, scope)

    def field(self, name: str, *places: Node | tuple[Node, int]) -> FieldType:
        """Return the type of a step's field."""
        if name not in STEP_FIELDS:
            hint = nearest(name, STEP_FIELDS) or f"; known are {', '.join(STEP_FIELDS)}"
            raise self.parsed.error(f"unknown field '{name}'{hint}", *places)
        return STEP_FIELDS[name]

    def _of(self, operand: Of | OfEnd | RunCount | AttrOf, scope: Scope) -> Type:
        bound = self.name(operand.var, scope, operand)
        run = bound.step.run
        written = print_operand(operand)
        if isinstance(operand, OfEnd | RunCount) and run is None:
            raise self.parsed.error(f"'{written}': '${operand.var}' is one step, no run", operand)
        if isinstance(operand, RunCount):
            return "number"
        if isinstance(operand, AttrOf):
            if run is not None:
                raise self.parsed.error(f"'{written}' is not one value: it is a run", operand)
            return "any"
        found = self.field(operand.field, operand)
        if isinstance(operand, Of) and run is not None and operand.field not in run.same:
            ends = f"${operand.var}.first.{operand.field}"
            raise self.parsed.error(
                f"'{written}' may differ inside the run: its 'same' fields are "
                f"{', '.join(run.same)}; '{ends}' is that of its first step",
                operand,
            )
        if operand.field == "gap" and bound.first:
            raise self.parsed.error(
                f"'{written}': gap needs a step on the left, '{operand.var}' is first in its path",
                operand,
            )
        return found

    def name(self, name: str, scope: Scope, place: Node) -> Bound:
        """Return the step that a name stands for."""
        if name in scope.names:
            return scope.names[name]
        if name in scope.absent:
            raise self.parsed.error(f"'${name}' {scope.absent[name]}", place)
        hint = nearest(name, scope.names) or ": no step before this place has that name"
        raise self.parsed.error(f"unknown name '${name}'{hint}", place)

    def value(self, value: Value) -> Type:
        """Return the type of a literal; of a param, that of its default."""
        default = self.defaults.get(value.name) if isinstance(value, Param) else None
        return type_of(value if default is None else default)

    def scaled(self, side: Scaled, scope: Scope) -> Type:
        """Return the type of one side of a comparison."""
        if isinstance(side, Times):
            found = self.operand(side.operand, scope)
            if found not in ("number", "duration", "any"):
                raise self._mismatch(f"a {found} cannot be multiplied", side)
            return found
        if isinstance(side, Value):
            return self.value(side)
        return self.operand(side, scope)

    # ------------------------------------------------------------ conditions

    def condition(self, expr: Expr, scope: Scope) -> None:  # one case per node
        """Check a condition in a place."""
        match expr:
            case And(items) | Or(items):
                for item in items:
                    self.condition(item, scope)
            case Not(item):
                self.condition(item, scope)
            case Compare():
                self._compare(expr, scope)
            case In():
                self._member(expr, scope)
            case Matches():
                self._matches(expr, scope)
            case Like(operand, glob):
                self._needs_text("like", operand, expr, scope)
                self._same_type("text", self.value(glob), glob, expr)
            case Contains():
                self._contains(expr, scope)
            case Similar(operand, _, _, threshold):
                self._needs_text("similar", operand, expr, scope)
                if not -1 <= threshold <= 1:
                    raise self._mismatch("a similarity lies between -1 and 1", expr)
            case Known(operand):
                self.operand(operand, scope)

    def _member(self, expr: In, scope: Scope) -> None:
        left = self.operand(expr.operand, scope)
        if left in ("time", "digest", "signals"):
            raise self._mismatch(f"'in' does not take a {left}", expr)
        for value in expr.values:
            self._same_type(left, self.value(value), value, expr)

    def _matches(self, expr: Matches, scope: Scope) -> None:
        self._needs_text("matches", expr.operand, expr, scope)
        try:
            check(expr.regex, expr.ignore_case)
        except ValueError as error:
            raise self.parsed.error(f"regex: {error}", expr) from None

    def _compare(self, expr: Compare, scope: Scope) -> None:
        self._known_word(expr.left, expr.right)
        self._known_word(expr.right, expr.left)
        left, right = self.scaled(expr.left, scope), self.scaled(expr.right, scope)
        if isinstance(expr.left, Value) and isinstance(expr.right, Value):
            raise self._mismatch("a comparison needs a field on one side", expr)
        if "signals" in (left, right):
            raise self._mismatch('signals are asked with contains: signals contains "..."', expr)
        if isinstance(expr.left, Value):
            self._same_type(right, left, expr.left, expr)
        else:
            self._same_type(left, right, expr.right, expr)
        unordered = next((side for side in (left, right) if side not in ORDERED), None)
        if expr.op not in ("==", "!=") and unordered is not None:
            raise self._mismatch(f"a {unordered} has no order: '{expr.op}' does not fit", expr)

    def _known_word(self, side: Scaled, other: Scaled) -> None:
        """Refuse a bare word beside a field, naming the value that may have been meant."""
        expected = "any" if isinstance(other, Value) else type_of(other)
        if not isinstance(side, Field) or side.field in STEP_FIELDS or expected not in CHOICES:
            return
        known = CHOICES[expected]
        remedy = f"known are {', '.join(known)}" if known else f'a text is written "{side.field}"'
        hint = nearest(side.field, (*known, *STEP_FIELDS)) or f"; {remedy}"
        what = expected if known else "field"
        raise self.parsed.error(f"unknown {what} '{side.field}'{hint}", side)

    def _contains(self, expr: Contains, scope: Scope) -> None:
        found = self.operand(expr.operand, scope)
        if found not in (*TEXTS, "signals"):
            raise self._mismatch(f"'contains' takes a text or signals, not a {found}", expr)
        self._same_type("text", self.value(expr.text), expr.text, expr)
        if found == "signals" and isinstance(expr.text, Text) and expr.text.value not in SIGNALS:
            hint = nearest(expr.text.value, SIGNALS) or f"; known are {', '.join(SIGNALS)}"
            raise self.parsed.error(f"unknown signal {expr.text.value!r}{hint}", expr.text, expr)

    def _needs_text(self, verb: str, operand: Operand, expr: Expr, scope: Scope) -> None:
        found = self.operand(operand, scope)
        if found not in TEXTS:
            raise self._mismatch(f"'{verb}' takes a text, not a {found}", expr)

    def _same_type(self, left: Type, right: Type, other: Scaled, expr: Expr) -> None:
        if left == right or "any" in (left, right):
            return
        raise self.parsed.error(
            f"a {left} cannot be compared with a {right}{_remedy(left, other)}", other, expr
        )

    def _mismatch(self, message: str, place: Node) -> PatternError:
        return self.parsed.error(message, place)


def type_of(side: Scaled) -> Type:  # noqa: PLR0911  # one return per type
    """Return the type of what can stand in a comparison; of a param or unknown field, ``any``."""
    match side:
        case Number() | RunCount():
            return "number"
        case Duration():
            return "duration"
        case Text():
            return "text"
        case Word(word):
            return word_type(word)
        case Field(name) | Of(_, name) | OfEnd(_, _, name):
            return STEP_FIELDS.get(name, "any")
        case OfTrace(name):
            return TRACE_FIELDS.get(name, "any")
        case Times(_, operand):
            return type_of(operand)
        case _:
            return "any"


def word_type(word: str) -> FieldType:
    """Return the type of a word value."""
    if word in STATUSES:
        return "status"
    return "kind" if word in KINDS else "bool"


def _remedy(left: Type, other: Scaled) -> str:
    match left, other:
        case (("status" | "kind" | "bool"), Text(value)) if value in (*WORDS, *KINDS):
            return f": write {value} without quotes"
        case "text", Word(value):
            return f': write "{value}" in double quotes'
        case "duration", Number(value):
            return f": write a unit, such as {value}s"
        case _:
            return ""


def _other_trace_field(name: str) -> str:
    """Say what a pattern can ask of a trace, and how the rest is asked."""
    key = name.removeprefix("attributes").lstrip(".") or "NAME"
    asked = f"tracegraph cypher asks for others: json_extract(t.attributes, '$.{key}')"
    return f"; known are {', '.join(TRACE_FIELDS)}; {asked}"
