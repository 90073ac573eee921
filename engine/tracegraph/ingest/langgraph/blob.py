"""Values of a LangGraph checkpoint as plain data: nothing is imported, constructed or run.

LangGraph serialises with msgpack and eight extension codes, before 2024-09 with JSON in which
objects are ``{"lc": 1 or 2, "type": "constructor", ...}`` (langgraph.checkpoint.serde.jsonplus). An
object names a module, a class and what its constructor was given; here it stays exactly that, a
:class:`Built`. What cannot be decoded so (pickle, an unknown code, a cut or bottomless value) is
:data:`UNDECODABLE` in its place, and counted.
"""

from enum import IntEnum
from typing import Any, Final

import ormsgpack
from msgspec import Struct

from tracegraph.errors import InputError
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import deep_nesting, is_too_deep
from tracegraph.ingest.tolerant_json import decode_json

GAP = "langgraph.undecodable_blob"
_MAX_NESTED_OBJECTS = 100
"""Objects within objects; each costs a call of the decoder within the decoder."""
_END_TEXT = "\x00the end of a blob"
_PAIR, _END = b"\x92", ormsgpack.packb(_END_TEXT)
"""Around a blob they make a pair of it and of a text that no blob holds behind its end."""


class Built(Struct, gc=False):
    """An object as recorded: its class, and the data that its constructor was given.

    Attributes:
        module: dotted name of the module.
        name: name of the class or function.
        data: the only argument, the list of arguments, or a dict of named ones.
    """

    module: str
    name: str
    data: Any

    def fields(self) -> dict[str, Any]:
        """Return the named arguments, none where they are recorded otherwise."""
        return self.data if isinstance(self.data, dict) else {}


class _Undecodable:
    def __repr__(self) -> str:
        return "UNDECODABLE"


UNDECODABLE: Final = _Undecodable()


class _Ext(IntEnum):
    """Extension codes of langgraph.checkpoint.serde.jsonplus (langgraph-checkpoint 2.0 to 4.x)."""

    SINGLE_ARG = 0
    POSITIONAL = 1
    NAMED = 2
    METHOD = 3
    PYDANTIC_1 = 4
    PYDANTIC_2 = 5
    NUMPY = 6
    DELTA_SNAPSHOT = 7


_OBJECTS = frozenset(_Ext) - {_Ext.NUMPY, _Ext.DELTA_SNAPSHOT}
_COLLECTIONS = frozenset({"set", "frozenset", "deque"})


class BlobReader:
    """Decodes the blobs of one thread and discloses those that it cannot decode."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self._depth = 0

    def read(self, kind: Any, data: Any, place: str) -> Any:
        """Decode a blob.

        Gap code: ``langgraph.undecodable_blob``.

        Args:
            kind: the ``type`` column; None, as of databases without it, is JSON.
            data: the blob, or text where some tool converted it.
            place: where it is, for messages.
        """
        if kind == "null" or (not data and kind in (None, "", "empty")):
            return None
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogatepass")
        if not isinstance(data, bytes):
            return self._undecodable(f"{place}: the value is no blob")
        if kind == "msgpack":
            return self._read_msgpack(data, place)
        if kind in ("json", None, ""):
            return self._read_json(data, place)
        if kind in ("bytes", "bytearray"):
            return data
        return self._undecodable(f"{place}: serialised as {str(kind)[:40]!r}, which is not read")

    def too_large(self, place: str) -> Any:
        """Disclose a blob that was not loaded because it is over the record limit."""
        return self._undecodable(f"{place}: the value is over the record limit")

    def missing(self, place: str) -> Any:
        """Disclose a blob whose row cannot be found."""
        return self._undecodable(f"{place}: the row is not there")

    def _undecodable(self, what: str) -> Any:
        self._losses.add(GAP, what)
        return UNDECODABLE

    def _read_msgpack(self, data: bytes, place: str) -> Any:
        self._depth = 0
        try:
            # Decoders ignore what follows a value, and many files begin like one.
            value, end = self._unpack(_PAIR + data + _END, place)
        except (ValueError, RecursionError) as error:
            return self._undecodable(f"{place}: no msgpack that can be read: {error}")
        if end != _END_TEXT:
            return self._undecodable(f"{place}: more than one value of msgpack")
        return value

    def _unpack(self, data: bytes, place: str) -> Any:
        def hook(code: int, inner: bytes) -> Any:
            return self._object(code, inner, place)

        return ormsgpack.unpackb(data, ext_hook=hook, option=ormsgpack.OPT_NON_STR_KEYS)

    def _object(self, code: int, data: bytes, place: str) -> Any:
        if code == _Ext.NUMPY:
            return Built("numpy", "ndarray", None)
        if code not in _OBJECTS and code != _Ext.DELTA_SNAPSHOT:
            return self._undecodable(f"{place}: extension code {code} is not known")
        if self._depth >= _MAX_NESTED_OBJECTS:
            return self._undecodable(f"{place}: objects nested too deeply")
        self._depth += 1
        try:
            value = self._unpack(data, place)
            return value if code == _Ext.DELTA_SNAPSHOT else _built(value)
        except (ValueError, RecursionError) as error:
            return self._undecodable(f"{place}: an object that cannot be read: {error}")
        finally:
            self._depth -= 1

    def _read_json(self, data: bytes, place: str) -> Any:
        repaired = Losses(place, strict=False)
        try:
            value = decode_json(data, place, repaired)
        except InputError as error:
            return self._undecodable(str(error))
        if is_too_deep(value):
            return self._undecodable(f"{place}: JSON nested too deeply")
        for code, count in repaired.counts.items():
            self._losses.add(code, f"{place}: text that had to be repaired", count)
        with deep_nesting():
            return _revive(value)


def _built(value: Any) -> Any:
    """Return the object that (module, name, data, ...) describes.

    Raises:
        ValueError: it describes none.
    """
    if not isinstance(value, list) or len(value) < 3:
        raise ValueError("no class and data")
    module, name, data = value[:3]
    if not isinstance(module, str) or not isinstance(name, str):
        raise ValueError("no name of a class")
    return _simplified(Built(module, name, data))


def _simplified(built: Built) -> Any:
    """Return the members of a collection in the place of the collection."""
    plain = built.module in ("builtins", "collections") and built.name in _COLLECTIONS
    return built.data if plain and isinstance(built.data, list) else built


def _revive(value: Any) -> Any:
    """Replace what JSON marks as an object by what it stands for."""
    if isinstance(value, list):
        return [_revive(item) for item in value]
    if not isinstance(value, dict):
        return value
    path = value.get("id")
    if (
        value.get("lc") in (1, 2)
        and value.get("type") == "constructor"
        and isinstance(path, list)
        and len(path) > 1
        and all(isinstance(part, str) for part in path)
    ):
        named, positional = value.get("kwargs"), value.get("args")
        data = _revive(named if named else positional)
        if positional and not named and isinstance(data, list) and len(data) == 1:
            data = data[0]
        return _simplified(Built(".".join(path[:-1]), path[-1], data))
    return {key: _revive(item) for key, item in value.items()}


def plain(value: Any) -> Any:
    """Return a decoded value as JSON can hold it: an object as its data, bytes as their number."""
    if isinstance(value, Built):
        return plain(value.data)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    return None if value is UNDECODABLE else value
