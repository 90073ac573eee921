"""Which column holds the ids of steps, and whether records with one id are parts of one step."""

from collections.abc import Iterator
from typing import Any, Final

from tracegraph.ingest.mapped import values
from tracegraph.ingest.mapped.sample import Column, Sample
from tracegraph.ingest.mapped.words import NOTHING, plain

_MOST_PARTS: Final = 2
_BEGINS: Final = frozenset("start started begin began call invoke request enter open".split())
_ENDS: Final = frozenset(
    "end ended finish finished stop stopped complete completed done result response return "
    "returned exit close error failed success".split()
)


class Ids:
    """The values of a column as ids of steps.

    Attributes:
        are_unique: no two records of a trace have the same, but for one in ten.
        repeat: some records of a trace have the same.
        in_parts: an id is in two records of a trace, which are plainly its start and its end.
        phases: columns of words as ``start`` and ``end``, that tell the parts of a step apart.
    """

    def __init__(self, column: Column, trace: Column | None, sample: Sample) -> None:
        by_id: dict[tuple[str | None, str], list[dict[str, Any]]] = {}
        for record in sample.records:
            own = _at(record, column.keys)
            if own:
                key = _at(record, trace.keys) if trace else None, own
                by_id.setdefault(key, []).append(record)
        count = sum(map(len, by_id.values()))
        together = [records for records in by_id.values() if len(records) > 1]
        is_paired = 2 * len(together) >= len(by_id) and all(
            len(records) <= _MOST_PARTS for records in together
        )
        self.are_unique = bool(by_id) and 10 * len(by_id) >= 9 * count
        self.repeat = any(records[0] != other for records in together for other in records[1:])
        may_be_parts = self.repeat and is_paired
        self.phases = frozenset(_phases(sample, together) if may_be_parts else ())
        self.in_parts = may_be_parts and bool(self.phases or _are_complements(together))


def _at(record: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    value: Any = record
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return values.text(value)


def _phases(sample: Sample, together: list[list[dict[str, Any]]]) -> Iterator[str]:
    """Yield the columns that hold a word for a start first, and then a word for an end."""
    for keys in sample.columns:
        if all(
            _last_word(_at(records[0], keys)) in _BEGINS
            and _last_word(_at(records[-1], keys)) in _ENDS
            for records in together
        ):
            yield keys[-1]


def _last_word(value: str | None) -> str:
    return plain(value or "").rpartition("_")[2]


def _are_complements(together: list[list[dict[str, Any]]]) -> bool:
    """Tell whether some column is filled in every second record of an id, and in no first one."""
    filled = [(_filled(records[0]), _filled(records[-1])) for records in together]
    added = [last - first for first, last in filled]
    left = [first - last for first, last in filled]
    return bool(set.intersection(*added) or set.intersection(*left))


def _filled(record: dict[str, Any]) -> set[str]:
    return {
        key
        for key, value in record.items()
        if value is not None
        and not (isinstance(value, str) and value.strip().casefold() in ("", *NOTHING))
    }
