"""Grammar actions for conditions, operands and values, and the places of nodes.

Each action gets the children of its rule and returns a syntax node, so no parse tree is ever built
or walked, and depth of nesting costs no recursion.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tracegraph.errors import PatternError
from tracegraph.pattern import ast
from tracegraph.pattern.fields import KINDS, WORDS, nearest
from tracegraph.pattern.literals import parse_duration, parse_number, parse_slashes, parse_text
from tracegraph.pattern.parsed import Mark

MAX_NESTING = 64
"""Levels of ``not``, ``and`` and ``or`` in one condition; all later passes recurse over them."""

Children = list[Any]  # tokens and the results of other actions
Read = TypeVar("Read")


def place(token: Any) -> Mark:
    """Return the place of a token."""
    return Mark(token.line, token.column)


def refuse(message: str, token: Any) -> PatternError:
    """Make the error for a token or a mark."""
    return PatternError(message, token.line, token.column)


def choose(token: Any, known: Iterable[str], what: str) -> str:
    """Return the word of a token, which must be one of the known."""
    known = tuple(known)
    if token not in known:
        hint = nearest(token, known) or ";"
        raise refuse(f"unknown {what} '{token}'{hint} known are {', '.join(known)}", token)
    return str(token)


def read(reader: Callable[[str], Read], token: Any) -> Read:
    """Read a literal, with its place in the error."""
    try:
        return reader(str(token))
    except ValueError as error:
        raise refuse(str(error), token) from None


class ConditionBuilder:
    """Builds conditions and notes places, for one parse at a time."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget the places of the parse before."""
        self.marks: dict[int | tuple[int, int], Mark] = {}
        self.heads: dict[int, dict[str, Mark]] = {}
        self._depth: dict[int, int] = {}

    def at(self, node: Any, origin: Any) -> Any:
        """Note the place of a node, that of a token, a mark or another node, and return it."""
        mark = self.marks[id(origin)] if isinstance(origin, ast.Node) else place(origin)
        self.marks[id(node)] = mark
        self._depth.pop(id(node), None)  # the identity of a node that is gone may come back
        return node

    def disjunction(self, children: Children) -> Any:
        """``a or b``, or the one condition alone."""
        if len(children) == 1:
            return children[0]
        return self._nest(ast.Or(tuple(children)), children, children[0])

    def conjunction(self, children: Children) -> Any:
        """``a and b``, or the one condition alone."""
        if len(children) == 1:
            return children[0]
        return self._nest(ast.And(tuple(children)), children, children[0])

    def negated(self, children: Children) -> Any:
        """``not a``."""
        keyword, item = children
        return self._nest(ast.Not(item), [item], keyword)

    def _nest(self, node: Any, items: Children, origin: Any) -> Any:
        depth = 1 + max(self._depth.get(id(item), 0) for item in items)
        self.at(node, origin)
        if depth > MAX_NESTING:
            raise refuse(f"a condition nests at most {MAX_NESTING} levels", self.marks[id(node)])
        self._depth[id(node)] = depth
        return node

    def compare(self, children: Children) -> Any:
        """``left op right``."""
        left, op, right = children
        sign: Any = str(op)  # the terminal OP admits no other than these
        return self.at(ast.Compare(left, sign, right), left)

    def matches(self, children: Children) -> Any:
        """``operand matches /regex/i``."""
        operand, token = children
        body, _, flags = token[1:].rpartition("/")
        node = ast.Matches(self._operand(operand), parse_slashes(body), flags == "i")
        return self.at(node, token)

    def like(self, children: Children) -> Any:
        """``operand like "glob"``."""
        operand, glob = children
        return self.at(ast.Like(self._operand(operand), glob), operand)

    def contains(self, children: Children) -> Any:
        """``operand contains "text"``."""
        operand, text = children
        return self.at(ast.Contains(self._operand(operand), text), operand)

    def member(self, children: Children) -> Any:
        """``operand in [...]``."""
        operand, *values = children
        return self.at(ast.In(self._operand(operand), tuple(values)), operand)

    def known(self, children: Children) -> Any:
        """``is known``, ``is unknown``."""
        operand, word = children
        known = choose(word, ("known", "unknown"), "word after 'is':") == "known"
        return self.at(ast.Known(self._operand(operand), known), operand)

    def similar(self, children: Children) -> Any:
        """``similar(operand, "text") op number``."""
        keyword, operand, text, op, threshold = children
        sign: Any = str(op)
        node = ast.Similar(
            self._operand(operand),
            read(parse_text, text),
            sign,
            float(read(parse_number, threshold)),
        )
        return self.at(node, keyword)

    def _operand(self, node: Any) -> Any:
        if isinstance(node, ast.Operand):
            return node
        raise refuse("expected a field here, not a value", self.marks[id(node)])

    def times(self, children: Children) -> Any:
        """``factor * operand``."""
        factor, operand = children
        node = ast.Times(read(parse_number, factor), self._operand(operand))
        return self.at(node, factor)

    def field(self, children: Children) -> Any:
        """A bare word: a value such as ``ok``, a trace field or a field of the step."""
        (token,) = children
        if token in WORDS:
            return self.at(ast.Word(str(token)), token)
        if token.startswith("trace."):
            return self.at(ast.OfTrace(token[6:]), token)
        return self.at(ast.Field(str(token)), token)

    def word(self, children: Children) -> Any:
        """A bare word where only a value can stand."""
        (token,) = children
        if token not in WORDS:
            hint = nearest(token, WORDS) or "; texts stand in double quotes"
            raise refuse(f"'{token}' is not a value{hint}", token)
        return self.at(ast.Word(str(token)), token)

    def of(self, children: Children) -> Any:
        """``$var.field``, ``$run.first.field``, ``$run.count``."""
        (token,) = children
        var, _, field = token[1:].partition(".")
        end, _, rest = field.partition(".")
        if not field or (end in ("first", "last") and not rest):
            raise refuse(f"'{token}' is a step: name a field of it, such as {token}.name", token)
        if end in ("first", "last"):
            return self.at(ast.OfEnd(var, end, rest), token)
        if field == "count":
            return self.at(ast.RunCount(var), token)
        return self.at(ast.Of(var, field), token)

    def attr(self, children: Children) -> Any:
        """``attr["key"]``."""
        token, key = children
        if token != "attr":
            raise refuse(f"only attr takes a key in brackets, '{token}' does not", token)
        return self.at(ast.Attr(read(parse_text, key)), token)

    def attr_of(self, children: Children) -> Any:
        """``$var.attr["key"]``."""
        token, key = children
        var, _, field = token[1:].partition(".")
        if field != "attr":
            raise refuse(f"only $name.attr takes a key in brackets, '{token}' does not", token)
        return self.at(ast.AttrOf(var, read(parse_text, key)), token)

    def number(self, children: Children) -> Any:
        """A number."""
        return self.at(ast.Number(read(parse_number, children[0])), children[0])

    def duration(self, children: Children) -> Any:
        """A length of time."""
        return self.at(ast.Duration(read(parse_duration, children[0])), children[0])

    def string(self, children: Children) -> Any:
        """A text."""
        return self.at(ast.Text(read(parse_text, children[0])), children[0])

    def kind(self, children: Children) -> Any:
        """A kind as a value."""
        return self.at(ast.Word(choose(children[0], KINDS[1:], "kind")), children[0])

    def param(self, children: Children) -> Any:
        """``@name``."""
        return self.at(ast.Param(children[0][1:]), children[0])
