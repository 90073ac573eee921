"""What the finishing pass makes of bindings."""

import numpy as np
import pytest

from pattern.building import SECOND, answer, find, traces, written
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.pattern.finish import finish
from tracegraph.pattern.load import load_adhoc
from tracegraph.pattern.matcher import match_rows
from tracegraph.pattern.plan import plan
from tracegraph.pattern.result import Position
from tracegraph.pattern.rows import Rows, RunColumn, Runs

# ---------------------------------------------------------------- identity and order


def test_equal_bindings_become_one_and_the_certain_one_stays() -> None:
    columns = traces("a LLM\nb TOOL <- a\n\nc LLM\nd TOOL <- c")
    planned = plan(load_adhoc("LLM -> TOOL"))
    rows = Rows(
        (np.array([2, 0, 2, 0]), np.array([3, 1, 3, 1])), np.array([False, False, True, False])
    )
    matches = finish(planned, [rows], columns)
    assert [written(match, columns) for match in matches] == ["a b?", "c d"]
    assert (matches.confirmed, matches.possible, matches.traces.tolist()) == (1, 1, [1])


def test_the_better_evidence_of_two_alternatives_stays() -> None:
    columns = traces("a LLM @0-1\nb TOOL @2-3 <- a:data_flow\nc LLM @0-1\nd TOOL @2-3")
    matches = answer("LLM ->> TOOL alternatively LLM -> TOOL", columns)
    assert [match.evidence for match in matches] == ["derived"]
    matches = answer("LLM ~>> TOOL alternatively LLM -> TOOL", columns)
    assert [(written(m, columns), m.evidence) for m in matches] == [
        ("a b", "derived"),
        ("a d", "heuristic"),
        ("c b", "heuristic"),
        ("c d", "heuristic"),
    ]


def test_matches_come_by_trace_and_seq_of_each_position() -> None:
    columns = traces("p CHAIN\na TOOL <- p\nb TOOL <- p\n\nq CHAIN\nc TOOL <- q")
    assert find("TOOL alternatively CHAIN -> TOOL alternatively CHAIN", columns) == [
        "p",
        "p a",
        "p b",
        "a",
        "b",
        "q",
        "q c",
        "c",
    ]


def test_names_are_those_of_the_alternative_that_stays() -> None:
    columns = traces("a LLM\nb TOOL <- a")
    (match,) = answer("x: LLM -> TOOL alternatively x: LLM -> TOOL return $x.id as i", columns)
    assert match.steps == (Position("x", None, 0), Position(None, None, 1))
    assert match.values == {"i": "a"}


# ---------------------------------------------------------------- evidence


@pytest.mark.parametrize(
    ("pattern", "evidence"),
    [
        ("a: LLM", None),
        ("LLM -> CHAIN", "declared"),
        ("CHAIN -> TOOL", "derived"),
        ("LLM -> CHAIN -> TOOL", "derived"),
        ("LLM ->> TOOL", "derived"),
        ("LLM ->{2} TOOL", "derived"),
        ("AGENT / LLM", "containment"),
        ("AGENT // TOOL", "derived"),
        ("AGENT ~>> RETRIEVER", "heuristic"),
        ("xs: LLM {1,} same kind", "heuristic"),
        ("AGENT -> RETRIEVER", "heuristic"),
    ],
)
def test_evidence(pattern: str, evidence: str | None) -> None:
    columns = traces("""
r AGENT @0-1
m LLM @1-2 / r
n CHAIN @2-3 <- m
t TOOL @3-4 <- n:data_flow
e RETRIEVER @4-5 <- t:order

s AGENT @0-1
x RETRIEVER @4-5

u AGENT @0-1
v RETRIEVER @4-5 <- u:order
""")
    found = {match.evidence for match in answer(pattern, columns)}
    assert found == {evidence}


def test_the_best_walk_counts() -> None:
    columns = traces("""
a LLM
b CHAIN <- a:order
c CHAIN <- a
d CHAIN <- c
e TOOL <- b d:data_flow
""")
    (match,) = answer("LLM ->> TOOL", columns)
    assert match.evidence == "derived"
    (match,) = answer("LLM ->{1,2} TOOL", columns)
    assert match.evidence == "heuristic"
    (match,) = answer("LLM ->{3} TOOL", columns)
    assert match.evidence == "derived"


def test_the_strongest_of_parallel_edges_counts() -> None:
    columns = traces("a LLM\nb TOOL <- a:order a:tool_call_id")
    (match,) = answer("LLM -> TOOL", columns)
    assert match.evidence == "declared"


def test_evidence_of_the_walk_that_a_filter_leaves() -> None:
    columns = traces("a LLM\nb CHAIN x <- a\nc CHAIN y <- a:order\nd TOOL <- b c")
    (match,) = answer('LLM ->> [no CHAIN "x"] TOOL', columns)
    assert match.evidence == "heuristic"
    (match,) = answer(
        'z: LLM ->> [no CHAIN where name == "x" and status == $z.status] TOOL', columns
    )
    assert match.evidence == "heuristic"
    (match,) = answer("LLM ->> TOOL", columns)
    assert match.evidence == "declared"


