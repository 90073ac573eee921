"""Random patterns that are valid, for the tests of the printer and of the backends' parity."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tracegraph.pattern.ast import (
    And,
    Attr,
    AttrOf,
    Between,
    Bind,
    Body,
    Branch,
    Compare,
    Contains,
    Duration,
    Edge,
    Expr,
    Field,
    Having,
    In,
    Item,
    Known,
    Like,
    Matches,
    Not,
    Number,
    Of,
    OfEnd,
    OfTrace,
    Or,
    Param,
    Path,
    Pattern,
    Ref,
    Run,
    RunCount,
    Similar,
    Step,
    Text,
    Times,
    Window,
    Word,
)
from tracegraph.pattern.fields import (
    FEATURES,
    KINDS,
    SIGNALS,
    STATUSES,
    STEP_FIELDS,
    TRACE_FIELDS,
)
from tracegraph.pattern.labels import label

Draw = Any  # hypothesis gives the drawing function no useful type
SECOND = 1_000_000_000

_TEXTS: st.SearchStrategy[str] = st.sampled_from(["a", "b", "plan", "retry:a", ""])
_GLOBS: st.SearchStrategy[str] = st.sampled_from(["a", "b*", "*", "?", "retry:*", "*a*"])
_REGEXES: st.SearchStrategy[str] = st.sampled_from(["a", "^b", r"\bre", "[a-c]$", "a|b"])
_NUMBERS: st.SearchStrategy[int | float] = st.sampled_from([0, 1, 2, 5, 0.5, 100])
_DURATIONS: st.SearchStrategy[int] = st.sampled_from([0, SECOND // 2, SECOND, 5 * SECOND])


@dataclass(frozen=True)
class Vocabulary:
    """What patterns are made of.

    Attributes:
        kinds: kinds of steps.
        texts: texts in comparisons.
        globs: globs of names and of ``like``.
        regexes: regexes of the subset.
        numbers: numbers in comparisons.
        durations: lengths of time, in nanoseconds.
        fields: step fields that conditions use.
        content: also ``attr`` and ``similar``, which only the matcher knows.
        params: also ``@params``.
    """

    kinds: tuple[str, ...] = ("ANY", "TOOL", "LLM", "AGENT", "CHAIN")
    texts: st.SearchStrategy[str] = _TEXTS
    globs: st.SearchStrategy[str] = _GLOBS
    regexes: st.SearchStrategy[str] = _REGEXES
    numbers: st.SearchStrategy[int | float] = _NUMBERS
    durations: st.SearchStrategy[int] = _DURATIONS
    fields: tuple[str, ...] = tuple(
        name for name, kind in STEP_FIELDS.items() if name not in ("input", "output")
    )
    content: bool = False
    params: bool = False


SMALL = Vocabulary()
WIDE = Vocabulary(
    kinds=KINDS,
    texts=st.text(),
    globs=st.text(),
    regexes=st.sampled_from(["a/b", "/", "x{2,3}?", r"[^/\]]+", "(a|b)*", r"\\", "é+", "# no"]),
    numbers=st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False),
    durations=st.integers(-(2**63), 2**63 - 1),
    fields=tuple(STEP_FIELDS),
    content=True,
    params=True,
)


@dataclass(frozen=True)
class _Named:
    """A bound name: its step, and whether it has a step on its left."""

    step: Bind
    has_left: bool


@st.composite
def patterns(draw: Draw, words: Vocabulary = SMALL, exact: bool | None = None) -> Pattern:
    """Draw a valid pattern; ``exact`` fixes its confidence."""
    confident = draw(st.booleans()) if exact is None else exact
    maker = _Maker(draw, words, confident)
    body = maker.body()
    return Pattern(
        draw(st.from_regex(r"[a-z][a-z0-9]{0,3}(-[a-z0-9]{1,3}){0,2}", fullmatch=True)),
        draw(st.integers(1, 30)),
        body,
        title=draw(words.texts),
        severity=draw(st.sampled_from(["info", "low", "medium", "high", "critical"])),
        confidence="exact" if confident else "heuristic",
        tags=tuple(draw(st.lists(st.sampled_from(["retry", "mast:FM-1.3", "a.b_c"]), max_size=2))),
        params=tuple((name, maker.params[name]) for name in sorted(maker.params)),
        needs=tuple(draw(st.lists(st.sampled_from(FEATURES), max_size=2, unique=True))),
        because=draw(words.texts),
    )


class _Maker:
    def __init__(self, draw: Draw, words: Vocabulary, exact: bool) -> None:
        self.draw = draw
        self.words = words
        self.exact = exact
        self.in_match = True
        self.taken: set[str] = set()  # names of any branch, for what follows all of them
        self.params: dict[str, Any] = {}

    def chance(self, one_in: int) -> bool:
        return bool(self.draw(st.integers(1, one_in)) == one_in)

    def pick(self, items: Any) -> Any:
        return self.draw(st.sampled_from(tuple(items)))

    # ------------------------------------------------------------ structure

    def body(self) -> Body:
        made = [self.branch() for _ in range(2 if self.chance(5) else 1)]
        branches = tuple(branch for branch, _ in made)
        names = self.shared([names for _, names in made])
        self.in_match = False
        self.taken = {name for _, bound in made for name in bound}
        unless = tuple(self.counter(names) for _ in range(self.draw(st.integers(0, 2))) if names)
        having = self.having(branches, names) if self.chance(4) else None
        return Body(branches, unless, self.window(having), having, self.returns(names, having))

    def shared(self, scopes: list[dict[str, _Named]]) -> dict[str, _Named]:
        """Keep the names that all branches bind in the same manner."""
        first, *others = scopes
        return {
            name: named
            for name, named in first.items()
            if all(
                name in other
                and other[name].step.run == named.step.run
                and other[name].has_left == named.has_left
                for other in others
            )
        }

    def branch(self) -> tuple[Branch, dict[str, _Named]]:
        names: dict[str, _Named] = {}
        paths = [self.path(names, None, self.draw(st.integers(1, 3)))]
        if names and self.chance(4):
            paths.append(self.path(names, self.pick(sorted(names)), self.draw(st.integers(1, 2))))
        return Branch(tuple(paths)), names

    def counter(self, names: dict[str, _Named]) -> Path:
        scope = dict(names)
        own = self.draw(st.integers(1, 2))
        if self.chance(2):
            return self.path(scope, self.pick(sorted(names)), own)
        path = self.path(scope, None, own)
        anchor = Ref(self.pick(sorted(names)))
        return Path((*path.steps, anchor), (*path.edges, self.edge(scope)))

    def path(self, names: dict[str, _Named], start: str | None, length: int) -> Path:
        """Make a path of new steps, behind ``$start`` if that is given."""
        steps: list[Step] = [] if start is None else [Ref(start)]
        edges: list[Edge] = []
        for _ in range(length):
            has_left = bool(steps)
            if has_left:
                edges.append(self.edge(names))
            step = self.bind(names, has_left)
            if step.name is not None:
                names[step.name] = _Named(step, has_left)
            steps.append(step)
        return Path(tuple(steps), tuple(edges))

    def bind(self, names: dict[str, _Named], has_left: bool) -> Bind:
        free = [name for name in "abcdefghijkl" if name not in names and name not in self.taken]
        return Bind(
            tuple(self.draw(st.lists(st.sampled_from(self.words.kinds), min_size=1, max_size=2))),
            None if self.chance(3) else free[0],
            self.draw(self.words.globs) if self.chance(4) else None,
            self.run() if self.chance(6) and not (self.exact and self.in_match) else None,
            None if self.chance(3) else self.expr(names, has_left, 2),
        )

    def run(self) -> Run:
        same = [name for name in self.words.fields if name not in ("gap", "signals")]
        return Run(
            self.draw(st.integers(1, 3)),
            tuple(self.draw(st.lists(st.sampled_from(same), min_size=1, max_size=2, unique=True))),
            (1, self.draw(st.integers(1, 3))) if self.chance(4) else None,
            self.pick([None, "scope", "agent", "parent"]),
        )

    def edge(self, names: dict[str, _Named]) -> Edge:
        kinds = ["cause", "cause", "cause", "child", "descendant"]
        if not (self.exact and self.in_match):
            kinds += ["scope", "trace"]
        kind = self.pick(kinds)
        low, high = 1, 1
        if kind == "cause":
            low = self.pick([1, 1, 1, 2, 3])
            high = self.pick([low, low, low + 2, None])
        inside = kind in ("descendant", "scope", "trace") or (kind == "cause" and high != 1)
        between = self.between(names, kind) if inside and self.chance(3) else None
        return Edge(kind, low, high, between)

    def between(self, names: dict[str, _Named], kind: str) -> Between:
        return Between(
            (self.pick(self.words.kinds),),
            self.draw(st.integers(0, 2)) if kind in ("scope", "trace") else 0,
            self.draw(self.words.globs) if self.chance(4) else None,
            self.expr(names, False, 1) if self.chance(2) else None,
        )

    # ------------------------------------------------------------ clauses

    def window(self, having: Having | None) -> Window | None:
        if not self.chance(5):
            return None
        if having is None and not self.exact and self.chance(2):
            return Window(steps=self.draw(st.integers(0, 5)))
        return Window(ns=abs(self.draw(self.words.durations)) % 2**62)

    def having(self, branches: tuple[Branch, ...], names: dict[str, _Named]) -> Having | None:
        choices: list[Field | Of] = [
            Of(name, field)
            for name, named in sorted(names.items())
            for field in (named.step.run.same if named.step.run else ("name", "kind", "status"))
        ]
        steps = [[step for path in branch.paths for step in path.steps] for branch in branches]
        if all(len(each) == 1 and isinstance(each[0], Bind) and not each[0].run for each in steps):
            choices += [Field("name"), Field("error.type"), Field("depth")]
        if not choices:
            return None
        by = self.draw(st.lists(st.sampled_from(choices), min_size=1, max_size=2, unique=True))
        return Having(self.draw(st.integers(1, 3)), tuple(by))

    def returns(self, names: dict[str, _Named], having: Having | None) -> tuple[Item, ...]:
        operands: list[Any] = [OfTrace("status")]
        if having is not None:
            operands = list(having.by)
        else:
            operands += [Of(name, "name") for name, each in names.items() if not each.step.run]
            operands += [RunCount(name) for name, each in names.items() if each.step.run]
        chosen = self.draw(st.lists(st.sampled_from(operands), max_size=2, unique=True))
        return tuple(
            Item(operand, f"v{position}" if self.chance(3) else label(operand))
            for position, operand in enumerate(chosen)
        )

    # ------------------------------------------------------------ conditions

    def expr(self, names: dict[str, _Named], has_left: bool, depth: int) -> Expr:
        match self.draw(st.integers(0, 5)) if depth else 0:
            case 4:
                return Not(self.expr(names, has_left, depth - 1))
            case 5:
                items = tuple(self.expr(names, has_left, depth - 1) for _ in range(2))
                return And(items) if self.chance(2) else Or(items)
        return self.test(names, has_left)

    def test(self, names: dict[str, _Named], has_left: bool) -> Expr:
        own = [
            name
            for name in self.words.fields
            if (name != "gap" or has_left) and not (name == "seq" and self.exact)
        ]
        field = self.pick(own)
        operand: Any = Field(field)
        if self.chance(12):
            field = self.pick(TRACE_FIELDS)
            operand, kind = OfTrace(field), TRACE_FIELDS[field]
        else:
            kind = STEP_FIELDS[field]
        if self.words.content and self.chance(8):
            return self.content_test(names)
        match self.draw(st.integers(0, 5)):
            case 0:
                return Known(operand, self.draw(st.booleans()))
            case 1 if kind not in ("time", "digest", "signals"):
                return In(operand, tuple(self.literal(kind) for _ in range(2)))
        if kind == "signals":
            return Contains(operand, Text(self.pick(SIGNALS)))
        if kind == "text" and self.chance(3):
            return self.text_test(operand)
        return self.comparison(operand, field, kind, names)

    def text_test(self, operand: Any) -> Expr:
        match self.draw(st.integers(0, 2)):
            case 0:
                return Like(operand, self.param_or(Text(self.draw(self.words.globs))))
            case 1:
                return Contains(operand, self.param_or(Text(self.draw(self.words.texts))))
        return Matches(operand, self.draw(self.words.regexes), self.draw(st.booleans()))

    def comparison(self, operand: Any, field: str, kind: str, names: dict[str, _Named]) -> Expr:
        ordered = kind in ("number", "duration", "time")
        op = self.pick(["==", "!=", "<", "<=", ">", ">="] if ordered else ["==", "!="])
        others = self.earlier(field, names) if isinstance(operand, Field) else []
        if others and (kind in ("time", "digest") or self.chance(2)):
            other: Any = self.pick(others)
            if kind in ("number", "duration") and self.chance(3):
                other = Times(self.draw(self.words.numbers), other)
            return Compare(operand, op, other)
        if kind in ("time", "digest"):
            return Known(operand, True)
        sides = [operand, self.param_or(self.literal(kind))]
        left, right = sides if self.chance(2) else sides[::-1]
        return Compare(left, op, right)

    def earlier(self, field: str, names: dict[str, _Named]) -> list[Any]:
        """Return the operands of earlier steps that hold the same field."""
        found: list[Any] = []
        for name, named in sorted(names.items()):
            if field == "gap" and not named.has_left:
                continue
            if named.step.run is None:
                found.append(Of(name, field))
            else:
                found += [OfEnd(name, "first", field), OfEnd(name, "last", field)]
                found += [Of(name, field)] if field in named.step.run.same else []
        return found

    def content_test(self, names: dict[str, _Named]) -> Expr:
        single = sorted(name for name, named in names.items() if named.step.run is None)
        key = self.draw(self.words.texts)
        if single and self.chance(2):
            return Compare(AttrOf(self.pick(single), key), "==", self.literal("number"))
        if self.exact and self.in_match:
            return Like(Attr(key), Text(self.draw(self.words.globs)))
        bound = self.draw(st.floats(-1, 1))
        return Similar(Field("output"), self.draw(self.words.texts), ">=", bound)

    def literal(self, kind: str) -> Any:
        match kind:
            case "number":
                return Number(self.draw(self.words.numbers))
            case "duration":
                return Duration(self.draw(self.words.durations))
            case "status":
                return Word(self.pick(STATUSES))
            case "kind":
                return Word(self.pick(KINDS[1:]))
            case "bool":
                return Word(self.pick(["true", "false"]))
        return Text(self.draw(self.words.texts))

    def param_or(self, value: Any) -> Any:
        if not (self.words.params and self.chance(4)):
            return value
        name = f"p{len(self.params)}"
        self.params[name] = value
        return Param(name)
