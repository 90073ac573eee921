"""A trace as plain objects, for the oracle: nothing derived is taken from the columns but seq.

What follows from the tree (depth, scope, descendants) and from the times is worked out again here,
from the words of the contract.
"""

from dataclasses import dataclass, field
from typing import Any

from tracegraph.model.codes import FIDELITIES, KINDS, SIGNALS, STATUSES
from tracegraph.model.columns import Columns

Value = Any  # None is unknown


@dataclass(eq=False)
class PlainStep:
    """A step; ``seq`` is its place in what is read as one trace, the field is that in its own."""

    row: int
    seq: int
    trace: int
    trace_fields: dict[str, Value]
    kind: str
    fields: dict[str, Value]
    wrapper: bool
    orphan: bool
    parent: "PlainStep | None" = None
    parent_evidence: int = 0

    def ancestors(self) -> list["PlainStep"]:
        """Nearest first."""
        found, above = [], self.parent
        while above is not None:
            found.append(above)
            above = above.parent
        return found

    def scope(self) -> "PlainStep | None":
        return next((above for above in self.ancestors() if not above.wrapper), None)

    def depth(self) -> int | None:
        chain = [self, *self.ancestors()]
        return None if self.orphan or chain[-1].orphan else len(chain) - 1


@dataclass
class PlainTrace:
    """What is read as one trace: a trace, or in session scope the traces of one session."""

    traces: list[int]
    session: tuple[str | None, str | None] | None
    """Session id and source; no two traces of a test have one id."""
    steps: list[PlainStep]
    edges: list[tuple[PlainStep, PlainStep, int]] = field(default_factory=list)
    """(cause, effect, evidence)"""

    def timed(self) -> bool:
        return any(s.fields["start"] is not None or s.fields["end"] is not None for s in self.steps)


_TEXTS = {
    "name": "name",
    "status_source": "status_source",
    "agent": "agent",
    "model": "model",
    "error.type": "error_type",
    "error.message": "error_message",
    "tool_call_id": "tool_call_id",
    "args": "args",
    "result": "result",
}
_COUNTS = {
    "start": "start",
    "duration": "duration",
    "tokens.prompt": "tokens_prompt",
    "tokens.completion": "tokens_completion",
    "tokens.total": "tokens_total",
    "docs": "docs",
    "cost": "cost",
}


def plain(columns: Columns) -> list[PlainTrace]:
    steps = columns.steps
    lists = {name: getattr(steps, name).tolist() for name in steps.__dataclass_fields__}
    traces = []
    for index in range(columns.trace_count):
        low, high = int(columns.offsets[index]), int(columns.offsets[index + 1])
        about = _trace_fields(columns, index)
        rows = [_step(columns, lists, row, low, index, about) for row in range(low, high)]
        for step in rows:
            above = lists["parent"][step.row]
            if above >= 0:
                step.parent = rows[above - low]
                step.parent_evidence = lists["parent_evidence"][step.row]
        for step in rows:
            step.fields["depth"] = step.depth()
            step.fields["children"] = sum(other.parent is step for other in rows)
        traces.append(PlainTrace([index], _session(columns, index), rows))
    by_row = {step.row: (trace, step) for trace in traces for step in trace.steps}
    edges = columns.causes
    for effect, cause, evidence in zip(
        edges.effect.tolist(), edges.cause.tolist(), edges.evidence.tolist(), strict=True
    ):
        trace, step = by_row[cause]
        trace.edges.append((step, by_row[effect][1], evidence))
    return traces


def _session(columns: Columns, index: int) -> tuple[str | None, str | None] | None:
    t = columns.traces
    session = columns.text(int(t.session_id[index]))
    return None if session is None else (session, columns.text(int(t.source[index])))


def in_sessions(traces: list[PlainTrace]) -> list[PlainTrace]:
    """Read the traces of each known session as one, ordered by start."""
    sessions: dict[Any, list[PlainTrace]] = {}
    for number, trace in enumerate(traces):
        sessions.setdefault(number if trace.session is None else trace.session, []).append(trace)
    return [_joined(sorted(members, key=_start)) for members in sessions.values()]


def _start(trace: PlainTrace) -> tuple[bool, int]:
    """Known starts first."""
    starts = [s.fields["start"] for s in trace.steps if s.fields["start"] is not None]
    return (not starts, min(starts, default=0))


def _joined(members: list[PlainTrace]) -> PlainTrace:
    whole = PlainTrace([], members[0].session, [])
    for trace in members:
        for step in trace.steps:
            step.seq = len(whole.steps)
            whole.steps.append(step)
        whole.traces += trace.traces
        whole.edges += trace.edges
    return whole


def _step(
    columns: Columns,
    lists: dict[str, list[Any]],
    row: int,
    first: int,
    trace: int,
    about: dict[str, Value],
) -> PlainStep:
    values: dict[str, Value] = {
        word: columns.text(lists[column][row]) for word, column in _TEXTS.items()
    }
    for word, column in _COUNTS.items():
        number = lists[column][row]
        values[word] = None if number < 0 else number
    start, end = lists["start"][row], lists["end"][row]
    values["end"] = None if end < 0 or end < start else end
    values["kind"] = KINDS[lists["kind"][row]]
    values["status"] = STATUSES[lists["status"][row]]
    values["lossy"] = lists["lossy"][row]
    values["seq"] = row - first
    values["id"] = columns.step_id[row]
    mask = lists["signals"][row]
    values["signals"] = {name for bit, name in enumerate(SIGNALS) if mask >> bit & 1}
    return PlainStep(
        row,
        row - first,
        trace,
        about,
        values["kind"],
        values,
        lists["wrapper"][row],
        lists["orphan"][row],
    )


def _trace_fields(columns: Columns, index: int) -> dict[str, Value]:
    t = columns.traces
    return {
        "source": columns.text(int(t.source[index])),
        "status": STATUSES[int(t.status[index])],
        "fidelity": FIDELITIES[int(t.fidelity[index])],
        "agent": columns.text(int(t.agent[index])),
        "session_id": columns.text(int(t.session_id[index])),
        "run_id": columns.text(int(t.run_id[index])),
    }
