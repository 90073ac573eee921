"""Digests of arguments, results and files (DESIGN section 3, Digests).

Two values get one digest when they say the same thing: key order, spacing, ``1`` against ``1.0``
and up to two levels of JSON inside a JSON string are undone. What does not parse, or holds a key
twice, is compared by its raw bytes and marked.
"""

import hashlib
import json
import re
from typing import Any

_MAX_UNWRAP = 2
_EXACT_FLOAT = 2.0**53
_NESTED = re.compile(r"\s*[\[{\"]")
_MAY_BE_JSON = re.compile(r"\s*(?:[\[{\"\d-]|true|false|null|NaN|Infinity)")
UNPARSED = "raw:"
"""Prefix of a digest that was taken of raw bytes."""


class _DuplicateKeyError(ValueError):
    """A JSON object holds a key twice: which value counts is not recorded."""


def digest_text(text: str) -> str | None:
    """Return the digest of a value recorded as text: JSON where it parses, else a bare string.

    Blank text is unknown (None). Text that starts like JSON but does not parse, or has a duplicate
    key, gets a digest of its bytes with the prefix :data:`UNPARSED`.
    """
    if not text.strip():
        return None
    try:
        value = parse_text(text)
    except ValueError:
        return UNPARSED + _hash(text.encode("utf-8", "surrogatepass"))
    return digest_value(value)


def parse_text(text: str) -> Any:
    """Return the value that recorded text stands for; text that is no JSON stands for itself.

    A string inside of the text is text again where it holds an object, an array or a string: that
    is how exporters encode twice. ``"1"`` is a string, so it does not equal ``1``.

    Raises:
        ValueError: the text starts like a JSON object, array or string and does not parse, or an
            object in it holds a key twice.
    """
    value: Any = text
    for level in range(_MAX_UNWRAP + 1):
        if not isinstance(value, str) or not (_NESTED if level else _MAY_BE_JSON).match(value):
            break
        try:
            value = _decode(value)
        except _DuplicateKeyError:
            raise
        except (ValueError, RecursionError):
            if _NESTED.match(value) and value.lstrip()[:1] in "[{":
                raise ValueError("not JSON") from None
            break
    return value


def digest_value(value: Any) -> str | None:
    """Return the digest of a decoded value; None (unknown) for null and blank strings."""
    if isinstance(value, str):
        if not value.strip():
            return None
        if _NESTED.match(value):
            try:
                value = parse_text(value)
            except ValueError:
                return UNPARSED + _hash(value.encode("utf-8", "surrogatepass"))
    if value is None:
        return None
    try:
        text = canonical(value)
    except RecursionError:  # thousands of levels: nobody compares them by meaning
        return UNPARSED + _hash(json.dumps(value).encode())
    return _hash(text.encode("utf-8", "surrogatepass"))


def canonical(value: Any) -> str:
    """Return canonical JSON: sorted keys, no spaces, integral floats below 2^53 as integers."""
    return _encode(_normal(value))


def digest_bytes(data: bytes | memoryview) -> str:
    """Return the digest of a file's bytes."""
    return _hash(data)


def _hash(data: bytes | memoryview) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _normal(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_FLOAT:
        return int(value)
    if isinstance(value, dict):
        return {str(key): _normal(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _DuplicateKeyError("duplicate key")
    return result


def _constant(name: str) -> Any:
    return float(name)


_decode = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant).decode
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
