"""Runs that went through a Phoenix server, against the same runs as OTLP and raw records."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from otlp_data import of_file
from phoenix_data import LINKS, causes, database, facts, made_database, read
from shared_data import fixture, shared
from trace_view import gaps
from tracegraph.model.trace import Trace

EXPORT = "traces/phoenix_export/h3_spans.jsonl"
OTLP = "traces/otlp_jsonl_collector/openinference_batch.jsonl"
MESSAGES = ("tool_call_id", "protocol")
OWN = (
    "openinference_tool_error_recover.json",
    "openinference_parallel_tools.json",
    "genai_wf_fan_out_in.json",
)
"""What was sent to the server of the fixtures."""


def exported() -> dict[str, Trace]:
    return {trace.trace_id: trace for trace in read(shared(EXPORT))}


def of_otlp() -> dict[str, Trace]:
    return {t.trace_id: t for n in OWN for t in of_file(fixture(f"otlp/{n}"))}


def without_area(trace: Trace) -> dict[str, int]:
    """Return the gaps, but for the one that Phoenix has to have, without their source."""
    assert trace.source in ("otlp", "phoenix")
    return {c.removeprefix(f"{trace.source}."): n for c, n in gaps(trace).items() if c not in LINKS}


def assert_same_run(trace: Trace, sent: Trace) -> None:
    """Compare all that Phoenix keeps: everything but links and what is below a microsecond."""
    links = {edge for edge in causes(sent) if edge[2] == "span_link"}
    assert causes(trace) == causes(sent) - links
    told, known = facts(trace), facts(sent)
    for i in told:
        if links:  # fewer causes make fewer steps lossy, and another order of what is left
            for field in ("lossy", "seq"):
                told[i][field] = known[i][field]
        assert told[i] == known[i]
    assert told.keys() == known.keys()
    for name in ("trace_id", "session_id", "agent", "status", "cyclic"):
        assert getattr(trace, name) == getattr(sent, name)
    assert gaps(trace).items() >= LINKS.items()
    assert without_area(trace) == without_area(sent)
    times = {s.step_id: (s.start, s.end) for s in sent.steps}
    for step in trace.steps:
        for time, exact in zip((step.start, step.end), times[step.step_id], strict=True):
            assert time is not None
            assert exact is not None
            assert abs(time - exact) <= 1_000  # the server calculates in floats
            assert time % 1_000 == 0


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder; the memory that readers of a log share holds their locks."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {name: b"" if name.endswith("-shm") else data for name, data in files.items()}


def test_the_export_is_the_run_as_otlp_has_it() -> None:
    found = exported()
    sent = {trace.trace_id: trace for trace in of_file(shared(OTLP))}
    assert len(found) == 34
    assert found.keys() == sent.keys()
    for trace_id, trace in found.items():
        assert_same_run(trace, sent[trace_id])


def test_fixtures_are_the_runs_that_were_sent(tmp_path: Path) -> None:
    sent = of_otlp()
    links = sum(edge.origin == "span_link" for t in sent.values() for edge in t.causes)
    assert links == 10
    page = fixture("phoenix/agents_spans_page.json")
    for source in (page, made_database(tmp_path / "phoenix.db")):
        found = {t.trace_id: t for t in read(source)}
        assert found.keys() >= sent.keys()
        for trace_id, trace in sent.items():
            assert_same_run(found[trace_id], trace)


def test_counts_are_those_of_the_raw_export() -> None:
    raw = [json.loads(line) for line in shared(EXPORT).read_text(encoding="utf-8").splitlines()]
    steps = [step for trace in exported().values() for step in trace.steps]
    assert Counter(s.kind for s in steps) == Counter(span["span_kind"] for span in raw)
    errors = {span["context"]["span_id"] for span in raw if span["status_code"] == "ERROR"}
    assert {s.step_id for s in steps if s.status == "error"} == errors
    assert len(errors) == 19
    tools = {span["context"]["span_id"]: span for span in raw if span["span_kind"] == "TOOL"}
    assert len(tools) == 47
    for step in steps:
        if step.kind == "TOOL":
            assert step.name == tools[step.step_id]["attributes"]["tool.name"]
    tokens = sum(span["attributes"].get("llm.token_count.total", 0) for span in raw)
    assert sum(step.tokens_total or 0 for step in steps if step.kind == "LLM") == tokens


def test_messages_of_the_raw_export_are_causes() -> None:
    """A tool step has the model step that asked, the first reader of its result has it."""
    raw = [json.loads(line) for line in shared(EXPORT).read_text(encoding="utf-8").splitlines()]
    spans = {span["context"]["span_id"]: span for span in raw}
    requests, ran, read_first = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for trace in exported().values():
        steps = {step.step_id: step for step in trace.steps}
        for effect, cause, origin, _ in causes(trace):
            if origin not in MESSAGES:
                continue
            if steps[effect].kind == "TOOL":
                asked = _ids(spans[cause], "llm.output_messages.", ".tool_call.function.name")
                assert spans[effect]["attributes"]["tool.name"] in asked
                ran[effect] += 1
            else:
                assert steps[cause].kind == "TOOL"
                call_id = steps[cause].tool_call_id
                assert spans[cause]["start_time"] < spans[effect]["start_time"]
                result = _ids(spans[cause], "output.value", "")
                heard = _ids(spans[effect], "llm.input_messages.", ".tool_call_id")
                if call_id is not None:
                    assert call_id in heard
                    assert any(call_id in text for text in result)
                read_first[trace.trace_id, cause] += 1
        requests.update(s.step_id for s in trace.steps if s.kind == "TOOL")
    assert set(ran.values()) == {1}
    assert not ran - requests
    # The one without a cause ran in a fork of a run: the model asked in the run's own trace.
    (forked,) = requests - ran
    assert spans[forked]["attributes"]["session.id"] == "fork_time_travel"
    assert set(read_first.values()) == {1}


def _ids(span: dict[str, Any], start: str, end: str) -> set[str]:
    attributes = span["attributes"].items()
    return {value for key, value in attributes if key.startswith(start) and key.endswith(end)}


def test_a_live_database_is_read_with_its_log_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "phoenix.db"
    with closing(database(path, wal=True)) as live:
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as main:
            assert main.execute("SELECT count(*) FROM spans").fetchone() == (0,)  # all in the log
        before = contents(tmp_path)
        found = read(path)
        assert contents(tmp_path) == before
        rows = dict(
            live.execute(
                "SELECT trace_id, count(*) FROM traces t JOIN spans s ON "
                "s.trace_rowid = t.id GROUP BY 1"
            ).fetchall()
        )
        assert {trace.trace_id: len(trace) for trace in found} == rows
        assert sum(rows.values()) == 53
        statuses = Counter(step.status for trace in found for step in trace.steps)
        errors = live.execute("SELECT count(*) FROM spans WHERE status_code = 'ERROR'").fetchone()
        assert statuses["error"] == errors[0] + 1  # and the one that is told by its exception


def test_a_database_of_an_older_server(tmp_path: Path) -> None:
    dropped = ("span_costs", "trace_annotations", "document_annotations", "span_annotations")
    path = made_database(tmp_path / "phoenix.db", *(f"DROP TABLE {name};" for name in dropped))
    found = read(path)
    assert len(found) == 5
    assert not any("evaluations" in trace.attributes for trace in found)
    assert not any("phoenix.cost_from_price_list" in gaps(trace) for trace in found)


def test_databases_are_read_a_trace_at_a_time(tmp_path: Path) -> None:
    """What was read is handed on while the rest is still to come, and damage costs the rest."""
    many = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) "
        "INSERT INTO traces SELECT 1000 + i, 1, printf('%032x', i), start_time, end_time, NULL "
        "FROM n, traces WHERE traces.id = 1;",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) "
        "INSERT INTO spans SELECT 1000000 + i * 1000 + s.id, 1000 + i, "
        "printf('%016x', i * 1000 + s.id), NULL, s.name, s.span_kind, s.start_time, s.end_time, "
        "s.attributes, s.events, s.status_code, s.status_message, 0, 0, 0, NULL, NULL "
        "FROM n, spans s WHERE s.id < 1000;",
    )
    path = made_database(tmp_path / "phoenix.db", *many)
    with closing(sqlite3.connect(path)) as connection:
        count = connection.execute("SELECT count(*) FROM spans").fetchone()[0]
    found = read(path)
    assert len(found) == 305
    assert sum(len(trace) for trace in found) == count == 53 * 301
    drafts = {id(trace.columns) for trace in found}
    assert len(drafts) == 1  # below the steps of a draft


@pytest.mark.parametrize("only", [("9a90d883b7b77c37380eee4f886091dd",), ("no such trace",)])
def test_only_the_traces_that_are_asked_for(only: tuple[str, ...], tmp_path: Path) -> None:
    wanted = frozenset(only)
    path = made_database(tmp_path / "phoenix.db")
    for source in (fixture("phoenix/agents_spans_page.json"), path):
        assert {t.trace_id for t in read(source, only=wanted)} == wanted - {"no such trace"}
