"""ISO 8601 times to nanoseconds since the epoch, one at a time or a column at once."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Final

import numpy as np

from tracegraph.ingest import span_gaps
from tracegraph.model.codes import UNKNOWN
from tracegraph.model.columns import Array, Ints

UNREADABLE: Final = -2
"""Stands in a parsed column for text that is no time."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION = re.compile(r"[.,](\d+)")
_LATEST = 2**63 - 1
_UTC_SUFFIXES = ("Z", "+00:00")
_WHOLE = "dddd-dd-ddTdd:dd:dd"
_FIELDS = ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19))
_DECIMALS = (-1, *range(1, 10))
_FIRST_YEAR, _LAST_WHOLE_YEAR = 1970, 2261
_BULK = 16
"""Columns from this length on are worth the fixed cost of an array."""


def parse_time(text: str) -> int:
    """Return the nanoseconds of an ISO 8601 time; without an offset it is UTC.

    Digits beyond the ninth decimal are cut.

    Raises:
        ValueError: it is no time, or lies outside the years 1970 to 2262.
    """
    fraction = _FRACTION.search(text)
    digits = fraction[1] if fraction else ""
    moment = datetime.fromisoformat(text.replace(fraction[0], "", 1) if fraction else text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - _EPOCH
    seconds = since.days * 86400 + since.seconds
    ns = seconds * 1_000_000_000 + int(digits[:9].ljust(9, "0"))
    if not 0 <= ns <= _LATEST:
        raise ValueError("outside the years 1970 to 2262")
    return ns


def read_time(text: str | None, codes: list[str]) -> int:
    """Return the nanoseconds of an ISO 8601 time, -1 where there is none or it is no time.

    Args:
        text: as recorded.
        codes: where what is no time is noted, as a code of :mod:`tracegraph.ingest.span_gaps`.
    """
    if text is None:
        return UNKNOWN
    try:
        return parse_time(text)
    except ValueError:
        codes.append(span_gaps.UNREADABLE_TIMESTAMP)
        return UNKNOWN


def parse_times(texts: Sequence[str | None]) -> list[int]:
    """Return the nanoseconds of each time, -1 where there is none, UNREADABLE where it is none."""
    present = [text for text in texts if text is not None]
    ns = _parse_present(present)
    if len(present) == len(texts):
        return ns
    following = iter(ns)
    return [UNKNOWN if text is None else next(following) for text in texts]


def _parse_present(texts: list[str]) -> list[int]:
    if len(texts) < _BULK:
        return [_parse(text) for text in texts]
    lengths = set(map(len, texts))
    if len(lengths) == 1:
        column = _parse_uniform(texts, lengths.pop())
        return [_parse(text) for text in texts] if column is None else list(column.tolist())
    result = [UNREADABLE] * len(texts)
    for length in lengths:
        places = [i for i, text in enumerate(texts) if len(text) == length]
        for i, ns in zip(places, _parse_present([texts[i] for i in places]), strict=True):
            result[i] = ns
    return result


def _parse(text: str) -> int:
    try:
        return parse_time(text)
    except ValueError:
        return UNREADABLE


def _parse_uniform(texts: list[str], length: int) -> Ints | None:
    """Parse times of one form in UTC as arrays; None where some text has another form."""
    suffix = next((s for s in _UTC_SUFFIXES if texts[0].endswith(s)), None)
    decimals = length - len(_WHOLE) - len(suffix or "") - 1
    if suffix is None or decimals not in _DECIMALS:
        return None
    try:
        joined = "".join(texts).encode("ascii")
    except UnicodeEncodeError:
        return None
    wanted, is_digit, weights = _form(_WHOLE + "." * (decimals > 0) + "d" * decimals + suffix)
    chars = np.frombuffer(joined, np.uint8).reshape(len(texts), length)
    digits = chars - np.uint8(ord("0"))  # what is below "0" wraps to a large number
    if (chars[:, ~is_digit] != wanted[~is_digit]).any() or (digits[:, is_digit] > 9).any():
        return None
    # Doubles hold these numbers exactly, and only they have a fast product.
    year, month, day, hour, minute, second, fraction = (
        (digits.astype(np.float64) @ weights).astype(np.int64).T
    )
    months = (year - 1970) * 12 + month - 1
    days = months.astype("datetime64[M]").astype("datetime64[D]") + (day - 1)
    if (
        (days.astype("datetime64[M]").astype(np.int64) != months).any()
        or month.min() < 1
        or month.max() > 12
        or year.min() < _FIRST_YEAR
        or year.max() > _LAST_WHOLE_YEAR
        or hour.max() > 23
        or minute.max() > 59
        or second.max() > 59
    ):
        return None
    seconds = days.astype(np.int64) * 86400 + hour * 3600 + minute * 60 + second
    return np.asarray(seconds * 1_000_000_000 + fraction)


@cache
def _form(form: str) -> tuple[Array, Array, Array]:
    """Return the characters of a form, which are digits, and what each adds to each number."""
    wanted = np.frombuffer(form.encode(), np.uint8)
    weights = np.zeros((len(form), len(_FIELDS) + 1))
    for number, (start, stop) in enumerate(_FIELDS):
        weights[start:stop, number] = 10.0 ** np.arange(stop - start)[::-1]
    start = len(_WHOLE) + 1
    decimals = form.count("d") - _WHOLE.count("d")
    weights[start : start + decimals, -1] = 10.0 ** (8 - np.arange(decimals))
    return wanted, wanted == ord("d"), weights
