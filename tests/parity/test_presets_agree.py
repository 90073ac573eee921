"""Presets on their examples, and the library's drafts on real traces: one answer from all."""

from pathlib import Path

import pytest

from parity.agreement import Tally, by_cypher, by_matcher, check
from pattern.graphs import Graph, graph_of
from shared_data import ROOT, shared
from tracegraph.errors import UnsupportedPatternError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.reader import read_file
from tracegraph.ingest.source import Source
from tracegraph.model.columns import Columns
from tracegraph.model.seal import seal
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.load import bind, load_text
from tracegraph.pattern.plan import plan
from tracegraph.pattern.presets import presets

EXAMPLES = sorted((ROOT / "presets").glob("*.examples/*"))


def columns_of(path: Path) -> list[Columns]:
    source = Source.open(path, path.name, 1 << 28)
    return [
        columns for columns in map(seal, read_file(source, ReadOptions())) if columns.step_count
    ]


def drafts() -> list[Pattern]:
    return load_text(shared("reference/draft-presets.tgp").read_text(encoding="utf-8"))


def test_presets_and_drafts_on_the_examples(tmp_path: Path) -> None:
    segments = [columns for path in EXAMPLES for columns in columns_of(path)]
    tally = Tally()
    with graph_of(tmp_path, *segments) as graph:
        for pattern in map(bind, presets()):
            check(pattern, graph, tally)
        assert tally.compiled == tally.patterns  # all shipped presets compile
        for pattern in drafts():
            check(pattern, graph, tally)
    assert tally.results > len(EXAMPLES)


@pytest.mark.parametrize(
    "folder", ["otlp_json_openinference/langgraph_gen", "otlp_json_openllmetry/langgraph_gen"]
)
def test_drafts_on_real_traces(tmp_path: Path, folder: str) -> None:
    files = sorted(path for path in shared(f"traces/{folder}").rglob("*.json"))
    segments = [columns for path in files for columns in columns_of(path)]
    tally = Tally()
    with graph_of(tmp_path, *segments) as graph:
        for pattern in drafts():
            agree(pattern, graph, tally)
    assert tally.results
    assert list(tally.refused) == ["a run with a period"]


def agree(pattern: Pattern, graph: Graph, tally: Tally) -> None:
    """Compare the product's two backends: the oracle would need minutes on these."""
    whole = plan(pattern)
    expected = [by_matcher(whole, columns) for columns in graph.segments]
    tally.results += sum(len(found) for found, _ in expected)
    try:
        assert by_cypher(whole, graph) == expected, pattern.id
    except UnsupportedPatternError as error:
        tally.refused[error.message] = tally.refused.get(error.message, 0) + 1
