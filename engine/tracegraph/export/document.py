"""JSON documents under a published contract, written as a stream.

Every document starts with ``kind`` and ``schema_version``. A member whose value is an iterator is
written as a list with one item a line while it is read, so that a result of millions of rows never
stands in memory as a whole.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str).encode
# Terminals act on C1 controls, and some readers of JSON Lines end a line at the others.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def to_json(value: Any) -> str:
    """Return compact JSON on one line; what is no JSON type is written as text."""
    text = _ENCODE(value)
    if text.isascii() and "\x7f" not in text:
        return text  # the usual case, told a hundred times faster than by the search
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def document(name: str, version: int, members: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text of the document ``tracegraph.<name>``, one member a line."""
    head = {"kind": f"tracegraph.{name}", "schema_version": version}
    opening = "{"
    for key, value in {**head, **members}.items():
        yield f"{opening}\n  {to_json(key)}: "
        yield from _items(value) if isinstance(value, Iterator | list) else (to_json(value),)
        opening = ","
    yield "\n}\n"


def lines(items: Iterable[Any]) -> Iterator[str]:
    """Yield JSON Lines."""
    return (to_json(item) + "\n" for item in items)


def timestamp(ns: int | None) -> str | None:
    """Return nanoseconds since the epoch as ISO 8601 in UTC with all nine decimals."""
    if ns is None:
        return None
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def milliseconds(ns: int | None) -> float | None:
    """Return nanoseconds as milliseconds."""
    return None if ns is None else ns / 1e6


def _items(items: Iterable[Any]) -> Iterator[str]:
    opening = "["
    for item in items:
        yield f"{opening}\n    {to_json(item)}"
        opening = ","
    yield "[]" if opening == "[" else "\n  ]"
