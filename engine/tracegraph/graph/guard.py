"""Admit statements that only read the graph.

A read-only database is not enough: ``LOAD FROM`` reads any file, ``COPY TO`` and ``EXPORT`` write
any file, ``CALL`` changes settings, ``CHECKPOINT`` leaves files that block later readers.

The rule follows from the engine's grammar. Every clause begins with a word that stands where an
operand has just ended (or at the start of a query), and no name can stand there: two operands are
never neighbours. So words in that place must be on a list, while a word that stands where an
operand is expected is a name, whatever it is: ``s.load``, ``WITH 1 AS copy``, ``{call: 1}``.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

from tracegraph.graph.tokens import (
    Kind,
    Token,
    blank_comments,
    parameter_names,
    refusal,
    tokenize,
)

ALLOWED: Final = "MATCH, OPTIONAL MATCH, UNWIND, WITH, RETURN"
_ALL_ALLOWED: Final = f"{ALLOWED}, WHERE, ORDER BY, SKIP, LIMIT, UNION"


class _Place(Enum):
    """What the next token stands for."""

    CLAUSE = auto()
    """A query or subquery begins: a clause must."""
    OPERAND = auto()
    """A value, pattern or name begins: any word is a name."""
    OPERATOR = auto()
    """An operand has ended: a word is an operator or begins a clause."""


_CLAUSES: Final = frozenset("MATCH OPTIONAL UNWIND WITH RETURN".split())
_CONNECTIVES: Final = frozenset(
    "AND OR XOR NOT IN IS STARTS ENDS CONTAINS AS WHERE SKIP LIMIT ORDER WHEN THEN ELSE".split()
)
_SUFFIXES: Final = frozenset("ASC ASCENDING DESC DESCENDING END SHORTEST WSHORTEST".split())
_PREFIXES: Final = frozenset("NOT CASE WHEN WHERE DISTINCT".split())
"""Reserved words, so no names, that stand before an operand."""

_PAIRS: Final = {"OPTIONAL": "MATCH", "ORDER": "BY", "STARTS": "WITH", "ENDS": "WITH"}
"""Words that mean something only together with the next."""


def read_only_statement(text: str) -> tuple[str, list[str]]:
    """Refuse a statement that does more than read the graph.

    Returns:
        The statement as the engine must get it, and the names of its parameters.

    Raises:
        QueryError: with line and column, and what is allowed.
    """
    tokens = tokenize(text)
    statement = blank_comments(text, tokens)
    code = [t for t in tokens if t.kind is not Kind.COMMENT]
    if code and code[-1].text == ";":
        code.pop()
    if not code:
        raise refusal(text, 0, f"there is no statement; it starts with one of {ALLOWED}")
    _check_words(text, code)
    return statement, parameter_names(code)


def _check_words(text: str, tokens: Sequence[Token]) -> None:
    place, previous = _Place.CLAUSE, ""
    for token in tokens:
        if previous in _PAIRS and place is _Place.OPERAND:
            if token.word != _PAIRS[previous]:
                raise refusal(text, token.offset, f"after {previous} comes {_PAIRS[previous]}")
            previous = ""
            continue
        was_operand = place is _Place.OPERAND
        place = _after(text, token, place, previous)
        # A name that looks like a keyword is no keyword: `WITH order` names a column.
        is_name = was_operand and token.word not in _PREFIXES and token.kind is not Kind.SYMBOL
        previous = token.text.lower() if is_name else token.word or token.text


def _after(text: str, token: Token, place: _Place, previous: str) -> _Place:
    """Return what follows ``token``, or refuse it where it stands."""
    if place is _Place.CLAUSE:
        return _after_clause(text, token, previous)
    if token.kind is Kind.SYMBOL:
        return _after_symbol(text, token, place, previous)
    if place is _Place.OPERAND:
        return _Place.OPERAND if token.word in _PREFIXES else _Place.OPERATOR
    if token.kind is Kind.WORD and token.word not in _SUFFIXES:
        return _after_connective(text, token)
    return _Place.OPERATOR


def _after_clause(text: str, token: Token, previous: str) -> _Place:
    if token.word == "ALL" and previous == "UNION":
        return _Place.CLAUSE
    if token.word not in _CLAUSES:
        raise refusal(text, token.offset, f"{token.text!r}: here must be one of {ALLOWED}")
    return _Place.OPERAND


def _after_connective(text: str, token: Token) -> _Place:
    if token.word == "UNION":
        return _Place.CLAUSE
    if token.word in _CLAUSES or token.word in _CONNECTIVES:
        return _Place.OPERAND
    message = f"{token.text!r} cannot stand here; a statement may hold {_ALL_ALLOWED}"
    raise refusal(text, token.offset, message)


def _after_symbol(text: str, token: Token, place: _Place, previous: str) -> _Place:
    match token.text:
        case ";":
            raise refusal(text, token.offset, "one statement at a time: ';' may only end it")
        case "{" if previous in {"exists", "count"}:
            return _Place.CLAUSE
        case ")" | "]" | "}":
            return _Place.OPERATOR
        case "*" if previous in {"WITH", "RETURN", "DISTINCT", "(", "."}:
            return _Place.OPERATOR  # all columns, all rows or all properties
        case "!" if place is _Place.OPERATOR:
            return place  # factorial
        case _:
            return _Place.OPERAND
