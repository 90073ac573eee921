import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import HEAD_BYTES, Source


def keys(data: bytes) -> set[str]:
    return set(opening_keys(Source("x.json", data)))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a": {"b": 1}, "c": ["d", {"e": 2}], "f": "g: \\"h\\": 1"}', {"a", "c", "f"}),
        (b'\xef\xbb\xbf [ {"a" : 1}, {"b": 2}]', {"a"}),
        (b'{"a": 1}\n{"b": 2}\n', {"a"}),
        (b'{"a": "cut off, \\"b\\": 1', {"a"}),
        (b"[]", set()),
        (b'"a": 1', set()),
        (b"", set()),
    ],
)
def test_names_of_the_first_object(data: bytes, expected: set[str]) -> None:
    assert keys(data) == expected


def test_only_the_head_is_looked_at() -> None:
    data = json.dumps({"a": "x" * HEAD_BYTES, "b": 1}).encode()
    assert keys(data) == {"a"}


_values = st.recursive(
    st.text() | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(min_codepoint=32, exclude_characters='\\"')), _values))
def test_the_names_are_those_that_a_parser_finds(value: dict[str, object]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    try:
        data = text.encode()
    except UnicodeEncodeError:  # lone surrogates
        return
    assert keys(data) == set(value)
