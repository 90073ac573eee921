"""``ingest --sqlite``: a thread of a checkpoint database as a portable artifact."""

import json
import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from checkpoint_files import add_thread, open_checkpoints, write_checkpoints
from cli_runner import Invoke
from shared_data import shared
from trace_view import View, view
from tracegraph.workflows.load import load

TRACE_DB = "examples/langgraph/trace.db"
REAL = "traces/langgraph_sqlite/gen_langgraph1.2_all_scenarios.sqlite"


def _views(path: Path | str) -> dict[str, View]:
    """The traces of a file by their ids, attributes as JSON and not as the text of it."""
    found = {trace.trace_id: view(trace) for trace in load([path], cache=False).traces()}
    for seen in found.values():
        seen["attributes"] = seen["attributes"] and json.loads(seen["attributes"])
    return found


def _artifact(path: Path) -> dict[str, Any]:
    document = json.loads(path.read_text())
    assert isinstance(document, dict)
    return document


def test_the_lines_of_the_seed_work_as_written(invoke: Invoke, folder: Path) -> None:
    shutil.copy(folder / TRACE_DB, "trace.db")
    for thread, steps in (("A", 1), ("B", 0)):
        ran = invoke("ingest", "--sqlite", "trace.db", "--thread", thread, "-o", f"{thread}.json")
        assert (ran.code, ran.out) == (0, "")
        assert ran.err.startswith(f"{thread}.json: trace {thread}, ")
        assert f", {steps} failing" in ran.err
    assert _views("A.json") | _views("B.json") == _views("trace.db")
    failing = [step for step in _artifact(folder / "A.json")["steps"] if step["status"] == "error"]
    assert [step["name"] for step in failing] == ["call_tool"]
    assert failing[0]["error_message"] == "tool failed on input 'boom-please'"
    assert invoke("inspect", "A.json").code == 0


def test_a_thread_names_its_file(invoke: Invoke, folder: Path) -> None:
    write_checkpoints(folder / "a.db", "A", "../B")
    assert invoke("ingest", "--sqlite", "a.db", "--thread", "A").code == 0
    assert list(_views("A.json")) == ["A"]
    before = (folder / "A.json").read_bytes()
    ran = invoke("ingest", "--sqlite", "a.db", "--thread", "A", "--keep", "structure")
    assert ran.code == 2
    assert ran.err == "tracegraph: A.json: is there already; name it with -o to replace it\n"
    assert (folder / "A.json").read_bytes() == before
    assert invoke("ingest", "--sqlite", "a.db", "--thread", "A", "--out", "A.json").code == 0

    ran = invoke("ingest", "--sqlite", "a.db", "--thread", "../B")
    assert ran.code == 0
    (made,) = folder.glob("trace-*.json")
    assert list(_views(made)) == ["../B"]
    assert ran.err.startswith(made.name)


@pytest.mark.parametrize("arguments", [["--thread", "A"], ["--thread", "nosuch"], ["-o", "x.json"]])
def test_a_thread_is_named_by_its_whole_id(
    invoke: Invoke, folder: Path, arguments: list[str]
) -> None:
    write_checkpoints(folder / "a.db", "A1", "A2")
    ran = invoke("ingest", "--sqlite", "a.db", *arguments)
    assert ran.code == 2
    assert ran.err.endswith(": A1, A2\n")
    assert len(ran.err.splitlines()) == 1
    assert not list(folder.glob("*.json"))


