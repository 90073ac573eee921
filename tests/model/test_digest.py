"""Digests say that two values mean the same; nothing else may make them equal."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegraph.model.digest import UNPARSED, canonical, digest_text, digest_value

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), values, min_size=1, max_size=3))
def test_key_order_spacing_and_one_or_two_levels_of_text_do_not_count(
    value: dict[str, Any],
) -> None:
    reversed_keys = dict(reversed(value.items()))
    expected = digest_value(value)
    assert digest_text(json.dumps(reversed_keys, indent=3)) == expected
    assert digest_text(json.dumps(json.dumps(value))) == expected
    assert digest_text(json.dumps(json.dumps(json.dumps(value)))) == expected


@given(values, values)
def test_different_values_have_different_digests(a: Any, b: Any) -> None:
    if canonical(a) != canonical(b) and not (isinstance(a, str) or isinstance(b, str)):
        assert digest_value(a) != digest_value(b)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('{"q": 1}', '{"q": 1.0}'),
        ('{"q": -0.0}', '{"q": 0}'),
        ('"\\u65e5\\u672c"', '"日本"'),
        ("Atlantis", '"Atlantis"'),
        ("[1]", '"[1]"'),
        ('"\\"1\\""', '"1"'),
    ],
)
def test_equal_by_meaning(left: str, right: str) -> None:
    assert digest_text(left) == digest_text(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('{"q": 1}', '{"q": "1"}'),
        ("1", '"1"'),
        ("true", '"true"'),
        ('"1"', '"1.0"'),
        ("NaN", '"NaN"'),
        ("Atlantis", '{"city": "Atlantis"}'),
        ('{"q": "{}"}', '{"q": {}}'),
        ('{"q": 9007199254740993}', '{"q": 9007199254740992}'),
        ('{"q": 9007199254740993}', '{"q": 9007199254740992.0}'),
        ('{"q": true}', '{"q": 1}'),
        ('"cafe\\u0301"', '"caf\\u00e9"'),
    ],
)
def test_different_by_meaning(left: str, right: str) -> None:
    assert digest_text(left) != digest_text(right)


@pytest.mark.parametrize("blank", ["", "  ", "\n", "null", '""', '"  "'])
def test_blank_is_unknown(blank: str) -> None:
    assert digest_text(blank) is None


@pytest.mark.parametrize("text", ['{"q": "fores', '{"q": 1, "q": 2}', "[1, 2", "[" * 5000])
def test_what_does_not_parse_is_compared_by_its_bytes_and_marked(text: str) -> None:
    digest = digest_text(text)
    assert digest is not None and digest.startswith(UNPARSED)
    assert digest_text(text) == digest
    assert digest_text(text + " ") != digest


def test_thousands_of_levels_are_no_traceback() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    assert digest_value(deep) is not None
