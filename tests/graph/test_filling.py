"""The file of a graph is written by a process that has held nothing else."""

from pathlib import Path

import pytest

from tracegraph.errors import CorpusError
from tracegraph.graph.filling import Filling, GraphCounts, fill_apart
from tracegraph.graph.load import build_graph
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal

_POOL = 1 << 28
CANARY = "CANARY-IN-MEMORY-"


def _held(times: int) -> int:
    """Hold many bodies, of all sizes, and let them go."""
    bodies = [f"{CANARY}{number}" * (1 + number % 400) for number in range(times)]
    return sum(map(len, bodies))


def test_what_this_process_held_is_not_in_the_file(tmp_path: Path) -> None:
    draft = Draft()
    draft.begin("t", source="made", file="f")
    for number in range(2_000):
        draft.step(f"s{number}", name=f"name {number}")
    columns = seal(draft)
    assert _held(40_000)
    path = tmp_path / "graph.kuzu"
    assert build_graph(path, [(0, columns)], apart=True) == GraphCounts(1, 2_000, 0)
    assert CANARY.encode() not in path.read_bytes()


def test_what_the_engine_says_arrives_in_one_line(tmp_path: Path) -> None:
    filling = Filling(str(tmp_path / "g.kuzu"), _POOL, ["CREATE NODE TABLE ("])
    with pytest.raises(RuntimeError, match=r"Parser exception") as raised:
        fill_apart(filling)
    assert "\n" not in str(raised.value)
    assert "Traceback" not in str(raised.value)


def test_a_process_that_dies_is_said_to_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(CorpusError, match="its process ended with 1"):
        build_graph(tmp_path / "g.kuzu", [], apart=True)


def test_where_no_process_can_be_started_this_one_does_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "no-python"))
    assert build_graph(tmp_path / "g.kuzu", [], apart=True) == GraphCounts()
