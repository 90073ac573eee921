"""Databases of LangGraph checkpoints, written by hand: for what no run of LangGraph writes."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import ormsgpack

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.langgraph.adapter import LanggraphAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace, iterate

CHECKPOINTS = (
    "CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', "
    "checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, "
    "metadata BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))"
)
WRITES = (
    "CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', "
    "checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL, task_path TEXT NOT NULL DEFAULT '', "
    "idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB, "
    "PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx))"
)
MODULE = {"AIMessage": "ai", "ToolMessage": "tool", "HumanMessage": "human"}


def ext(code: int, *parts: Any) -> ormsgpack.Ext:
    """Return an object as LangGraph's msgpack writes it."""
    return ormsgpack.Ext(code, pack(list(parts)))


def message(name: str, /, **fields: Any) -> ormsgpack.Ext:
    """Return a message of LangChain."""
    return ext(5, f"langchain_core.messages.{MODULE[name]}", name, fields, "model_validate_json")


def model(key: str, content: str = "", *calls: tuple[str, str, Any]) -> ormsgpack.Ext:
    """Return what a model said; calls are (id, tool, arguments)."""
    asked = [{"id": call, "name": name, "args": args} for call, name, args in calls]
    return message("AIMessage", id=f"lc_run--{key}", content=content, tool_calls=asked)


def tool(call: str, content: Any, key: str | None = None, **fields: Any) -> ormsgpack.Ext:
    """Return the result of a tool."""
    return message("ToolMessage", id=key, tool_call_id=call, content=content, **fields)


def send(node: str, argument: Any) -> ormsgpack.Ext:
    """Return a packet."""
    return ext(1, "langgraph.types", "Send", [node, argument])


def pack(value: Any) -> bytes:
    """Return a value as msgpack."""
    return ormsgpack.packb(value, option=ormsgpack.OPT_NON_STR_KEYS)


def key(number: int) -> str:
    """Return a checkpoint id; ids ascend with their number."""
    return f"{number:08x}-0000-6000-8000-000000000000"


class Database:
    """A database that is being written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute(CHECKPOINTS)
        self._connection.execute(WRITES)
        self._connection.execute("BEGIN")

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: object) -> None:
        self.execute("COMMIT")
        self._connection.close()

    def execute(self, statement: str, values: Iterable[Any] = ()) -> None:
        """Run a statement."""
        self._connection.execute(statement, tuple(values))

    def checkpoint(
        self,
        number: int,
        parent: int | None = None,
        *,
        thread: Any = "t",
        namespace: str = "",
        values: Mapping[str, Any] | None = None,
        versions: Mapping[str, Any] | None = None,
        seen: Mapping[str, Any] | None = None,
        source: str = "loop",
        step: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        version: int = 4,
    ) -> None:
        """Add a checkpoint."""
        state = {
            "v": version,
            "ts": f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}+00:00",
            "id": key(number),
            "channel_values": dict(values or {}),
            "channel_versions": dict(versions or {}),
            "versions_seen": dict(seen or {}),
        }
        said = {"source": source, "step": number if step is None else step, "parents": {}}
        self.execute(
            "INSERT INTO checkpoints VALUES (?, ?, ?, ?, 'msgpack', ?, ?)",
            (
                thread,
                namespace,
                key(number),
                None if parent is None else key(parent),
                pack(state),
                json.dumps({**said, **(metadata or {})}).encode(),
            ),
        )

    def task(
        self,
        number: int,
        task: str,
        writes: Iterable[tuple[str, Any]],
        *,
        thread: Any = "t",
        namespace: str = "",
        path: str | None = None,
    ) -> None:
        """Add the writes of a task; without a path it is that of the node ``task``."""
        special = {"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4}
        for index, (channel, value) in enumerate(writes):
            kind, data = ("null", b"") if value is None else ("msgpack", pack(value))
            self.execute(
                "INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    thread,
                    namespace,
                    key(number),
                    task,
                    f"~__pregel_pull, {task}" if path is None else path,
                    special.get(channel, index),
                    channel,
                    kind,
                    data,
                ),
            )


def read(path: Path, **options: Any) -> list[Trace]:
    """Read a database."""
    source = Source.open(path, path.name)
    return [
        trace
        for draft in LanggraphAdapter().read([source], ReadOptions(**options))
        for trace in iterate(seal(draft))
    ]


def read_one(path: Path, **options: Any) -> Trace:
    """Read the only thread of a database."""
    (trace,) = read(path, **options)
    return trace


def gaps(trace: Trace) -> dict[str, int]:
    """Return the gaps of a trace without the area, and without the one that every trace has."""
    found = {gap.code.removeprefix("langgraph."): gap.count for gap in trace.gaps}
    assert found.pop("last_attempts_only") == 1
    return found


def by_name(trace: Trace) -> dict[str | None, Step]:
    """Return the steps by name; of several of one name the last."""
    return {step.name: step for step in trace.steps}


def causes(trace: Trace) -> set[tuple[str | None, str | None, str, str]]:
    """Return the edges as (effect, cause, origin, evidence), by name."""
    names = {step.step_id: step.name for step in trace.steps}
    return {(names[e.effect], names[e.cause], e.origin, e.evidence) for e in trace.causes}


def rows(path: Path, query: str) -> Iterator[tuple[Any, ...]]:
    """Yield what SQL says of a database, whatever the reader says."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        yield from connection.execute(query)
