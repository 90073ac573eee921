"""Literals as they are written in patterns, and back: numbers, durations, texts, regexes."""

import math
import re
from decimal import Decimal
from fractions import Fraction

INT64 = 2**63
"""Numbers stay inside 64 bits: the graph database and JSON readers know no more."""

_UNITS = {"h": 3_600_000_000_000, "m": 60_000_000_000, "s": 1_000_000_000, "ms": 1_000_000}
_DURATION = re.compile(r"(-?\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?k?", re.ASCII)
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|.)", re.DOTALL)
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_QUOTED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def parse_number(text: str) -> int | float:
    """Read ``12``, ``0.4`` or ``10k``; a whole value without a point is an int.

    Raises:
        ValueError: it is no number, or does not fit into 64 bits.
    """
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    if len(text) > 400:
        raise ValueError("a number has at most 400 digits")
    digits, thousand, _ = text.partition("k")
    exact = Decimal(digits) * (1000 if thousand else 1)
    if "." in digits and not (thousand and exact == exact.to_integral_value()):
        value = float(exact)
        if not math.isfinite(value):
            raise ValueError("a number has to fit into 64 bits")
        return value
    if not -INT64 <= exact < INT64:
        raise ValueError("a number has to fit into 64 bits")
    return int(exact)


def parse_whole(text: str) -> int:
    """Read a bound, a version or a count: a whole number of at most 18 digits.

    Raises:
        ValueError: it has more digits.
    """
    if len(text) > 18:
        raise ValueError("a whole number has at most 18 digits here")
    return int(text)


def print_number(value: int | float) -> str:
    """Write a number without exponent, a float always with a point."""
    if isinstance(value, int):
        return str(value)
    text = format(Decimal(repr(value)), "f")
    return text if "." in text else f"{text}.0"


def parse_duration(text: str) -> int:
    """Read ``500ms``, ``3s``, ``2m``, ``1.5h`` as whole nanoseconds.

    Raises:
        ValueError: it is no duration, finer than a nanosecond, or beyond 64 bits.
    """
    parts = _DURATION.fullmatch(text)
    if parts is None:
        raise ValueError(f"{text!r} is not a duration such as 500ms, 3s, 2m or 1h")
    if len(text) > 100:
        raise ValueError("a duration has at most 100 digits")
    exact = Fraction(parts[1]) * _UNITS[parts[2]]
    if exact.denominator != 1:
        raise ValueError(f"{text!r} is finer than a nanosecond")
    if not -INT64 <= exact < INT64:
        raise ValueError(f"{text!r} is longer than 292 years")
    return int(exact)


def print_duration(ns: int) -> str:
    """Write nanoseconds in the largest unit that holds them whole, else in milliseconds."""
    for unit, size in _UNITS.items():
        if ns % size == 0 and (ns or unit == "s"):
            return f"{ns // size}{unit}"
    sign = "-" if ns < 0 else ""
    whole, rest = divmod(abs(ns), _UNITS["ms"])
    return f"{sign}{whole}.{rest:06d}".rstrip("0") + "ms"


def parse_text(quoted: str) -> str:
    r"""Read a text in double quotes; escapes are ``\" \\ \n \r \t \u{1f600}``.

    Raises:
        ValueError: an escape is none of these.
    """
    return _ESCAPE.sub(_unescape, quoted[1:-1])


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code in _ESCAPES:
        return _ESCAPES[code]
    if code.startswith("u{"):
        point = int(code[2:-1], 16)
        if point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF:
            return chr(point)
    raise ValueError(
        f"unknown escape '\\{code}' in a text: known are \\\" \\\\ \\n \\r \\t \\u{{...}}"
    )


def print_text(value: str) -> str:
    """Write a text in double quotes on one line."""
    return '"' + "".join(_QUOTED.get(char) or _visible(char) for char in value) + '"'


def _visible(char: str) -> str:
    return char if char.isprintable() else f"\\u{{{ord(char):x}}}"


def parse_slashes(body: str) -> str:
    r"""Return the regex between slashes: ``\/`` is a plain slash, other escapes stay."""
    return re.sub(r"\\(.)", lambda match: "/" if match[1] == "/" else match[0], body)


def print_slashes(regex: str) -> str:
    """Write a regex between slashes."""
    return "/" + re.sub(r"\\.|/", lambda match: "\\/" if match[0] == "/" else match[0], regex) + "/"
