"""Predicates as pairs of Cypher texts: known to be true, and not known to be false."""

from tracegraph.errors import UnsupportedPatternError
from tracegraph.model.codes import KIND_CODE, SIGNAL_BIT
from tracegraph.pattern.ast import (
    And,
    Compare,
    Contains,
    Expr,
    In,
    Known,
    Like,
    Matches,
    Not,
    Or,
    Param,
    Text,
)
from tracegraph.pattern.cypher_operands import Side, View, code_of, side
from tracegraph.pattern.cypher_text import (
    Truth,
    certain,
    conjunction,
    disjunction,
    guarded,
    negation,
)
from tracegraph.pattern.regex import glob_to_re2, to_re2

_OPERATORS = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def step_truth(
    kinds: tuple[str, ...] | None, glob: str | None, where: Expr | None, view: View
) -> list[Truth]:
    """Compile what a step must be: its kinds, its name, its condition."""
    truths = []
    if kinds is not None and "ANY" not in kinds:
        codes = tuple(sorted({KIND_CODE[kind] for kind in kinds}))
        truths.append(certain(f"{view.own}._kind IN {view.parameters.add(codes)}"))
    if glob is not None:
        truths.append(_glob(name_of(view), glob, view))
    if where is not None:
        truths.append(truth_of(where, view))
    return truths


def name_of(view: View) -> Side:
    """Return the name of the step itself."""
    own = view.own
    return Side("text", f"{own}._name", (f"{own}._name",), f"coalesce({own}.name, '')", own)


def truth_of(node: Expr, view: View) -> Truth:  # noqa: PLR0911 - one per kind of node
    """Compile a condition.

    Raises:
        UnsupportedPatternError: it reads what is not in the graph, or a text that may be NULL from
            outside the part of the statement it stands in.
    """
    match node:
        case And(items):
            return conjunction(truth_of(item, view) for item in items)
        case Or(items):
            return disjunction(truth_of(item, view) for item in items)
        case Not(item):
            return negation(truth_of(item, view))
        case Compare(left, op, right):
            return _compare(side(left, view), op, side(right, view), view)
        case In(operand, values):
            return _member(side(operand, view), [side(value, view) for value in values], view)
        case Known(operand, known):
            guards = [f"{column} >= 0" for column in side(operand, view).columns]
            text = f"({' AND '.join(guards)})" if guards else "true"
            return certain(text if known else f"NOT {text}")
        case Like(operand, glob):
            return _glob(side(operand, view), _text(glob), view)
        case Matches(operand, regex, ignore_case):
            return _ask("regexp_matches", side(operand, view), to_re2(regex, ignore_case), view)
        case Contains(operand, text):
            return _contains(side(operand, view), _text(text), view)
        case _:
            raise UnsupportedPatternError("similar() compares embeddings, which the graph lacks")


def _member(of: Side, values: list[Side], view: View) -> Truth:
    if of.engine and all(value.literal is not None for value in values):
        codes = tuple(sorted({code_of(value, of, view) for value in values}))
        return guarded(of.columns, f"{of.engine} IN {view.parameters.add(codes)}")
    return disjunction(_compare(of, "==", value, view) for value in values)


def _compare(left: Side, op: str, right: Side, view: View) -> Truth:
    sides: tuple[str, str]
    if left.literal is not None and right.engine:
        sides = view.parameters.add(code_of(left, right, view)), right.engine
    elif right.literal is not None and left.engine:
        sides = left.engine, view.parameters.add(code_of(right, left, view))
    elif _share_codes(left, right):
        sides = left.engine, right.engine
    else:
        sides = _readable(left, view), _readable(right, view)
    return guarded(left.columns + right.columns, f"{sides[0]} {_OPERATORS[op]} {sides[1]}")


def _share_codes(left: Side, right: Side) -> bool:
    """Tell whether equal engine values mean equal values; ids have none, fidelity its own."""
    own = left.engine.endswith("._fidelity") == right.engine.endswith("._fidelity")
    return bool(left.engine and right.engine) and own


def _readable(of: Side, view: View) -> str:
    if not of.readable:
        raise UnsupportedPatternError(f"a {of.type} is compared as text")
    if of.columns and of.owner not in view.local:
        raise UnsupportedPatternError(
            "'unless' or [no ...] searches a text of a step outside of it"
        )
    return of.readable


def _text(node: Text | Param) -> str:
    if isinstance(node, Param):
        raise UnsupportedPatternError(f"@{node.name} has no value")
    return node.value


def _glob(of: Side, glob: str, view: View) -> Truth:
    """Compile a glob; the database compiles a regex anew for each row, so most do without one."""
    first, *rest = glob.split("*")
    inside = [part for part in rest[:-1] if part]
    if "?" not in glob:
        if not rest:
            return _compare(of, "==", side(Text(glob), view), view)
        match first, inside, rest[-1]:
            case "", [], "":
                return guarded(of.columns, "true")
            case part, [], "":
                return _ask("starts_with", of, part, view)
            case "", [], part:
                return _ask("ends_with", of, part, view)
            case "", [part], "":
                return _ask("contains", of, part, view)
    return _ask("regexp_matches", of, glob_to_re2(glob), view)


def _ask(function: str, of: Side, text: str, view: View) -> Truth:
    """Ask a function of the database about a text."""
    return guarded(of.columns, f"{function}({_readable(of, view)}, {view.parameters.add(text)})")


def _contains(of: Side, text: str, view: View) -> Truth:
    if of.type == "signals":
        bit = view.parameters.add(SIGNAL_BIT[text])
        return certain(f"bitwise_and({of.engine}, {bit}) <> 0")
    if not text:  # the database says that nothing contains the empty text
        return guarded(of.columns, "true")
    return _ask("contains", of, text, view)
