"""OTLP/JSON that the typed decoder refuses, made readable: the tolerant rung of decoding.

Lone surrogate halves and bytes that are no UTF-8 become U+FFFD (a graph database cannot hold
them), field names in snake_case become those of OTLP/JSON, and each span is decoded on its own, so
that an odd one costs itself.
"""

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tracegraph.ingest.otlp.asides import LOGS, Asides
from tracegraph.ingest.otlp.records import (
    ExportRecord,
    ResourceSpans,
    ScopeSpans,
    Span,
    nonfinite_name,
)

INVALID_UTF8 = "text.invalid_utf8"
LONE_SURROGATE = "text.lone_surrogate"
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_NOT_LETTERS = re.compile("_([a-z])")
_GROUPS = ("resourceSpans", "batches")
_SCOPES = ("scopeSpans", "instrumentationLibrarySpans")


@dataclass(slots=True)
class RepairedRecord:
    """What could be read.

    Attributes:
        records: the export requests, one for each document found.
        repaired: per span in order, what was repaired in it, by gap code.
        lost: spans that cannot be read.
        invalid_at: byte offset of the first byte that is no UTF-8, -1 for none.
        asides: documents that hold no spans.
    """

    records: list[ExportRecord] = field(default_factory=list)
    repaired: dict[int, dict[str, int]] = field(default_factory=dict)
    lost: int = 0
    invalid_at: int = -1
    spans: int = 0
    asides: Asides = field(default_factory=Asides)


def repair(data: bytes) -> RepairedRecord:
    """Read one record, or several documents one after the other.

    Raises:
        ValueError: it is no JSON; the message says where.
        RecursionError: it is nested too deeply.
    """
    result = RepairedRecord()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        result.invalid_at = error.start
        text = data.decode(errors="surrogateescape")
    for document in _documents(text):
        for item in document if isinstance(document, list) else [document]:
            if isinstance(item, dict):
                before = result.spans, result.lost
                value = _camel_case(item)
                result.records.append(_record(value, result))
                if (result.spans, result.lost) == before:
                    logs = value.get(LOGS)
                    result.asides.add(value, None if logs is None else _json(_clean(logs, {})))
            else:
                result.lost += 1
    return result


def _documents(text: str) -> list[Any]:
    decoder = json.JSONDecoder()
    found, position = [], 0
    while position < len(text):
        while position < len(text) and text[position] in " \t\r\n":
            position += 1
        if position < len(text):
            value, position = decoder.raw_decode(text, position)
            found.append(value)
    return found


def _camel_case(value: Any) -> Any:
    """Rename structural keys; attribute names are values in OTLP/JSON and stay as they are."""
    if isinstance(value, dict):
        return {_camel_case_name(key): _camel_case(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_camel_case(item) for item in value]
    return value


def _camel_case_name(name: str) -> str:
    return _NOT_LETTERS.sub(lambda m: m[1].upper(), name)


def _record(value: dict[str, Any], result: RepairedRecord) -> ExportRecord:
    if "spanId" in value and not any(key in value for key in _GROUPS + _SCOPES):
        value = {"scopeSpans": [{"spans": [value]}]}
    if not any(key in value for key in _GROUPS):
        value = {"resourceSpans": [value]}
    groups = [_group(item, result) for key in _GROUPS for item in _dicts(value.get(key), result)]
    return ExportRecord(resourceSpans=groups)


def _group(value: dict[str, Any], result: RepairedRecord) -> ResourceSpans:
    scopes = [
        ScopeSpans([s for item in _dicts(scope.get("spans"), result) if (s := _span(item, result))])
        for key in _SCOPES
        for scope in _dicts(value.get(key), result)
    ]
    resource = _clean(value.get("resource"), {})
    return ResourceSpans(msgspec.Raw(_json(resource)), scopes)


def _span(value: dict[str, Any], result: RepairedRecord) -> Span | None:
    repaired: dict[str, int] = {}
    data = _json(_clean(value, repaired))
    try:
        span = msgspec.json.decode(data, type=Span)
    except (msgspec.MsgspecError, RecursionError):
        result.lost += 1
        return None
    if repaired:
        result.repaired[result.spans] = repaired
    result.spans += 1
    return span


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _dicts(value: Any, result: RepairedRecord) -> list[dict[str, Any]]:
    """Return the objects of a list; whatever else is there costs itself, known to hold one span."""
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    found = [item for item in items if isinstance(item, dict) and items is value]
    result.lost += len(items) - len(found)
    return found


def without_surrogates(text: str) -> str:
    """Return text with U+FFFD for each half of a surrogate pair, or byte escaped as one."""
    return _SURROGATE.sub("\ufffd", text)


def _clean(value: Any, repaired: dict[str, int]) -> Any:
    if isinstance(value, str):
        if not _SURROGATE.search(value):
            return value
        code = INVALID_UTF8 if _ESCAPED_BYTE.search(value) else LONE_SURROGATE
        repaired[code] = repaired.get(code, 0) + 1
        return without_surrogates(value)
    if isinstance(value, float) and not math.isfinite(value):
        return nonfinite_name(value)
    if isinstance(value, list):
        return [_clean(item, repaired) for item in value]
    if isinstance(value, dict):
        return {_clean(key, repaired): _clean(item, repaired) for key, item in value.items()}
    return value
