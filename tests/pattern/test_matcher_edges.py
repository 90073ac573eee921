"""What each edge of the language holds for."""

import pytest

from pattern.building import find, traces

CHAIN = traces("""
a TOOL x error
b CHAIN retry:x <- a
c TOOL x error <- b
""")


def test_a_direct_cause() -> None:
    assert find("TOOL -> CHAIN", CHAIN) == ["a b"]
    assert find("CHAIN -> TOOL", CHAIN) == ["b c"]
    assert find("TOOL -> TOOL", CHAIN) == []


def test_the_retried_tool() -> None:
    pattern = """first: TOOL -> CHAIN "retry:*" -> last: TOOL
        where name == $first.name and status == error"""
    assert find(pattern, CHAIN) == ["a b c"]


def test_parallel_edges_make_one_match() -> None:
    columns = traces("a LLM\nb TOOL <- a a:tool_call_id a:data_flow / a")
    assert find("LLM -> TOOL", columns) == ["a b"]


def test_traces_do_not_mix() -> None:
    columns = traces("a LLM\nb TOOL <- a\n\na LLM\nb TOOL <- a\n\na LLM\nb TOOL")
    assert find("LLM -> TOOL", columns) == ["a b", "a b"]
    assert find("LLM ~>> TOOL", columns) == ["a b"]  # a cause alone is a tree parent


@pytest.mark.parametrize(
    ("edge", "expected"),
    [
        ("->{1}", ["a b", "b c", "c d"]),
        ("->{2}", ["a c", "b d"]),
        ("->{3}", ["a d"]),
        ("->{4}", []),
        ("->{2,3}", ["a c", "a d", "b d"]),
        ("->{2,}", ["a c", "a d", "b d"]),
        ("->{3,}", ["a d"]),
        ("->>", ["a b", "a c", "a d", "b c", "b d", "c d"]),
    ],
)
def test_lengths_of_walks(edge: str, expected: list[str]) -> None:
    columns = traces("a TOOL\nb TOOL <- a\nc TOOL <- b\nd TOOL <- c")
    assert find(f"TOOL {edge} TOOL", columns) == expected


def test_a_walk_of_one_of_several_lengths() -> None:
    columns = traces("a TOOL\nb LLM <- a\nc LLM <- b\nd TOOL <- c a")
    assert find("TOOL ->{1} TOOL", columns) == ["a d"]
    assert find("TOOL ->{2} TOOL", columns) == []
    assert find("TOOL ->{2,3} TOOL", columns) == ["a d"]
    assert find("TOOL ->{2,} TOOL", columns) == ["a d"]
    assert find("TOOL ->{4,} TOOL", columns) == []


def test_sixty_hops() -> None:
    lines = ["s0 TOOL", *(f"s{i} CHAIN <- s{i - 1}" for i in range(1, 60)), "s60 TOOL <- s59"]
    columns = traces("\n".join(lines))
    assert find("TOOL ->> TOOL", columns) == ["s0 s60"]
    assert find("TOOL ->{60} TOOL", columns) == ["s0 s60"]
    assert find("TOOL ->{2,60} TOOL", columns) == ["s0 s60"]
    assert find("TOOL ->{2,59} TOOL", columns) == []
    assert find("TOOL ->{61,} TOOL", columns) == []


def test_no_such_step_inside_a_walk() -> None:
    columns = traces("a AGENT\nm LLM ok <- a\nz TOOL <- m\nw LLM error <- a\ny TOOL <- w")
    assert find("AGENT ->> [no LLM where status == ok] TOOL", columns) == ["a y"]
    assert find("AGENT ->> [no LLM] TOOL", columns) == []
    assert find("LLM ->> [no LLM] TOOL", columns) == ["m z", "w y"]


def test_one_free_walk_is_enough() -> None:
    columns = traces("a AGENT\nm LLM <- a\nn CHAIN <- a\nz TOOL <- m n")
    assert find("AGENT ->> [no LLM] TOOL", columns) == ["a z"]
    assert find("AGENT ->> [no LLM|CHAIN] TOOL", columns) == []


def test_the_best_walk_decides_what_is_unknown() -> None:
    columns = traces("a AGENT\nm LLM <- a\nz TOOL <- m")
    assert find('AGENT ->> [no LLM "x"] TOOL', columns) == ["a z?"]
    columns = traces("a AGENT\nm LLM <- a\nn LLM y <- a\nz TOOL <- m n")
    assert find('AGENT ->> [no LLM "x"] TOOL', columns) == ["a z"]


def test_a_filter_that_names_an_earlier_step() -> None:
    columns = traces("a AGENT x\nb AGENT y\nm LLM x <- a b\nz TOOL <- m")
    assert find("a: AGENT ->> [no LLM where name == $a.name] TOOL", columns) == ["b z"]


def test_child_and_descendant() -> None:
    columns = traces("r AGENT\na CHAIN / r\nb TOOL / a\nc TOOL / r")
    assert find("AGENT / TOOL", columns) == ["r c"]
    assert find("AGENT // TOOL", columns) == ["r b", "r c"]
    assert find("AGENT // [no CHAIN] TOOL", columns) == ["r c"]
    assert find('AGENT // [no CHAIN "x"] TOOL', columns) == ["r b?", "r c"]
    assert find("r: AGENT // [no CHAIN where status == $r.status] TOOL", columns) == ["r c"]
    assert find("TOOL // ANY", columns) == []


def test_later_in_the_scope() -> None:
    columns = traces("""
r AGENT @0-9
a TOOL @1-2 / r
n CHAIN @3-6 / r
b TOOL @4-5 / n
c TOOL @7-8 / r
""")
    assert find("TOOL ~> TOOL", columns) == ["a c"]
    assert find("TOOL ~>> TOOL", columns) == ["a b", "a c", "b c"]


