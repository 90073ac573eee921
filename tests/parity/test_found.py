"""The smallest case of every mismatch that the parity fuzz ever found."""

from parity.agreement import by_matcher
from pattern.graphs import steps
from pattern.oracle_rows import results
from tracegraph.pattern.load import load_adhoc
from tracegraph.pattern.plan import plan


def test_rows_of_one_match_follow_the_first_match_of_their_values() -> None:
    """A match of unknown name joins two rows by itself; text codes used to order them."""
    columns = steps(
        {"id": "late", "name": "a", "start": 100},
        {"id": "early", "name": "b", "start": 0},
        {"id": "unnamed", "start": 50},
    )
    pattern = load_adhoc("TOOL within 0.000002ms having count >= 1 by name return name")
    answer = by_matcher(plan(pattern), columns)
    assert answer == results(pattern, columns)
    assert [row.values["name"] for row in answer[0]] == ["b", "b", "a", "a"]


def test_a_position_that_nothing_fills() -> None:
    """The matcher asked for the candidates of positions that it had not come to."""
    pattern = load_adhoc('a: LLM -> b: TOOL where name == "nothing" -> c: TOOL')
    assert by_matcher(plan(pattern), steps({"id": "x"}, {"id": "y"})) == ([], [])
