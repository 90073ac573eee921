"""How operands are written, which is also the label of a returned value without ``as``."""

from tracegraph.pattern.ast import Attr, AttrOf, Field, Of, OfEnd, OfTrace, Operand, RunCount
from tracegraph.pattern.literals import print_text


def print_operand(operand: Operand) -> str:  # noqa: PLR0911  # one return per kind of operand
    """Write an operand as in a pattern, e.g. ``$a.tokens.prompt``."""
    match operand:
        case Field(field):
            return field
        case Of(var, field):
            return f"${var}.{field}"
        case OfEnd(var, end, field):
            return f"${var}.{end}.{field}"
        case RunCount(var):
            return f"${var}.count"
        case OfTrace(field):
            return f"trace.{field}"
        case Attr(key):
            return f"attr[{print_text(key)}]"
        case AttrOf(var, key):
            return f"${var}.attr[{print_text(key)}]"


def label(operand: Operand) -> str:
    """Return the label that a returned value has when none is given: ``a.tokens.prompt``."""
    return print_operand(operand).removeprefix("$")
