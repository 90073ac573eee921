"""The guard: what could write, read another file or change a setting never reaches the engine."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracegraph.errors import QueryError
from tracegraph.graph.engine import engine
from tracegraph.graph.filling import MAX_DB_BYTES
from tracegraph.graph.guard import read_only_statement
from tracegraph.graph.load import build_graph
from tracegraph.graph.session import GraphSession
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal

SECRET = "root-of-all-secrets"


class Sandbox:
    """A graph, a file that must stay as it is and unread, and a path that must stay unused."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.graph = folder / "graph.kuzu"
        self.victim = folder / "victim.csv"
        self.out = folder / "out.csv"
        draft = Draft()
        draft.begin("t", source="otlp", file="f")
        draft.step("a", name="load")
        draft.step("b", name="COPY")
        draft.link(1, 0, "span_parent")
        build_graph(self.graph, [(0, seal(draft))])
        self.victim.write_text(SECRET)
        self.before = self.state()
        self.session = GraphSession.open(self.graph)

    def state(self) -> dict[str, bytes]:
        return {str(f.relative_to(self.folder)): f.read_bytes() for f in _files(self.folder)}

    def fill(self, text: str) -> str:
        return text.replace("<OUT>", str(self.out)).replace("<VICTIM>", str(self.victim))


def _files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    folder = tmp_path_factory.mktemp("guard")
    here = os.getcwd()
    os.chdir(folder)
    box = Sandbox(folder)
    yield box
    box.session.close()
    os.chdir(here)