# ---------------------------------------------------------------- within


def test_within_bounds_latest_end_minus_earliest_start() -> None:
    columns = traces("a TOOL @0-1\nb TOOL @2-3\nc TOOL @6-8")
    assert find("TOOL ~>> TOOL within 3s", columns) == ["a b"]
    assert find("TOOL ~>> TOOL within 6s", columns) == ["a b", "b c"]
    assert find("TOOL within 1s", columns) == ["a", "b"]


def test_within_of_unknown_times() -> None:
    columns = traces("a LLM @0-1\nb TOOL @2-? <- a\nc TOOL @9-? <- a\nd TOOL <- a")
    assert find("LLM -> TOOL within 5s", columns) == ["a b?", "a c?", "a d?"]
    columns = traces("a LLM @0-1\nb TOOL @?-9 <- a\nc TOOL @?-3 <- a")
    assert find("LLM -> TOOL within 5s", columns) == ["a c?"]


def test_within_steps() -> None:
    columns = traces("a LLM\nb CHAIN <- a\nc TOOL <- a\nd TOOL <- a")
    assert find("LLM -> TOOL within 2 steps", columns) == ["a c"]


def test_within_counts_every_member_of_a_run() -> None:
    columns = traces("a TOOL x @0-1\nb TOOL x @2-9\nc TOOL x @3-4")
    assert find("xs: TOOL {3,} same name within 9s", columns) == ["[a b c]"]
    assert find("xs: TOOL {3,} same name within 8s", columns) == []
    assert find("xs: TOOL {3,} same name within 2 steps", columns) == ["[a b c]"]
    assert find("xs: TOOL {3,} same name within 1 steps", columns) == []


# ---------------------------------------------------------------- having


def test_rows_by_values() -> None:
    columns = traces("a TOOL x\nb TOOL y\nc TOOL x\n\nd TOOL x\ne TOOL y\nf TOOL y")
    matches = answer("TOOL having count >= 2 by name return name", columns)
    assert [written(m, columns) for m in matches] == ["{a, c}", "{e, f}"]
    assert [m.values for m in matches] == [{"name": "x"}, {"name": "y"}]
    assert [(m.trace, m.evidence, m.steps) for m in matches] == [(0, None, ()), (1, None, ())]


def test_possible_rows() -> None:
    columns = traces("a TOOL x\nb TOOL x docs=1\nc TOOL x docs=1")
    count = "TOOL where docs == 1 having count >= {} by name"
    assert find(count.format(2), columns) == ["{b, c}"]
    assert find(count.format(3), columns) == ["{a, b, c}?"]
    assert find(count.format(4), columns) == []


def test_an_unknown_value_may_join_any_row() -> None:
    columns = traces("a TOOL x args=1\nb TOOL args=1\nc TOOL y args=2")
    assert find("TOOL having count >= 2 by name", columns) == ["{a, b}?", "{b, c}?"]
    assert find("TOOL having count >= 2 by name, args", columns) == ["{a, b}?"]
    assert find("TOOL having count >= 3 by name", columns) == []


def test_rows_of_matches_with_edges_carry_the_weakest_evidence() -> None:
    columns = traces("m LLM\na TOOL x <- m\nb TOOL x <- m:order")
    (row,) = answer("LLM -> t: TOOL having count >= 2 by $t.name return $t.name as tool", columns)
    assert written(row, columns) == "{m a, m b}"
    assert (row.evidence, row.values) == ("heuristic", {"tool": "x"})


SLIDING = "TOOL where status == error within {}s having count >= {} by name"


def test_windows_slide() -> None:
    columns = traces("\n".join(f"s{i} TOOL x error @{t}-{t}" for i, t in enumerate([0, 1, 9, 10])))
    assert find(SLIDING.format(2, 2), columns) == ["{s0, s1}", "{s2, s3}"]
    assert find(SLIDING.format(2, 3), columns) == []
    assert find(SLIDING.format(9, 3), columns) == ["{s0, s1, s2, s3}"]
    assert find(SLIDING.format(8, 2), columns) == ["{s0, s1, s2, s3}"]


def test_a_match_without_a_time_makes_possible_rows_only() -> None:
    columns = traces("a TOOL x error @0-0\nb TOOL x error\nc TOOL x error @9-9")
    assert find(SLIDING.format(1, 2), columns) == ["{a, c, b}?"]
    assert find(SLIDING.format(1, 3), columns) == []
    columns = traces("a TOOL x error\nb TOOL x error\nc TOOL x error @0-0")
    assert find(SLIDING.format(1, 3), columns) == ["{c, a, b}?"]


