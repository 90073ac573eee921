"""Texts behave as the list of strings that they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegraph.corpus.texts import Texts

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=12)


@given(TEXTS, st.data())
def test_equals_the_list(texts: list[str], data: st.DataObject) -> None:
    held = Texts.of(texts)
    assert len(held) == len(texts)
    assert list(held) == texts
    assert [held[i] for i in range(-len(texts), len(texts))] == texts + texts
    low, high = data.draw(st.integers(-3, 13)), data.draw(st.integers(-3, 13))
    assert list(held[low:high]) == texts[low:high]
    places = data.draw(st.lists(st.integers(0, len(texts) - 1))) if texts else []
    taken = held.take(np.array(places, dtype=np.int64))
    assert list(taken) == [texts[i] for i in places]


@given(TEXTS, st.text(max_size=3))
def test_finds_what_the_list_holds(texts: list[str], sought: str) -> None:
    held = Texts.of(texts)
    for text in [*texts, sought]:
        assert (text in held) == (text in texts)
        assert held.find(text) == (texts.index(text) if text in texts else -1)
        assert held.equal_to(text).tolist() == [i for i, t in enumerate(texts) if t == text]
        starting = [i for i, t in enumerate(texts) if t.startswith(text)]
        assert held.starting_with(text).tolist() == starting


@given(st.lists(TEXTS, min_size=1, max_size=4), st.data())
def test_concatenates_whole_and_partial_views(parts: list[list[str]], data: st.DataObject) -> None:
    joined = Texts.concat([Texts.of(part) for part in parts])
    assert list(joined) == [text for part in parts for text in part]
    cut = data.draw(st.integers(0, len(joined)))
    rest = Texts(joined.offsets[cut:], joined.data)  # a view that does not start at byte 0
    assert list(Texts.concat([rest, joined])) == [*list(joined)[cut:], *joined]


def test_refuses_a_place_that_is_not_there() -> None:
    with pytest.raises(IndexError):
        Texts.of(["a"])[1]
    with pytest.raises(ValueError, match="not among"):
        Texts.of(["a"]).index("b")