WRITES = [
    "COPY (MATCH (s:Step) RETURN s._key) TO '<OUT>'",
    "COPY (MATCH (s:Step) RETURN s._key) TO '<VICTIM>'",
    "EXPORT DATABASE '<OUT>'",
]
READS = [
    "LOAD FROM '<VICTIM>' (header=false) RETURN *",
    "MATCH (s:Step) LOAD FROM '<VICTIM>' (header=false) RETURN *",
]
ATTACKS = [
    *WRITES,
    *READS,
    "copy (match (s:Step) return s._key) to '<OUT>'",
    "CoPy\t(MATCH (s:Step) RETURN s._key)\nTO\r\n'<OUT>'",
    'COPY (MATCH (s:Step) RETURN s._key) TO "<OUT>" (header=true);',
    "/* MATCH */ COPY (MATCH (s:Step) RETURN s._key) TO '<OUT>'",
    "// MATCH\nCOPY (MATCH (s:Step) RETURN s._key) TO '<OUT>'",
    "// MATCH\rCOPY (MATCH (s:Step) RETURN s._key) TO '<OUT>'\n",
    "COPY/**/(MATCH (s:Step) RETURN s._key)/**/TO/**/'<OUT>'",
    "MATCH (s:Step) RETURN s._key; COPY (MATCH (s:Step) RETURN s._key) TO '<OUT>'",
    "MATCH (s:Step) RETURN s._key;COPY (MATCH (s:Step) RETURN s._key) TO '<OUT>';",
    "RETURN 1; ; COPY (MATCH (s:Step) RETURN s._key) TO '<OUT>'",
    "; COPY (MATCH (s:Step) RETURN s._key) TO '<OUT>'",
    "RETURN ';' /* ; */; COPY (MATCH (s:Step) RETURN s._key) TO '<OUT>'",
    "RETURN 'a\\'; COPY (RETURN 1 AS x) TO \"<OUT>\" //'; COPY (RETURN 1 AS x) TO '<OUT>'",
    "RETURN `a`; COPY (MATCH (s:Step) RETURN s._key) TO '<OUT>'",
    "RETURN 1 AS `;`;\u00a0COPY (MATCH (s:Step) RETURN s._key) TO '<OUT>'",
    "EXPLAIN COPY (MATCH (s:Step) RETURN s._key) TO '<OUT>'",
    "PROFILE COPY (MATCH (s:Step) RETURN s._key) TO '<OUT>'",
    "EXPORT DATABASE '<OUT>' (format='csv')",
    "IMPORT DATABASE '<VICTIM>'",
    "MATCH (s:Step) WITH * LOAD FROM '<VICTIM>' (header=false) RETURN *",
    "MATCH (s:Step) WITH s ORDER BY s.seq DESC LOAD FROM '<VICTIM>' (header=false) RETURN *",
    "MATCH (s:Step) WITH s LIMIT 1 LOAD FROM '<VICTIM>' (header=false) RETURN *",
    "WITH 1 AS load LOAD FROM '<VICTIM>' (header=false) RETURN *",
    "WITH 1 AS limit WITH limit LOAD FROM '<VICTIM>' (header=false) RETURN *",
    "UNWIND [5] AS x WITH x! AS y LOAD FROM '<VICTIM>' (header=false) RETURN *",
    "RETURN 1 AS x UNION LOAD FROM '<VICTIM>' (header=false) RETURN *",
    "RETURN 1 AS x UNION ALL LOAD FROM '<VICTIM>' (header=false) RETURN *",
    "OPTIONAL LOAD FROM '<VICTIM>' (header=false) RETURN *",
    "LOAD WITH HEADERS (a STRING) FROM '<VICTIM>' RETURN *",
    "MATCH (s:Step) LOAD WITH HEADERS (a STRING) FROM '<VICTIM>' (header=false) RETURN *",
    "LOAD FROM <VICTIM> RETURN *",
    "LOAD FROM $file RETURN *",
    "LOAD EXTENSION '<VICTIM>'",
    "MATCH (s:Step) WHERE EXISTS { LOAD FROM '<VICTIM>' RETURN * } RETURN s",
    "MATCH (s:Step) WHERE EXISTS { CALL threads() } RETURN s",
    "MATCH (s:Step) CALL { LOAD FROM '<VICTIM>' RETURN * } RETURN s",
    "CALL threads=1",
    "CALL timeout=0",
    "CALL show_tables() RETURN *",
    "MATCH (s:Step) CALL show_tables() RETURN *",
    "call/**/show_tables() RETURN *",
    "WITH * CALL show_tables() RETURN *",
    "CHECKPOINT",
    "CHECKPOINT;",
    "BEGIN TRANSACTION",
    "COMMIT",
    "INSTALL httpfs",
    "FORCE INSTALL httpfs",
    "UNINSTALL httpfs",
    "UPDATE httpfs",
    "ATTACH '<VICTIM>' AS other (dbtype kuzu)",
    "DETACH other",
    "USE other",
    "CREATE (:Step {_key: -7})",
    "MATCH (s:Step) CREATE (:Step {_key: -7})",
    "MATCH (s:Step) SET s.name = 'x'",
    "MATCH (s:Step) SET s.name = 'x' RETURN s",
    "MATCH (s:Step) DELETE s",
    "MATCH (s:Step) DETACH DELETE s",
    "MERGE (:Step {_key: -7})",
    "MATCH (s:Step) MERGE (:Step {_key: -7}) ON CREATE SET s.name = 'x'",
    "CREATE NODE TABLE T(a INT64 PRIMARY KEY)",
    "CREATE MACRO f(x) AS x",
    "DROP TABLE Step",
    "ALTER TABLE Step DROP name",
    "COMMENT ON TABLE Step IS 'x'",
    "CREATE SEQUENCE q",
    "CREATE TYPE t AS INT64",
    "MATCH (s:Step) RETURN s.name INTO '<OUT>'",
    "\u017fET x = 1",
    "\uff23OPY (RETURN 1) TO '<OUT>'",
    "\x00COPY (RETURN 1) TO '<OUT>'",
    "\ufeffCOPY (RETURN 1) TO '<OUT>'",
    "`COPY` (RETURN 1) TO '<OUT>'",
    "'COPY' (RETURN 1) TO '<OUT>'",
    "",
    " ;",
    "/* nothing */",
    ";;",
]
LEGITIMATE = [
    "RETURN 1",
    "  return 1 ;  ",
    "MATCH (s:Step) RETURN s.name, s._key ORDER BY s.name DESC, s.seq ASC SKIP 0 LIMIT 5;",
    "MATCH (s:Step {name: 'COPY'}) RETURN s.name AS copy",
    "MATCH (s:Step) WHERE s.name = 'LOAD FROM \\'x\\'; COPY' RETURN s // COPY (x) TO 'y'",
    "MATCH (s:Step) /* CALL x=1; */ RETURN /* ** */ s.name",
    "MATCH (load:Step)-[call:CAUSED_BY]->(copy:Step) RETURN load.name, call.origin, copy.name",
    "WITH 1 AS load, 2 AS call, 3 AS `set me` RETURN load, call AS copy, `set me`",
    "WITH 1 AS limit RETURN limit ORDER BY limit LIMIT 1",
    "WITH {load: 1, copy: 2} AS call RETURN call.load, call.copy",
    "UNWIND [1, 2, 3] AS x WITH x WHERE x > 1 RETURN collect(DISTINCT x)",
    "MATCH (s:Step) WITH DISTINCT s.kind AS kind, count(*) AS n RETURN kind, n",
    "MATCH (s:Step) RETURN * LIMIT 1",
    "MATCH (s:Step) WITH * WHERE s.seq = 0 RETURN s.*",
    "MATCH (a:Step) OPTIONAL MATCH (a)-[:TREE_PARENT]->(b:Step) RETURN a.name, b.name",
    "MATCH (a:Step) WHERE NOT EXISTS { MATCH (a)-[:CAUSED_BY]->(:Step) } RETURN a.name",
    "MATCH (a:Step) RETURN COUNT { MATCH (a)<-[:CAUSED_BY]-(b:Step) WHERE b.seq > 0 } AS n",
    "MATCH (s:Step) RETURN CASE WHEN s.status = 'error' THEN 1 ELSE 0 END AS failed",
    "MATCH (s:Step) RETURN CASE s.status WHEN 'ok' THEN 1 WHEN 'error' THEN 2 END",
    "MATCH (s:Step) WHERE s.name STARTS WITH 'a' OR s.name ENDS WITH 'b' AND NOT "
    "s.name CONTAINS 'c' XOR s.name IN ['x'] RETURN s",
    "MATCH (s:Step) WHERE s.model IS NULL AND s.name IS NOT NULL RETURN s.name",
    "MATCH (s:Step) WHERE s.name =~ 'l.*' RETURN s.name",
    "MATCH (s:Step) RETURN s.name UNION ALL MATCH (t:Trace) RETURN t.trace_id",
    "RETURN 1 AS x UNION RETURN 2 AS x",
    "MATCH p = (a:Step)-[e:CAUSED_BY*1..3]->(b:Step) RETURN length(p)",
    "MATCH (a:Step)-[:CAUSED_BY* SHORTEST 1..30 (e, n | WHERE e._evidence <= 2)]->(b:Step) "
    "RETURN count(*)",
    "MATCH (a:Step)-[:CAUSED_BY* ALL SHORTEST 1..30]->(b:Step) RETURN count(*)",
    "MATCH (a:Step)-[:CAUSED_BY* TRAIL 1..3]-(b:Step) RETURN count(*)",
    "MATCH (a:Step)-[:CAUSED_BY|TREE_PARENT]->(b:Step) RETURN count(*)",
    "MATCH (a:Step)-[:CAUSED_BY*1..2 (r, n | WHERE r._evidence < 3 | {r.origin}, {n.name})]->(b) "
    "RETURN count(*)",
    "RETURN [1, 2, 3][1:2], list_transform([1, 2], x -> x + 1), size('a')",
    "MATCH (s:Step) RETURN any(x IN s.signals WHERE x = 'tool_error')",
    "RETURN cast('1' AS INT64), cast(1, 'STRING'), -1 * (2 + 3) % 4, 5!, .5, 1.5e-3",
    "RETURN 'COPY', \"LOAD\", '\\u0041', 'a;b', '/* x */', '// y'",
    "MATCH (s:Step) WHERE s._key >= $low AND s.name IN $names RETURN s.name",
    "MATCH (s:Step)\n\tWHERE\u00a0s.seq = 0\r\nRETURN s.name",
    "MATCH (s:Step) RETURN s.name AS größe, 1 AS 步骤",
]
PARAMETERS = {"low": 0, "names": ["load"]}