@pytest.mark.parametrize("thread", ["a#b", "#", "x/y #1", "zwei\nZeilen", "ü#ü"])
@pytest.mark.parametrize("file", ["a.db", "a#1.db"])
def test_a_thread_with_any_id_is_found(
    invoke: Invoke, folder: Path, thread: str, file: str
) -> None:
    write_checkpoints(folder / file, "other", thread)
    assert invoke("ingest", "--sqlite", file, "--thread", thread, "-o", "x.json").code == 0
    assert list(_views("x.json")) == [thread]
    ran = invoke("inspect", f"{file}#{thread}", "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["trace"]["trace_id"] == thread


def test_a_thread_with_a_blank_id_is_found(invoke: Invoke, folder: Path) -> None:
    write_checkpoints(folder / "a.db", "other", "")
    ran = invoke("ingest", "--sqlite", "a.db", "--thread", "")
    assert (ran.code, ran.err.endswith(": (unnamed), other\n")) == (2, True)
    assert invoke("ingest", "--sqlite", "a.db", "--thread", "(unnamed)", "-o", "x.json").code == 0
    assert list(_views("x.json")) == ["(unnamed)"]


def test_the_only_thread_needs_no_name(invoke: Invoke, folder: Path) -> None:
    write_checkpoints(folder / "a.db", "only")
    assert invoke("ingest", "--sqlite", "a.db", "-o", "x.json").code == 0
    assert list(_views("x.json")) == ["only"]


def test_all_threads_when_none_is_named(invoke: Invoke, folder: Path) -> None:
    write_checkpoints(folder / "a.db", "A", "B")
    ran = invoke("ingest", "--sqlite", "a.db", "--format", "json")
    assert ran.code == 0
    assert json.loads(ran.out)["trace_count"] == 2
    assert invoke("ingest", "--sqlite", "a.db", "--into", "corpus").code == 0
    assert list(_views("corpus")) == ["A", "B"]
    assert invoke("traces", "a.db").out.count("langgraph") == 2
    write = "examples/traces/react_ok.otlp.json"
    ran = invoke("ingest", "--sqlite", write, "--into", "other")
    assert (ran.code, ran.err.count("holds otlp, not langgraph")) == (2, 1)
    assert not (folder / "other").exists()


def test_another_error_channel_is_a_reading_of_its_own(invoke: Invoke, folder: Path) -> None:
    with closing(open_checkpoints(folder / "a.db")) as connection:
        add_thread(connection, "A", ("plan", "act"), error="it broke")
    assert invoke("ingest", "--sqlite", "a.db", "--thread", "A", "-o", "usual.json").code == 0
    channel = ["--error-channel", "failure"]
    ran = invoke("ingest", "--sqlite", "a.db", "--thread", "A", *channel, "-o", "asked.json")
    assert ran.code == 0
    assert " 0 failing" not in ran.err
    assert _artifact(folder / "usual.json") != _artifact(folder / "asked.json")
    assert "it broke" not in (folder / "usual.json").read_text()
    assert "it broke" in (folder / "asked.json").read_text()
    redacted = ["--redact-errors", "-o", "cut.json"]
    assert invoke("ingest", "--sqlite", "a.db", "--thread", "A", *channel, *redacted).code == 0
    assert "it broke" not in (folder / "cut.json").read_text()
    assert _views("a.db")["A"] == _views("usual.json")["A"]
    assert invoke("query", "error", "a.db").code == 1  # the cache holds the usual reading


def test_code_is_run_for_a_graph_alone(invoke: Invoke, folder: Path) -> None:
    write_checkpoints(folder / "a.db", "A")
    (folder / "bomb.py").write_text("open('ran', 'w').close()\ngraph = None\n")
    ran = invoke("ingest", "--sqlite", "a.db", "--thread", "B", "--graph", "bomb.py:graph")
    assert ran.code == 2
    assert "holds no 'B'" in ran.err
    assert not (folder / "ran").exists()
    ran = invoke("ingest", "--sqlite", "a.db", "--thread", "A", "--graph", "bomb.py:graph")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert not (folder / "A.json").exists()
    help_text = " ".join(invoke("ingest", "--help").out.split())
    assert "RUNS CODE" in help_text


def test_the_database_and_its_log_are_never_an_output(invoke: Invoke, folder: Path) -> None:
    path = folder / "a.db"
    with closing(open_checkpoints(path, "A", wal=True)) as connection:
        add_thread(connection, "B")
        os.link(folder / "a.db-wal", folder / "linked")
        (folder / "pointing").symlink_to("a.db-wal")
        for target in ("a.db", "a.db-wal", "a.db-shm", "linked", "pointing"):
            held = (folder / target).read_bytes()
            for command in (["ingest", "--sqlite", "a.db", "--thread", "B"], ["traces", "a.db"]):
                ran = invoke(*command, "-o", target)
                assert ran.code == 2
                assert "is an input" in ran.err
            if target != "a.db-shm":
                assert (folder / target).read_bytes() == held
        assert invoke("ingest", "--sqlite", "a.db", "--thread", "B").code == 0
        assert list(_views("B.json")) == ["B"]


def test_real_threads_survive_their_artifacts(invoke: Invoke, folder: Path) -> None:
    shutil.copyfile(shared(REAL), folder / "real.sqlite")
    whole = _views("real.sqlite")
    assert len(whole) == 29
    for thread, seen in whole.items():
        assert invoke("ingest", "--sqlite", "real.sqlite", "--thread", thread).code == 0
        assert _views(f"{thread}.json") == {thread: seen}
        assert invoke("ingest", f"{thread}.json", "-o", "again.json").code == 0
        assert (folder / "again.json").read_bytes() == (folder / f"{thread}.json").read_bytes()
    assert (folder / "real.sqlite").read_bytes() == shared(REAL).read_bytes()
    assert not list(folder.glob("real.sqlite-*"))
