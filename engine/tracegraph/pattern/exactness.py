"""What ``confidence exact`` and ``export review`` demand of a pattern.

An exact pattern makes a finding of declared and containment edges alone, so its ``match`` admits
nothing that rests on order. A pattern for review names the failing tool that a person is to see.
"""

from collections.abc import Iterator

from tracegraph.pattern.ast import (
    And,
    Bind,
    Branch,
    Compare,
    Edge,
    Expr,
    Field,
    Node,
    Of,
    OfEnd,
    Pattern,
    Run,
    Similar,
    Word,
)
from tracegraph.pattern.parsed import Parsed
from tracegraph.pattern.walk import nodes

_WAVES = {"scope": "~>", "trace": "~>>"}


def check_exact(parsed: Parsed) -> None:
    """Refuse what an exact pattern cannot hold in ``match``; ``unless`` is free.

    Raises:
        PatternError: with the place of the first such part.
    """
    body = parsed.pattern.body
    if parsed.pattern.confidence != "exact":
        return
    for node in nodes(body.branches):
        if refused := _inexact(node):
            raise parsed.error(f"confidence exact does not admit {refused} in match", node)
    if body.within is not None and body.within.steps is not None:
        raise parsed.error(
            "confidence exact does not admit 'within N steps', which counts by seq", body.within
        )


def _inexact(node: Node) -> str:
    match node:
        case Edge(kind) if kind in _WAVES:
            return f"'{_WAVES[kind]}'"
        case Run():
            return "runs"
        case Similar():
            return "similar()"
        case Field("seq") | Of(_, "seq") | OfEnd(_, _, "seq"):
            return "seq"
    return ""


def check_review(parsed: Parsed) -> None:
    """Refuse ``export review`` where the pattern is not fit for it.

    Raises:
        PatternError: with the reason, at the header.
    """
    pattern = parsed.pattern
    if pattern.export != "review":
        return
    if pattern.confidence != "exact":
        raise parsed.error("export review demands confidence exact", "export")
    for node in nodes(pattern.body.branches):
        if isinstance(node, Edge) and node.kind == "cause" and node.high is None:
            raise parsed.error("export review admits no unbounded causal edge", node, "export")
    for branch in pattern.body.branches:
        if not any(_is_returned(step, branch, pattern) for step in _failing_tools(branch)):
            raise parsed.error(
                "export review demands in every branch a TOOL step with the condition "
                "'status == error' whose name is returned",
                "export",
            )


def reviewed(pattern: Pattern) -> frozenset[str | None]:
    """Return the names of the positions at which a pattern for review has the failing tool.

    None stands for the one position of a branch that needs no name.
    """
    return frozenset(
        step.name
        for branch in pattern.body.branches
        for step in _failing_tools(branch)
        if _is_returned(step, branch, pattern)
    )


def _failing_tools(branch: Branch) -> Iterator[Bind]:
    for path in branch.paths:
        for step in path.steps:
            if not isinstance(step, Bind) or set(step.kinds) != {"TOOL"} or step.where is None:
                continue
            if any(_is_failure(part) for part in _conjuncts(step.where)):
                yield step


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, And):
        for item in expr.items:
            yield from _conjuncts(item)
    else:
        yield expr


def _is_failure(expr: Expr) -> bool:
    sides = (Field("status"), Word("error"))
    return (
        isinstance(expr, Compare)
        and expr.op == "=="
        and ((expr.left, expr.right) in (sides, sides[::-1]))
    )


def _is_returned(step: Bind, branch: Branch, pattern: Pattern) -> bool:
    operands = [item.operand for item in pattern.body.returns]
    alone = len(branch.paths) == 1 and len(branch.paths[0].steps) == 1
    named = step.name is not None and Of(step.name, "name") in operands
    return named or (alone and Field("name") in operands)
