"""``--graph``: what LangGraph itself says that a graph would run next."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from langgraph_files import Database, by_name, causes, gaps, read, read_one, send
from tracegraph.errors import InputError

_AGENT = """
import operator
from typing import Annotated, TypedDict
from langgraph.graph import END, START, StateGraph

class State(TypedDict):
    said: Annotated[list, operator.add]

def _node(name):
    def run(state):
        raise AssertionError("no node may run")
    return run

builder = StateGraph(State)
for name in ("one", "two", "three"):
    builder.add_node(name, _node(name))
builder.add_edge(START, "one")
builder.add_edge("one", "two")
builder.add_edge("one", "three")
builder.add_edge("two", END)
builder.add_edge("three", END)
graph = builder.compile()
nothing = 17

def make():
    return builder

def broken():
    raise RuntimeError("first line\\nsecond line")
"""


def _pending(database: Database) -> None:
    """One is done; two failed and three, side by side with it, has written nothing."""
    database.checkpoint(
        0,
        values={"said": [], "branch:to:one": None},
        versions={"said": 1, "branch:to:one": 1},
        step=0,
    )
    database.task(0, "one", [("branch:to:two", None), ("branch:to:three", None)])
    database.checkpoint(
        1,
        0,
        values={"said": [], "branch:to:two": None, "branch:to:three": None},
        versions={"said": 1, "branch:to:one": 2, "branch:to:two": 2, "branch:to:three": 2},
        seen={"one": {"branch:to:one": 1}},
        step=1,
    )


def _files(tmp_path: Path, fill: Callable[[Database], None] = _pending) -> tuple[Path, str]:
    (tmp_path / "agent.py").write_text(_AGENT)
    path = tmp_path / "a.db"
    with Database(path) as database:
        fill(database)
    return path, str(tmp_path / "agent.py")


@pytest.fixture
def langgraph() -> None:
    pytest.importorskip(
        "langgraph.checkpoint.sqlite", reason="the extra langgraph is not installed"
    )


@pytest.mark.usefixtures("langgraph")
@pytest.mark.parametrize("attribute", ["graph", "builder", "make"])
def test_scheduled_tasks_are_steps(tmp_path: Path, attribute: str) -> None:
    path, agent = _files(tmp_path)
    before = path.read_bytes()
    trace = read_one(path, graph=f"{agent}:{attribute}")
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.glob("a.db*")] == ["a.db"]
    steps = by_name(trace)
    assert {n: (s.status, s.status_source) for n, s in steps.items()} == {
        "one": ("ok", "recorded"),
        "two": ("unset", "scheduled"),
        "three": ("unset", "scheduled"),
    }
    assert {
        ("two", "one", "checkpoint_write", "declared"),
        ("three", "one", "checkpoint_write", "declared"),
    } == causes(trace)
    assert trace.status == "unset"
    assert len(trace.attributes["schedule_graph"]) == 64
    without = read_one(path)
    assert [step.name for step in without.steps] == ["one"]
    assert "schedule_graph" not in without.attributes


@pytest.mark.usefixtures("langgraph")
def test_what_is_recorded_is_not_scheduled_again(tmp_path: Path) -> None:
    path, agent = _files(tmp_path)
    scheduled = {s.name: s.step_id for s in read_one(path, graph=f"{agent}:graph").steps}

    def fill(database: Database) -> None:
        _pending(database)
        database.task(1, scheduled["two"], [("__error__", "ValueError('no')")])

    path.unlink()
    path, agent = _files(tmp_path, fill)
    steps = {s.step_id: s for s in read_one(path, graph=f"{agent}:graph").steps}
    assert steps[scheduled["two"]].status == "error"
    assert steps[scheduled["three"]].status_source == "scheduled"
    assert len(steps) == 3


@pytest.mark.usefixtures("langgraph")
def test_what_langgraph_leaves_out_is_disclosed(tmp_path: Path) -> None:
    def fill(database: Database) -> None:
        packets = [send("two", {}), send("nobody", {})]
        database.checkpoint(
            0,
            values={"said": [], "__pregel_tasks": packets},
            versions={"said": 1, "__pregel_tasks": 1},
        )
        database.task(
            0, "00000000-0000-0000-0000-000000000000", [("branch:to:three", None)], path=""
        )

    path, agent = _files(tmp_path, fill)
    found = gaps(read_one(path, graph=f"{agent}:graph"))
    assert found["unapplied_command_goto"] == 1
    assert found["unknown_send_target"] == 1


@pytest.mark.usefixtures("langgraph")
def test_each_thread_is_asked_for(tmp_path: Path) -> None:
    def fill(database: Database) -> None:
        for thread in ("a", "b"):
            database.checkpoint(
                1, thread=thread, values={"branch:to:two": None}, versions={"branch:to:two": 1}
            )

    path, agent = _files(tmp_path, fill)
    assert [[s.name for s in t.steps] for t in read(path, graph=f"{agent}:graph")] == [["two"]] * 2


@pytest.mark.usefixtures("langgraph")
@pytest.mark.parametrize(
    ("attribute", "reason"),
    [
        ("absent", "cannot be loaded: AttributeError: "),
        ("nothing", "is int, not a graph of LangGraph"),
        ("broken", "cannot be loaded: RuntimeError: first line$"),
    ],
)
def test_a_graph_that_cannot_be_loaded(tmp_path: Path, attribute: str, reason: str) -> None:
    path, agent = _files(tmp_path)
    with pytest.raises(InputError, match=f"^--graph .*{reason}") as raised:
        read_one(path, graph=f"{agent}:{attribute}")
    assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("langgraph")
@pytest.mark.parametrize(
    "spec", ["agent.py", ":graph", "agent.py:", "no/such.py:graph", "no_such:g"]
)
def test_a_place_that_leads_nowhere(tmp_path: Path, spec: str) -> None:
    path, _ = _files(tmp_path)
    with pytest.raises(InputError, match=r"^--graph "):
        read_one(path, graph=spec)


def test_without_langgraph_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "langgraph.checkpoint.sqlite", None)
    path, agent = _files(tmp_path)
    with pytest.raises(InputError, match=r"pip install 'tracegraph-engine\[langgraph\]'$"):
        read_one(path, graph=f"{agent}:graph")


def test_without_graph_no_code_runs(tmp_path: Path) -> None:
    path, _ = _files(tmp_path)
    before = {name for name in sys.modules if name.startswith(("langgraph.", "langchain"))}
    read(path)
    after = {name for name in sys.modules if name.startswith(("langgraph.", "langchain"))}
    assert after == before
