"""The rows of an agent-lattice file: one event of one run a line.

A hook may have replaced any part of ``data`` by text before it was written, so nothing in there is
expected to have a shape: whoever needs one looks, and takes text in its place as redacted.
"""

import json
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct

from tracegraph.errors import InputError
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import LEVELS, deep_nesting, is_too_deep
from tracegraph.ingest.salvage import salvage
from tracegraph.ingest.tolerant_json import decode_json, decode_tolerant

AREA = "agent_lattice"
_NOTHING = Raw(b"null")
_Data = dict[str, Any]


class Speaker(Struct, gc=False, frozen=True):
    """Who wrote a row (``source``): a team root and its lead are the same speaker."""

    kind: str | None = None
    name: str | None = None
    team: str | None = None
    member: str | None = None
    mailbox: str | None = None


class Head(Struct, gc=False):
    """What tells where a row belongs; ``seq`` counts the rows of one tracer object."""

    type: str
    run_id: Annotated[str, Meta(min_length=1)]
    session_id: str | None = None
    parent_run_id: str | None = None
    seq: int | None = None


class Row(Head, gc=False):
    """One row."""

    timestamp: str | None = None
    source: Speaker | None = None
    data: Raw = _NOTHING


class Request(Struct, gc=False):
    """The data of a ``model_request``; the history, which grows with every turn, stays as it is."""

    model: Any = None
    tools: Any = None
    messages: Raw = _NOTHING


_decode_head = msgspec.json.Decoder(Head).decode
_decode_row = msgspec.json.Decoder(Row).decode
_decode_request = msgspec.json.Decoder(Request).decode


def decode_head(line: bytes, place: str, losses: Losses) -> Head | None:
    """Decode where a row belongs; None where it names no run or no type.

    Raises:
        InputError: the line is no JSON.
    """
    try:
        return _decode_head(line)
    except (msgspec.MsgspecError, RecursionError):
        return salvage(Head, decode_tolerant(line, place, losses), place, AREA, losses)


def decode_row(line: bytes, place: str, losses: Losses) -> Row | None:
    """Decode a row of which the head could be decoded; None where the rest is no JSON for us.

    Gap codes: ``agent_lattice.unreadable_field``, ``agent_lattice.unreadable_record``.
    """
    try:
        return _decode_row(line)
    except (msgspec.MsgspecError, RecursionError):
        value = _tolerant(line, place, losses)
    data = value.pop("data", None) if isinstance(value, dict) else None
    row = salvage(Row, value, place, AREA, losses)
    if row is not None:
        row.data = _encode(data)
    return row


def decode_data(raw: Raw, place: str, losses: Losses) -> _Data:
    """Decode the data of a row; what cannot be used is left out and disclosed.

    Gap codes: ``agent_lattice.missing_field``, ``agent_lattice.redacted``,
    ``agent_lattice.unreadable_field``.
    """
    try:
        value = decode_json(raw, place, losses)
    except InputError as error:
        losses.add("agent_lattice.unreadable_field", str(error))
        return {}
    if not isinstance(value, dict):
        _disclose_no_data(value, place, losses)
        return {}
    text = bytes(raw)
    if text.count(b"[") + text.count(b"{") > LEVELS:
        deep = [key for key, item in value.items() if is_too_deep(item)]
        for key in deep:
            del value[key]
            what = f"{place}: {key}: nested too deeply to be read"
            losses.add("agent_lattice.unreadable_field", what)
    return value


def decode_request(raw: Raw, place: str, losses: Losses) -> Request:
    """Decode the data of a model request; see :func:`decode_data`."""
    try:
        return _decode_request(raw)
    except (msgspec.MsgspecError, RecursionError):
        data = decode_data(raw, place, losses)
        return Request(data.get("model"), data.get("tools"), _encode(data.get("messages")))


def _tolerant(data: bytes, place: str, losses: Losses) -> Any:
    """Decode what the strict decoder refuses; None, disclosed, where that cannot be done."""
    try:
        return decode_tolerant(data, place, losses)
    except InputError as error:
        losses.add("agent_lattice.unreadable_record", str(error))
        return None


def is_text(raw: Raw) -> bool:
    """Tell whether undecoded JSON is text."""
    return bytes(memoryview(raw)[:1]) == b'"'


def _disclose_no_data(value: Any, place: str, losses: Losses) -> None:
    if value is None:
        losses.add("agent_lattice.missing_field", f"{place}: there is no data")
    elif isinstance(value, str):
        losses.add("agent_lattice.redacted", f"{place}: data is text")
    else:
        losses.add("agent_lattice.unreadable_field", f"{place}: data is no object")


def _encode(value: Any) -> Raw:
    with deep_nesting():
        return Raw(json.dumps(value).encode())


def text(value: Any) -> str | None:
    """Return a value if it is text that is not blank."""
    return value if isinstance(value, str) and value.strip() else None


def mapping(value: Any) -> _Data:
    """Return a value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
