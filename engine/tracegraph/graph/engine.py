"""Which graph engine runs: Kuzu, or its maintained fork Ladybug.

Both speak the same dialect through the same Python interface, but loading both into one process
crashes it, so the choice is made once, on first use.
"""

import importlib
import importlib.util  # kuzu uses it without importing it
import os
import re
from functools import cache
from typing import Any, Final

from tracegraph.errors import QueryError

ENGINE_VARIABLE: Final = "TRACEGRAPH_ENGINE"
_INSTALL: Final = {
    "kuzu": "pip install kuzu",
    "ladybug": 'pip install "tracegraph-engine[ladybug]"',
}


def engine_name() -> str:
    """Return the engine that the environment asks for.

    Raises:
        QueryError: the variable names an engine that does not exist.
    """
    name = os.environ.get(ENGINE_VARIABLE, "").strip().lower() or "kuzu"
    if name not in _INSTALL:
        raise QueryError(
            f"{ENGINE_VARIABLE}={name}: the graph engines are {' and '.join(_INSTALL)}"
        )
    return name


@cache
def engine() -> Any:
    """Return the engine's module; the first call decides for the whole process.

    Raises:
        QueryError: the engine is not installed for this Python.
    """
    name = engine_name()
    try:
        return importlib.import_module(name)
    except ImportError as error:
        remedy = f"install it with: {_INSTALL[name]}"
        raise QueryError(f"the graph engine {name} cannot be loaded ({error}); {remedy}") from None


def reason(error: Exception, statement: str = "") -> str:
    """Return what the engine says in one line: the place first, without the excerpt of the text.

    Args:
        error: what the engine raised.
        statement: what it was given; it counts lines and columns from the first character of it
            that is no space.
    """
    text = " ".join(str(error).partition('\n"')[0].split())
    place = re.search(r" \(line: (\d+), offset: (\d+)\)$", text)
    if not place:
        return text
    line, column = int(place[1]), int(place[2]) + 1
    skipped = statement[: len(statement) - len(statement.lstrip(" \t\n\r\v\f"))]
    if line == 1:
        column += len(skipped.rpartition("\n")[2])
    return f"line {line + skipped.count(chr(10))}, column {column}: {text[: place.start()]}"
