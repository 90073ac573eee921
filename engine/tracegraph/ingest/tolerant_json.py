"""Read JSON that the strict decoder refuses: the last rung of decoding (DESIGN section 4).

Bytes that are no UTF-8 and lone surrogate halves become U+FFFD (a graph database cannot hold them),
NaN and infinities are read as floats. What is still no JSON is refused with its line and column.
"""

import json
import re
from mmap import mmap
from typing import Any

import msgspec

from tracegraph.errors import InputError
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import deep_nesting

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
REPLACEMENT = "\ufffd"
_REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_decode_strictly = msgspec.json.Decoder().decode


def decode_json(data: bytes | mmap | msgspec.Raw, place: str, losses: Losses) -> Any:
    """Decode one JSON document, strictly if it can be, else as :func:`decode_tolerant` does.

    Raises:
        InputError: it is no JSON, or nested too deeply to be read.
    """
    try:
        return _decode_strictly(data)
    except _REFUSED:
        return decode_tolerant(bytes(data), place, losses)


def decode_tolerant(data: bytes, place: str, losses: Losses) -> Any:
    """Decode one JSON document and disclose what had to be replaced in it.

    Gap codes: ``text.invalid_utf8`` (runs of bytes), ``text.lone_surrogate`` (strings).

    Args:
        data: the document.
        place: the file, and the line in it, for messages.
        losses: where replacements are disclosed.

    Raises:
        InputError: it is no JSON, or nested too deeply to be read.
    """
    with deep_nesting():
        return _decode(data, place, losses)


def _decode(data: bytes, place: str, losses: Losses) -> Any:
    text = decode_text(data, losses)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{place}: line {error.lineno}, column {error.colno}: not JSON: {error.msg}"
        ) from None
    except RecursionError:
        raise InputError(f"{place}: JSON nested too deeply to be read") from None
    except ValueError:  # Python bounds the digits that it makes an integer of
        raise InputError(f"{place}: a number in it has too many digits to be read") from None
    if _ESCAPED_SURROGATE.search(data):
        changed: list[str] = []
        value = _without_surrogates(value, changed)
        if changed:
            losses.add("text.lone_surrogate", "lone surrogate half in a string", len(changed))
    return value


def decode_text(data: bytes, losses: Losses) -> str:
    """Return bytes as text; what is no UTF-8 in them is replaced and disclosed.

    Gap code: ``text.invalid_utf8``.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        text = data.decode(errors="replace")
        replaced = text.count(REPLACEMENT) - data.count(REPLACEMENT.encode())
        losses.add("text.invalid_utf8", f"byte {error.start} is no UTF-8", replaced)
        return text


def _without_surrogates(value: Any, changed: list[str]) -> Any:
    if isinstance(value, str):
        if not _SURROGATE.search(value):
            return value
        changed.append(value)
        return _SURROGATE.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [_without_surrogates(item, changed) for item in value]
    if isinstance(value, dict):
        return {
            _without_surrogates(key, changed): _without_surrogates(item, changed)
            for key, item in value.items()
        }
    return value
