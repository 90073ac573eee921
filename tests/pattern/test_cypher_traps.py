"""What the database gets wrong or refuses, and that compiled patterns do not step into it.

Each test shows the trap on the real database first: should an engine lose one, the test says so.
"""

from pathlib import Path
from typing import Any

import pytest

from pattern.graphs import Graph, graph_of, steps
from tracegraph.errors import PatternError, QueryError, UnsupportedPatternError
from tracegraph.graph.engine import engine_name
from tracegraph.model.columns import Columns
from tracegraph.pattern.compiler import compile_pattern
from tracegraph.pattern.load import load_adhoc
from tracegraph.pattern.plan import plan

pytestmark = pytest.mark.skipif(engine_name() != "kuzu", reason="the traps are those of kuzu")


def raw(graph: Graph, text: str, parameters: dict[str, Any] | None = None) -> list[list[Any]]:
    """Ask the database itself, past the guard and the check of parameters."""
    connection = graph.session._connection
    rows: list[list[Any]] = connection.execute(text, parameters or {}).get_all()
    return rows


def chain(count: int) -> Columns:
    """A chain of steps, a second apart."""
    return steps(
        *({"id": f"s{i}", "start": i, "end": i} for i in range(count)),
        links=[(f"s{i}", f"s{i + 1}", "span_link") for i in range(count - 1)],
    )


def test_null_from_outside_makes_not_exists_true(tmp_path: Path) -> None:
    trace = steps(
        {"id": "unnamed", "start": 0, "end": 0},
        {"id": "named", "name": "a", "start": 1, "end": 1},
        {"id": "later", "name": "a", "start": 2, "end": 2},
    )
    with graph_of(tmp_path, trace) as graph:
        rows = raw(
            graph,
            "MATCH (a:Step) WHERE NOT EXISTS { MATCH (b:Step) "
            "WHERE b._o0 > a._o1 AND (a.name IS NULL OR b.name = a.name) } RETURN a.step_id",
        )
        assert ["unnamed"] in rows  # though 'later' follows it and its name is unknown
        found = graph.find("a: TOOL unless $a ~>> TOOL where name == $a.name")
        assert found == {("unnamed",): False, ("later",): True}


def test_text_that_may_be_null_is_not_searched_from_inside(tmp_path: Path) -> None:
    with (
        graph_of(tmp_path, chain(2)) as graph,
        pytest.raises(UnsupportedPatternError, match="searches a text of a step outside"),
    ):
        graph.compile('a: TOOL unless $a ~>> TOOL where $a.name like "x*"')


def test_coalesced_predicate_as_conjunct(tmp_path: Path) -> None:
    """``coalesce(p, true)`` loses and doubles rows; the compiler never writes one."""
    with graph_of(tmp_path, steps({"id": "x"}, {"id": "y", "name": "a"})) as graph:
        text = graph.compile('a: TOOL where name == "a" ~>> b: TOOL where name == $a.name')
        for branch in text.branches:
            assert branch.candidates is not None
            for statement in (branch.confirmed, branch.candidates):
                assert "coalesce(x" not in statement.text
                assert "NULL" not in statement.text
        assert graph.find('a: TOOL where name == "a" or name == "b"') == {
            ("x",): False,
            ("y",): True,
        }


def test_equality_binds_weaker_than_is_null(tmp_path: Path) -> None:
    with graph_of(tmp_path, steps({"id": "x"})) as graph:
        # Read as 1 = (2 IS NULL); meant was (1 = 2) IS NULL.
        with pytest.raises(RuntimeError):
            raw(graph, "RETURN 1 = 2 IS NULL")
        assert graph.find("a: TOOL where name is unknown") == {("x",): True}


def test_aggregate_of_an_aggregate_needs_unwind_between(tmp_path: Path) -> None:
    rows = [{"id": f"s{i}", "name": "a", "start": i, "end": i} for i in range(4)]
    with graph_of(tmp_path, steps(*rows)) as graph:
        with pytest.raises(RuntimeError):
            raw(
                graph,
                "MATCH (s:Step) WITH s._name AS n, collect(s._seq) AS l "
                "WITH n, list_sort(collect(l[1] + size(collect(n)))) AS m RETURN m",
            )
        found = graph.find("xs: TOOL {3,} same name")
        assert found == {("s0", f"s{i}"): True for i in range(4)}  # (first, member)


