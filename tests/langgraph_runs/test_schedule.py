"""Tasks that a graph schedules and that recorded nothing, with the graph named by ``--graph``."""

import sys
from pathlib import Path

import pytest

from langgraph_runs.recorded import HERE, Recordings, gaps, read_traces
from tracegraph.errors import InputError
from tracegraph.model.trace import Trace

pytest.importorskip("langgraph.checkpoint.sqlite", reason="pip install -e '.[dev]' brings it")

FILE = HERE / "generate" / "schedules.py"
VERSION = "1.2.24"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(FILE.parent))
    monkeypatch.setenv("TRACEGRAPH_TEST_NODE_RAN", str(tmp_path / "ran"))


def scheduled(trace: Trace) -> list[str | None]:
    steps = [step for step in trace.steps if step.status_source == "scheduled"]
    assert all(step.status == "unset" for step in steps)
    return [step.name for step in steps]


def read(recorded: Recordings, scenario: str, graph: str) -> Trace:
    path = recorded.of(VERSION)[scenario].path
    before = path.read_bytes()
    (trace,) = read_traces(path, graph=f"{FILE}:{graph}")
    assert path.read_bytes() == before
    assert [other.name for other in path.parent.glob(f"{path.name}-*")] == []
    return trace


@pytest.mark.parametrize(
    ("scenario", "graph", "waiting"),
    [
        ("breakpoint_left", "line", ["two"]),
        ("breakpoint_left", "uncompiled", ["two"]),
        ("breakpoint_left", "made", ["two"]),
        ("recursion_limit", "loop", ["again"]),
        ("map_reduce_held", "mapped", ["work"] * 4),
        ("breakpoint_resumed", "line", []),
        ("map_reduce", "mapped", []),
    ],
)
def test_what_the_graph_schedules_and_nothing_recorded_is_a_step(
    recorded: Recordings, tmp_path: Path, scenario: str, graph: str, waiting: list[str]
) -> None:
    trace = read(recorded, scenario, graph)
    assert scheduled(trace) == waiting
    recorded_steps = [step.name for step in recorded.of(VERSION)[scenario].trace.steps]
    assert [s.name for s in trace.steps if s.status_source != "scheduled"] == recorded_steps
    assert trace.status == ("unset" if waiting else "ok")
    assert not (tmp_path / "ran").exists()
    assert trace.attributes["schedule_graph"]


def test_a_waiting_step_hangs_on_what_would_trigger_it(recorded: Recordings) -> None:
    trace = read(recorded, "breakpoint_left", "line")
    *_, one, two = trace.steps
    assert [edge.cause for edge in trace.causes if edge.effect == two.step_id] == [one.step_id]


def test_the_fingerprint_is_of_the_graph(recorded: Recordings) -> None:
    line, again = (read(recorded, "breakpoint_left", "line").attributes for _ in range(2))
    other = read(recorded, "breakpoint_left", "mapped").attributes
    assert line["schedule_graph"] == again["schedule_graph"] != other["schedule_graph"]
    assert "schedule_graph" not in recorded.of(VERSION)["breakpoint_left"].trace.attributes


def test_a_goto_that_is_not_applied_is_disclosed(recorded: Recordings) -> None:
    trace = read(recorded, "goto_killed", "line")
    assert gaps(trace)["langgraph.unapplied_command_goto"] >= 1


def test_packets_to_a_node_that_the_graph_lacks_are_disclosed(recorded: Recordings) -> None:
    trace = read(recorded, "map_reduce_held", "renamed")
    assert scheduled(trace) == []
    assert gaps(trace)["langgraph.unknown_send_target"] == 4


@pytest.mark.parametrize(
    ("graph", "told"),
    [
        (f"{FILE}:nothing_here", "nothing_here"),
        (f"{FILE}:number", "number"),
        (f"{FILE.parent / 'no_such_file.py'}:graph", "no_such_file.py"),
        ("no_such_package.module:graph", "no_such_package"),
        (f"{FILE}", "schedules.py"),
    ],
)
def test_a_graph_that_is_none_is_one_line(recorded: Recordings, graph: str, told: str) -> None:
    with pytest.raises(InputError) as failure:
        read_traces(recorded.of(VERSION)["breakpoint_left"].path, graph=graph)
    assert told in str(failure.value)
    assert "\n" not in str(failure.value)


def test_a_module_that_raises_is_one_line(recorded: Recordings, tmp_path: Path) -> None:
    module = tmp_path / "raises.py"
    module.write_text("raise RuntimeError('no key\\nset')\n")
    with pytest.raises(InputError) as failure:
        read_traces(recorded.of(VERSION)["breakpoint_left"].path, graph=f"{module}:graph")
    assert "no key" in str(failure.value)
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("place", ["package.agent", "package/agent.py"])
def test_a_graph_is_imported_as_python_would_run_it(
    recorded: Recordings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A package is found in the working folder, and a file finds what lies beside it."""
    (tmp_path / "package").mkdir()
    beside = "from package.beside" if place == "package.agent" else "from beside"
    (tmp_path / "package" / "beside.py").write_text(f"from {FILE.stem} import line\n")
    (tmp_path / "package" / "agent.py").write_text(f"{beside} import line as graph\n")
    monkeypatch.chdir(tmp_path)
    for name in ("package", "package.agent", "package.beside", "beside"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    before = list(sys.path)
    (trace,) = read_traces(recorded.of(VERSION)["breakpoint_left"].path, graph=f"{place}:graph")
    assert scheduled(trace) == ["two"]
    assert sys.path == before


def test_a_module_that_ends_python_does_not(recorded: Recordings, tmp_path: Path) -> None:
    module = tmp_path / "ends.py"
    module.write_text("import sys\nsys.exit('no key')\n")
    with pytest.raises(InputError, match=r"cannot be loaded: SystemExit: no key$"):
        read_traces(recorded.of(VERSION)["breakpoint_left"].path, graph=f"{module}:graph")
