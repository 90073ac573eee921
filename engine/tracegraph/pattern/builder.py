"""Grammar actions for headers, steps, edges and clauses: one method per rule of grammar.lark."""

from typing import Any, NamedTuple

from tracegraph.pattern import ast
from tracegraph.pattern.condition_builder import (
    Children,
    ConditionBuilder,
    choose,
    place,
    read,
    refuse,
)
from tracegraph.pattern.fields import FEATURES, KINDS
from tracegraph.pattern.labels import label
from tracegraph.pattern.literals import parse_duration, parse_text, parse_whole
from tracegraph.pattern.parsed import Mark

_CHOICES = {
    "severity": ("info", "low", "medium", "high", "critical"),
    "confidence": ("exact", "heuristic"),
    "export": ("review", "query-only"),
    "scope": ("trace", "session"),
}
_GROUPS = ("scope", "agent", "parent")
_EDGES = {"/": "child", "//": "descendant", "~>": "scope", "~>>": "trace"}
AD_HOC_ID = "adhoc"


class Header(NamedTuple):
    """One header line: the attribute of the pattern, its value, its place."""

    key: str
    value: Any
    mark: Mark


class Kinds(NamedTuple):
    """The kinds of a step with the place of the first."""

    kinds: tuple[str, ...]
    mark: Mark


