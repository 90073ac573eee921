"""Durations of ISO 8601 to nanoseconds."""

import re

from tracegraph.ingest.attributes import LARGEST
from tracegraph.ingest.times import UNREADABLE
from tracegraph.model.codes import UNKNOWN

_PARTS = re.compile(
    r"P(?:(\d{1,6})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12})(?:[.,](\d+))?S)?)?", re.ASCII
)
_SECONDS = (86_400, 3_600, 60, 1)


def duration_of(text: str | None) -> int:
    """Return the nanoseconds of a duration: -1 where there is none, UNREADABLE of what is no such.

    Digits beyond the ninth decimal are cut. Months and years have no fixed length.
    """
    if not text:
        return UNKNOWN
    found = _PARTS.fullmatch(text)
    *whole, fraction = found.groups() if found else [None] * 5
    if not any(whole):
        return UNREADABLE
    seconds = sum(int(part or 0) * length for part, length in zip(whole, _SECONDS, strict=True))
    ns = seconds * 1_000_000_000 + int((fraction or "")[:9].ljust(9, "0"))
    return ns if ns <= LARGEST else UNREADABLE
