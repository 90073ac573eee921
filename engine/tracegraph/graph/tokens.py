"""Cypher text as tokens, read exactly as the engine's lexer reads it, or refused.

Where a text could be read in two ways, the guard would judge another statement than the engine
runs. So every token here is one of the engine's, its spaces are the engine's spaces, and comments
are not handed over at all: :func:`blank_comments` replaces them. (The engine's comment is greedy:
it reads ``/***/ x */`` as one.)
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from tracegraph.errors import QueryError


class Kind(Enum):
    """What a token is."""

    WORD = auto()
    QUOTED = auto()
    """A name in backticks: never a keyword."""
    STRING = auto()
    NUMBER = auto()
    PARAMETER = auto()
    SYMBOL = auto()
    COMMENT = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """One token; ``offset`` counts characters from the start of the statement."""

    kind: Kind
    text: str
    offset: int

    @property
    def word(self) -> str:
        """The keyword that the token may be, in capitals; empty for all but words."""
        return self.text.upper() if self.kind is Kind.WORD and self.text.isascii() else ""


_SPACE: Final = (
    "\\x09-\\x0d\\x1c-\\x20\\xa0\\u1680\\u180e\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
)
_NAME: Final = r"[^\W\d][\w$]*"
_ESCAPE: Final = r"\\(?:[\\'\"bBfFnNrRtT]|[xX][0-9a-fA-F]{2}|[uU](?:[0-9a-fA-F]{8}|[0-9a-fA-F]{4}))"
_QUOTED: Final = r"(?:`[^`]*`)+"
_TOKEN: Final = re.compile(
    rf"""
      (?P<space>[{_SPACE}]+)
    | (?P<COMMENT>/\*(?s:.*?)\*/|//[^\r\n]*)
    | (?P<STRING>'(?:[^'\\]|{_ESCAPE})*'|"(?:[^"\\]|{_ESCAPE})*")
    | (?P<QUOTED>{_QUOTED})
    | (?P<PARAMETER>\$(?:{_NAME}|[0-9]+))
    | (?P<NUMBER>[0-9]+\.[0-9]+(?:[eE]-?[0-9]+)?|\.[0-9]+(?:[eE]-?[0-9]+)?|[0-9]+(?:[eE]-?[0-9]+)?)
    | (?P<WORD>{_NAME})
    | (?P<SYMBOL><>|<=|>=|=~|!=|<<|>>|:=|\.\.|/(?!\*)|[-()\[\]{{}}<>=+*%^|&.,:;!])
    """,
    re.VERBOSE,
)


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a statement, comments included.

    Raises:
        QueryError: a character that no token begins with, an open string, name or comment, or
            half of a surrogate pair, which the engine's interface does not take.
    """
    if half := re.search("[\ud800-\udfff]", text):
        raise refusal(text, half.start(), "the text is not valid UTF-8 here")
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise refusal(text, position, _unreadable(text[position:]))
        position = match.end()
        if match.lastgroup != "space":
            kind = Kind[match.lastgroup or ""]
            tokens.append(Token(kind, match.group(), match.start()))
    return tokens


def blank_comments(text: str, tokens: list[Token]) -> str:
    """Return the statement with spaces for its comments: every other character keeps its place."""
    for token in tokens:
        if token.kind is Kind.COMMENT:
            blank = re.sub(r"[^\r\n]", " ", token.text)
            text = text[: token.offset] + blank + text[token.offset + len(blank) :]
    return text


def parameter_names(tokens: list[Token]) -> list[str]:
    """Return the names of the parameters in order of first use."""
    return list(dict.fromkeys(t.text[1:] for t in tokens if t.kind is Kind.PARAMETER))


def place(text: str, offset: int) -> tuple[int, int]:
    """Return the 1-based line and column of an offset."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def refusal(text: str, offset: int, message: str) -> QueryError:
    """Return the error for a place in a statement."""
    line, column = place(text, offset)
    return QueryError(f"line {line}, column {column}: {message}")


def _unreadable(rest: str) -> str:
    if rest.startswith(("'", '"')):
        return "this string has no end, or a backslash in it that Cypher does not know"
    if rest.startswith("`"):
        return "this quoted name has no end"
    if rest.startswith("/*"):
        return "this comment has no end"
    if rest.startswith("$"):
        return "a parameter is written $name, without quotes"
    return f"Cypher has no {rest[0]!r} here"
