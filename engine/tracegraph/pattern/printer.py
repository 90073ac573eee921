"""Canonical text of a pattern, and the digest of what it means."""

import hashlib
from typing import Any

from tracegraph.pattern.ast import (
    And,
    Between,
    Bind,
    Body,
    Branch,
    Compare,
    Contains,
    Duration,
    Edge,
    Expr,
    Having,
    In,
    Item,
    Known,
    Like,
    Matches,
    Node,
    Not,
    Number,
    Or,
    Param,
    Path,
    Pattern,
    Run,
    Scaled,
    Similar,
    Step,
    Text,
    Times,
    Value,
    Window,
    Word,
)
from tracegraph.pattern.labels import label, print_operand
from tracegraph.pattern.literals import print_duration, print_number, print_slashes, print_text

_SIGNS = {"child": "/", "descendant": "//", "scope": "~>", "trace": "~>>"}


def print_pattern(pattern: Pattern) -> str:
    """Write a pattern so that parsing the text gives it back; default headers are left out.

    Returns:
        Text of one pattern with a newline at the end.
    """
    lines = [f"pattern {pattern.id} v{pattern.version}"]
    default = Pattern("", 1, pattern.body)
    for key in ("title", "because"):
        if text := getattr(pattern, key):
            lines.append(f"  {key} {print_text(text)}")
    for key in ("severity", "confidence", "export", "scope"):
        if (word := getattr(pattern, key)) != getattr(default, key):
            lines.append(f"  {key} {word}")
    if pattern.tags:
        lines.append(f"  tags [{', '.join(pattern.tags)}]")
    if pattern.needs:
        lines.append(f"  needs {', '.join(pattern.needs)}")
    lines += [f"  param {name} = {print_value(value)}" for name, value in pattern.params]
    return "\n".join([*lines, "match", *_body(pattern.body)]) + "\n"


def digest(pattern: Pattern) -> str:
    """Return the BLAKE2b-128 of a pattern's meaning, in hexadecimal.

    All that can change a result counts: id, version, confidence, export, scope, needs, params and
    body. Title, severity, tags and reason do not, nor do ways of writing the same.
    """
    plain = Pattern(
        pattern.id,
        pattern.version,
        _normal(pattern.body),
        confidence=pattern.confidence,
        export=pattern.export,
        scope=pattern.scope,
        needs=tuple(sorted(set(pattern.needs))),
        params=tuple(sorted(pattern.params)),
    )
    return hashlib.blake2b(print_pattern(plain).encode(), digest_size=16).hexdigest()


def _normal(item: Any) -> Any:
    """Rebuild a tree with kinds sorted and nested ``and`` and ``or`` joined."""
    if isinstance(item, tuple):
        return tuple(map(_normal, item))
    if not isinstance(item, Node):
        return item
    parts = {name: _normal(getattr(item, name)) for name in item.__struct_fields__}
    if isinstance(item, Bind | Between):
        parts["kinds"] = ("ANY",) if "ANY" in item.kinds else tuple(sorted(set(item.kinds)))
    if isinstance(item, And | Or):
        joined: list[Expr] = []
        for part in parts["items"]:
            joined += part.items if isinstance(part, type(item)) else (part,)
        parts["items"] = tuple(joined)
    return type(item)(**parts)


# ---------------------------------------------------------------- paths and clauses


def _body(body: Body) -> list[str]:
    lines: list[str] = []
    for position, branch in enumerate(body.branches):
        lines += ["alternatively"] if position else []
        lines += _branch(branch)
    lines += [f"unless {' '.join(_path(path))}" for path in body.unless]
    if body.within is not None:
        lines.append(f"within {_window(body.within)}")
    if body.having is not None:
        lines.append(_having(body.having))
    if body.returns:
        lines.append(f"return {', '.join(map(_item, body.returns))}")
    return lines


def _branch(branch: Branch) -> list[str]:
    lines: list[str] = []
    for position, path in enumerate(branch.paths):
        lines += ["also"] if position else []
        lines += [f"  {step}" for step in _path(path)]
    return lines


