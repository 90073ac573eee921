"""Values of result rows, the same whichever engine gave them."""

from typing import Any, Final

_KEYS: Final = {key.upper(): key for key in ("_id", "_label", "_src", "_dst", "_nodes", "_rels")}


def holds_graph(type_name: str) -> bool:
    """Tell whether values of an engine type may hold nodes, edges or paths."""
    return "NODE" in type_name or "REL" in type_name


def neutral(value: Any) -> Any:
    """Return a value with the engine's keys of nodes, edges and paths as Kuzu writes them.

    Ladybug writes ``_LABEL`` where Kuzu writes ``_label``.
    """
    match value:
        case dict():
            return {_KEYS.get(key, key): neutral(item) for key, item in value.items()}
        case list():
            return [neutral(item) for item in value]
    return value
