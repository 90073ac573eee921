"""The first place that reaches a bound, against a plain search."""

from hypothesis import given
from hypothesis import strategies as st

from tracegraph.analysis.maxima import Maxima


@given(st.lists(st.integers(-3, 3), max_size=40), st.integers(0, 45), st.integers(-4, 4))
def test_the_first_place_that_reaches_a_bound(numbers: list[int], place: int, bound: int) -> None:
    plain = next((i for i in range(place, len(numbers)) if numbers[i] >= bound), None)
    assert Maxima(numbers).first_from(place, bound) == plain
