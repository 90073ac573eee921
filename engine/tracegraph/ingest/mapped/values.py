"""Single values of a log to what the model keeps of them; None where one cannot be used."""

import re
from decimal import Decimal
from typing import Any, Final

import msgspec

from tracegraph.ingest.attributes import LARGEST, dump
from tracegraph.ingest.mapped.words import ISO, SCALES
from tracegraph.ingest.measures import decimal_text
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.times import parse_time

_NUMBER = re.compile(r"[+-]?\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,2})?", re.ASCII)
_EPOCHS: Final = ((10**8, None), (10**11, "s"), (10**14, "ms"), (10**17, "us"), (2**63, "ns"))
"""Below which number an epoch time has which unit: seconds from 1973 to 5138, and so on."""
_LONGEST_LABEL: Final = 256
_decode = msgspec.json.Decoder().decode


def text(value: Any) -> str | None:
    """Return a scalar as text: 7 and 7.0 are ``7``."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value) if isinstance(value, int | float) else None


def label(value: Any) -> str | None:
    """Return a short text; a long one may be a body."""
    found = text(value)
    return found if found is not None and len(found) <= _LONGEST_LABEL else None


def body(value: Any) -> str | None:
    """Return a recorded body as text, a structured one as JSON."""
    if isinstance(value, dict | list):
        return None if is_too_deep(value) else dump(value)
    return text(value)


def number(value: Any) -> Decimal | None:
    """Return a finite number, however it is written."""
    if isinstance(value, str):
        found = value.strip()
        if not _NUMBER.fullmatch(found):
            return None
        value = int(found) if found.lstrip("+-").isdigit() else float(found)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    exact = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
    return exact if exact.is_finite() and exact.adjusted() < 40 else None


def nanoseconds(value: Any, unit: str) -> int | None:
    """Return a length of time, or an epoch time, in nanoseconds."""
    found = number(value)
    if found is None or found < 0:
        return None
    ns = int((found * SCALES[unit]).to_integral_value())
    return ns if ns <= LARGEST else None


def time(value: Any, unit: str | None) -> int | None:
    """Return nanoseconds since the epoch.

    Args:
        value: an ISO 8601 text with a time of day, UTC where it has no offset; or a number.
        unit: of the number: s, ms, us, ns; ``iso`` for text only; None to tell by its size, which
            takes nothing before 1973, as it might be a time since the program began.
    """
    found = None if unit == ISO else number(value)
    if found is None:
        return _iso(value) if unit in (None, ISO) else None
    if unit is None:
        unit = next((name for end, name in _EPOCHS if found < end), None)
    return None if unit is None else nanoseconds(value, unit)


def whole(value: Any) -> int | None:
    """Return a count; 12, "12" and "12.0" are one."""
    found = number(value)
    if found is None or not 0 <= found <= LARGEST or found != found.to_integral_value():
        return None
    return int(found)


def count(value: Any) -> int | None:
    """Return a count; of a list, or a text that holds one as JSON, how long it is."""
    listed = _list_in(value) if isinstance(value, str) else value
    return len(listed) if isinstance(listed, list) else whole(value)


def cost(value: Any) -> str | None:
    """Return a cost as a plain decimal."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    found = decimal_text(value.strip() if isinstance(value, str) else value)
    return None if found is None else format(Decimal(found), "f")


def ids(value: Any, separator: str | None) -> tuple[list[str], int]:
    """Return ids that one value names, and how many in it are none.

    Args:
        value: a list, a text that holds one as JSON, or an id; or several with separators.
        separator: stands between ids in a text, None where there is one.
    """
    if isinstance(value, str):
        listed = _list_in(value)
        value = listed if listed is not None else value.split(separator) if separator else value
    found = [text(item) for item in (value if isinstance(value, list) else [value])]
    named = [item.strip() for item in found if item is not None and item.strip()]
    return named, found.count(None)


def _list_in(value: str) -> list[Any] | None:
    if not value.lstrip().startswith("["):
        return None
    try:
        found = _decode(value)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return None
    return found if isinstance(found, list) else None


def _iso(value: Any) -> int | None:
    if not isinstance(value, str) or ":" not in value:
        return None  # a date alone is a day, not a time
    try:
        return parse_time(value.strip())
    except (ValueError, OverflowError):
        return None
