"""JSON that is nested thousands of levels deep costs the value that is, not the file."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_FRAMES = 60_000
"""Enough for ten thousand levels at a few calls a level. An interpreter that bounds calls in C by
itself (Python 3.12 and newer) may still refuse earlier: then the record is disclosed as unread."""


LEVELS = 500
"""Levels of a single value that everything behind the adapters can handle."""


@contextmanager
def deep_nesting() -> Iterator[None]:
    """Raise the recursion limit for a while."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def is_too_deep(value: Any) -> bool:
    """Tell whether a decoded value has more than :data:`LEVELS` levels."""
    level = [value]
    for _ in range(LEVELS):
        level = [
            item
            for inner in level
            if isinstance(inner, dict | list)
            for item in (inner.values() if isinstance(inner, dict) else inner)
        ]
        if not level:
            return False
    return True