def _path(path: Path) -> list[str]:
    """Return the steps of a path, each behind its edge."""
    first, *rest = path.steps
    joined = [f"{_edge(edge)} {_step(step)}" for edge, step in zip(path.edges, rest, strict=True)]
    return [_step(first), *joined]


def _step(step: Step) -> str:
    if not isinstance(step, Bind):
        return f"${step.name}"
    name = "" if step.name is None else f"{step.name}: "
    run = "" if step.run is None else f" {_run(step.run)}"
    return f"{name}{_kinds(step)}{run}{_where(step)}"


def _kinds(step: Bind | Between) -> str:
    glob = "" if step.glob is None else f" {print_text(step.glob)}"
    return f"{' | '.join(step.kinds)}{glob}"


def _where(step: Bind | Between) -> str:
    return "" if step.where is None else f" where {print_expr(step.where)}"


def _run(run: Run) -> str:
    period = "" if run.period is None else f" period {run.period[0]}..{run.period[1]}"
    per = "" if run.per is None else f" per {run.per}"
    return f"{{{run.minimum},}}{period} same {', '.join(run.same)}{per}"


def _edge(edge: Edge) -> str:
    between = "" if edge.between is None else f" {_between(edge.between)}"
    return f"{_SIGNS.get(edge.kind) or _cause(edge)}{between}"


def _cause(edge: Edge) -> str:
    match edge.low, edge.high:
        case 1, 1:
            return "->"
        case 1, None:
            return "->>"
        case low, None:
            return f"->{{{low},}}"
    return f"->{{{edge.low}}}" if edge.low == edge.high else f"->{{{edge.low},{edge.high}}}"


def _between(between: Between) -> str:
    amount = f"at most {between.at_most}" if between.at_most else "no"
    return f"[{amount} {_kinds(between)}{_where(between)}]"


def _window(window: Window) -> str:
    return f"{window.steps} steps" if window.ns is None else print_duration(window.ns)


def _having(having: Having) -> str:
    return f"having count >= {having.minimum} by {', '.join(map(print_operand, having.by))}"


def _item(item: Item) -> str:
    written = print_operand(item.operand)
    return written if item.label == label(item.operand) else f"{written} as {item.label}"


# ---------------------------------------------------------------- conditions


def print_expr(expr: Expr) -> str:  # noqa: PLR0911  # one return per kind of node
    """Write a condition."""
    match expr:
        case Or(items):
            return " or ".join(_grouped(item, Or) for item in items)
        case And(items):
            return " and ".join(_grouped(item, Or | And) for item in items)
        case Not(item):
            return f"not {_grouped(item, Or | And)}"
        case Compare(left, op, right):
            return f"{_scaled(left)} {op} {_scaled(right)}"
        case Matches(operand, regex, ignore_case):
            flag = "i" if ignore_case else ""
            return f"{print_operand(operand)} matches {print_slashes(regex)}{flag}"
        case Like(operand, glob):
            return f"{print_operand(operand)} like {print_value(glob)}"
        case Contains(operand, text):
            return f"{print_operand(operand)} contains {print_value(text)}"
        case In(operand, values):
            return f"{print_operand(operand)} in [{', '.join(map(print_value, values))}]"
        case Known(operand, known):
            return f"{print_operand(operand)} is {'known' if known else 'unknown'}"
        case Similar(operand, text, op, threshold):
            compared = f"similar({print_operand(operand)}, {print_text(text)})"
            return f"{compared} {op} {print_number(threshold)}"


def _grouped(expr: Expr, weaker: Any) -> str:
    return f"({print_expr(expr)})" if isinstance(expr, weaker) else print_expr(expr)


def _scaled(side: Scaled) -> str:
    if isinstance(side, Times):
        return f"{print_number(side.factor)} * {print_operand(side.operand)}"
    return print_value(side) if isinstance(side, Value) else print_operand(side)


def print_value(value: Value) -> str:
    """Return a literal, a word or a param as it is written in a pattern."""
    match value:
        case Number(number):
            return print_number(number)
        case Duration(ns):
            return print_duration(ns)
        case Text(text):
            return print_text(text)
        case Word(word):
            return word
        case Param(name):
            return f"@{name}"
