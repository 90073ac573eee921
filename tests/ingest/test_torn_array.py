"""An array of records that was cut or damaged gives the records before the fault."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_data import fixture
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.ingest.torn_array import whole_items
from tracegraph.model.seal import seal
from tracegraph.model.trace import iterate

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def array_of(name: str) -> tuple[bytes, int]:
    """Return a fixture as an array of its records, and how many bytes all but the last take."""
    path = fixture(name)
    text = path.read_text(encoding="utf-8")
    loaded = json.loads(text) if path.suffix == ".json" else None
    values = loaded if isinstance(loaded, list) else [loaded or json.loads(text)] * 2
    texts = [json.dumps(value).encode() for value in values]
    return b"[" + b",\n".join(texts) + b"]", len(b",\n".join(texts[:-1])) + 1


def traces_of(source: Source, *, strict: bool = False) -> tuple[list[str], dict[str, int]]:
    found: list[str] = []
    gaps: dict[str, int] = {}
    for draft in detect(source).read([source], ReadOptions(strict=strict)):
        found += [trace.trace_id for trace in iterate(seal(draft))]
        gaps |= draft.file_gaps
    return found, gaps


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("tau_bench/airline_three_runs.json", "files.damaged"),
        ("otlp/openinference_unknown_tool.json", "otlp.unreadable_record"),
    ],
)
@pytest.mark.parametrize("damage", [b"", b'"x'], ids=["cut", "damaged"])
def test_what_stands_before_the_fault_is_read(name: str, code: str, damage: bytes) -> None:
    data, before = array_of(name)
    half = (before + len(data)) // 2
    torn = Source("x.json", data[:half] + damage + (data[half + 1 :] if damage else b""))
    ids, gaps = traces_of(torn)
    whole, _ = traces_of(Source("x.json", data[:before] + b"]"))
    assert ids == whole
    assert gaps == {code: 1}
    with pytest.raises(StrictError, match=code):
        traces_of(torn, strict=True)


def test_an_array_without_a_whole_item_is_refused() -> None:
    for name in ("tau_bench/airline_three_runs.json", "otlp/openinference_unknown_tool.json"):
        data = array_of(name)[0][:3000]
        with pytest.raises(InputError, match=r"^x\.json: .*not JSON"):
            traces_of(Source("x.json", data))


@given(st.lists(VALUES, max_size=4), st.data())
def test_items_are_found_up_to_the_cut(values: list[object], data: st.DataObject) -> None:
    texts = [json.dumps(value, ensure_ascii=False).encode() for value in values]
    joined = b" [" + b" ,".join(texts) + b"]"
    end = data.draw(st.integers(0, len(joined)))
    bounds = whole_items(joined[:end])
    items = [joined[low:high] for low, high in bounds]
    # A number that was cut may be another number.
    sure = items[:-1] if items and bounds[-1][1] == end else items
    assert sure == texts[: len(sure)]
    assert len(items) >= len(texts) if end == len(joined) else True
