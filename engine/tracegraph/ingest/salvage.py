"""Use what can be used of a record that does not hold its format, field by field."""

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Struct

from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import is_too_deep

Id = Annotated[str, msgspec.Meta(pattern=r"\S")]
"""An id by which others can name a record: a blank one names nothing."""

_Record = TypeVar("_Record", bound=Struct)


def read_record(
    record: type[_Record], value: Any, place: str, area: str, losses: Losses
) -> _Record | None:
    """Make a record of a decoded value, whole if it holds the format, else by :func:`salvage`."""
    try:
        return msgspec.convert(value, record)
    except (msgspec.MsgspecError, RecursionError):
        return salvage(record, value, place, area, losses)


def salvage(
    record: type[_Record], value: Any, place: str, area: str, losses: Losses
) -> _Record | None:
    """Make a record of the usable fields of a decoded value; None if a required one is unusable.

    Gap codes: ``<area>.unreadable_field``; ``<area>.unknown_field`` where the format is closed.

    Args:
        record: the type of the record; its defaults stand for unknown.
        value: the decoded JSON value.
        place: names the record in messages.
        area: what gap codes start with.
        losses: where the losses are disclosed.
    """
    if not isinstance(value, dict):
        return None
    fields = _fields(record)
    usable: dict[str, Any] = {}
    for key, item in value.items():
        field = fields.get(key)
        if field is None:
            if record.__struct_config__.forbid_unknown_fields:
                losses.add(f"{area}.unknown_field", f"{place}: unknown field {key!r}")
            continue
        if is_too_deep(item):
            losses.add(f"{area}.unreadable_field", f"{place}: {key}: nested too deeply to be read")
            continue
        try:
            usable[field.name] = msgspec.convert(item, field.type)
        except msgspec.ValidationError as error:
            losses.add(f"{area}.unreadable_field", f"{place}: {key}: {error}")
    if any(field.required and field.name not in usable for field in fields.values()):
        return None
    return record(**usable)


def salvage_all(
    record: type[_Record], value: Any, noun: str, area: str, losses: Losses
) -> list[_Record]:
    """Salvage the records of a list; those that cannot be used are ``<area>.unreadable_<noun>``."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        losses.add(f"{area}.unreadable_{noun}", f"there is no list of {noun}s")
        return []
    usable: list[_Record] = []
    for number, item in enumerate(value, 1):
        found = salvage(record, item, f"{noun} {number}", area, losses)
        if found is None:
            losses.add(f"{area}.unreadable_{noun}", f"{noun} {number} cannot be used")
        else:
            usable.append(found)
    return usable


@cache
def _fields(record: type[Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(record)}
