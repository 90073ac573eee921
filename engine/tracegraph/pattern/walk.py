"""Walks over the syntax tree."""

from collections.abc import Iterator

from tracegraph.pattern.ast import (
    Attr,
    AttrOf,
    Field,
    Node,
    Of,
    OfEnd,
    Param,
    Pattern,
    Ref,
    Run,
    RunCount,
)


def fields_of(node: Node) -> Iterator[tuple[str, object]]:
    """Yield the fields of a node with their names."""
    for name in node.__struct_fields__:
        yield name, getattr(node, name)


def nodes(root: object) -> Iterator[Node]:
    """Yield a node and all nodes inside it, parents first, in the order of their fields."""
    pending = [root]
    while pending:
        current = pending.pop()
        if isinstance(current, tuple):
            pending.extend(reversed(current))
        elif isinstance(current, Node):
            yield current
            pending.extend(reversed([value for _, value in fields_of(current)]))


def param_names(pattern: Pattern) -> set[str]:
    """Return the names of the params that a pattern declares or uses."""
    used = {node.name for node in nodes(pattern.body) if isinstance(node, Param)}
    return used | {name for name, _ in pattern.params}


def mentioned(root: object) -> Iterator[str]:
    """Yield the names that are referred to inside a node, as a step or in a condition."""
    for node in nodes(root):
        if isinstance(node, Ref):
            yield node.name
        elif isinstance(node, Of | OfEnd | RunCount | AttrOf):
            yield node.var


def asked_fields(pattern: Pattern) -> set[str]:
    """Return the fields of steps that a pattern asks for; ``attr["key"]`` counts as ``attr``."""
    asked: set[str] = set()
    for node in nodes(pattern.body):
        if isinstance(node, Field | Of | OfEnd):
            asked.add(node.field)
        elif isinstance(node, Attr | AttrOf):
            asked.add("attr")
        elif isinstance(node, Run):
            asked.update(node.same)
    return asked
