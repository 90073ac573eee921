"""Answers over several segments, sessions, and both backends."""

import json
from pathlib import Path
from typing import Any

import pytest

from shared_data import shared
from tracegraph.corpus.builder import Builder
from tracegraph.corpus.corpus import Corpus
from tracegraph.export.query_result import QueryResult, query_report
from tracegraph.export.table import Format, render
from tracegraph.pattern.matcher import match_rows
from tracegraph.workflows.ingest import build_corpus
from tracegraph.workflows.load import load
from tracegraph.workflows.patterns import load_expression, load_pattern
from tracegraph.workflows.query import explain, run_query

FAILING = "TOOL where status == error"


def _artifact(trace_id: str, *names: str, session: str | None = None, start: int = 0) -> str:
    """Return an artifact of failing tool calls, one a second."""
    steps = [
        {
            "step_id": f"{trace_id}-{number}",
            "kind": "TOOL",
            "name": name,
            "status": "error",
            "started_at": f"2026-01-05T09:00:{start + number:02}Z",
            "ended_at": f"2026-01-05T09:00:{start + number:02}.5Z",
        }
        for number, name in enumerate(names)
    ]
    trace: dict[str, Any] = {"trace_id": trace_id, "source": "made"}
    if session is not None:
        trace["session_id"] = session
    return json.dumps(
        {"kind": "tracegraph.trace", "schema_version": 1, "trace": trace, "steps": steps}
    )


def _corpus(folder: Path, *artifacts: str) -> Corpus:
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(artifacts):
        (folder / f"{number}.json").write_text(text)
    return load([folder], cache=False)


def _ask(corpus: Corpus, text: str, **options: Any) -> QueryResult:
    return run_query(corpus, load_expression(text), **options)


def _ids(result: QueryResult) -> list[list[str]]:
    return [[matched.step.step_id for matched in match.steps] for match in result]


