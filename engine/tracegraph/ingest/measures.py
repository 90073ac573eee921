"""Numbers, durations and costs as formats write them, to what the model keeps of them."""

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from tracegraph.model.codes import UNKNOWN

_DECIMAL = re.compile(r"\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,2})?", re.ASCII)
_EXACT_MS = 2.0**32
"""Below it a double keeps milliseconds apart to the nanosecond, whatever is done with it."""
_LATEST = 2**63 - 1


def finite_number(value: Any) -> int | float | None:
    """Return a number that a double can hold; None of all else, truth values included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # whole numbers of JSON have no bound
        return None


def nanoseconds(ms: float | None) -> int:
    """Return the nanoseconds of milliseconds; -1 for unknown, negative and unbounded durations."""
    if ms is None:
        return UNKNOWN
    if 0 <= ms < _EXACT_MS:
        return round(ms * 1e6)
    if ms < 0 or finite_number(ms) is None:
        return UNKNOWN
    ns = int((Decimal(repr(ms)) * 1_000_000).to_integral_value())
    return ns if ns <= _LATEST else UNKNOWN


def nanosecond_column(ms: Sequence[float | None]) -> list[int]:
    """Return :func:`nanoseconds` of many."""
    largest = max((value for value in ms if value is not None), default=0.0)
    if not 0 <= largest < _EXACT_MS:  # also where the largest is no number
        return [nanoseconds(value) for value in ms]
    return [UNKNOWN if v is None or not v >= 0 else round(v * 1e6) for v in ms]


def decimal_text(cost: str | float) -> str | None:
    """Return a cost as the text of a non-negative decimal, None where it is none."""
    text = cost if isinstance(cost, str) else repr(cost)
    return text if _DECIMAL.fullmatch(text) else None
