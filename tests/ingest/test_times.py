from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegraph.ingest.times import UNREADABLE, parse_time, parse_times


def write(ns: int, decimals: int, suffix: str) -> str:
    whole = datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{ns % 10**9:09d}"[:decimals]
    return whole + (f".{fraction}" if decimals else "") + suffix


@given(
    st.lists(st.integers(0, 2**63 - 1 - 10**18), min_size=1, max_size=40),
    st.integers(0, 9),
    st.sampled_from(["Z", "+00:00"]),
)
def test_a_column_and_single_times_agree_with_the_calendar(
    moments: list[int], decimals: int, suffix: str
) -> None:
    unit = 10 ** (9 - decimals)
    expected = [ns // unit * unit for ns in moments]
    texts = [write(ns, decimals, suffix) for ns in moments]
    assert [parse_time(text) for text in texts] == expected
    assert parse_times(texts * 20) == expected * 20


MIXED = [
    ("2026-01-01T00:00:00Z", 1_767_225_600_000_000_000),
    ("2026-01-01T01:30:00.5+01:30", 1_767_225_600_500_000_000),
    ("2026-01-01T00:00:00", 1_767_225_600_000_000_000),
    ("2026-01-01 00:00:00.123456789", 1_767_225_600_123_456_789),
    ("2026-01-01T00:00:00.1234567899Z", 1_767_225_600_123_456_789),
    ("2024-02-29T23:59:59.999Z", 1_709_251_199_999_000_000),
]
BAD = [
    "",
    "now",
    "NaT",
    "noon",
    "2026-02-30T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-01T24:30:00Z",
    "2026-01-01T00:60:00Z",
    "1969-12-31T23:59:59Z",
    "3026-01-01T00:00:00Z",
    "2026-01-01T00:00:0\u0664Z",
]


def test_a_column_of_mixed_forms_keeps_every_place() -> None:
    texts = [*(text for text, _ in MIXED), None, *BAD]
    expected = [*(ns for _, ns in MIXED), -1, *[UNREADABLE] * len(BAD)]
    assert parse_times(texts) == expected
    assert parse_times(texts * 20) == expected * 20


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_time_is_unreadable_in_any_company(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text)
    good = "2026-01-01T00:00:00Z"
    assert parse_times([good] * 30 + [text])[-1] == UNREADABLE
    assert parse_times([text] * 30) == [UNREADABLE] * 30


def test_nothing_in_nothing_out() -> None:
    assert parse_times([]) == []
    assert parse_times([None, None]) == [-1, -1]
