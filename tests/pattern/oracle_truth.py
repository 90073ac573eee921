"""Conditions under three-valued logic, for the oracle. Truth is True, False or None (unknown)."""

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

from pattern.oracle_trace import PlainStep, PlainTrace, Value
from tracegraph.pattern import ast

Truth = bool | None
Position = tuple[PlainStep, ...]
"""The steps of a position: one, or the members of a run."""
Named = dict[str, Position]


def both(truths: Iterable[Truth]) -> Truth:
    found = list(truths)
    if any(t is False for t in found):
        return False
    return None if any(t is None for t in found) else True


def either(truths: Iterable[Truth]) -> Truth:
    found = list(truths)
    if any(t is True for t in found):
        return True
    return None if any(t is None for t in found) else False


def opposite(truth: Truth) -> Truth:
    return None if truth is None else not truth


class Conditions:
    """Evaluates conditions on the steps of one trace."""

    def __init__(self, trace: PlainTrace) -> None:
        self.trace = trace

    def fits(
        self,
        kinds: tuple[str, ...],
        glob: str | None,
        where: ast.Expr | None,
        step: PlainStep,
        left: PlainStep | None,
        named: Named,
    ) -> Truth:
        truths: list[Truth] = ["ANY" in kinds or step.kind in kinds]
        if glob is not None:
            truths.append(_like(step.fields["name"], glob))
        if where is not None:
            truths.append(self.holds(where, step, left, named))
        return both(truths)

    def holds(  # noqa: PLR0911 - one per kind of node
        self, node: ast.Expr, own: PlainStep, left: PlainStep | None, named: Named
    ) -> Truth:
        def value(operand: Any) -> Value:
            return self.value(operand, own, left, named)

        match node:
            case ast.And(items):
                return both(self.holds(item, own, left, named) for item in items)
            case ast.Or(items):
                return either(self.holds(item, own, left, named) for item in items)
            case ast.Not(item):
                return opposite(self.holds(item, own, left, named))
            case ast.Compare(one, op, other):
                return compare(op, value(one), value(other))
            case ast.In(operand, values):
                found = value(operand)
                return None if found is None else found in [value(v) for v in values]
            case ast.Known(operand, known):
                return (value(operand) is not None) == known
            case ast.Like(operand, glob):
                return _like(value(operand), value(glob))
            case ast.Matches(operand, regex, ignore_case):
                return _search(value(operand), regex, ignore_case)
            case ast.Contains(operand, text):
                found = value(operand)
                return None if found is None else value(text) in found
            case _:
                raise NotImplementedError(node)

    def value(  # noqa: PLR0911 - one per kind of node
        self,
        node: Any,
        own: PlainStep | None,
        left: PlainStep | None,
        named: Named,
    ) -> Value:
        match node:
            case ast.Number(value) | ast.Text(value) | ast.Duration(value):
                return value
            case ast.Word(word):
                return {"true": True, "false": False}.get(word, word)
            case ast.Times(factor, operand):
                value = self.value(operand, own, left, named)
                return None if value is None else factor * value
            case ast.OfTrace(field):
                assert own is not None
                return own.trace_fields[field]
            case ast.Field(field):
                assert own is not None
                return _gap(own, left) if field == "gap" else own.fields[field]
            case ast.Of(var, field):
                position = named[var]
                known = [s.fields[field] for s in position if s.fields[field] is not None]
                return known[0] if known else None
            case ast.OfEnd(var, end, field):
                return named[var][0 if end == "first" else -1].fields[field]
            case ast.RunCount(var):
                return len(named[var])
            case _:
                raise NotImplementedError(node)


def _gap(own: PlainStep, left: PlainStep | None) -> Value:
    assert left is not None
    return minus(own.fields["start"], left.fields["end"])


def minus(one: Value, other: Value) -> Value:
    return None if one is None or other is None else one - other


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(op: str, one: Value, other: Value) -> Truth:
    return None if one is None or other is None else _OPERATORS[op](one, other)


def _like(value: Value, glob: str) -> Truth:
    if value is None:
        return None
    regex = "".join({"*": ".*", "?": "."}.get(char) or re.escape(char) for char in glob)
    return re.fullmatch(regex, value, re.DOTALL) is not None


def _search(value: Value, regex: str, ignore_case: bool) -> Truth:
    if value is None:
        return None
    flags = re.ASCII | (re.IGNORECASE if ignore_case else 0)
    return re.search(regex.replace("$", r"\Z"), value, flags) is not None
