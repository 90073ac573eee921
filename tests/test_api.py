"""The Python front door."""

import csv
import sys
from pathlib import Path
from typing import get_args

import pytest

import tracegraph
from shared_data import ROOT
from tracegraph.workflows.traceset import TableName

TRACES = ROOT / "examples" / "traces"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEGRAPH_CACHE_DIR", str(tmp_path / "cache"))


def test_every_public_name_is_there() -> None:
    for name in tracegraph.__all__:
        assert getattr(tracegraph, name) is not None
    assert set(tracegraph.__all__) <= set(dir(tracegraph))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tracegraph.nothing  # noqa: B018


def test_a_folder_is_loaded_iterated_and_counted() -> None:
    with tracegraph.load(TRACES) as traces:
        assert repr(traces) == "TraceSet(7 traces, 66 steps)"
        assert len(traces) == len(list(traces)) == 7
        assert sum(1 for trace in traces for _ in trace.steps) == traces.step_count == 66
        assert traces.gaps == {}
        assert traces.skipped == {}
        recovered = traces.trace("6f3d")
        assert recovered.status == "ok"
        failing = [step for step in recovered.steps if step.status == "error"]
        assert [step.name for step in failing] == ["get_weather"]
        assert failing[0].parent is not None
        assert failing[0].parent_evidence == "containment"


def test_loading_takes_several_paths_and_says_what_is_missing(tmp_path: Path) -> None:
    one, other = str(TRACES / "react_ok.otlp.json"), TRACES / "tool_error_fatal.otlp.json"
    assert len(tracegraph.load([one, other], cache=False)) == 2
    with pytest.raises(tracegraph.InputError, match="nowhere"):
        tracegraph.load(tmp_path / "nowhere")
    with pytest.raises(tracegraph.UsageError, match="at least one path"):
        tracegraph.load([])


def test_home_made_logs_are_loaded_by_a_mapping(tmp_path: Path) -> None:
    log = ROOT / "examples" / "home-made" / "calls.csv"
    rows = list(csv.DictReader(log.read_text().splitlines()))
    with tracegraph.load(log, mapping=log.with_suffix(".map.toml")) as traces:
        names = [step.name for trace in traces for step in trace.steps]
        assert sorted(map(str, names)) == sorted(row["tool"] for row in rows)
        assert len(traces) == len({row["run"] for row in rows})
    with pytest.raises(tracegraph.InputError, match="no-such"):
        tracegraph.load(log, mapping=tmp_path / "no-such.toml")


def test_a_query_gives_matches_with_steps() -> None:
    traces = tracegraph.load(TRACES)
    result = traces.query("tool-failure")
    assert (result.match_count, result.trace_count, result.found) == (6, 4, True)
    assert {match.steps[0].step.name for match in result} == {"get_weather", "fetch_page"}
    assert len(list(result)) == 6, "matches can be read again"
    text = "a: TOOL where status == error -> LLM -> b: TOOL where name == $a.name and status == ok"
    (match,) = traces.query(text)
    assert [matched.var for matched in match.steps] == ["a", None, "b"]
    assert match.evidence == "derived"
    assert match.steps[2].step.args_digest != match.steps[0].step.args_digest
    file = ROOT / "examples" / "patterns" / "recovered-by-model.tgp"
    assert traces.query(str(file)).match_count == 1
    assert traces.query("TOOL where name == @n", params={"n": "slow"}).match_count == 2
    assert traces.query("TOOL", exists=True).match_count is None
    with pytest.raises(tracegraph.PatternError, match="did you mean 'tool-failure'"):
        traces.query("tool-failur")


def test_a_result_is_shown_in_a_line() -> None:
    shown = repr(tracegraph.load(TRACES).query("tool-failure"))
    assert "match_count=6" in shown
    assert len(shown) < 600


def test_arguments_that_mean_nothing_are_refused() -> None:
    with pytest.raises(tracegraph.UsageError, match="keep 'all': expected one of structure, err"):
        tracegraph.load(TRACES, keep="all")  # type: ignore[arg-type]
    traces = tracegraph.load(TRACES)
    with pytest.raises(tracegraph.UsageError, match="backend 'spark': expected one of auto, cyp"):
        traces.query("tool-failure", backend="spark")  # type: ignore[arg-type]
    with pytest.raises(tracegraph.UsageError, match="limit -1: expected 0 or more"):
        traces.query("tool-failure", limit=-1)


def test_cypher_gives_rows_by_name() -> None:
    with tracegraph.load(TRACES) as traces:
        rows = traces.cypher("MATCH (s:Step {kind: $kind}) RETURN count(*) AS n", {"kind": "LLM"})
        assert rows == [{"n": 13}]
        with pytest.raises(tracegraph.QueryError):
            traces.cypher("MATCH (s:Step) DELETE s")
        assert traces.query("tool-failure", backend="cypher").match_count == 6


def test_arrow_tables_join_by_segment_and_trace() -> None:
    traces = tracegraph.load(TRACES)
    tables = {name: traces.arrow(name) for name in get_args(TableName)}
    assert {name: table.num_rows for name, table in tables.items()} == {
        "traces": 7,
        "steps": 66,
        "causes": sum(1 for trace in traces for _ in trace.causes),
    }
    assert tables["steps"]["status"].to_pylist().count("error") == 8
    keys = set(
        zip(*(tables["steps"][name].to_pylist() for name in ("segment", "trace")), strict=True)
    )
    assert keys == {(0, index) for index in range(7)}
    with pytest.raises(tracegraph.UsageError, match="traces, steps, causes"):
        traces.arrow("edges")  # type: ignore[arg-type]


def test_a_trace_becomes_a_networkx_graph() -> None:
    trace = tracegraph.load(TRACES).trace("6f3d")
    graph = tracegraph.to_networkx(trace)
    assert graph.number_of_nodes() == 14
    assert graph.number_of_edges() == 21
    assert graph.nodes["b2b4a13d9bbd75a2"]["name"] == "get_weather"
    assert "cost" not in graph.nodes["b2b4a13d9bbd75a2"]
    assert list(graph.predecessors("798f94357aeea6c7")) == []
    edge = next(iter(graph.get_edge_data("4c7c8f20886aaf29", "6f84475bf5daa8b2").values()))
    assert edge == {"origin": "tool_call_id", "evidence": "declared"}


def test_networkx_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    trace = next(iter(tracegraph.load(TRACES)))
    with pytest.raises(tracegraph.UsageError, match=r"pip install .*networkx"):
        tracegraph.to_networkx(trace)
