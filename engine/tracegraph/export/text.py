"""Make recorded text safe to show: what a terminal or a table would act upon is written out.

Names and messages come from traces, that is from anyone. A NUL, an escape sequence or a text
direction mark in them must neither act on a terminal nor break a row.
"""

import unicodedata
from collections.abc import Mapping

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_MARKDOWN = str.maketrans({char: "\\" + char for char in "\\`*[]|"} | {"<": "&lt;", "&": "&amp;"})
_MOST_GAPS = 8
"""Codes that the end of a sentence names."""


def visible(text: str) -> str:
    r"""Write control, format and surrogate characters as escapes (``\x00``, ``\u202e``)."""
    if text.isprintable():
        return text
    return "".join(_escape(c) if unicodedata.category(c) in _HIDDEN else c for c in text)


def markdown(text: str) -> str:
    """Write visible text so that Markdown shows it as it is, in one table cell."""
    return text.translate(_MARKDOWN)


def width(text: str) -> int:
    """Return how many terminal columns a visible text takes."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def shortened(text: str, longest: int) -> str:
    """Return a text, a long one cut with how much more there is of it."""
    more = len(text) - longest
    return text if more <= 0 else f"{text[:longest]}… (+{more} characters)"


def counted(number: int, noun: str, plural: str = "s") -> str:
    """Return ``1 trace``, ``2 traces``."""
    return f"{number} {noun}{'' if number == 1 else plural}"


def gaps_text(gaps: Mapping[str, int]) -> str:
    """Return the end of a sentence that says what was lost or noticed; empty if nothing was.

    Of many codes it has the most frequent, and says how many more there are and what lists them.
    """
    if not gaps:
        return ""
    named = sorted(gaps, key=lambda code: (-gaps[code], code))[:_MOST_GAPS]
    more = len(gaps) - len(named)
    rest = f" and {counted(more, 'more code')} (tracegraph ingest lists all)" if more else ""
    return "; gaps: " + ", ".join(f"{code} {gaps[code]}" for code in sorted(named)) + rest


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _escape(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