@pytest.mark.parametrize("text", ATTACKS)
def test_attack_is_refused_and_nothing_happens(sandbox: Sandbox, text: str) -> None:
    attack = sandbox.fill(text)
    with pytest.raises(QueryError, match=r"^line \d+, column \d+: "):
        read_only_statement(attack)
    with pytest.raises(QueryError):
        sandbox.session.run(attack)
    assert sandbox.state() == sandbox.before


@contextmanager
def unguarded(box: Sandbox) -> Iterator[Any]:
    """Connect to the sandbox's graph as a session does, without the guard."""
    box.session.close()
    database = engine().Database(str(box.graph), read_only=True, max_db_size=MAX_DB_BYTES)
    with closing(database), closing(engine().Connection(database)) as connection:
        yield connection


@pytest.mark.parametrize("text", WRITES)
def test_the_engine_alone_would_write(tmp_path: Path, text: str) -> None:
    box = Sandbox(tmp_path)
    with unguarded(box) as connection:
        connection.execute(box.fill(text))
    assert box.state() != box.before


@pytest.mark.parametrize("text", READS)
def test_the_engine_alone_would_read_any_file(tmp_path: Path, text: str) -> None:
    box = Sandbox(tmp_path)
    with unguarded(box) as connection:
        assert SECRET in str(connection.execute(box.fill(text)).get_next())