def test_a_wrapper_is_no_scope() -> None:
    columns = traces("""
r AGENT @0-9
m CHAIN @1-3 wrapper=yes / r
a TOOL @1-2 / m
n CHAIN @3-6 wrapper=yes / r
b TOOL @4-5 / n
""")
    assert find("TOOL ~> TOOL", columns) == ["a b"]


def test_steps_that_overlap_are_in_no_order() -> None:
    columns = traces("a TOOL @0-3\nb TOOL @2-4\nc TOOL @4-5")
    assert find("TOOL ~>> TOOL", columns) == ["a c", "b c"]


def test_equal_times_go_by_seq() -> None:
    columns = traces("a TOOL @1-1\nb TOOL @1-1\nc TOOL @1-1")
    assert find("TOOL ~>> TOOL", columns) == ["a b", "a c", "b c"]


def test_a_step_and_its_ancestor_are_in_no_order() -> None:
    columns = traces("r AGENT @0-1\na TOOL @2-3 / r\nb TOOL @4-5 / a")
    assert find("ANY ~>> ANY", columns) == []


def test_a_missing_time_leaves_the_order_unknown() -> None:
    columns = traces("a TOOL @1-?\nb TOOL @3-4")
    assert find("TOOL ~>> TOOL", columns) == ["a b?"]


def test_an_end_before_its_start_is_missing() -> None:
    columns = traces("a TOOL @2-1\nb TOOL @3-4")
    assert find("TOOL ~>> TOOL", columns) == ["a b?"]
    assert find("x: TOOL where end is unknown", columns) == ["a"]


def test_without_any_time_the_recorded_order_stands() -> None:
    columns = traces("a TOOL\nb TOOL\n\nc TOOL\nd TOOL @1-2")
    assert find("TOOL ~>> TOOL", columns) == ["a b", "d c?", "c d?"]


def test_nothing_between() -> None:
    columns = traces("a TOOL @0-1\nm LLM @2-3\nb TOOL @4-5\nc TOOL @6-7")
    assert find("TOOL ~>> [no LLM] TOOL", columns) == ["b c"]
    assert find("TOOL ~>> [no ANY] TOOL", columns) == ["b c"]
    assert find("TOOL ~>> [at most 1 LLM] TOOL", columns) == ["a b", "a c", "b c"]
    assert find("TOOL ~>> [at most 1 ANY] TOOL", columns) == ["a b", "b c"]


def test_overlapping_steps_do_not_lie_between() -> None:
    columns = traces("a TOOL @0-2\nm LLM @1-3\nb TOOL @4-5")
    assert find("TOOL ~>> [no LLM] TOOL", columns) == ["a b"]


def test_what_may_lie_between() -> None:
    columns = traces("a TOOL @0-1\nm LLM @?-3\nb TOOL @4-5")
    assert find("TOOL ~>> [no LLM] TOOL", columns) == ["a b?"]
    columns = traces("a TOOL @0-1\nm LLM @2-3\nb TOOL @4-5")
    assert find('TOOL ~>> [no LLM "x"] TOOL', columns) == ["a b?"]


def test_a_filter_may_share_a_field_with_an_earlier_step() -> None:
    columns = traces("a TOOL x @0-1\nb TOOL y @2-3\nc TOOL x @4-5\nd TOOL x @6-7")
    pattern = "a: TOOL ~>> [no TOOL where name == $a.name] TOOL where name == $a.name"
    assert find(pattern, columns) == ["a c", "c d"]
    columns = traces("a TOOL x @0-1\nb TOOL @2-3\nc TOOL x @4-5")
    assert find(pattern, columns) == ["a b?", "a c?", "b c?"]


def test_a_filter_that_compares_numbers_with_an_earlier_step() -> None:
    columns = traces("""
a LLM @0-1 tokens_prompt=5
b LLM @2-3 tokens_prompt=9
c LLM @4-5 tokens_prompt=2
""")
    pattern = "a: LLM ~>> [no LLM where tokens.prompt > $a.tokens.prompt] LLM"
    assert find(pattern, columns) == ["a b", "b c"]


def test_the_tree_takes_a_blocker_out_of_the_order() -> None:
    columns = traces("a TOOL @0-1\nm LLM @2-3\nb TOOL @4-5 / m\nc TOOL @6-7")
    assert find("TOOL ~>> [no LLM] TOOL", columns) == ["a b", "b c"]


def test_a_walk_may_go_round_a_cycle() -> None:
    columns = traces("a TOOL <- c\nb LLM <- a\nc LLM <- b")
    assert columns.traces.cyclic.tolist() == [True]
    assert find("a: TOOL ->{3,} $a", columns) == ["a"]
    assert find("a: TOOL ->{4,5} $a", columns) == []
    assert find("a: TOOL ->{4,6} $a", columns) == ["a"]
    assert sorted(find("LLM ->> LLM", columns)) == ["b c", "c b"]
    assert find("TOOL ->{5} LLM", columns) == ["a c"]


def test_gap_is_measured_from_the_left_of_the_edge() -> None:
    columns = traces("a TOOL @0-1\nb TOOL @5-6\nc TOOL @7-8")
    assert find("TOOL ~>> TOOL where gap > 3s", columns) == ["a b", "a c"]
    assert find("TOOL ~>> TOOL where gap <= 1s", columns) == ["b c"]
    overlapping = traces("a LLM @0-4\nb TOOL @3-5 <- a")
    assert find("LLM -> TOOL where gap < 0s", overlapping) == ["a b"]
