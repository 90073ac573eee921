"""Whether a file is JSON Lines or one document that somebody broke into lines."""

import json
import mmap

import msgspec

from tracegraph.ingest.source import Source

_LOOK_AHEAD = 64
"""Bytes behind the first line in which more than blank space must follow."""


def is_json_lines(source: Source) -> bool:
    """Tell by a whole object standing alone on the first line with anything, and more after it.

    Where that line was torn off, by one on the line after it; in a document that somebody broke
    into lines it can stand there too.
    """
    head = source.head
    begin = len(head) - len(head.lstrip())
    if head.startswith(b"[", begin):
        return False
    second = head.find(b"\n", head.find(b"\n", begin) + 1)
    if begin < second <= len(head) - _LOOK_AHEAD:
        data: bytes | mmap.mmap = head  # shows both lines: a compressed file stays packed
    else:
        data, begin = source.data, source.start + begin
    first = data.find(b"\n", begin)
    if first < 0 or not data[first : first + _LOOK_AHEAD].strip():
        return False
    if _is_object(data[begin:first]):
        return True
    second = data.find(b"\n", first + 1)
    if not _is_object(data[first + 1 : second if second >= 0 else len(data)]):
        return False
    is_over = source.limit and len(source) > source.limit  # too large to be one document
    return bool(is_over) or not _is_json(source.view())


def _is_object(line: bytes) -> bool:
    line = line.strip(b"\xef\xbb\xbf \t\r")
    if not (line.startswith(b"{") and line.endswith(b"}")):
        return False
    return _is_json(line) or _is_lenient_json(line)


def _is_json(data: bytes | memoryview) -> bool:
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def _is_lenient_json(line: bytes) -> bool:
    """Tell JSON that only the tolerant decoder reads, as of a line with half a surrogate pair."""
    try:
        json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return False
    return True