def test_a_possible_window_beside_a_confirmed_one() -> None:
    columns = traces("""
a TOOL x error @0-0
b TOOL x error @1-1
c TOOL error @2-2
d TOOL x error @50-50
e TOOL error @51-51
""")
    assert find(SLIDING.format(2, 2), columns) == ["{a, b}", "{d, e}?"]


# ---------------------------------------------------------------- needs


def test_a_trace_that_lacks_what_a_pattern_needs() -> None:
    columns = traces("a TOOL x\n\nb TOOL x args=1\n\nc LLM\n\nd TOOL error")
    matches = answer("pattern p v1 needs args, results match TOOL", columns)
    assert matches.not_evaluable == (
        (0, ("args", "results")),
        (1, ("results",)),
        (3, ("args", "results")),
    )
    assert len(matches) == 0
    matches = answer("pattern p v1 needs args match TOOL | LLM", columns)
    assert [written(match, columns) for match in matches] == ["b"]


@pytest.mark.parametrize(
    ("need", "lacking", "carrying"),
    [
        ("args", "x TOOL", "x TOOL args=1"),
        ("results", "x TOOL", "x TOOL result=1"),
        ("tokens", "x LLM", "x LLM tokens_total=1"),
        ("models", "x LLM", "x LLM model=m"),
        ("docs", "x RETRIEVER", "x RETRIEVER docs=0"),
        ("agents", "x AGENT", "x AGENT agent=a"),
        ("tool-call-ids", "x TOOL", "x LLM tool_call_id=1"),
        ("errors", "x TOOL error", "x TOOL error error_type=E"),
        ("times", "x CHAIN", "x CHAIN @1-?"),
        ("content", "x LLM", "x LLM output=o"),
    ],
)
def test_needs(need: str, lacking: str, carrying: str) -> None:
    columns = traces(f"{lacking}\n\n{carrying}", content=True)
    matches = answer(f"pattern p v1 needs {need} match ANY", columns)
    assert matches.not_evaluable == ((0, (need,)),)
    assert [match.trace for match in matches] == [1]


# ---------------------------------------------------------------- values, runs of Cypher


def test_values_are_python_values() -> None:
    columns = traces("""
a TOOL x error @1-3 args=d1 cost=0.5 docs=2 signals=tool_error,truncated
b TOOL <- a
""")
    matches = answer(
        """a: TOOL return $a.name as name, $a.kind as kind, $a.status as status, $a.args as args,
        $a.cost as cost, $a.docs as docs, $a.signals as signals, $a.start as start,
        $a.duration as duration, $a.lossy as lossy, $a.id as i, $a.seq as seq, trace.source,
        trace.status as run""",
        columns,
    )
    assert matches[0].values == {
        "name": "x",
        "kind": "TOOL",
        "status": "error",
        "args": "d1",
        "cost": 0.5,
        "docs": 2,
        "signals": ("tool_error", "truncated"),
        "start": SECOND,
        "duration": 2 * SECOND,
        "lossy": False,
        "i": "a",
        "seq": 0,
        "trace.source": "test",
        "run": "error",
    }
    assert matches[1].values["name"] is None
    assert matches[1].values["start"] is None
    assert matches.types["start"] == "time"
    assert matches.types["duration"] == "duration"


def test_gap_as_a_value() -> None:
    columns = traces("a LLM @0-1\nb TOOL @3-4 <- a")
    (match,) = answer("LLM -> b: TOOL return $b.gap as gap", columns)
    assert match.values == {"gap": 2 * SECOND}


def test_possible_runs_join_the_confirmed_ones_of_a_backend() -> None:
    columns = traces("a TOOL x\nb TOOL x\nc TOOL\nd TOOL y")
    planned = plan(load_adhoc("xs: TOOL {2,} same name"))
    pool = Runs(np.array([0, 2]), np.array([0, 1]))
    confirmed = Rows((RunColumn(np.array([0]), pool),), np.array([True]))
    matches = finish(planned, [confirmed], columns, confirmed_runs_only=True)
    assert [written(match, columns) for match in matches] == ["[a b]", "[c d]?"]
    complete = finish(planned, match_rows(planned, columns), columns)
    assert [written(match, columns) for match in complete] == ["[a b]", "[c d]?"]


def test_columns_without_steps_have_no_matches() -> None:
    draft = Draft()
    empty = seal(draft)
    draft = Draft()
    draft.begin("t", source="test", file="f")
    draft.begin("u", source="test", file="f")
    hollow = seal(draft)
    for columns in (empty, hollow):
        for pattern in (
            "pattern p v1 needs times match x: TOOL -> TOOL ->> LLM unless $x ~>> TOOL",
            "a: TOOL ~>> [no LLM] TOOL // LLM unless $a / LLM return $a.name as n",
            "xs: TOOL {2,} same name within 2s",
            "TOOL within 2s having count >= 2 by name return name",
        ):
            matches = answer(pattern, columns)
            assert list(matches) == []
            assert matches.not_evaluable == ()
