"""Blobs are decoded inertly: whatever one holds, nothing is imported, built or run."""

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_files import ext, pack
from tracegraph.ingest.langgraph.blob import UNDECODABLE, BlobReader, Built, plain
from tracegraph.ingest.losses import Losses

_UNDECODABLE = {"langgraph.undecodable_blob": 1}


def _read(kind: Any, data: Any) -> tuple[Any, dict[str, int]]:
    losses = Losses("a.db", strict=False)
    return BlobReader(losses).read(kind, data, "row 1"), dict(losses.counts)


def _msgpack(value: Any) -> Any:
    found, gaps = _read("msgpack", pack(value))
    assert gaps == {}
    return found


class _Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> Any:
        return Path.write_text, (self._path, "it ran")


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "proof"
    data = pickle.dumps(_Bomb(path))
    pickle.loads(data)
    assert path.read_text() == "it ran"  # the bomb works
    path.unlink()
    for kind in ("pickle", None, "json", "bytes+pickle"):
        assert _read(kind, data) == (UNDECODABLE, _UNDECODABLE)
    _read("msgpack", data)  # its first byte is an empty map
    inside, _ = _read("msgpack", pack({"a": ext(3, "pickle", "loads", data, "__call__")}))
    assert inside["a"] == Built("pickle", "loads", data)
    assert not path.exists()


@pytest.mark.parametrize("code", range(6))
def test_an_object_names_a_module_that_is_never_imported(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostile_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    value = _msgpack({"x": ext(code, "hostile_module", "Thing", {"a": 1}, "make")})
    assert value == {"x": Built("hostile_module", "Thing", {"a": 1})}
    data = {"lc": 2, "type": "constructor", "id": ["hostile_module", "Thing"], "kwargs": {"a": 1}}
    found, gaps = _read("json", json.dumps([data]).encode())
    assert (found, gaps) == ([Built("hostile_module", "Thing", {"a": 1})], {})
    assert set(sys.modules) == before


def test_objects_within_objects_and_collections() -> None:
    inner = ext(5, "langchain_core.messages.ai", "AIMessage", {"content": "hi", "id": "1"})
    value = _msgpack(
        {
            "messages": [inner],
            "names": ext(0, "builtins", "set", ["a", "b"]),
            "queue": ext(0, "collections", "deque", [1]),
            "send": ext(1, "langgraph.types", "Send", ["work", {"x": inner}]),
            "when": ext(3, "datetime", "datetime", "2026-01-01T00:00:00", "fromisoformat"),
            "array": ormsgpack.Ext(6, pack(["<f8", [2], "C", bytes(16)])),
            "kept": ormsgpack.Ext(7, pack([1, 2])),
        }
    )
    said = Built("langchain_core.messages.ai", "AIMessage", {"content": "hi", "id": "1"})
    assert value == {
        "messages": [said],
        "names": ["a", "b"],
        "queue": [1],
        "send": Built("langgraph.types", "Send", ["work", {"x": said}]),
        "when": Built("datetime", "datetime", "2026-01-01T00:00:00"),
        "array": Built("numpy", "ndarray", None),
        "kept": [1, 2],
    }
    assert plain(value["send"]) == ["work", {"x": {"content": "hi", "id": "1"}}]


def test_json_of_2024() -> None:
    message = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "ToolMessage"],
        "kwargs": {"content": "5", "tool_call_id": "c"},
    }
    names = {
        "lc": 2,
        "type": "constructor",
        "id": ["builtins", "set"],
        "method": None,
        "args": [["a", "c"]],
        "kwargs": {},
    }
    found, gaps = _read("json", json.dumps({"m": [message], "join": names}).encode())
    assert gaps == {}
    assert found == {
        "m": [
            Built("langchain.schema.messages", "ToolMessage", {"content": "5", "tool_call_id": "c"})
        ],
        "join": ["a", "c"],
    }


@pytest.mark.parametrize(
    ("kind", "data", "value"),
    [
        ("null", b"", None),
        ("null", None, None),
        (None, None, None),
        (None, b"", None),
        ("empty", b"", None),
        (None, b"[1]", [1]),
        ("json", "[1]", [1]),
        ("bytes", b"\x00\x01", b"\x00\x01"),
        ("msgpack", b"\xc0", None),
    ],
)
def test_values_that_are_no_objects(kind: Any, data: Any, value: Any) -> None:
    assert _read(kind, data) == (value, {})


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("msgpack", b""),
        ("msgpack", b"\xc1"),
        ("msgpack", pack({"a": "text"})[:-2]),
        ("msgpack", b"\xdd\xff\xff\xff\xff"),
        ("msgpack", b"\xc6\xff\xff\xff\xff"),
        ("msgpack", b"\xdf\xff\xff\xff\xff"),
        ("msgpack", b"\x91" * 5_000 + b"\x01"),
        ("msgpack", 17),
        ("json", b'{"a": '),
        ("json", b"[" * 100_000),
        ("json", b"[" * 5_000 + b"]" * 5_000),
        ("protobuf", b"\x0a\x01"),
        (17, b"x"),
    ],
)
def test_what_cannot_be_decoded_is_a_gap(kind: Any, data: Any) -> None:
    assert _read(kind, data) == (UNDECODABLE, _UNDECODABLE)


def test_the_rest_of_a_value_is_used() -> None:
    bottomless = pack([1])
    for _ in range(5_000):
        bottomless = pack(ormsgpack.Ext(1, bottomless))
    value = pack(
        {
            "unknown": ormsgpack.Ext(99, b"\x01"),
            "torn": ormsgpack.Ext(5, pack(["m", "N", {"a": 1}])[:-1]),
            "no class": ormsgpack.Ext(2, pack([1, 2, 3])),
            "deep": ormsgpack.Ext(1, bottomless),
            "said": "kept",
        }
    )
    found, gaps = _read("msgpack", value)
    assert found["said"] == "kept"
    assert [found[name] for name in ("unknown", "torn", "no class")] == [UNDECODABLE] * 3
    assert gaps["langgraph.undecodable_blob"] >= 4


def test_a_hundred_megabytes_of_one_string() -> None:
    value = "x" * 100_000_000
    assert _msgpack(value) == value


_PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_PLAIN)
def test_plain_data_comes_back_equal(value: Any) -> None:
    assert _msgpack(value) == value


@given(st.sampled_from(["msgpack", "json", None, "pickle"]), st.binary(max_size=200))
def test_random_bytes_never_end_the_reading(kind: str | None, data: bytes) -> None:
    found, gaps = _read(kind, data)
    assert found is not UNDECODABLE or gaps["langgraph.undecodable_blob"] >= 1


@given(_PLAIN, st.integers(0, 127), st.data())
def test_damaged_objects_never_end_the_reading(value: Any, code: int, data: st.DataObject) -> None:
    whole = bytearray(pack({"x": ext(code, "m", "N", value)}))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    _read("msgpack", bytes(whole))
