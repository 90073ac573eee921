"""The small parts that Cypher is put together from: statements, parameters, two-valued predicates.

NULL never reaches the database's logic. Each predicate is compiled to two texts that are true or
false whatever is unknown: *true* (the predicate is known to hold) and *maybe* (it is not known to
fail). Over NULLs the database answers wrongly, inside EXISTS above all.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracegraph.errors import UnsupportedPatternError

_PARAMETER = re.compile(r"\$(p\d+)")


@dataclass(frozen=True)
class Statement:
    """One Cypher statement with exactly the parameters that its text names.

    Exactly, because the database reads a missing one as no filter and refuses one too many.
    """

    text: str
    parameters: Mapping[str, Any]


class Parameters:
    """Hands out names for values; a value that comes again keeps its name."""

    def __init__(self) -> None:
        self._names: dict[tuple[type, Any], str] = {}
        self._values: dict[str, Any] = {}

    def add(self, value: Any) -> str:
        """Return the text that stands for a value, e.g. ``$p0``. Lists are passed as tuples.

        Raises:
            UnsupportedPatternError: the value is a text that the database's binding crashes on.
        """
        if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
            raise UnsupportedPatternError("a text holds half of a surrogate pair")
        key = (type(value), value)
        name = self._names.setdefault(key, f"p{len(self._names)}")
        self._values[name] = list(value) if isinstance(value, tuple) else value
        return f"${name}"

    def statement(self, text: str) -> Statement:
        """Join a text with the parameters that it names, numbered anew in their order.

        A text holds no literal but numbers, so what looks like a parameter is one.
        """
        names = {old: f"p{i}" for i, old in enumerate(dict.fromkeys(_PARAMETER.findall(text)))}
        numbered = _PARAMETER.sub(lambda match: f"${names[match[1]]}", text)
        return Statement(numbered, {new: self._values[old] for old, new in names.items()})


@dataclass(frozen=True)
class Truth:
    """A three-valued predicate as two two-valued texts.

    Attributes:
        true: holds where the predicate is true.
        maybe: holds where the predicate is not false.
    """

    true: str
    maybe: str


def certain(text: str) -> Truth:
    """Make a predicate that is never unknown."""
    return Truth(text, text)


def negation(truth: Truth) -> Truth:
    """Kleene's NOT."""
    return Truth(f"NOT ({truth.maybe})", f"NOT ({truth.true})")


def conjunction(truths: Iterable[Truth]) -> Truth:
    """Kleene's AND over one or more."""
    return _join(truths, " AND ")


def disjunction(truths: Iterable[Truth]) -> Truth:
    """Kleene's OR over one or more."""
    return _join(truths, " OR ")


def guarded(columns: Iterable[str], text: str) -> Truth:
    """Make the predicate of a text that says something only where no column is unknown.

    Args:
        columns: engine columns, negative where unknown.
        text: the condition over them.
    """
    read = tuple(dict.fromkeys(columns))
    if not read:
        return certain(text)
    known = [f"{column} >= 0" for column in read]
    unknown = [f"{column} < 0" for column in read]
    return Truth(f"({' AND '.join((*known, text))})", f"({' OR '.join((*unknown, text))})")


def _join(truths: Iterable[Truth], word: str) -> Truth:
    items = tuple(truths)
    if len(items) == 1:
        return items[0]
    return Truth(
        "(" + word.join(item.true for item in items) + ")",
        "(" + word.join(item.maybe for item in items) + ")",
    )


class Aliases:
    """Names of nodes and edges, unique in one statement."""

    def __init__(self) -> None:
        self._numbers: Iterator[int] = iter(range(1 << 30))

    def new(self, letter: str) -> str:
        """Return a name that no other part of the statement has, e.g. ``z3``."""
        return f"{letter}{next(self._numbers)}"
