"""The member names with which a JSON file opens: what most formats are told by."""

import re
from typing import cast

from tracegraph.ingest.source import Source

_START = re.compile(rb"[\s\[]*\{")
_TOKEN = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"(\s*:)?|[{}\[\]"]', re.DOTALL)
_MEMO = "opening_keys"


def opening_keys(source: Source) -> frozenset[str]:
    """Return the names of the members of the file's first object, as far as the head shows them.

    The first object is the document, the first item of an array of documents, or the first line of
    JSON Lines. Names of deeper objects are not among them. Empty where the file opens otherwise.
    """
    if _MEMO not in source.memo:
        source.memo[_MEMO] = _keys(source.head)
    return cast("frozenset[str]", source.memo[_MEMO])


def _keys(head: bytes) -> frozenset[str]:
    start = _START.match(head)
    if start is None:
        return frozenset()
    keys: set[str] = set()
    depth = 1
    for token in _TOKEN.finditer(head, start.end()):
        mark = token[0]
        if mark == b'"':  # a string that goes on beyond the head
            break
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                break
        elif depth == 1 and token[2]:
            keys.add(token[1].decode(errors="replace"))
    return frozenset(keys)
