"""Read a mapping file: TOML, each fault one line that names the file, the key and the remedy."""

import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, cast

from tracegraph.errors import InputError, system_reason
from tracegraph.ingest.mapped.field_map import (
    CAUSE,
    CONTAINER,
    PARTS,
    STEPS,
    FieldMap,
    ParentIs,
    word_of,
)
from tracegraph.ingest.mapped.path import ColumnPath, parse_path
from tracegraph.ingest.mapped.words import (
    FIELDS,
    ISO,
    NAMES,
    OWN_KINDS,
    OWN_STATUSES,
    SCALES,
    TIMES,
)
from tracegraph.model.codes import KIND_CODE, STATUS_CODE
from tracegraph.model.digest import digest_value

VERSION: Final = 1
_TABLES: Final = {
    "parent": ("is", "none"),
    "causes": ("separator",),
    "rows": ("same_id",),
    "units": (*TIMES, "duration"),
    "source": ("records", "delimiter", "null"),
    "status": tuple(STATUS_CODE),
    "kind": (*KIND_CODE, "default"),
}
_UNITS: Final = ", ".join(SCALES)


class _FaultError(Exception):
    """A fault of a mapping: the key and what is the matter."""


def load_map(path: Path, name: str | None = None) -> FieldMap:
    """Read a mapping file.

    Args:
        path: the file.
        name: how messages call it; None for its path.

    Raises:
        InputError: it cannot be read, or is no mapping.
    """
    shown = name or str(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{shown}: cannot be read: {system_reason(error)}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{shown}: byte {error.start} is no UTF-8; save it as UTF-8") from None
    return parse_map(text, shown)


def parse_map(text: str, name: str) -> FieldMap:
    """Read a mapping.

    Raises:
        InputError: it is none; the message begins with ``name``.
    """
    try:
        return _field_map(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        told = " ".join(str(error).split()) or "nested too deeply"
        raise InputError(f"{name}: not TOML: {told}") from None
    except _FaultError as fault:
        raise InputError(f"{name}: {fault}") from None


def _field_map(found: dict[str, Any]) -> FieldMap:
    _refuse_others(found, ("version", "fields", "labels", "unused", *_TABLES), "")
    if found.get("version") != VERSION:
        raise _FaultError(f"version: write version = {VERSION}; this tracegraph knows no other")
    fields = _fields(_table(found, "fields"))
    tables = {table: _table(found, table) for table in _TABLES}
    for table, keys in tables.items():
        _refuse_others(keys, _TABLES[table], f"{table}.")
    parent, source = tables["parent"], tables["source"]
    statuses = _words(tables["status"], "status", STATUS_CODE)
    kinds = _words(tables["kind"], "kind", KIND_CODE)
    default = tables["kind"].get("default", "UNKNOWN")
    if not isinstance(default, str) or default not in KIND_CODE:
        raise _FaultError(f"kind.default: one of {', '.join(KIND_CODE)}")
    roots = _scalars(parent.get("none", []), "parent.none")
    return FieldMap(
        fields,
        labels=_labels(found.get("labels", [])),
        parent_is=_parent_is(parent, "parent" in fields),
        roots=frozenset(filter(None, map(word_of, roots))),
        has_parts=_has_parts(tables["rows"], "step_id" in fields),
        separator=_text(tables["causes"], "separator", "causes."),
        units=_units(tables["units"], fields),
        statuses={**OWN_STATUSES, **statuses},
        kinds={**OWN_KINDS, **kinds},
        default_kind=KIND_CODE[default],
        nothing=_nothing(source.get("null", [])),
        records=_records(source),
        delimiter=_delimiter(source),
        digest=str(digest_value({key: held for key, held in found.items() if key != "unused"})),
    )


def _fields(table: dict[str, Any]) -> dict[str, ColumnPath]:
    for key in table:
        if key not in FIELDS:
            raise _FaultError(f"fields.{key}: no such field{_meant(key)}")
    fields = {
        key: _path(table[key], f"fields.{key}") for key in FIELDS if table.get(key) is not None
    }
    if not fields:
        raise _FaultError('fields: assign at least one, as in name = "tool"')
    return fields


def _meant(key: str) -> str:
    """Return what somebody may have meant who wrote this for a field."""
    known = next((field for field, names in NAMES.items() if key.casefold() in names.split()), None)
    near = [known] if known else get_close_matches(key.casefold(), FIELDS, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(FIELDS)}"


def _path(value: Any, key: str) -> ColumnPath:
    if not isinstance(value, str) or not value:
        raise _FaultError(f"{key}: the name of a column, or a path to it, in quotes")
    try:
        return parse_path(value)
    except ValueError as error:
        raise _FaultError(f"{key}: {error}") from None


def _labels(value: Any) -> tuple[ColumnPath, ...]:
    if not isinstance(value, list):
        raise _FaultError('labels: a list of columns, as in labels = ["env"]')
    return tuple(_path(item, "labels") for item in value)


def _parent_is(table: dict[str, Any], is_mapped: bool) -> ParentIs:
    word = table.get("is")
    if word in (CONTAINER, CAUSE):
        return cast("ParentIs", word)
    if word is None and not is_mapped:
        return "container"
    raise _FaultError(
        f'parent.is: write "{CONTAINER}" if a parent contains its steps, "{CAUSE}" if it came '
        "before them and led to them"
    )


def _has_parts(table: dict[str, Any], has_ids: bool) -> bool:
    word = table.get("same_id", STEPS)
    if word not in (PARTS, STEPS):
        raise _FaultError(
            f'rows.same_id: write "{PARTS}" if records with one step_id are parts of one step, '
            f'"{STEPS}" if each is a step'
        )
    if word == PARTS and not has_ids:
        raise _FaultError("rows.same_id: assign fields.step_id, the id that the parts share")
    return bool(word == PARTS)


def _units(table: dict[str, Any], fields: dict[str, ColumnPath]) -> dict[str, str]:
    for key, unit in table.items():
        allowed = (*SCALES, ISO) if key in TIMES else tuple(SCALES)
        if unit not in allowed:
            raise _FaultError(f"units.{key}: one of {', '.join(allowed)}, in quotes")
    if "duration" in fields and "duration" not in table:
        raise _FaultError(f"units.duration: say what fields.duration counts: one of {_UNITS}")
    return {str(key): str(unit) for key, unit in table.items()}


def _words(table: dict[str, Any], name: str, codes: dict[str, int]) -> dict[str, int]:
    """Return the code of each word that the mapping assigns."""
    found: dict[str, int] = {}
    for key, code in codes.items():
        for word in filter(None, map(word_of, _scalars(table.get(key, []), f"{name}.{key}"))):
            if found.setdefault(word, code) != code:
                raise _FaultError(f"{name}.{key}: {word!r} stands under another word too; keep one")
    return found


def _scalars(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list) or any(word_of(item) is None for item in value):
        raise _FaultError(
            f'{key}: a list of texts, numbers or true and false, as in ["a", 1, true]'
        )
    return value


def _nothing(value: Any) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _FaultError('source.null: a list of texts that stand for no value, as in ["None"]')
    return frozenset({"", *(item.strip() for item in value)})


def _records(table: dict[str, Any]) -> ColumnPath | None:
    value = table.get("records")
    return None if value is None else _path(value, "source.records")


def _delimiter(table: dict[str, Any]) -> str | None:
    value = _text(table, "delimiter", "source.")
    if value is not None and (len(value) != 1 or value in '"\r\n'):
        raise _FaultError('source.delimiter: one character, as in ";" or "\\t"')
    return value


def _text(table: dict[str, Any], key: str, above: str) -> str | None:
    value = table.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise _FaultError(f"{above}{key}: text in quotes")
    return value


def _table(found: dict[str, Any], key: str) -> dict[str, Any]:
    value = found.get(key, {})
    if not isinstance(value, dict):
        raise _FaultError(f"{key}: a table: write [{key}] on a line of its own, its keys below")
    return value


def _refuse_others(table: Iterable[str], known: Iterable[str], above: str) -> None:
    allowed = tuple(known)
    for key in table:
        if key not in allowed:
            same = [word for word in allowed if word.casefold() == key.casefold()]
            near = same or get_close_matches(key, allowed, n=1, cutoff=0.5)
            hint = f"did you mean {above}{near[0]}?" if near else f"there are {', '.join(allowed)}"
            raise _FaultError(f"{above}{key}: no such key; {hint}")