class Builder(ConditionBuilder):
    """Builds patterns and keeps their places, for one parse at a time."""

    # ------------------------------------------------------------ file and headers

    def file(self, children: Children) -> tuple[ast.Pattern, ...]:
        """All patterns of a file."""
        return tuple(children)

    def adhoc(self, children: Children) -> tuple[ast.Pattern, ...]:
        """The one pattern of a text."""
        return tuple(children)

    def bare(self, children: Children) -> ast.Pattern:
        """A bare body gets the headers of an ad-hoc pattern."""
        pattern = ast.Pattern(AD_HOC_ID, 1, children[-1])
        self.heads[id(pattern)] = {}
        return pattern

    def pattern(self, children: Children) -> ast.Pattern:
        """A whole pattern."""
        name, version, *headers, body = children
        heads = {"id": place(name), "version": place(version)}
        values: dict[str, Any] = {}
        params: list[tuple[str, ast.Value]] = []
        for header in headers:
            key = header.key
            if key == "param":
                key = f"param {header.value[0]}"
                params.append(header.value)
            else:
                values[key] = header.value
            if key in heads:
                raise refuse(f"'{key}' is given twice", header.mark)
            heads[key] = header.mark
        number = read(lambda text: parse_whole(text[1:]), version)
        pattern = ast.Pattern(str(name), number, body, params=tuple(params), **values)
        self.heads[id(pattern)] = heads
        return pattern

    def header_text(self, children: Children) -> Header:
        """``title`` and ``because``."""
        key, text = children
        return Header(str(key), read(parse_text, text), place(key))

    def header_choice(self, children: Children) -> Header:
        """Headers with one word out of a list."""
        key, word = children
        return Header(str(key), choose(word, _CHOICES[key], str(key)), place(key))

    def header_list(self, children: Children) -> Header:
        """``tags`` and ``needs``."""
        key, *words = children
        if key == "needs":
            for word in words:
                choose(word, FEATURES, "need")
        return Header(str(key), tuple(map(str, words)), place(key))

    def header_param(self, children: Children) -> Header:
        """``param name = default``."""
        key, name, value = children
        if isinstance(value, ast.Param):
            raise refuse("the default of a param is a value, not another param", key)
        return Header("param", (str(name), value), place(key))

    # ------------------------------------------------------------ body and steps

    def body(self, children: Children) -> ast.Body:
        """The part after ``match``."""
        *paths, window, having, returns = children
        branches = tuple(item for item in paths if isinstance(item, ast.Branch))
        unless = tuple(item for item in paths if isinstance(item, ast.Path))
        return ast.Body(branches, unless, window, having, returns or ())

    def branch(self, children: Children) -> ast.Branch:
        """Paths joined by ``also``."""
        return ast.Branch(tuple(children))

    def unless(self, children: Children) -> Any:
        """A counter path: its place is that of the keyword."""
        keyword, path = children
        return self.at(path, keyword)

    def path(self, children: Children) -> Any:
        """Steps joined by edges."""
        return self.at(ast.Path(tuple(children[::2]), tuple(children[1::2])), children[0])

    def ref(self, children: Children) -> Any:
        """``$name`` as a step."""
        (token,) = children
        name, dot, _ = token[1:].partition(".")
        if dot:
            raise refuse(f"'{token}' is a value; a step is re-used as '${name}'", token)
        return self.at(ast.Ref(name), token)

    def bind(self, children: Children) -> Any:
        """A new position."""
        name, kinds, glob, run, where = children
        step = ast.Bind(
            kinds.kinds,
            None if name is None else str(name),
            None if glob is None else read(parse_text, glob),
            run,
            where,
        )
        return self.at(step, kinds.mark if name is None else name)

    def kinds(self, children: Children) -> Kinds:
        """``KIND | KIND``."""
        return Kinds(tuple(choose(token, KINDS, "kind") for token in children), place(children[0]))

    def run(self, children: Children) -> Any:
        """``{m,} period p..q same f, g per group``."""
        minimum, period, *fields, per = children
        run = ast.Run(read(parse_whole, minimum), tuple(map(str, fields)), period, per)
        for position, token in enumerate(fields):
            self.marks[id(run), position] = place(token)
        return self.at(run, minimum)

    def period(self, children: Children) -> tuple[int, int]:
        """``period p..q``."""
        return read(parse_whole, children[0]), read(parse_whole, children[1])

    def per(self, children: Children) -> str:
        """``per group``."""
        return choose(children[0], _GROUPS, "group")

    def where(self, children: Children) -> Any:
        """The condition itself."""
        return children[0]

    # ------------------------------------------------------------ edges

    def cause(self, children: Children) -> Any:
        """``->`` and ``->{m,n}``."""
        arrow, hops, between = children
        low, high = hops or (1, 1)
        return self.at(ast.Edge("cause", low, high, between), arrow)

    def far(self, children: Children) -> Any:
        """``->>``."""
        arrow, between = children
        return self.at(ast.Edge("cause", 1, None, between), arrow)

    def other_edge(self, children: Children) -> Any:
        """``/``, ``//``, ``~>``, ``~>>``."""
        token, between = children
        kind: Any = _EDGES[token]
        return self.at(ast.Edge(kind, between=between), token)

    def exactly(self, children: Children) -> tuple[int, int]:
        """``{m}``."""
        hops = read(parse_whole, children[0])
        return hops, hops

    def at_least(self, children: Children) -> tuple[int, None]:
        """``{m,}``."""
        return read(parse_whole, children[0]), None

    def from_to(self, children: Children) -> tuple[int, int]:
        """``{m,n}``."""
        return read(parse_whole, children[0]), read(parse_whole, children[1])

    def between(self, children: Children) -> Any:
        """``[no KIND ...]``, ``[at most N KIND ...]``."""
        bracket, at_most, kinds, glob, where = children
        text = None if glob is None else read(parse_text, glob)
        return self.at(ast.Between(kinds.kinds, at_most, text, where), bracket)

    def none(self, children: Children) -> int:
        """``no``."""
        return 0

    def at_most(self, children: Children) -> int:
        """``at most N``."""
        return read(parse_whole, children[0])

    # ------------------------------------------------------------ clauses after the paths

    def within_time(self, children: Children) -> Any:
        """``within 60s``."""
        keyword, length = children
        return self.at(ast.Window(ns=read(parse_duration, length)), keyword)

    def within_steps(self, children: Children) -> Any:
        """``within 5 steps``."""
        keyword, steps = children
        return self.at(ast.Window(steps=read(parse_whole, steps)), keyword)

    def having(self, children: Children) -> Any:
        """``having count >= n by f, $x.g``."""
        keyword, op, minimum, *by = children
        if op != ">=":
            raise refuse(f"'having count' knows '>=' only, not '{op}'", op)
        for operand in by:
            if not isinstance(operand, ast.Field | ast.Of):
                raise refuse("'by' takes fields and $name.field only", self.marks[id(operand)])
        return self.at(ast.Having(read(parse_whole, minimum), tuple(by)), keyword)

    def returns(self, children: Children) -> tuple[ast.Item, ...]:
        """``return a, b as c``."""
        return tuple(children)

    def item(self, children: Children) -> Any:
        """One returned value."""
        operand, name = children
        if isinstance(operand, ast.Word):
            raise refuse("expected a field to return, not a value", self.marks[id(operand)])
        return self.at(ast.Item(operand, label(operand) if name is None else str(name)), operand)
