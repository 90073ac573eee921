"""Rows of agent-lattice, in the order in which its SDK writes them, for tests to arrange."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.agent_lattice.adapter import AgentLatticeAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Row = dict[str, Any]
_START = datetime(2026, 11, 1, 9, tzinfo=UTC)


class Tracer:
    """A tracer object: counts its rows from 1 and stamps them a hundredth of a second apart."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def row(self, run: "Run", kind: str, data: Any) -> Row:
        seq = len(self.rows) + 1
        when = _START + timedelta(milliseconds=10 * seq)
        held = {
            "version": 1,
            "timestamp": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "seq": seq,
            "session_id": run.session,
            "run_id": run.run_id,
            **({} if run.parent is None else {"parent_run_id": run.parent}),
            "source": run.source,
            "type": kind,
            "data": data,
        }
        self.rows.append(held)
        return held


class Run:
    """One run of an agent; every method writes the rows of one event."""

    def __init__(
        self,
        tracer: Tracer,
        run_id: str,
        session: str = "s",
        parent: str | None = None,
        source: Row | None = None,
        tools: tuple[str, ...] = ("search", "read"),
        history: list[Row] | None = None,
    ) -> None:
        self.tracer = tracer
        self.run_id = run_id
        self.session = session
        self.parent = parent
        self.source = source or {"kind": "agent", "name": "worker"}
        self.tools = list(tools)
        self.history: list[Row] = [] if history is None else history

    def write(self, kind: str, **data: Any) -> Row:
        return self.tracer.row(self, kind, data)

    def start(self, prompt: Any, **data: Any) -> "Run":
        self.write("run_start", model="m", tools=self.tools, **data)
        return self.say(prompt)

    def say(self, content: Any) -> "Run":
        message = {"role": "user", "content": content}
        self.history.append(message)
        self.write("user_message", message=message)
        return self

    def request(self, messages: Any = None) -> "Run":
        shown = list(self.history) if messages is None else messages
        self.write("model_request", model="m", messages=shown, tools=self.tools, stream=False)
        return self

    def answer(self, *content: Any, stop: str = "end_turn") -> "Run":
        blocks = [{"type": "text", "text": c} if isinstance(c, str) else c for c in content]
        message = {
            "role": "assistant",
            "content": blocks,
            "usage": {"input_tokens": 10, "output_tokens": 5},
            "stopReason": stop,
            "model": "m-1",
        }
        self.history.append(message)
        self.write("assistant_message", message=message)
        return self

    def think(self, *content: Any) -> "Run":
        return self.request().answer(*content)

    def use(self, call: Row) -> "Run":
        self.write("tool_use", **{key: call[key] for key in ("id", "name", "input")})
        return self

    def returns(self, call_id: str, content: Any = "found", **data: Any) -> "Run":
        self.write(
            "tool_result", tool_use_id=call_id, content=content, **{"is_error": False, **data}
        )
        return self

    def batch(self, *results: Row) -> "Run":
        return self.say(list(results))

    def turn(self, *calls: Row) -> "Run":
        """Ask for calls, run them, and hand their results back."""
        self.think(*calls)
        for call in calls:
            self.use(call)
        for call in calls:
            self.returns(call["id"])
        return self.batch(*(returned(call["id"]) for call in calls))

    def end(self, result: str = "done", subtype: str = "success", **data: Any) -> "Run":
        failed = subtype.startswith("error")
        self.write(
            "result",
            **{"subtype": subtype, "is_error": failed, "result": result, "num_turns": 1, **data},
        )
        return self


def call(call_id: str, name: str = "search", **given: Any) -> Row:
    """Return a block that asks for a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def returned(call_id: str, content: Any = "found", **data: Any) -> Row:
    """Return a block that hands a result back."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **data}


def lines(rows: list[Row]) -> bytes:
    """Return rows as a file."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def read_bytes(
    data: bytes, *, strict: bool = False, keep: bool = True
) -> tuple[list[Trace], dict[str, int]]:
    """Return the traces of a file and its own gaps."""
    source = Source("x.jsonl", data)
    assert AgentLatticeAdapter().sniff(source)
    drafts = list(AgentLatticeAdapter().read([source], ReadOptions(keep, strict)))
    gaps = {code: n for draft in drafts for code, n in draft.file_gaps.items()}
    return [trace for draft in drafts for trace in iterate(seal(draft))], gaps


def read_rows(rows: list[Row], *, strict: bool = False) -> Trace:
    """Return the one trace of rows, of which nothing may be lost outside of it."""
    (trace,), gaps = read_bytes(lines(rows), strict=strict)
    assert gaps == {}
    return trace


def gaps_of(trace: Trace) -> dict[str, int]:
    """Return the gaps of a trace by code."""
    return {gap.code: gap.count for gap in trace.gaps}


def edges(trace: Trace) -> set[tuple[str, str, str]]:
    """Return (cause, effect, origin) of all causes but containment."""
    return {(c.cause, c.effect, c.origin) for c in trace.causes if c.origin != "span_parent"}


def pairs(trace: Trace) -> set[tuple[str, str]]:
    """Return (cause, effect) of all causes but containment."""
    return {(cause, effect) for cause, effect, _ in edges(trace)}
