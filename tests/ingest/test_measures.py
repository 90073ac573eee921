"""Numbers that JSON can write and nothing can hold."""

from typing import Any

import pytest

from tracegraph.ingest.measures import finite_number, nanoseconds
from tracegraph.ingest.phoenix.values import UNREADABLE_TIME, time_of

HUGE = 10**400


@pytest.mark.parametrize("value", [0, -1, 0.5, 2**63, 10**300, -1e300])
def test_a_number_is_itself(value: float) -> None:
    assert finite_number(value) is value


@pytest.mark.parametrize(
    "value", [HUGE, -HUGE, float("nan"), float("inf"), True, False, None, "1", [1], {}]
)
def test_what_is_none_is_none(value: Any) -> None:
    assert finite_number(value) is None


def test_a_duration_and_a_time_without_bounds_are_unknown() -> None:
    assert (nanoseconds(HUGE), nanoseconds(-HUGE), nanoseconds(5)) == (-1, -1, 5_000_000)
    assert (time_of(HUGE), time_of(-HUGE)) == (UNREADABLE_TIME, UNREADABLE_TIME)
