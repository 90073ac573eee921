"""The items of a JSON array that ends early or is damaged: those before the fault are whole.

Programs that write one array a file leave half of one when they are stopped. What stands behind a
fault cannot be told from it, so it is given up; whoever asks discloses that.
"""

import json

from tracegraph.ingest.nesting import deep_nesting

_BETWEEN = " \t\r\n,"
_decoder = json.JSONDecoder()


def whole_items(data: bytes) -> list[tuple[int, int]]:
    """Return where the items before the fault lie, as (begin, end) in bytes; none where none is.

    Args:
        data: text that begins as an array.
    """
    text = data.decode("latin-1")  # a character a byte: JSON's own marks are the same in UTF-8
    found: list[tuple[int, int]] = []
    at = text.find("[") + 1
    with deep_nesting():
        while True:
            while text[at : at + 1] and text[at] in _BETWEEN:
                at += 1
            try:
                _, end = _decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                return found
            found.append((at, end))
            at = end
