r"""Regexes and globs of patterns, rewritten for each engine so that both give the same answer.

Every class, ``.`` and case fold is written out as explicit ranges of code points: the engines'
own ideas of ``\s``, ``\d``, ``$`` and of case differ, ranges do not. A regex is a search; a glob
matches the whole value, newlines included.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from tracegraph.pattern.char_ranges import Ranges
from tracegraph.pattern.regex_syntax import (
    Assertion,
    Chars,
    Choice,
    Item,
    Repeat,
    Sequence,
    parse_regex,
)


def check(regex: str, ignore_case: bool = False) -> None:
    """Refuse a regex outside the subset.

    Raises:
        ValueError: with the reason.
    """
    parse_regex(regex, ignore_case)


@lru_cache(maxsize=512)
def to_python(regex: str, ignore_case: bool = False) -> re.Pattern[str]:
    """Return a compiled Python regex; use its ``search``.

    Raises:
        ValueError: the regex is outside the subset.
    """
    source = _write(parse_regex(regex, ignore_case), _PYTHON)
    return re.compile(source, re.ASCII)


@lru_cache(maxsize=512)
def to_re2(regex: str, ignore_case: bool = False) -> str:
    """Return the text for ``regexp_matches`` (RE2, a search).

    Raises:
        ValueError: the regex is outside the subset.
    """
    return _write(parse_regex(regex, ignore_case), _RE2)


@lru_cache(maxsize=512)
def glob_to_python(glob: str) -> re.Pattern[str]:
    """Return a compiled Python regex for a glob; ``match`` and ``search`` agree.

    Every ``*`` but the last takes the shortest stretch and never gives it back, which loses no
    match and keeps the work linear in the number of stars.
    """
    first, *rest = [_glob_part(part, _code_python) for part in re.split(r"\*+", glob)]
    if not rest:
        return re.compile(rf"\A{first}\Z", re.DOTALL)
    *middle, last = rest
    jumps = "".join(f"(?>.*?{part})" for part in middle)
    return re.compile(rf"\A{first}{jumps}.*{last}\Z", re.DOTALL)


@lru_cache(maxsize=512)
def glob_to_re2(glob: str) -> str:
    """Return the text for ``regexp_matches`` (RE2) that matches a glob on the whole value."""
    parts = [_glob_part(part, _code_re2) for part in re.split(r"\*+", glob)]
    return rf"(?s)\A{'.*'.join(parts)}\z"


def _glob_part(part: str, code: Callable[[int], str]) -> str:
    return "".join("." if char == "?" else code(ord(char)) for char in part)


@dataclass(frozen=True)
class _Dialect:
    """How an engine writes what the two write differently."""

    code: Callable[[int], str]
    end: str
    apart: frozenset[Ranges] = frozenset()  # classes that have to be written as alternatives


def _write(item: Item, dialect: _Dialect) -> str:
    match item:
        case Chars(ranges):
            return _write_class(ranges, dialect)
        case Assertion(at):
            return {"start": r"\A", "end": dialect.end, "boundary": r"\b"}[at]
        case Sequence(items):
            return "".join(_write(each, dialect) for each in items)
        case Choice(items):
            return f"(?:{'|'.join(_write(each, dialect) for each in items)})"
        case Repeat(inner, low, high, lazy):
            written = _write(inner, dialect)
            atom = written if isinstance(inner, Chars | Choice) else f"(?:{written})"
            return atom + _quantifier(low, high) + ("?" if lazy else "")


def _write_class(ranges: Ranges, dialect: _Dialect) -> str:
    code = dialect.code
    if ranges in dialect.apart:
        return f"(?:{'|'.join(code(first) for first, _ in ranges)})"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return code(ranges[0][0])
    spans = (
        code(first) if first == last else f"{code(first)}-{code(last)}" for first, last in ranges
    )
    return f"[{''.join(spans)}]"


def _quantifier(low: int, high: int | None) -> str:
    match low, high:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 0, 1:
            return "?"
        case _, None:
            return f"{{{low},}}"
    return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


def _code_python(code: int) -> str:
    return _code(code, f"\\x{code:02x}" if code < 256 else f"\\U{code:08x}")


def _code_re2(code: int) -> str:
    # Kùzu makes one backslash of two before RE2 sees the text, so none is written as two.
    return _code(code, f"\\x{{{code:x}}}", refused="\\")


def _code(code: int, escaped: str, refused: str = "") -> str:
    """Write one character: plain where both engines read it as itself, else escaped."""
    char = chr(code)
    if code >= 128 or not char.isprintable() or char == refused:
        return escaped
    return char if char.isalnum() or char in " _" else "\\" + char


_PYTHON = _Dialect(_code_python, r"\Z")
# RE2 reads [Kk] as "k in any case" and, once it joins that with another class, takes in the Kelvin
# sign as well; with [Ss], the long s. No other letters of ASCII have a third case.
_RE2 = _Dialect(
    _code_re2, r"\z", frozenset(((ord(c.upper()),) * 2, (ord(c),) * 2) for c in ("k", "s"))
)
