"""Counter-matches: what silences a match, certainly or possibly."""

from pattern.building import answer, find, traces

FAILED = "bad: TOOL where status == error "


def test_a_counter_match_silences() -> None:
    columns = traces("a TOOL x error @0-1\nb TOOL x ok @2-3\nc TOOL y error @4-5")
    pattern = FAILED + "unless $bad ~>> TOOL where name == $bad.name and status == ok"
    assert find(pattern, columns) == ["c"]


def test_a_possible_counter_match_leaves_a_possible_match() -> None:
    columns = traces("a TOOL x error @0-1\nb TOOL ok @2-3")
    pattern = FAILED + "unless $bad ~>> TOOL where name == $bad.name and status == ok"
    assert find(pattern, columns) == ["a?"]


def test_a_counter_match_at_an_unknown_time() -> None:
    columns = traces("a TOOL x error @0-?\nb LLM ok @2-3")
    assert find(FAILED + "unless $bad ~>> LLM", columns) == ["a?"]


def test_each_of_several_silences_alone() -> None:
    columns = traces("a TOOL error\nb LLM <- a\nc TOOL error\nd CHAIN <- c\ne TOOL error")
    assert find(FAILED + "unless $bad -> LLM unless $bad -> CHAIN", columns) == ["e"]


def test_the_path_may_lead_to_the_match() -> None:
    columns = traces("v TOOL check\na TOOL write <- v\nb TOOL write")
    assert find('act: TOOL "write" unless TOOL "check" ->> $act', columns) == ["b"]


def test_new_steps_differ_from_the_named_ones_only() -> None:
    columns = traces("p CHAIN\na TOOL x error <- p\nb TOOL x <- p")
    pattern = "p: CHAIN -> bad: TOOL where status == error "
    assert find(pattern + "unless $bad ~>> TOOL where name == $bad.name", columns) == []
    columns = traces("p CHAIN\na TOOL x error <- p")
    assert find(pattern + "unless $p -> TOOL", columns) == []  # it may be the match's own
    assert find(pattern + "unless $p -> TOOL where name == $bad.name", columns) == ["p a"]


def test_steps_below() -> None:
    columns = traces("p AGENT\nq CHAIN / p\na TOOL error / q\nr AGENT\nb LLM / r")
    assert find("x: AGENT unless $x // TOOL", columns) == ["r"]
    assert find('x: AGENT unless $x // TOOL "y"', columns) == ["p?", "r"]
    assert find("x: TOOL unless AGENT // $x", columns) == []


def test_an_unread_result() -> None:
    columns = traces("a TOOL\nb CHAIN <- a\nc LLM <- b\nd TOOL")
    assert find("t: TOOL unless $t ->> LLM", columns) == ["d"]
    assert find("t: TOOL unless $t ->{3,} LLM", columns) == ["a", "d"]
    assert find("t: LLM unless TOOL ->> $t", columns) == []


def test_a_long_way_to_the_same_tool() -> None:
    columns = traces("a TOOL x\nb LLM <- a\nc TOOL x <- b\nd TOOL y <- b\ne TOOL <- d")
    pattern = "t: TOOL unless $t ->> TOOL where name == $t.name"
    assert find(pattern, columns) == ["c", "d?", "e"]


def test_a_step_of_a_cycle_is_not_its_own_counter_match() -> None:
    columns = traces("a TOOL <- b\nb LLM <- a\n\nc TOOL\nd LLM <- c")
    assert columns.traces.cyclic.tolist() == [True, False]
    assert find("t: TOOL unless $t ->> TOOL", columns) == ["a", "c"]
    assert find("t: TOOL unless $t ->> LLM", columns) == []


def test_exact_sees_strong_edges_in_the_match_and_all_in_unless() -> None:
    columns = traces("a LLM\nb TOOL <- a:data_flow\nc LLM\nd TOOL <- c")
    header = "pattern p v1 confidence exact match "
    assert find(header + "LLM -> TOOL", columns) == ["c d"]
    assert find(header + "t: TOOL unless LLM -> $t", columns) == []
    assert find(header + "LLM / TOOL", columns) == ["c d"]
    assert find(header + "LLM // TOOL", columns) == ["c d"]


def test_exact_walks_over_strong_edges_only() -> None:
    columns = traces("a LLM\nb CHAIN <- a:order\nc TOOL <- b\nd CHAIN <- a\ne TOOL <- d")
    assert find("pattern p v1 confidence exact match LLM ->> TOOL", columns) == ["a e"]
    assert find("LLM ->> TOOL", columns) == ["a c", "a e"]


def test_a_counter_match_of_steps_already_bound() -> None:
    columns = traces("a LLM\nb TOOL <- a\nc TOOL\nd LLM")
    assert find("x: LLM also t: TOOL where status == $x.status unless $x -> $t", columns) == [
        "a c",
        "d b",
        "d c",
    ]


def test_a_counter_match_without_an_edge() -> None:
    columns = traces("a TOOL x error\nb TOOL x\n\nc TOOL x error")
    pattern = FAILED + "unless TOOL where name == $bad.name and status == ok"
    assert find(pattern, columns) == ["c"]


def test_a_run_in_a_counter_match() -> None:
    columns = traces("p AGENT\na TOOL x <- p\nb TOOL x\nq AGENT\nc TOOL y <- q")
    assert find("g: AGENT unless $g -> TOOL {2,} same name", columns) == ["q"]
    assert find("xs: TOOL {1,} same name unless AGENT -> $xs", columns) == []


def test_gap_of_an_outer_step() -> None:
    columns = traces(
        "a LLM @0-1\nb TOOL @5-6 <- a\nc LLM @7-8\nd TOOL @8-9 <- c\ne CHAIN duration=3"
    )
    pattern = "LLM -> b: TOOL unless CHAIN where duration == $b.gap"
    assert find(pattern, columns) == ["a b", "c d"]
    assert len(answer("LLM -> b: TOOL unless CHAIN where duration < $b.gap", columns)) == 1
