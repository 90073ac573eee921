"""Syntax errors for people: what stands there, what was expected, the nearest right word."""

import re
from typing import TYPE_CHECKING

from tracegraph.errors import PatternError
from tracegraph.pattern.fields import nearest

if TYPE_CHECKING:
    from lark import Lark
    from lark.exceptions import UnexpectedInput

_OPEN_TERMINALS = {
    "SLUG": "a pattern id",
    "VERSION": "a version such as v1",
    "CHOICE": "a word",
    "TAG": "a tag",
    "KIND": "a kind such as TOOL",
    "LABEL": "a name with ':'",
    "NAME": "a name",
    "FIELD": "a field",
    "VAR": "$name",
    "PARAM_REF": "@param",
    "STRING": 'a "text"',
    "REGEX": "a /regex/",
    "DURATION": "a duration such as 60s",
    "NUMBER": "a number",
    "INT": "a whole number",
    "OP": "a comparison (== != < <= > >=)",
    "$END": "the end",
}
_EDGES = ("->", "->>", "/", "//", "~>", "~>>")
_CLAUSES = ("also", "alternatively", "unless", "within", "having", "return")
_HINTS = {
    "=": "write '==' to compare",
    "&": "write 'and'",
    "&&": "write 'and'",
    "||": "write 'or'",
    "!": "write 'not'",
    "'": 'write a text in double quotes: "text"',
    '"': "a text ends on its line, with a double quote",
    ":": "a name in front of ':' is of lower case letters, digits and _",
}
_FOUND = re.compile(r"[$@]?[\w.-]*\w|[-~]>*|[=&|!<>]+|\S", re.ASCII)


def explain(
    error: "UnexpectedInput", text: str, lark: "Lark", start: str, source: str
) -> PatternError:
    """Turn the parser's error into one line with its place."""
    position = error.pos_in_stream
    ended = getattr(getattr(error, "token", None), "type", "") == "$END"
    found = None if ended or position is None else _FOUND.search(text, position)
    words, named = _expected(error, text if found is None else text[: found.start()], lark, start)
    wanted = _list(words, named)
    if found is None:
        line, column = _end(text)
        return PatternError(f"the text ends too early: expected {wanted}", line, column, source)
    word = found.group()
    line, column = _place(text, found.start())
    shown = word if word.isprintable() else ascii(word)[1:-1]
    hint = _hint(word, words, named)
    return PatternError(f"unexpected '{shown}'{hint} expected {wanted}", line, column, source)


def refuse_surrogates(text: str, source: str) -> None:
    """Refuse characters that no UTF-8 text holds and that the database cannot take."""
    found = re.search("[\ud800-\udfff]", text)
    if found:
        line, column = _place(text, found.start())
        raise PatternError("the text is not valid UTF-8 here", line, column, source)


def _expected(
    error: "UnexpectedInput", before: str, lark: "Lark", start: str
) -> tuple[list[str], list[str]]:
    """Return the keywords and signs, and the names of the other terminals, that may follow."""
    from lark.exceptions import LarkError

    try:
        parser = lark.parse_interactive(before, start=start)
        parser.exhaust_lexer()
        accepted: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
    except (LarkError, PatternError):
        accepted = getattr(error, "expected", None) or getattr(error, "allowed", None) or set()
    patterns = {terminal.name: terminal.pattern.value for terminal in lark.terminals}
    named = sorted(_OPEN_TERMINALS[name] for name in accepted if name in _OPEN_TERMINALS)
    words = sorted(
        patterns[name].removesuffix(r"(?!\w)") for name in accepted if name not in _OPEN_TERMINALS
    )
    return words, named


def _list(words: list[str], named: list[str]) -> str:
    parts = list(named)
    if all(edge in words for edge in _EDGES):
        parts.append(f"an edge ({' '.join(_EDGES)})")
        words = [word for word in words if word not in _EDGES]
    return ", ".join([*parts, *(f"'{word}'" for word in words)])


def _hint(word: str, words: list[str], named: list[str]) -> str:
    if word in _HINTS:
        return f": {_HINTS[word]};"
    if word.startswith("/") and _OPEN_TERMINALS["REGEX"] in named:
        return ": a regex ends on its line, with '/';"
    if word in _CLAUSES and word not in words:
        return f": clauses stand in the order {', '.join(_CLAUSES)};"
    return nearest(word, words) or ";"


def _place(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def _end(text: str) -> tuple[int, int]:
    """Return the place just behind the last visible character."""
    return _place(text, len(text.rstrip()))