def test_shortest_never_returns_to_its_start(tmp_path: Path) -> None:
    cycle = steps(
        {"id": "a", "start": 0},
        {"id": "b", "start": 1},
        links=[("a", "b", "span_link"), ("b", "a", "span_link")],
    )
    with graph_of(tmp_path, cycle) as graph:
        text = "MATCH (a:Step)-[:CAUSED_BY* SHORTEST 1..9]->(b:Step) RETURN a.step_id, b.step_id"
        assert sorted(raw(graph, text)) == [["a", "b"], ["b", "a"]]
        with pytest.raises(UnsupportedPatternError, match="to itself"):
            graph.compile("a: TOOL ->> $a")
        with pytest.raises(UnsupportedPatternError, match="cycle"):
            graph.compile("a: TOOL ->{2,} TOOL")


def test_invalid_regex_gives_no_rows(tmp_path: Path) -> None:
    with graph_of(tmp_path, steps({"id": "x", "name": "n(", "status": "error"})) as graph:
        text = "MATCH (s:Step) WHERE regexp_matches(s.name, $p) RETURN s.step_id"
        assert raw(graph, text, {"p": "n("}) == []
        with pytest.raises(PatternError, match="regex"):
            graph.find("a: TOOL where name matches /n(/")
        assert graph.find(r"a: TOOL where name matches /n\($/") == {("x",): True}


def test_bounds_are_no_parameters(tmp_path: Path) -> None:
    with graph_of(tmp_path, chain(4)) as graph:
        text = "MATCH (a:Step)-[:CAUSED_BY* SHORTEST 1..$n]->(b:Step) RETURN count(*)"
        with pytest.raises(RuntimeError):
            raw(graph, text, {"n": 2})
        assert len(graph.find("a: TOOL ->{1,2} b: TOOL")) == 5


def test_labels_are_no_parameters(tmp_path: Path) -> None:
    with graph_of(tmp_path, chain(2)) as graph, pytest.raises(RuntimeError):
        raw(graph, "MATCH (a:$label) RETURN count(*)", {"label": "Step"})


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a:Step) ((x:Step)-[:CAUSED_BY]->(y:Step)){1,3} (b:Step) RETURN count(*)",
        "MATCH (a:Step) WITH a ORDER BY a._seq RETURN a._seq",
    ],
)
def test_syntax_that_is_not_there(tmp_path: Path, text: str) -> None:
    with graph_of(tmp_path, chain(2)) as graph, pytest.raises(RuntimeError):
        raw(graph, text)


def test_lone_surrogate_crashes_the_binding(tmp_path: Path) -> None:
    with graph_of(tmp_path, steps({"id": "x", "name": "a"})) as graph:
        with pytest.raises(RuntimeError):
            raw(graph, "MATCH (s:Step) WHERE s.name = $p RETURN s", {"p": "\ud800"})
        pattern = load_adhoc("a: TOOL where name == @x", {"x": "\ud800"})
        with pytest.raises(UnsupportedPatternError, match="surrogate"):
            compile_pattern(plan(pattern), graph.facts)


def test_star_stops_at_thirty(tmp_path: Path) -> None:
    with graph_of(tmp_path, chain(61)) as graph:
        graph.session.max_depth(30)
        text = "MATCH (a:Step)-[:CAUSED_BY* SHORTEST]->(b:Step {step_id: 's0'}) RETURN count(*)"
        assert raw(graph, text) == [[30]]
        compiled = graph.compile("a: TOOL ->> b: TOOL")
        assert compiled.setup == "CALL var_length_extend_max_depth=61"
        graph.session.max_depth(compiled.depth)
        assert ("s0", "s60") in graph.find("a: TOOL ->> b: TOOL")


