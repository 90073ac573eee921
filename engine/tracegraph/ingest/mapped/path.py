"""Columns and JSON paths: ``ms``, ``usage.input_tokens``, ``messages[0].text``, ``"a.b".c``.

A name in quotes may hold any character. ``$.run_id`` starts from the document around a list of
records (``records``), anything else from the record. A record that has a column of exactly the
written name is taken at its word, so flattened names (``usage.input_tokens`` in a header) need no
quotes. Text on the way that is JSON is looked into, as in the cells of a CSV file.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

import msgspec

ABSENT: Final = object()
"""What :meth:`ColumnPath.find` returns where there is nothing, which is not null."""
BLOCKED: Final = object()
"""What it returns where a value on the way holds no members; no reader can use it."""

_PART = re.compile(r'("(?:[^"\\]|\\.)*")|([^.\[\]"]+)')
_INDEX = re.compile(r"\[(\d{1,9})\]")
_PLAIN = re.compile(r'[^.\[\]"$][^.\[\]"]*')
_DOCUMENT = "$."
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class ColumnPath:
    """A parsed path.

    Attributes:
        text: as it is written.
        keys: names of members and positions in lists, from the outside.
        of_document: it starts from the document around the records.
    """

    text: str
    keys: tuple[str | int, ...]
    of_document: bool = False

    @property
    def name(self) -> str:
        """How people call what is there."""
        return self.text.removeprefix(_DOCUMENT)

    def find(self, record: Any, document: Any = None) -> Any:
        """Return the value at the path in a record, ABSENT or BLOCKED where there is none."""
        value = document if self.of_document else record
        if isinstance(value, dict) and (len(self.keys) == 1 or self.text in value):
            return value.get(self.keys[0] if len(self.keys) == 1 else self.text, ABSENT)
        for key in self.keys:
            value = _below(value, key)
            if value is ABSENT or value is BLOCKED:
                break
        return value


def _below(value: Any, key: str | int) -> Any:
    if isinstance(value, str):
        value = _parsed(value)
    if value is None:
        return ABSENT
    if isinstance(key, int):
        if not isinstance(value, list):
            return BLOCKED
        return value[key] if key < len(value) else ABSENT
    return value.get(key, ABSENT) if isinstance(value, dict) else BLOCKED


def parse_path(text: str) -> ColumnPath:
    """Parse a path.

    Raises:
        ValueError: it is none; the message says what a path looks like.
    """
    of_document = text.startswith(_DOCUMENT)
    position = len(_DOCUMENT) if of_document else 0
    keys: list[str | int] = []
    while True:
        part = _PART.match(text, position)
        if part is None:
            raise _no_path(text)
        keys.append(_unquoted(part[1], text) if part[1] else part[2])
        position = part.end()
        while index := _INDEX.match(text, position):
            keys.append(int(index[1]))
            position = index.end()
        if position == len(text):
            return ColumnPath(text, tuple(keys), of_document)
        if text[position] != ".":
            raise _no_path(text)
        position += 1


def path_text(keys: tuple[str, ...]) -> str:
    """Return the text of a path that leads over these names."""
    return ".".join(k if _PLAIN.fullmatch(k) else json.dumps(k, ensure_ascii=False) for k in keys)


def _unquoted(part: str, text: str) -> str:
    try:
        return str(json.loads(part, strict=False))
    except ValueError:
        raise _no_path(text) from None


def _no_path(text: str) -> ValueError:
    return ValueError(
        f"{text!r} is no path: write name, outer.inner, list[0].name, "
        'or a name in double quotes where it holds . [ ] or "'
    )


def _parsed(text: str) -> Any:
    """Return what a text holds as JSON; None for blank text, itself where it is no JSON."""
    if not text.strip():
        return None
    try:
        return _decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return text
