from hypothesis import given
from hypothesis import strategies as st

from tracegraph.ingest.free_ids import FreeIds


def test_the_second_of_an_id_is_numbered() -> None:
    ids = FreeIds()
    assert [ids.take(wanted) for wanted in ("a", "b", "a", "a")] == ["a", "b", "a~2", "a~3"]


def test_a_made_id_never_takes_the_place_of_a_recorded_one() -> None:
    ids = FreeIds(["a", "a", "a~2"])
    assert [ids.take(wanted) for wanted in ("a", "a", "a~2")] == ["a", "a~3", "a~2"]


@given(st.lists(st.sampled_from(["a", "a~2", "a~2~2", "b"])))
def test_ids_are_given_once(wanted: list[str]) -> None:
    ids = FreeIds(wanted)
    given_out = [ids.take(each) for each in wanted]
    assert len(set(given_out)) == len(wanted)
    assert set(wanted) <= set(given_out)
