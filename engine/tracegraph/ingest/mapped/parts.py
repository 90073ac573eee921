"""Records that a mapping declares parts of one step: its start in one, its end in another.

The parts of a step may be any distance apart, and only the end of a file tells that none is to
come. So of a log that is read like this the records are held, where other logs leave columns only.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from tracegraph.ingest.mapped import values
from tracegraph.ingest.mapped.field_map import FieldMap
from tracegraph.ingest.mapped.records import Record

Held = tuple[Record, dict[str, Any]]
"""A record, and its values by field."""
SAME_PART: Final = "mapped.duplicate_identical"
_AT_THE_END: Final = ("end", "status", "error_type", "error_message", "result")
"""Fields that the last record that has them gives; any other is that of the first."""


def whole_steps(found: Iterable[Held], field_map: FieldMap) -> Iterator[Held]:
    """Yield a record for each step, in the order of first parts.

    Records are parts of one step if they have one id in one trace. One that says the same as
    another part of its step adds nothing (gap code ``mapped.duplicate_identical``).
    """
    steps: dict[tuple[str | None, int, str | int], list[Held]] = {}
    for record, held in found:
        own, trace_id = values.text(held.get("step_id")), values.text(held.get("trace_id"))
        unit = record.unit if trace_id is None and field_map.records else 0
        steps.setdefault((trace_id, unit, own or record.number), []).append((record, held))
    for parts in steps.values():
        yield _joined(parts, field_map)


def _joined(parts: list[Held], field_map: FieldMap) -> Held:
    different: list[dict[str, Any]] = []
    for _, held in parts:
        if held not in different:
            different.append(held)
    joined: dict[str, Any] = {}
    for held in reversed(different):
        joined |= held
    for name in _AT_THE_END:
        joined |= next(({name: held[name]} for held in reversed(different) if name in held), {})
    start, end = map(field_map.fields.get, ("start", "end"))
    if start == end and sum("start" in held for held in different) < 2:
        joined.pop("end", None)  # it began, and no more is known
    return _as_one([record for record, _ in parts], len(parts) - len(different)), joined


def _as_one(records: list[Record], repeated: int) -> Record:
    """Return what is recorded beside the fields: of each column what the first has that has it."""
    first, *others = records
    if not others:
        return first
    columns: dict[str, Any] = {}
    for record in records:
        columns |= {
            key: value for key, value in record.values.items() if columns.get(key) in (None, "")
        }
    gaps = tuple(code for record in records for code in record.gaps) + (SAME_PART,) * repeated
    return replace(first, place=f"{first.place} to {others[-1].place}", values=columns, gaps=gaps)
