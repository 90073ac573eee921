"""What every registered adapter owes to any file, over the project's files of its format.

The adapters' own tests say what a fault of their format costs; here is what holds in all of them.
The files are damaged without knowing what they mean, so an adapter that is added is held to it by
its line in ``every_format.py``, and without one the first test fails.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from every_format import (
    ADAPTERS,
    PLACES,
    Damage,
    Document,
    Place,
    Reading,
    damaged_files,
    damages,
    files_of,
    read,
)
from tracegraph.errors import InputError
from tracegraph.ingest.companions import is_database
from tracegraph.ingest.registry import MAPPED, REGISTERED
from tracegraph.ingest.source import Source

DAMAGED = damaged_files()
# Of any suffix, packages and printed text among them; databases have tests of their own.
OTHERS = [
    (name, path)
    for name, places in PLACES.items()
    for path in sorted(path for place in places for path in place.rglob("*") if path.is_file())
    if path.suffix not in {".json", ".jsonl"} and not is_database(path)
    if ADAPTERS[name].sniff(Source.open(path, path.name))
]
EACH = pytest.mark.parametrize(("name", "path"), DAMAGED, ids=[path.name for _, path in DAMAGED])
# An id of another type is another id, on which nothing hangs; an error may be text without a type.
SAYS_LESS = {"step_id", "error"}
ATTRIBUTES = {"span_attributes", "tag"}  # as TRAIL and Jaeger's storage call an object of them
TEXT = st.text(st.characters(exclude_categories=[]), max_size=3)  # lone surrogates too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)


def test_every_adapter_is_here() -> None:
    names = {entry.name for entry in REGISTERED}
    assert names == PLACES.keys()
    assert {name for name, _ in DAMAGED} == names - {"langgraph"}  # which reads databases only
    assert all(files_of(name) for name in names)


@pytest.mark.parametrize("name", PLACES)
def test_a_file_is_taken_by_its_own_adapter_only(name: str) -> None:
    for path in files_of(name):
        before = path.read_bytes()
        source = Source.open(path, path.name)
        own = [] if name == MAPPED else [name]  # which only a mapping chooses
        assert [a.name for a in ADAPTERS.values() if a.sniff(source)] == own, path
        read(name, source)
        assert path.read_bytes() == before


@EACH
def test_one_value_removed_of_the_wrong_type_or_of_5000_levels(name: str, path: Path) -> None:
    """It costs at most the item that it is in, and a step that is lost is disclosed."""
    document = Document.load(path)
    whole = read(name, document.source())
    assert whole.steps
    without: dict[Place, Reading] = {}
    wrong: list[tuple[str, Damage]] = []
    for damage in damages(document, random.Random(7)):
        found = read(name, damage.document.source())
        # A message of a state is one record: nesting in a part of it costs it.
        is_whole = damage.how == "deep" and name == "langgraph_state"
        for record in document.records_of(damage.place)[: 1 if is_whole else None][-1:]:
            if record not in without:
                without[record] = read(name, document.changed(record, None).source())
            if (without[record].steps & whole.steps) - found.steps:
                wrong.append(("costs more than its record", damage))
        if not _is_told(damage, whole, found):
            wrong.append(("loses a step in silence", damage))
        elif damage.how == "wrong" and _forgets(damage, whole, found):
            wrong.append(("forgets a value in silence", damage))
    assert wrong == []


def _is_told(damage: Damage, whole: Reading, found: Reading) -> bool:
    is_absent_list = damage.how == "removed" and isinstance(damage.old, list)
    return (
        found.steps.total() >= whole.steps.total()
        or found.refusal is not None
        or bool(found.gaps - whole.gaps)
        or len(found.unanswered()) > len(whole.unanswered())
        or is_absent_list  # which is how many formats write an empty one
    )


def _forgets(damage: Damage, whole: Reading, found: Reading) -> bool:
    """Tell whether a value that was known is unknown now, and nothing says so.

    What is blank says nothing, and is no wrong value. In the attributes of a span, whose keys
    anybody may use, a value that a convention does not expect is another attribute.
    """
    is_attribute = any(
        str(key).lower().startswith("attributes") or key in ATTRIBUTES for key in damage.place
    )
    if (
        is_attribute
        or damage.place[-1] in SAYS_LESS
        or damage.document.at(damage.place) in ([], {})
    ):
        return False
    return not found.gaps - whole.gaps and any(
        whole.known(step_id) - found.known(step_id) - set(found.held[step_id].unknown_fields)
        for step_id in whole.held.keys() & found.held.keys()
    )


@EACH
def test_a_file_cut_off_anywhere(name: str, path: Path) -> None:
    """The whole lines before the cut are read as if there were nothing after them."""
    data = path.read_bytes()
    whole = read(name, Source("x", data))
    for end in random.Random(7).sample(range(len(data)), 25):
        source = Source("x", data[:end])
        for adapter in ADAPTERS.values():
            adapter.sniff(source)
        found = read(name, source)
        if path.suffix == ".jsonl" and data[end : end + 1] != b"\n":
            kept = data[: data.rfind(b"\n", 0, end) + 1]
            intact = read(name, Source("x", kept)).steps & whole.steps
            assert not intact - found.steps


@EACH
def test_bytes_that_are_other_bytes(name: str, path: Path) -> None:
    rng = random.Random(7)
    for _ in range(20):
        data = bytearray(path.read_bytes())
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.choice(b'\x00\xff{}[]",:0a')
        read(name, Source("x", bytes(data)))


@pytest.mark.parametrize(("name", "path"), OTHERS, ids=[path.name for _, path in OTHERS])
def test_a_file_that_is_no_json_cut_off_or_with_other_bytes(name: str, path: Path) -> None:
    data, rng = path.read_bytes(), random.Random(7)
    damaged = [data[:end] for end in rng.sample(range(len(data)), 10)]
    for _ in range(10):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 9)):
            changed[rng.randrange(len(data))] = rng.randrange(256)
        damaged.append(bytes(changed))
    for content in damaged:
        source = Source("x", content)
        for adapter in ADAPTERS.values():
            adapter.sniff(source)
        read(name, source)


@pytest.mark.parametrize("name", [name for name in PLACES if name != "langgraph"])
def test_any_values_put_anywhere(name: str) -> None:
    documents = [Document.load(path) for each, path in DAMAGED if each == name]
    places = [list(document.places()) for document in documents]

    @settings(max_examples=40, deadline=None)
    @given(st.data(), st.booleans())
    def check(data: st.DataObject, keep_content: bool) -> None:
        at = data.draw(st.integers(0, len(documents) - 1))
        damaged = documents[at]
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.sampled_from(places[at]))
            try:
                damaged = damaged.changed(place, data.draw(JSON))
            except (KeyError, IndexError, TypeError):
                continue  # an earlier damage took the place away
        read(name, damaged.source(), keep_content=keep_content)

    check()


@settings(max_examples=100, deadline=None)
@given(st.one_of(JSON, st.lists(JSON, max_size=4)), st.booleans())
def test_any_json_is_refused_or_read(value: Any, lines: bool) -> None:
    values = value if lines and isinstance(value, list) else [value]
    data = "\n".join(map(json.dumps, values)).encode()
    for name, adapter in ADAPTERS.items():
        assert not adapter.sniff(Source("x", data))
        read(name, Source("x", data))


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=200))
@example(b"\x1f\x8b\x08")  # compressed, by its first bytes, and nothing behind them
@example(b"\x28\xb5\x2f\xfd")
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    for name, adapter in ADAPTERS.items():
        try:
            assert not adapter.sniff(Source("x", data))
        except InputError as error:
            assert str(error).startswith("x: cannot be unpacked: ")
        read(name, Source("x", data))