def test_node_filter_is_ignored_under_shortest(tmp_path: Path) -> None:
    with graph_of(tmp_path, chain(3)) as graph:
        walk = "(c:Step)-[:CAUSED_BY* SHORTEST 1..9 (e, n | WHERE n.step_id <> 's1')]->(a:Step)"
        text = f"MATCH {walk} WHERE c.step_id = 's2' AND a.step_id = 's0' RETURN count(*)"
        assert raw(graph, text) == [[1]]  # though s1 lies on the only walk
        with pytest.raises(UnsupportedPatternError, match=r"\[no"):
            graph.compile("a: TOOL ->> [no LLM] b: TOOL")


def test_edge_filter_holds_under_shortest(tmp_path: Path) -> None:
    rows = [{"id": name} for name in "abc"]
    weak = steps(*rows, links=[("a", "b", "order"), ("b", "c", "span_link"), ("a", "c", "order")])
    with graph_of(tmp_path, weak) as graph:
        head = "pattern p v1\n confidence exact\nmatch\n "
        assert graph.find(head + "x: TOOL ->> y: TOOL") == {("b", "c"): True}
        assert len(graph.find("x: TOOL ->> y: TOOL")) == 3


def test_missing_parameter_is_no_filter(tmp_path: Path) -> None:
    with graph_of(tmp_path, chain(3)) as graph:
        text = "MATCH (s:Step) WHERE s._seq = $seq RETURN s._seq"
        assert len(raw(graph, text)) == 3
        statement = graph.compile("a: TOOL where seq == 1").branches[0].confirmed
        with pytest.raises(QueryError, match="no value"):
            graph.session.run(statement.text, {})


def test_one_step_may_stand_twice_in_a_database_match(tmp_path: Path) -> None:
    rows = [{"id": name} for name in "abc"]
    joined = steps(*rows, links=[("a", "c", "span_link"), ("b", "c", "span_link")])
    with graph_of(tmp_path, joined) as graph:
        text = "MATCH (x:Step)<-[:CAUSED_BY]-(y:Step)-[:CAUSED_BY]->(z:Step) RETURN count(*)"
        assert raw(graph, text) == [[4]]
        found = graph.find("x: TOOL -> y: TOOL also z: TOOL -> $y")
        assert found == {("a", "c", "b"): True, ("b", "c", "a"): True}


def test_parallel_edges_are_one_match(tmp_path: Path) -> None:
    trace = steps(
        {"id": "a"}, {"id": "b"}, links=[("a", "b", "span_link"), ("a", "b", "data_flow")]
    )
    with graph_of(tmp_path, trace) as graph:
        assert raw(graph, "MATCH (:Step)-[:CAUSED_BY]->(:Step) RETURN count(*)") == [[2]]
        statement = graph.compile("x: TOOL -> y: TOOL").branches[0].confirmed
        assert len(graph.execute(statement.text, statement.parameters)[0]) == 1


def test_nothing_contains_the_empty_text(tmp_path: Path) -> None:
    with graph_of(tmp_path, steps({"id": "x", "name": "a"}, {"id": "y"})) as graph:
        assert raw(graph, "RETURN contains('a', '')") == [[False]]
        assert graph.find('a: TOOL where name contains ""') == {("x",): True, ("y",): False}


def test_products_beyond_64_bits(tmp_path: Path) -> None:
    large = 1 << 62
    trace = steps({"id": "x", "tokens_prompt": large}, {"id": "y", "tokens_prompt": 1})
    with graph_of(tmp_path, trace) as graph:
        with pytest.raises(RuntimeError, match="Overflow"):
            raw(graph, "MATCH (s:Step) RETURN s._tokens_prompt * 3")
        found = graph.find("a: TOOL -> b: TOOL where tokens.prompt < 3 * $a.tokens.prompt")
        assert found == {}
        found = graph.find("a: TOOL also b: TOOL where 3 * tokens.prompt > $a.tokens.prompt")
        assert found == {("y", "x"): True}


def test_values_are_never_text_of_the_statement(tmp_path: Path) -> None:
    with graph_of(tmp_path, steps({"id": "x", "name": "' OR true //"})) as graph:
        text = 'a: TOOL where name == "\' OR true //" or name like "\'*" or name contains "OR"'
        statement = graph.compile(text).branches[0].confirmed
        assert "OR true //" not in statement.text
        assert graph.find(text) == {("x",): True}
