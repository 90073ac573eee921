"""The syntax tree of a pattern: what the parser builds and everything else reads.

Nodes are frozen and compare by value, so ``parse(print(p)) == p`` is a plain comparison. They are
tagged msgspec structs: a shipped preset is stored in its parsed form and loads without the parser.
Source places are kept beside the tree (:mod:`tracegraph.pattern.parser`), not in it.
"""

from typing import Literal

import msgspec


class Node(msgspec.Struct, frozen=True, tag=True):
    """Base of every node."""


# ---------------------------------------------------------------- values and operands


class Number(Node, frozen=True):
    """A number; ``10k`` is 10000. Integers stay integers."""

    value: int | float


class Duration(Node, frozen=True):
    """A length of time in nanoseconds."""

    ns: int


class Text(Node, frozen=True):
    """A string literal."""

    value: str


class Word(Node, frozen=True):
    """``ok``, ``error``, ``unset``, ``true``, ``false`` or a kind name in upper case."""

    value: str


class Param(Node, frozen=True):
    """``@name``: replaced by a value before a backend sees the pattern."""

    name: str


Value = Number | Duration | Text | Word | Param


class Field(Node, frozen=True):
    """A field of the step itself, e.g. ``tokens.prompt``."""

    field: str


class Of(Node, frozen=True):
    """``$var.field``: a field of a step bound earlier."""

    var: str
    field: str


class OfEnd(Node, frozen=True):
    """``$run.first.field`` or ``$run.last.field``."""

    var: str
    end: Literal["first", "last"]
    field: str


class RunCount(Node, frozen=True):
    """``$run.count``: the number of members of a run."""

    var: str


class OfTrace(Node, frozen=True):
    """``trace.field``."""

    field: str


class Attr(Node, frozen=True):
    """``attr["key"]`` of the step itself (only where content was kept)."""

    key: str


class AttrOf(Node, frozen=True):
    """``$var.attr["key"]``."""

    var: str
    key: str


Operand = Field | Of | OfEnd | RunCount | OfTrace | Attr | AttrOf


class Times(Node, frozen=True):
    """``factor * operand``."""

    factor: int | float
    operand: Operand


Scaled = Times | Operand | Value

# ---------------------------------------------------------------- expressions

Comparison = Literal["==", "!=", "<", "<=", ">", ">="]


class Compare(Node, frozen=True):
    """``left op right``; unknown when a side is unknown."""

    left: Scaled
    op: Comparison
    right: Scaled


class Matches(Node, frozen=True):
    """``operand matches /regex/i``: a search, not a full match."""

    operand: Operand
    regex: str
    ignore_case: bool = False


class Like(Node, frozen=True):
    """``operand like "glob"``: ``*`` and ``?``, the whole value, case-sensitive."""

    operand: Operand
    glob: Text | Param


class Contains(Node, frozen=True):
    """``operand contains "text"``: membership for signals, substring for strings."""

    operand: Operand
    text: Text | Param


class In(Node, frozen=True):
    """``operand in [value, ...]``."""

    operand: Operand
    values: tuple[Value, ...]


class Known(Node, frozen=True):
    """``operand is known`` (or ``is unknown``): two-valued."""

    operand: Operand
    known: bool


class Similar(Node, frozen=True):
    """``similar(operand, "text") op number``: cosine similarity of embeddings."""

    operand: Operand
    text: str
    op: Comparison
    threshold: float


class Not(Node, frozen=True):
    """Kleene negation."""

    item: "Expr"


class And(Node, frozen=True):
    """Kleene conjunction of two or more."""

    items: tuple["Expr", ...]


class Or(Node, frozen=True):
    """Kleene disjunction of two or more."""

    items: tuple["Expr", ...]


Expr = Compare | Matches | Like | Contains | In | Known | Similar | Not | And | Or

# ---------------------------------------------------------------- steps and edges


class Run(Node, frozen=True):
    """``{minimum,} [period p..q] same fields [per group]``."""

    minimum: int
    same: tuple[str, ...]
    period: tuple[int, int] | None = None
    per: Literal["scope", "agent", "parent"] | None = None


class Bind(Node, frozen=True):
    """A new position: ``name: KIND|KIND "glob" {run} where expr``. ``kinds`` may hold ``ANY``."""

    kinds: tuple[str, ...]
    name: str | None = None
    glob: str | None = None
    run: Run | None = None
    where: Expr | None = None


class Ref(Node, frozen=True):
    """``$name``: a position bound earlier in the text."""

    name: str


Step = Bind | Ref


class Between(Node, frozen=True):
    """``[no KIND "glob" where ..]`` (``at_most`` 0) or ``[at most N KIND ..]``."""

    kinds: tuple[str, ...]
    at_most: int = 0
    glob: str | None = None
    where: Expr | None = None


class Edge(Node, frozen=True):
    """What must hold between the step on the left and the step on the right.

    ``cause`` carries its bounds: ``->`` is 1..1, ``->>`` is 1..None, ``->{m,n}`` as written.
    For the others ``low`` and ``high`` stay 1. ``scope`` is ``~>``, ``trace`` is ``~>>``.
    """

    kind: Literal["cause", "child", "descendant", "scope", "trace"]
    low: int = 1
    high: int | None = 1
    between: Between | None = None


class Path(Node, frozen=True):
    """Steps joined by edges: ``len(edges) == len(steps) - 1``."""

    steps: tuple[Step, ...]
    edges: tuple[Edge, ...] = ()


class Branch(Node, frozen=True):
    """Paths joined by ``also``."""

    paths: tuple[Path, ...]


# ---------------------------------------------------------------- the whole


class Window(Node, frozen=True):
    """``within 60s`` (``ns``) or ``within 5 steps`` (``steps``)."""

    ns: int | None = None
    steps: int | None = None


class Having(Node, frozen=True):
    """``having count >= minimum by fields``."""

    minimum: int
    by: tuple[Field | Of, ...]


class Item(Node, frozen=True):
    """One returned value and its label, e.g. ``tool`` or ``a.name``."""

    operand: Operand
    label: str


class Body(Node, frozen=True):
    """The part after ``match``."""

    branches: tuple[Branch, ...]
    unless: tuple[Path, ...] = ()
    within: Window | None = None
    having: Having | None = None
    returns: tuple[Item, ...] = ()


class Pattern(Node, frozen=True):
    """A versioned pattern with its headers; the defaults are those of omitted headers."""

    id: str
    version: int
    body: Body
    title: str = ""
    severity: Literal["info", "low", "medium", "high", "critical"] = "info"
    confidence: Literal["exact", "heuristic"] = "heuristic"
    export: Literal["review", "query-only"] = "query-only"
    scope: Literal["trace", "session"] = "trace"
    tags: tuple[str, ...] = ()
    params: tuple[tuple[str, Value], ...] = ()
    needs: tuple[str, ...] = ()
    because: str = ""