@pytest.mark.parametrize("text", LEGITIMATE)
def test_reading_is_admitted_and_runs(sandbox: Sandbox, text: str) -> None:
    statement, names = read_only_statement(text)
    assert len(statement) == len(text)
    result = sandbox.session.run(text, {name: PARAMETERS[name] for name in names})
    assert len(list(result)) == len(result)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("COPY x TO 'y'", "line 1, column 1: 'COPY': here must be one of MATCH, OPTIONAL MATCH"),
        ("MATCH (s)\n  SET s.a = 1", "line 2, column 3: 'SET' cannot stand here"),
        ("RETURN 1;\nRETURN 2", "line 1, column 9: one statement at a time"),
        ("RETURN 'abc", "line 1, column 8: this string has no end"),
        ("RETURN '\\q'", "a backslash in it that Cypher does not know"),
        ("RETURN `abc", "line 1, column 8: this quoted name has no end"),
        ("RETURN 1 /* abc", "line 1, column 10: this comment has no end"),
        ("RETURN $`a`", "a parameter is written $name, without quotes"),
        ("RETURN 1 ? 2", "line 1, column 10: Cypher has no '?' here"),
        ("OPTIONAL RETURN 1", "line 1, column 10: after OPTIONAL comes MATCH"),
        ("RETURN 1 ORDER 2", "after ORDER comes BY"),
        ("  ", "line 1, column 1: there is no statement"),
    ],
)
def test_refusal_says_where_and_what(text: str, told: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_only_statement(text)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_comment_that_the_engine_reads_otherwise_hides_nothing(tmp_path: Path) -> None:
    box = Sandbox(tmp_path)
    text = box.fill("/***/ RETURN '*/ COPY (MATCH (s:Step) RETURN s._key) TO \"<OUT>\" //'")
    (row,) = box.session.run(text)
    assert str(box.out) in row[0]
    assert box.state() == box.before
    with unguarded(box) as connection:
        connection.execute(text)
    assert box.out.exists()


def test_comments_are_blanked_and_all_else_keeps_its_place() -> None:
    text = "MATCH /* a\nb */ (s) // c\nRETURN '/* d */' /***/ , 1"
    statement, _ = read_only_statement(text)
    assert statement == "MATCH     \n     (s)     \nRETURN '/* d */'       , 1"


FRAGMENTS = [
    *(fragment for attack in ATTACKS for fragment in (attack, attack.split(" ", 1)[0])),
    *LEGITIMATE,
    *"MATCH (s:Step)|WITH s|WITH *|WITH 1 AS load|WITH load|RETURN 1 AS x|RETURN s|RETURN *".split(
        "|"
    ),
    *"UNWIND [1] AS x|WHERE true|ORDER BY 1 DESC|LIMIT 1|UNION|UNION ALL|EXISTS {|COUNT {".split(
        "|"
    ),
    *"CASE WHEN true THEN 1|END|AS|load|copy|call|FROM|TO|(header=false)|(RETURN 1)".split("|"),
    *("'<OUT>'", "'<VICTIM>'", '"<OUT>"', "\\", "'", '"', "`", "//\r"),
    *"/* */ /***/ // / ( ) [ ] { } * ! , . : ; - =".split(),
]
SEPARATORS = [" ", "", *"\n\r\t\u00a0\u2028\x00\ufeff", "/**/", "//x\n", "/***/"]
CASES: tuple[Callable[[str], str], ...] = (str, str.lower, str.swapcase)


@st.composite
def mixtures(draw: st.DrawFn) -> str:
    """Pieces of attacks and of honest statements in any order and any case."""
    text = ""
    for part in draw(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6)):
        change = draw(st.sampled_from(CASES))
        text += part if "<" in part else change(part)  # a place is spelt as it is
        text += draw(st.sampled_from(SEPARATORS))
    if draw(st.booleans()):
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.sampled_from(FRAGMENTS + SEPARATORS)) + text[place:]
    return text


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=mixtures())
def test_whatever_passes_leaves_files_alone_and_unread(sandbox: Sandbox, text: str) -> None:
    statement = sandbox.fill(text)
    try:
        _, names = read_only_statement(statement)
        parameters = {name: PARAMETERS.get(name, sandbox.victim.name) for name in names}
        answer = [str(row) for row in sandbox.session.run(statement, parameters, timeout=5)]
    except QueryError:
        answer = []
    assert not any(SECRET in row for row in answer)
    assert sandbox.state() == sandbox.before
