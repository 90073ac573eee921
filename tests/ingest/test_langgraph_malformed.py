"""Databases that no run of LangGraph writes: each fault costs its record and is disclosed."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langgraph_files import (
    WRITES,
    Database,
    by_name,
    causes,
    gaps,
    key,
    model,
    pack,
    read,
    read_one,
    send,
    tool,
)
from shared_data import ROOT
from tracegraph.errors import InputError, StrictError, UnknownFormatError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.langgraph.adapter import LanggraphAdapter
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source

_TABLES = {
    "checkpoints": "thread_id checkpoint_ns checkpoint_id parent_checkpoint_id type checkpoint "
    "metadata",
    "writes": "thread_id checkpoint_ns checkpoint_id task_id task_path idx channel type value",
}
_NEEDED = {
    ("checkpoints", "thread_id"),
    ("checkpoints", "checkpoint_id"),
    ("checkpoints", "checkpoint"),
    ("writes", "thread_id"),
    ("writes", "checkpoint_id"),
    ("writes", "task_id"),
    ("writes", "channel"),
}


def _react(database: Database, thread: Any = "t") -> None:
    """Write an agent that asks for a tool and answers."""
    asked = model("1", "", ("c1", "weather", {"city": "Oslo"}))
    said = tool("c1", "rain", "m2", name="weather", status="success")
    database.checkpoint(
        0,
        values={"__start__": 1},
        versions={"__start__": 1},
        source="input",
        step=-1,
        thread=thread,
    )
    database.task(0, "__start__", [("branch:to:agent", None)], thread=thread)
    database.checkpoint(
        1, 0, values={"branch:to:agent": None}, versions={"branch:to:agent": 2}, thread=thread
    )
    database.task(1, "agent", [("messages", [asked]), ("branch:to:tools", None)], thread=thread)
    database.checkpoint(
        2,
        1,
        values={"messages": [asked], "branch:to:tools": None},
        versions={"branch:to:agent": 3, "branch:to:tools": 3},
        thread=thread,
    )
    database.task(2, "tools", [("messages", [said]), ("branch:to:agent", None)], thread=thread)
    database.checkpoint(
        3,
        2,
        values={"messages": [asked, said], "branch:to:agent": None},
        versions={"branch:to:agent": 4, "branch:to:tools": 4},
        thread=thread,
    )
    database.task(3, "again", [("messages", [model("2", "it rains")])], thread=thread)


def _file(tmp_path: Path, fill: Callable[[Database], None] = _react) -> Path:
    path = tmp_path / "a.db"
    with Database(path) as database:
        fill(database)
    return path


def test_the_whole_of_it(tmp_path: Path) -> None:
    trace = read_one(_file(tmp_path))
    assert [(s.kind, s.name, s.status) for s in trace.steps] == [
        ("CHAIN", "__start__", "ok"),
        ("LLM", "agent", "ok"),
        ("CHAIN", "tools", "ok"),
        ("TOOL", "weather", "ok"),
        ("LLM", "again", "ok"),
    ]
    # Ids that were made up prove no trigger, but each step has one task before it.
    assert causes(trace) == {
        ("agent", "__start__", "checkpoint_parent", "declared"),
        ("tools", "agent", "checkpoint_parent", "declared"),
        ("weather", "tools", "span_parent", "containment"),
        ("weather", "agent", "tool_call_id", "declared"),
        ("again", "tools", "checkpoint_parent", "declared"),
        ("again", "weather", "tool_call_id", "derived"),
    }


@pytest.mark.parametrize(
    ("table", "column"), [(t, c) for t, columns in _TABLES.items() for c in columns.split()]
)
def test_a_column_that_is_not_there(table: str, column: str, tmp_path: Path) -> None:
    path = _file(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        rest = ", ".join(name for name in _TABLES[table].split() if name != column)
        connection.execute(f"CREATE TABLE other AS SELECT {rest} FROM {table}")
        connection.execute(f"DROP TABLE {table}")
        connection.execute(f"ALTER TABLE other RENAME TO {table}")
    source = Source.open(path, path.name)
    if (table, column) in _NEEDED:
        with pytest.raises(UnknownFormatError):
            detect(source)
        with pytest.raises(InputError, match=r"^a\.db: no database of LangGraph checkpoints"):
            list(LanggraphAdapter().read([source], ReadOptions()))
        return
    assert detect(source).name == "langgraph"
    trace = read_one(path)
    if (table, column) == ("writes", "value"):
        assert len(trace) == 4  # without values there is no message of a tool
    elif column != "type":
        assert len(trace) == 5
    else:
        assert gaps(trace)["undecodable_blob"] > 0  # msgpack that nothing says is msgpack


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE checkpoints SET checkpoint = NULL",
        "UPDATE checkpoints SET checkpoint = 'text'",
        "UPDATE checkpoints SET checkpoint = 17",
        "UPDATE checkpoints SET checkpoint = x'c0'",
        "UPDATE checkpoints SET checkpoint = x'81a17681a17601'",
        "UPDATE checkpoints SET checkpoint = substr(checkpoint, 1, length(checkpoint) - 3)",
        "UPDATE checkpoints SET metadata = NULL",
        "UPDATE checkpoints SET metadata = '[]'",
        "UPDATE checkpoints SET metadata = x'ff00'",
        'UPDATE checkpoints SET metadata = \'{"step": "one", "parents": 3, "source": 1}\'',
        "UPDATE checkpoints SET type = 'pickle'",
        "UPDATE checkpoints SET type = 17",
        "UPDATE checkpoints SET parent_checkpoint_id = 17",
        "UPDATE checkpoints SET parent_checkpoint_id = ''",
        "UPDATE checkpoints SET parent_checkpoint_id = checkpoint_id",
        "UPDATE checkpoints SET checkpoint_ns = 'a:b|7|c|'",
        "UPDATE checkpoints SET checkpoint_ns = '|||'",
        "UPDATE writes SET value = NULL",
        "UPDATE writes SET value = 3.5",
        "UPDATE writes SET type = 'pickle'",
        "UPDATE writes SET task_path = 17",
        "UPDATE writes SET task_path = '~__pregel_push, 0000000007, 0000000000'",
        "UPDATE writes SET task_path = '~__pregel_push, ~~, 1, 1'",
        "UPDATE writes SET task_id = ''",
        "UPDATE writes SET task_id = '', checkpoint_id = '' WHERE rowid = 1",
        "UPDATE writes SET task_id = x'ff'",
        "UPDATE writes SET channel = ''",
        "UPDATE writes SET channel = '__pregel_tasks'",
        "UPDATE writes SET channel = 'join::'",
        "UPDATE writes SET channel = '__error__'",
        "UPDATE writes SET idx = -idx - 5",
        "UPDATE writes SET checkpoint_ns = 'elsewhere:x'",
        "DELETE FROM writes",
        "DELETE FROM checkpoints",
        "DELETE FROM checkpoints WHERE checkpoint_id LIKE '00000001%'",
    ],
)
def test_wrong_values_are_survived(statement: str, tmp_path: Path) -> None:
    path = _file(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)
    before = path.read_bytes()
    for trace in read(path, keep_content=True):
        assert len({step.step_id for step in trace.steps if step.step_id}) == len(trace)
    assert path.read_bytes() == before


def test_ids_that_are_no_text(tmp_path: Path) -> None:
    def fill(database: Database) -> None:
        database.execute("DROP TABLE writes")
        database.execute(WRITES.replace("thread_id TEXT", "thread_id"))
        database.execute("DROP TABLE checkpoints")
        database.execute(
            "CREATE TABLE checkpoints (thread_id, checkpoint_ns, checkpoint_id, "
            "parent_checkpoint_id, type, checkpoint, metadata)"
        )
        for thread in (7, "7", b"7\xff"):
            _react(database, thread)

    traces = read(_file(tmp_path, fill))
    assert [trace.trace_id for trace in traces] == ["7", "7~2", "7\ufffd"]
    assert [len(trace) for trace in traces] == [5, 5, 5]


def test_a_parent_that_is_not_there(tmp_path: Path) -> None:
    path = _file(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM checkpoints WHERE checkpoint_id = ?", (key(1),))
        connection.execute("DELETE FROM writes WHERE checkpoint_id = ?", (key(1),))
    trace = read_one(path)
    assert gaps(trace)["missing_parent"] == 1
    assert {s.name for s in trace.steps if s.orphan} == {"tools"}
    assert ("weather", "tools", "span_parent", "containment") in causes(trace)


def test_writes_without_a_checkpoint_are_steps(tmp_path: Path) -> None:
    path = _file(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM checkpoints")
    trace = read_one(path)
    assert gaps(trace) == {"orphan_writes": 4}
    assert [s.name for s in trace.steps if s.kind != "TOOL"] == [
        "__start__",
        "agent",
        "tools",
        "again",
    ]
    assert all(s.orphan for s in trace.steps if s.kind != "TOOL")


@pytest.mark.parametrize("amounts", [(1, 5), (1, 1)])
def test_calls_of_one_id_that_were_sent_one_by_one(
    amounts: tuple[int, int], tmp_path: Path
) -> None:
    """Each task was handed its call, whatever the ids say."""
    calls = [("c", "add", {"a": amount}) for amount in amounts]
    asked = model("1", "", *calls)

    def fill(database: Database) -> None:
        database.checkpoint(1, values={"branch:to:agent": None}, versions={"branch:to:agent": 1})
        database.task(1, "agent", [("messages", [asked])])
        packets = [send("add", {"id": i, "name": n, "args": a, "type": "t"}) for i, n, a in calls]
        database.checkpoint(2, 1, values={"messages": [asked], "__pregel_tasks": packets})
        for index, amount in enumerate(amounts):
            path = f"~__pregel_push, {index:010}, 0000000000"
            database.task(2, f"task-{index}", [("messages", [tool("c", str(amount))])], path=path)

    trace = read_one(_file(tmp_path, fill), keep_content=True)
    steps = [step for step in trace.steps if step.kind == "TOOL"]
    assert len({step.args_digest for step in steps}) == len(set(amounts))
    assert [step.output for step in steps] == [str(amount) for amount in amounts]
    assert [step.signals for step in trace.steps if step.kind == "LLM"] == [()]
    asks = [e for e in trace.causes if e.origin == "tool_call_id"]
    assert {e.effect for e in asks} == {step.step_id for step in steps}


def test_checkpoints_that_come_from_each_other(tmp_path: Path) -> None:
    path = _file(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "UPDATE checkpoints SET parent_checkpoint_id = ? WHERE checkpoint_id = ?",
            (key(3), key(0)),
        )
    trace = read_one(path)
    assert gaps(trace)["parent_cycle"] == 1
    assert len(trace) == 5
    assert not trace.cyclic


def test_an_empty_database(tmp_path: Path) -> None:
    path = _file(tmp_path, lambda database: None)
    assert detect(Source.open(path, "a.db")).name == "langgraph"
    assert read(path) == []


def test_a_blob_over_the_limit_is_not_loaded(tmp_path: Path) -> None:
    def fill(database: Database) -> None:
        _react(database)
        database.execute(
            "UPDATE writes SET value = zeroblob(100000000) WHERE task_id = 'tools' AND idx = 0"
        )

    path = _file(tmp_path, fill)
    source = Source.open(path, path.name, limit=1_000_000)
    (draft,) = LanggraphAdapter().read([source], ReadOptions())
    assert draft.traces.gaps[0]["langgraph.undecodable_blob"] == 1
    assert draft.steps.name == ["__start__", "agent", "tools", "again"]


def test_strictness_refuses_a_loss_and_no_fact(tmp_path: Path) -> None:
    path = _file(tmp_path)
    assert len(read_one(path, strict=True)) == 5
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE writes SET type = 'pickle' WHERE task_id = 'agent'")
    with pytest.raises(StrictError, match=r"^a\.db: table writes, row \d+: serialised as 'pickle'"):
        read_one(path, strict=True)


def test_no_other_format_is_taken_for_it() -> None:
    files = [p for p in (ROOT / "tests" / "fixtures").rglob("*") if p.is_file()]
    assert len(files) > 10
    adapter = LanggraphAdapter()
    taken = [p for p in files if adapter.sniff(Source.open(p, p.name))]
    assert [p for p in taken if "langgraph" not in str(p.relative_to(ROOT))] == []


def test_ten_thousand_tasks_of_one_step(tmp_path: Path) -> None:
    count = 10_000
    packets = [send("work", {"i": i}) for i in range(count)]

    def fill(database: Database) -> None:
        database.checkpoint(0, values={"branch:to:plan": None}, versions={"branch:to:plan": 1})
        database.task(0, "plan", [("__pregel_tasks", packet) for packet in packets])
        database.checkpoint(
            1, 0, values={"__pregel_tasks": packets}, versions={"__pregel_tasks": 2}
        )
        for i in range(count):
            path = f"~__pregel_push, {i:010}, 0000000000"
            database.task(1, f"w{i}", [("out", [i])], path=path)

    trace = read_one(_file(tmp_path, fill))
    assert len(trace) == count + 1
    assert causes(trace) == {("work", "plan", "checkpoint_write", "declared")}
    assert sum(1 for _ in trace.causes) == count


def test_five_thousand_steps(tmp_path: Path) -> None:
    def fill(database: Database) -> None:
        for i in range(5_000):
            database.checkpoint(i, i - 1 if i else None, versions={"branch:to:a": i})
            database.task(i, "a", [("messages", [model(str(i), "so")])])

    trace = read_one(_file(tmp_path, fill))
    assert len(trace) == 5_000
    assert sum(1 for _ in trace.causes) == 4_999


def test_five_hundred_graphs_within_each_other(tmp_path: Path) -> None:
    def fill(database: Database) -> None:
        namespace = ""
        for i in range(500):
            outer = namespace.rpartition("|")[0]
            database.checkpoint(
                i,
                namespace=namespace,
                source="input",
                metadata={"parents": {outer: key(i - 1)} if i else {}},
            )
            database.task(i, "a", [("__error__", "ValueError('x')")], namespace=namespace)
            namespace = f"{namespace}|a:a" if namespace else "a:a"

    trace = read_one(_file(tmp_path, fill))
    assert len(trace) == 500
    assert [s.status for s in trace.steps] == ["unset"] * 499 + ["error"]
    assert trace.status == "error"


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "v ts id channel_values channel_versions versions_seen pending_sends messages type "
                "content tool_calls tool_call_id __start__ branch:to:agent join:a+b:c".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(_VALUES, min_size=4, max_size=4), st.lists(_VALUES, min_size=4, max_size=4))
def test_random_states_and_values(tmp_path: Path, states: list[Any], values: list[Any]) -> None:
    path = tmp_path / "random.db"
    path.unlink(missing_ok=True)
    with Database(path) as database:
        _react(database)
        for number, (state, value) in enumerate(zip(states, values, strict=True)):
            database.execute(
                "UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?",
                (pack(state), key(number)),
            )
            database.execute(
                "UPDATE writes SET value = ?, type = 'msgpack' WHERE checkpoint_id = ? AND idx = 0",
                (pack(value), key(number)),
            )
    trace = read_one(path, keep_content=True)
    assert len(trace) >= 4


def test_an_error_channel(tmp_path: Path) -> None:
    def fill(database: Database) -> None:
        database.checkpoint(0, values={"error": None}, versions={"a": 1})
        database.task(0, "breaks", [("error", "disk full")])
        database.checkpoint(1, 0, values={"error": "disk full"}, versions={"a": 2})
        database.task(1, "rewrites", [("error", "disk full")])
        database.checkpoint(2, 1, values={"error": "disk full"}, versions={"a": 3})
        database.task(2, "clears", [("error", None)])
        database.checkpoint(3, 2, values={"error": None}, versions={"a": 4})
        database.task(3, "breaks_again", [("error", {"code": 7})])
        database.checkpoint(4, 3, versions={"a": 5})

    path = _file(tmp_path, fill)
    steps = by_name(read_one(path))
    found = {n: (s.status, s.status_source, s.error_message) for n, s in steps.items()}
    assert found == {
        "breaks": ("error", "error_channel", "disk full"),
        "rewrites": ("ok", "recorded", None),
        "clears": ("ok", "recorded", None),
        "breaks_again": ("error", "error_channel", '{"code":7}'),
    }
    assert gaps(read_one(path))["rewritten_error_channel"] == 1
    other = read_one(path, error_channel="failure")
    assert {s.status for s in other.steps} == {"ok"}
    assert "rewritten_error_channel" not in gaps(other)


@pytest.mark.parametrize(
    ("writes", "status", "source", "signals"),
    [
        ([("__error__", "ValueError('no')")], "error", "recorded", ()),
        ([("__error__", "CancelledError()")], "unset", "cancelled", ()),
        ([("__interrupt__", [1])], "unset", "control_flow", ("interrupt",)),
        ([("__interrupt__", [1]), ("__resume__", [2])], "unset", "control_flow", ("interrupt",)),
        ([("__interrupt__", [1]), ("__error__", "ValueError('no')")], "error", "recorded", ()),
        (
            [("__error__", "ValueError('no')"), ("__interrupt__", [1])],
            "unset",
            "control_flow",
            ("interrupt",),
        ),
        ([("__interrupt__", [1]), ("__resume__", [2]), ("x", 1)], "ok", "recorded", ()),
        ([("__scheduled__", 1)], "unset", "scheduled", ()),
        ([("__no_writes__", None)], "ok", "recorded", ()),
        ([("x", 1)], "ok", "recorded", ()),
        ([("x", 1), ("__error__", "ValueError('no')")], "error", "recorded", ()),
    ],
)
def test_how_a_task_ended(
    writes: list[tuple[str, Any]],
    status: str,
    source: str,
    signals: tuple[str, ...],
    tmp_path: Path,
) -> None:
    def fill(database: Database) -> None:
        database.checkpoint(0, versions={"a": 1}, source="input")
        database.task(0, "node", writes)

    trace = read_one(_file(tmp_path, fill))
    (step,) = trace.steps
    assert (step.status, step.status_source, step.signals) == (status, source, signals)
    # Nothing was made of the step, so the run did not go on, whatever the task says.
    assert trace.status == ("error" if status == "error" else "unset")
    channels = [channel for channel, _ in writes]
    is_undecided = "__resume__" in channels and status == "unset"
    assert ("undecided_interrupt" in gaps(trace)) == is_undecided


@pytest.mark.parametrize(
    ("recorded", "error_type", "message"),
    [
        ("TimeoutError('after 30 s')", "TimeoutError", "after 30 s"),
        ('KeyError("it\'s")', "KeyError", "it's"),
        ("MyError(1, 'two')", "MyError", "1, 'two'"),
        ("MyError()", "MyError", None),
        ("acme.queue.GraphInterrupt('full')", "acme.queue.GraphInterrupt", "full"),
        ("Wrapped(ValueError('x'))", "Wrapped", "ValueError('x')"),
        ("<SomeError at 0x7f>", None, "<SomeError at 0x7f>"),
        ("text\nof two lines", None, "text\nof two lines"),
        (17, None, "17"),
        (None, None, None),
    ],
)
def test_what_a_failure_says(
    recorded: Any, error_type: str | None, message: str | None, tmp_path: Path
) -> None:
    def fill(database: Database) -> None:
        database.checkpoint(0, versions={"a": 1}, source="input")
        database.task(0, "node", [("__error__", recorded)])

    (step,) = read_one(_file(tmp_path, fill)).steps
    assert (step.status, step.error_type, step.error_message) == ("error", error_type, message)


def test_a_bare_name_of_control_flow_stays_a_failure(tmp_path: Path) -> None:
    def fill(database: Database) -> None:
        database.checkpoint(0, versions={"a": 1}, source="input")
        database.task(0, "node", [("__error__", "GraphInterrupt('queue is full')")])

    trace = read_one(_file(tmp_path, fill))
    assert [step.status for step in trace.steps] == ["error"]
    assert gaps(trace)["unqualified_control_flow"] == 1