def _cut_into_segments(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """Make segments full after so many steps."""
    monkeypatch.setattr(
        "tracegraph.workflows.rebuild.Builder", lambda keep, folder: Builder(keep, folder, steps)
    )


@pytest.mark.parametrize("backend", ["matcher", "cypher"])
def test_matches_of_all_segments_stand_in_the_order_of_traces(tmp_path: Path, backend: Any) -> None:
    corpus = _corpus(
        tmp_path / "folder", _artifact("z", "a", "b"), _artifact("a", "b"), _artifact("m", "a")
    )
    result = _ask(corpus, FAILING, backend=backend)
    assert _ids(result) == [["z-0"], ["z-1"], ["a-0"], ["m-0"]]
    assert (result.match_count, result.trace_count, result.traces_scanned) == (4, 3, 3)


@pytest.mark.parametrize("backend", ["matcher", "cypher"])
def test_several_segments_answer_as_one(
    tmp_path: Path, backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [_artifact(f"t{n}", *("ab" * n)) for n in range(1, 5)]
    whole = _corpus(tmp_path / "whole", *texts)
    _cut_into_segments(monkeypatch, 3)
    parts = _corpus(tmp_path / "parts", *texts)
    assert (len(whole.segments), len(parts.segments)) == (1, 3)
    for text in (FAILING, "a: TOOL ~>> b: TOOL where name == $a.name", "xs: TOOL {1,} same name"):
        result, expected = _ask(parts, text, backend=backend), _ask(whole, text)
        assert _ids(result) == _ids(expected)
        assert result.match_count == expected.match_count
        assert _ids(_ask(parts, text, backend=backend, limit=2)) == _ids(expected)[:2]


def test_exists_leaves_the_rest_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _cut_into_segments(monkeypatch, 1)
    corpus = _corpus(tmp_path / "many", *(_artifact(f"t{n}", "a") for n in range(5)))
    asked: list[int] = []

    def counting(*arguments: Any) -> Any:
        asked.append(1)
        return match_rows(*arguments)

    monkeypatch.setattr("tracegraph.workflows.query.match_rows", counting)
    result = _ask(corpus, FAILING, exists=True)
    assert len(asked) == 1
    assert result.found
    assert _ids(result) == [["t0-0"]]


def test_a_session_is_read_as_one_over_files(tmp_path: Path) -> None:
    corpus = _corpus(
        tmp_path / "sessions",
        _artifact("late", "x", session="s", start=30),
        _artifact("early", "x", session="s", start=0),
        _artifact("other", "x", session="t", start=10),
        _artifact("alone", "x", start=20),
    )
    text = "pattern p v1\n  scope session\nmatch\n  a: TOOL ~>> b: TOOL where name == $a.name"
    result = _ask(corpus, text)
    assert _ids(result) == [["early-0", "late-0"]]
    (match,) = result
    assert match.trace_id == "early"
    assert [matched.trace_id for matched in match.steps] == ["early", "late"]
    table = "".join(render(query_report(result), Format.TABLE))
    assert "a=x(TOOL,error)@early-0 b=x(TOOL,error)@late-0#late" in table
    assert _ids(_ask(corpus, "a: TOOL ~>> b: TOOL where name == $a.name")) == []


def test_what_a_trace_cannot_answer_is_said(tmp_path: Path) -> None:
    corpus = _corpus(tmp_path / "needs", _artifact("t", "a"))
    result = _ask(corpus, "pattern p v1\n  needs args, results\nmatch\n  TOOL")
    assert (result.match_count, list(result)) == (0, [])
    assert result.not_evaluable == {"t": ("args", "results")}


def test_the_scenarios_of_langgraph_are_found(tmp_path: Path) -> None:
    corpus = load([shared("traces/otlp_json_openinference/langgraph_gen")], cache=False)
    assert (corpus.trace_count, corpus.step_count) == (19, 205)
    result = run_query(corpus, load_pattern("tool-failure"))
    assert (result.match_count, result.trace_count) == (8, 5)
    assert run_query(corpus, load_pattern("error")).match_count == 13
    by_cypher = run_query(corpus, load_pattern("tool-failure"), backend="cypher")
    assert _ids(by_cypher) == _ids(result)


def test_a_plan_is_explained_for_a_built_graph(tmp_path: Path) -> None:
    corpus = _corpus(tmp_path / "plan", _artifact("t", "a"))
    pattern = load_expression(FAILING)
    assert explain(corpus, pattern).startswith("backend: matcher\n")
    assert "MATCH" in explain(corpus, pattern, "cypher")
    assert explain(corpus, pattern).startswith("backend: cypher\n"), "the graph is there now"


@pytest.mark.parametrize("damage", [b"", b"no database", None])
def test_a_damaged_graph_is_no_reason_not_to_answer(tmp_path: Path, damage: bytes | None) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "t.json").write_text(_artifact("t", "a"))
    with build_corpus([str(folder)], tmp_path / "corpus", keep="errors") as corpus:
        assert corpus.graph_path is not None
        whole = corpus.graph_path.read_bytes()
        corpus.graph_path.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
        damaged = corpus.graph_path
        result = _ask(corpus, FAILING)
        assert (result.backend, result.match_count) == ("matcher", 1)
        assert "the graph cannot be used" in result.reason
        result = _ask(corpus, FAILING, backend="cypher")
        assert (result.backend, result.match_count) == ("cypher", 1)
        assert corpus.notices == [f"{damaged}: is damaged; the graph is built anew"]
        assert not damaged.exists()
    with load([tmp_path / "corpus"]) as corpus:
        assert _ask(corpus, FAILING).backend == "cypher"
        assert corpus.notices == []


def test_missing_texts_of_a_graph_leave_the_matcher(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "t.json").write_text(_artifact("t", "a"))
    pattern = 'TOOL where name == "a"'
    with build_corpus([str(tmp_path / "traces")], tmp_path / "corpus", keep="errors") as corpus:
        assert corpus.graph_path is not None
        before = _ask(corpus, pattern)
        Path(f"{corpus.graph_path}.texts").unlink()
        after = _ask(corpus, pattern)
        assert (before.backend, after.backend) == ("cypher", "matcher")
        assert before.match_count == after.match_count == 1
