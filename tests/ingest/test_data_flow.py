import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegraph.ingest.data_flow import Flow, data_causes, telling_values

ID = "ORD-2291-7764-A"
OTHER = "a text that is long enough"


def causes(
    *flows: tuple[Any, Any], known: Any = None, rereads: bool = False
) -> list[tuple[int, int]]:
    made = [Flow(row, given, result, rereads) for row, (given, result) in enumerate(flows)]
    return list(data_causes(made, [known]))


@pytest.mark.parametrize(
    "value",
    [
        ID,
        OTHER,
        123456.5,
        7654321,
        {"lat": 40.71, "lng": -74.0},
        ["first of two", "second"],
    ],
)
def test_telling_values_are_found_at_any_depth_and_in_json_in_text(value: Any) -> None:
    assert causes((None, value), ({"deep": [{"x": value}]}, None)) == [(1, 0)]
    assert causes((None, json.dumps({"a": value})), ({"b": value}, None)) == [(1, 0)]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "",
        "completed",
        "not found",
        "2026-11-29",
        0,
        12345,
        100_000_000,
        0.5,
        1e300,
        {},
        [],
        {"page": 1, "size": 100},
        {"ok": True, "cached": False, "truncated": False},
        [None, None, None, None, None, None],
    ],
)
def test_what_may_be_there_by_chance_proves_nothing(value: Any) -> None:
    assert not causes((None, value), (value, None))


def test_numbers_are_compared_by_value_and_text_without_its_margins() -> None:
    assert causes((None, 7654321.0), (7654321, None)) == [(1, 0)]
    assert causes((None, f" {ID}\n"), (ID, None)) == [(1, 0)]
    assert not causes((None, "7654321"), (7654321, None))


def test_what_was_there_before_is_nobodys_product() -> None:
    assert not causes((None, ID), (ID, None), known={"task": ID})
    assert not causes((ID, ID), (ID, None))  # the first only passed it on


def test_what_two_made_may_come_from_either() -> None:
    assert not causes((None, ID), (None, ID), (ID, None))


def test_what_is_passed_on_comes_from_who_passed_it_on() -> None:
    assert causes((None, ID), (ID, ID), (ID, None)) == [(1, 0), (2, 1)]


def test_every_tool_that_was_given_a_value_has_its_maker_as_cause() -> None:
    assert causes((None, ID), (ID, None), (ID, None)) == [(1, 0), (2, 0)]


def test_reading_the_history_again_is_no_cause() -> None:
    flows = [(None, ID), ([ID], OTHER), ([ID, OTHER], None)]
    assert causes(*flows, rereads=True) == [(1, 0), (2, 1)]


def test_values_beyond_the_levels_that_are_looked_into_are_not_taken_for_equal() -> None:
    def nested(value: str) -> Any:
        for _ in range(40):
            value = {"level": value, "beside": "text"}  # type: ignore[assignment]
        return value

    assert not causes((None, nested(ID)), (nested(OTHER), None))


@given(st.text(min_size=20).filter(str.strip), st.text(min_size=20).filter(str.strip))
def test_only_equal_values_are_causes(one: str, other: str) -> None:
    same = bool(telling_values(one).keys() & telling_values(other).keys())
    assert bool(causes((None, {"x": one}), ({"y": other}, None))) == same
    if one.strip() == other.strip() and len(one.strip()) >= 20 and one.strip()[0] not in "[{":
        assert same
