"""Nodes that no checkpoint of their own thread names, in databases of releases without paths."""

import uuid
from pathlib import Path

import pytest
from xxhash import xxh3_128_hexdigest

from langgraph_files import Database, causes, gaps, key, read

_FAILED = [("__error__", "ValueError('no')")]


def _task_id(number: int, node: str, trigger: str) -> str:
    """Return the id that langgraph 0.2.76 gives to the task that ran from a checkpoint."""
    parts = f"{node}{number + 1}{node}__pregel_pull{trigger}"
    digest = xxh3_128_hexdigest(bytes.fromhex(key(number).replace("-", "")) + parts.encode())
    return str(uuid.UUID(digest))


def _fails(database: Database, thread: str = "bad") -> None:
    """Write a thread whose second node fails: nothing but its task's id tells which that is."""
    start = _task_id(1, "first", "start:first")
    database.checkpoint(
        1, values={"start:first": 1}, versions={"start:first": 1}, thread=thread, version=2
    )
    database.task(1, start, [("first", "first")], thread=thread, path="")
    database.checkpoint(
        2,
        1,
        values={"first": "first"},
        versions={"start:first": 2, "first": 2},
        seen={"first": {"start:first": 1}},
        thread=thread,
        version=2,
    )
    database.task(2, _task_id(2, "second", "first"), _FAILED, thread=thread, path="")


def _names(database: Database, node: str, thread: str = "good", namespace: str = "") -> None:
    """Write a thread that ran a node."""
    seen = {node: {"first": 2}}
    versions = {"first": 2}
    database.checkpoint(
        3, versions=versions, seen=seen, thread=thread, version=2, namespace=namespace
    )


@pytest.mark.parametrize("only", [None, frozenset({"bad"})])
def test_another_thread_names_the_node_that_failed(
    only: frozenset[str] | None, tmp_path: Path
) -> None:
    with Database(tmp_path / "a.db") as database:
        _fails(database)
        _names(database, "second")
    trace = next(trace for trace in read(database.path, only=only) if trace.trace_id == "bad")
    assert [(s.name, s.status) for s in trace.steps] == [("first", "ok"), ("second", "error")]
    assert causes(trace) == {("second", "first", "checkpoint_write", "declared")}
    assert "unnamed_task" not in gaps(trace)


@pytest.mark.parametrize(
    ("node", "namespace"), [("other", ""), ("second", "sub:6c788c45-ba78-157b-6bd3-465b3b6b8e9b")]
)
def test_a_name_of_another_graph_is_not_borrowed(node: str, namespace: str, tmp_path: Path) -> None:
    with Database(tmp_path / "a.db") as database:
        _fails(database)
        _names(database, node, namespace=namespace)
    (trace, _) = read(database.path)
    assert [step.name for step in trace.steps] == ["first", None]
    assert gaps(trace)["unnamed_task"] == 1


def test_other_threads_do_not_tell_whether_this_one_has_ended(tmp_path: Path) -> None:
    """Another graph may go on where this one ends."""
    with Database(tmp_path / "a.db") as database:
        _fails(database)
        database.execute("DELETE FROM writes WHERE checkpoint_id = ?", (key(2),))
        _names(database, "second")
    (trace, _) = read(database.path)
    assert [step.name for step in trace.steps] == ["first"]
    assert "unfinished_run" not in gaps(trace)


def test_a_newer_task_that_stays_unnamed_is_not_added_under_its_name(tmp_path: Path) -> None:
    """The next checkpoint says that a node ran: it may be the one whose task nothing names."""
    with Database(tmp_path / "a.db") as database:
        database.checkpoint(1, values={"branch:to:a": None}, versions={"branch:to:a": 1})
        database.task(1, "some-id", [("text", "x")], path="")
        seen = {"a": {"branch:to:a": 1}}
        database.checkpoint(2, 1, versions={"branch:to:a": 1, "text": 2}, seen=seen)
    (trace,) = read(database.path)
    assert [step.step_id for step in trace.steps] == ["some-id"]
    assert gaps(trace)["unnamed_task"] == 1
