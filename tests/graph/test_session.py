"""Sessions: opening with counts, parameters, limits, and what people are told."""

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tracegraph.errors import CorpusError, QueryError
from tracegraph.graph.filling import GraphCounts
from tracegraph.graph.load import build_graph, texts_path
from tracegraph.graph.session import GraphSession
from tracegraph.graph.texts import TextUnion
from tracegraph.graph.values import neutral
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal

HOPS = 60


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of one chain of causes."""
    draft = Draft()
    draft.begin("t", source="otlp", file="f")
    for number in range(HOPS + 1):
        draft.step(f"s{number}", name=f"n{number % 3}")
        if number:
            draft.link(number, number - 1, "span_parent")
    graph = tmp_path_factory.mktemp("corpus") / "graph.1.kuzu"
    build_graph(graph, [(0, seal(draft))])
    return graph


@pytest.fixture
def session(path: Path) -> Iterator[GraphSession]:
    with GraphSession.open(path) as opened:
        yield opened


def rows(session: GraphSession, text: str, **parameters: Any) -> list[tuple[Any, ...]]:
    return list(session.run(text, parameters))


def test_counts_are_checked(path: Path) -> None:
    counts = GraphCounts(traces=1, steps=HOPS + 1, causes=HOPS)
    with GraphSession.open(path, counts) as session:
        assert session.counts == counts
    with pytest.raises(CorpusError) as caught:
        GraphSession.open(path, GraphCounts(1, HOPS + 2, HOPS))
    assert "holds 1 traces, 61 steps and 60 causes, the corpus 1 traces, 62 steps" in str(
        caught.value
    )
    assert "remove the file; the graph is built anew" in str(caught.value)


def test_missing_and_broken_graphs_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"graph\.kuzu: there is no graph; remove"):
        GraphSession.open(tmp_path / "graph.kuzu")
    (tmp_path / "graph.kuzu").write_bytes(b"no database" * 1000)
    with pytest.raises(CorpusError, match=r"graph\.kuzu: the graph cannot be opened: [^\n]*$"):
        GraphSession.open(tmp_path / "graph.kuzu")


def test_missing_texts_are_named(path: Path, session: GraphSession) -> None:
    aside = texts_path(path).rename(path.with_name("away"))
    try:
        with pytest.raises(CorpusError, match=r"graph\.1\.kuzu\.texts: .* anew"):
            session.texts.code_of("n0")
    finally:
        aside.rename(texts_path(path))


def test_two_sessions_read_one_graph(path: Path, session: GraphSession) -> None:
    with GraphSession.open(path) as other:
        assert rows(other, "MATCH (s:Step) RETURN count(*)") == [(HOPS + 1,)]
        assert rows(session, "MATCH (s:Step) RETURN count(*)") == [(HOPS + 1,)]


def test_result_has_names_types_and_arrow(session: GraphSession) -> None:
    result = session.run("MATCH (s:Step) WHERE s.seq < 2 RETURN s.name AS n, s.seq ORDER BY s.seq")
    assert result.columns == ("n", "s.seq")
    assert result.types == ("STRING", "INT64")
    assert len(result) == 2
    assert list(result) == [("n0", 0), ("n1", 1)]
    table = session.run("MATCH (s:Step) WHERE s.seq < 2 RETURN s.seq ORDER BY s.seq").arrow()
    assert table.to_pydict() == {"s.seq": [0, 1]}


def test_depth_beyond_thirty_hops_is_reached_once_allowed(session: GraphSession) -> None:
    text = (
        "MATCH (b:Step {step_id: 's60'})-[:CAUSED_BY* SHORTEST]->(a:Step {step_id: 's0'}) "
        "RETURN count(*)"
    )
    assert rows(session, text) == [(0,)]
    session.max_depth(HOPS)
    assert rows(session, text) == [(1,)]


def test_every_parameter_is_given_and_used(session: GraphSession) -> None:
    text = "MATCH (s:Step) WHERE s.name = $name AND s.seq < $most RETURN count(*)"
    assert rows(session, text, name="n1", most=6) == [(2,)]
    with pytest.raises(QueryError, match=r"^parameter \$most has no value; .*--param most=VALUE"):
        session.run(text, {"name": "n1"})
    with pytest.raises(QueryError, match=r"^parameter \$x is not .* has: \$name, \$most$"):
        session.run(text, {"name": "n1", "most": 6, "x": 1})
    with pytest.raises(QueryError, match="has: none"):
        session.run("RETURN '$name', 1 // $name", {"name": 1})


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -(1 << 63), (1 << 63) - 1, 1.5, "a\0'\"\\", "🙂", [1, None, 2.5], [[1], [2, 3]],
     {"a": 1, "b": ["x"]}, [{"a": 1}, {"a": 2}], datetime(2025, 1, 2, 3, 4, 5, 6),
     datetime(2025, 1, 2).date(), timedelta(days=1), Decimal("1.50")],
    ids=repr,
)  # fmt: skip
def test_parameters_arrive_as_they_are(session: GraphSession, value: Any) -> None:
    assert rows(session, "RETURN $v", v=value) == [(value,)]


def test_times_with_a_zone_are_turned_into_utc(session: GraphSession) -> None:
    time = datetime(2025, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))
    assert rows(session, "RETURN $v", v=time) == [(datetime(2025, 1, 2, 1),)]
    assert rows(session, "RETURN $v", v=time.astimezone(UTC)) == [(datetime(2025, 1, 2, 1),)]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("\ud800", "surrogate"),
        (["a", "\udfff"], "surrogate"),
        ({"\ud800": 1}, "surrogate"),
        (1 << 63, "64-bit"),
        ([], "list without a value"),
        ([None], "list without a value"),
        ([1, "a"], "mixes number and text"),
        ([True, 1], "mixes boolean and number"),
        ([{"a": 1}, {"b": 2}], "mixes object"),
        ({"a": None}, "null"),
        ({1, 2}, "of type set"),
        (b"x", "of type bytes"),
    ],
    ids=repr,
)
def test_values_that_the_engine_cannot_take_are_refused(
    session: GraphSession, value: Any, told: str
) -> None:
    with pytest.raises(QueryError, match=rf"^parameter \$v .*{told}"):
        session.run("RETURN $v", {"v": value})


ENDLESS = (
    "MATCH (a:Step), (b:Step), (c:Step), (d:Step), (e:Step), (f:Step) "
    "WHERE a.seq + b.seq + c.seq + d.seq + e.seq + f.seq < 0 RETURN count(*)"
)


def test_endless_statement_is_stopped(session: GraphSession) -> None:
    with pytest.raises(QueryError, match=r"stopped after 0\.05 s"):
        session.run(ENDLESS, timeout=0.05)
    assert rows(session, "RETURN 1") == [(1,)]


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_interrupt_stops_a_statement_and_the_session_goes_on(
    session: GraphSession, raised: type[BaseException]
) -> None:
    def handle(*_: object) -> None:
        raise raised

    before = signal.signal(signal.SIGINT, handle)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        with pytest.raises(raised):
            session.run(ENDLESS, timeout=60)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert rows(session, "RETURN 1") == [(1,)]


def test_errors_of_the_engine_name_the_place(session: GraphSession) -> None:
    text = "/* a\ncomment */ MATCH (s:Step)\nWHERE s.name = RETURN 1"
    with pytest.raises(QueryError, match=r"^line 3, column 23: Parser exception[^\n]*$"):
        session.run(text)
    with pytest.raises(QueryError, match=r"^line 2, column 13: Parser exception[^\n]*$"):
        session.run("\n  RETURN 1 +")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "MATCH (s:Step) RETURN s.durations",
            "property durations for s; did you mean duration_ms?",
        ),
        ("MATCH (s:Step) RETURN s.zzz", "property zzz for s; :schema lists them in the shell"),
        ("MATCH (s:Stpe) RETURN s", "Table Stpe does not exist; did you mean Step?"),
        (
            "MATCH (t:Trace) WHERE t.attributes.reward = 0 RETURN t",
            "t.attributes is JSON as text: json_extract(t.attributes, '$.NAME') reads it",
        ),
        ("MATCH (s:Zzz) RETURN s", "the tables are CAUSED_BY, IN_TRACE, Step, TREE_PARENT, Trace"),
    ],
)
def test_an_unknown_name_is_answered_with_a_known_one(
    session: GraphSession, statement: str, message: str
) -> None:
    with pytest.raises(QueryError, match=re.escape(message)):
        session.run(statement)


def test_writing_is_refused_by_the_guard(session: GraphSession) -> None:
    with pytest.raises(QueryError, match=r"line 1, column 16: 'SET' cannot stand here"):
        session.run("MATCH (s:Step) SET s.name = 'x'")


def test_nodes_edges_and_paths_have_the_same_keys_with_every_engine() -> None:
    kuzu = {"_nodes": [{"_id": {"offset": 1}, "_label": "Step", "name": "_LABEL"}], "_rels": []}
    ladybug = {"_NODES": [{"_ID": {"offset": 1}, "_LABEL": "Step", "name": "_LABEL"}], "_RELS": []}
    assert neutral(ladybug) == kuzu
    assert neutral(kuzu) == kuzu


def test_node_path_and_edge_values(session: GraphSession) -> None:
    ((node, edge, path),) = rows(
        session, "MATCH p = (b:Step {seq: 1})-[e:CAUSED_BY]->(a:Step) RETURN b, e, p"
    )
    assert (node["_label"], node["step_id"]) == ("Step", "s1")
    assert (edge["_label"], edge["origin"], edge["evidence"]) == (
        "CAUSED_BY", "span_parent", "containment",
    )  # fmt: skip
    assert [n["step_id"] for n in path["_nodes"]] == ["s1", "s0"]


def test_codes_of_texts(session: GraphSession) -> None:
    code = session.texts.code_of("n1")
    assert session.texts[code] == "n1"
    assert rows(session, "MATCH (s:Step) WHERE s._name = $c RETURN count(*)", c=code) == [(20,)]
    assert session.texts.code_of("no such text") == -1
    assert session.texts.code_of("\ud800") == -1


def test_text_union_grows_at_the_end_only() -> None:
    union = TextUnion()
    assert union.add(["a", "b"]).tolist() == [0, 1]
    assert union.add(["c", "b"]).tolist() == [2, 1]
    assert union.add(["a", "d", "c"]).tolist() == [0, 3, 2]
    assert TextUnion(["a", "b", "c", "d"]).add(["d", "e"]).tolist() == [3, 4]


def test_opening_a_graph_does_not_write(path: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in path.parent.iterdir()}
    with GraphSession.open(path) as session:
        rows(session, "MATCH (s:Step) RETURN s.name")
    assert {file: file.stat().st_mtime_ns for file in path.parent.iterdir()} == before
    assert "ladybug" not in sys.modules or "kuzu" not in sys.modules
