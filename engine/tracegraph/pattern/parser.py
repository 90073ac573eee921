"""Text to syntax tree, with places and with errors for people.

What a parse yields is a :class:`tracegraph.pattern.parsed.Parsed`; it is not validated yet
(:mod:`tracegraph.pattern.validator`).
"""

import threading
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from tracegraph.errors import PatternError
from tracegraph.pattern.builder import Builder
from tracegraph.pattern.parsed import Parsed
from tracegraph.pattern.syntax_errors import explain, refuse_surrogates

if TYPE_CHECKING:
    from lark import Lark


def parse_file(text: str, source: str = "") -> tuple[Parsed, ...]:
    """Parse a ``.tgp`` file of one or more patterns.

    Args:
        text: the file's text.
        source: its name, for messages.

    Raises:
        PatternError: with line and column, what was expected and the nearest right word.
    """
    parsed: tuple[Parsed, ...] = _parse(text, "file", source)
    if not parsed:
        raise PatternError(
            "no pattern in this file: it must hold 'pattern <id> v1 ...'", 1, 1, source
        )
    return parsed


def parse_adhoc(text: str) -> Parsed:
    """Parse one pattern given as text: a whole one, or a bare body such as ``a: TOOL -> LLM``."""
    parsed: tuple[Parsed, ...] = _parse(text, "adhoc", "")
    return parsed[0]


_lock = threading.Lock()


@cache
def _machinery() -> "tuple[Lark, Builder]":
    """Build the LALR tables once per process (about 33 ms)."""
    from lark import Lark

    builder = Builder()
    grammar = files("tracegraph.pattern").joinpath("grammar.lark").read_text(encoding="utf-8")
    lark = Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=["file", "adhoc"],
        transformer=builder,
        maybe_placeholders=True,
    )
    return lark, builder


def _parse(text: str, start: Literal["file", "adhoc"], source: str) -> tuple[Parsed, ...]:
    from lark.exceptions import UnexpectedInput

    text = text.removeprefix("\ufeff")
    refuse_surrogates(text, source)
    with _lock:  # the builder is part of the cached tables and keeps the marks of one parse
        lark, builder = _machinery()
        builder.begin()
        try:
            tree: Any = lark.parse(text, start=start)
        except UnexpectedInput as error:
            raise explain(error, text, lark, start, source) from None
        except PatternError as error:
            raise PatternError(error.message, error.line, error.column, source) from None
        marks, heads = builder.marks, builder.heads
    return tuple(Parsed(pattern, marks, heads[id(pattern)], source) for pattern in tree)
