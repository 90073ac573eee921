"""Parameters of a statement: all given, none left over, each of a kind that the engine takes.

Measured on Kuzu 0.11.3, and the reason for each check: a parameter without a value reads as no
filter at all; half of a surrogate pair ends the process; a time zone is dropped, not applied; the
second of two objects with other keys takes the keys of the first.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from tracegraph.errors import QueryError

_INT64: Final = range(-(1 << 63), 1 << 63)
_ANY: Final = ""
"""The shape of None, which fits every other."""

_SCALARS: Final[Sequence[tuple[type | tuple[type, ...], str]]] = (
    (type(None), _ANY),
    (bool, "boolean"),
    ((int, float, Decimal), "number"),
    (str, "text"),
    (datetime, "time"),
    (date, "date"),
    (timedelta, "duration"),
    (UUID, "UUID"),
)
"""Narrower types first: bool is an int, datetime a date."""


def check_parameters(names: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the named parameters, as the engine takes them.

    Raises:
        QueryError: a name without a value, a value without a name, or a value that the engine
            cannot take.
    """
    for name in names:
        if name not in values:
            raise QueryError(f"parameter ${name} has no value; give it one: --param {name}=VALUE")
    for name in values:
        if name not in names:
            asked = ", ".join(f"${n}" for n in names) or "none"
            raise QueryError(f"parameter ${name} is not in the statement, which has: {asked}")
    return {name: _taken(name, value)[0] for name, value in values.items()}


def _taken(name: str, value: Any) -> tuple[Any, str]:
    """Return a value as the engine takes it, and its shape: equal where a list may hold both."""
    match value:
        case list() | tuple():
            return _list(name, value)
        case dict():
            return _object(name, value)
        case str() if any("\ud800" <= c <= "\udfff" for c in value):
            raise QueryError(f"parameter ${name} holds half of a surrogate pair: no text")
        case int() if value not in _INT64:
            raise QueryError(f"parameter ${name} is outside the range of a 64-bit integer")
        case datetime() if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
    for kind, shape in _SCALARS:
        if isinstance(value, kind):
            return value, shape
    raise QueryError(
        f"parameter ${name} is of type {type(value).__name__}: Cypher has no such value"
    )


def _list(name: str, value: Sequence[Any]) -> tuple[Any, str]:
    items = [_taken(name, item) for item in value]
    shapes = sorted({shape for _, shape in items} - {_ANY})
    if not shapes:
        raise QueryError(f"parameter ${name} holds a list without a value: the engine needs one")
    if len(shapes) > 1:
        raise QueryError(f"parameter ${name} mixes {' and '.join(shapes)} in one list")
    return [item for item, _ in items], f"list of {shapes[0]}"


def _object(name: str, value: Mapping[Any, Any]) -> tuple[Any, str]:
    items = {_taken(name, str(key))[0]: _taken(name, item) for key, item in value.items()}
    if any(shape == _ANY for _, shape in items.values()):
        raise QueryError(f"parameter ${name} holds an object with a null: the engine needs a value")
    shape = ", ".join(f"{key}: {shape}" for key, (_, shape) in sorted(items.items()))
    return {key: item for key, (item, _) in items.items()}, f"object of ({shape})"
