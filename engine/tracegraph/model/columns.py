"""Traces as columns: the one shape in which steps are stored, matched and analysed.

A :class:`Columns` holds whole traces; the steps of a trace are contiguous and in ``seq`` order, so
``seq = row - offsets[trace]``. Text columns hold codes into one ``vocabulary`` shared by all text
columns (equal text is equal code, across columns too); -1 is unknown. The field lists below are the
schema: segments, the graph loader and the schema documents are made from them.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def column(dtype: str, doc: str, *, text: bool = False, row: bool = False) -> Any:
    """Declare a column: its numpy dtype, what it means, whether it holds text codes or rows."""
    return dataclasses.field(metadata={"dtype": dtype, "doc": doc, "text": text, "row": row})


@dataclass(slots=True)
class StepColumns:
    """One entry per step. ``row`` columns hold rows of this table, -1 for none."""

    kind: Array = column("int8", "code of KINDS")
    name: Array = column("int32", "tool, agent or node name", text=True)
    status: Array = column("int8", "code of STATUSES")
    status_source: Array = column("int32", "what decided the status", text=True)
    agent: Array = column("int32", "agent that acted", text=True)
    model: Array = column("int32", "model that answered", text=True)
    start: Array = column("int64", "start, ns since the epoch, -1 unknown")
    end: Array = column("int64", "end as recorded, ns since the epoch, -1 unknown")
    duration: Array = column("int64", "ns, -1 unknown (an end before its start gives none)")
    error_type: Array = column("int32", "qualified type of the failure", text=True)
    error_message: Array = column("int32", "text of the failure", text=True)
    tokens_prompt: Array = column("int64", "prompt tokens, -1 unknown")
    tokens_completion: Array = column("int64", "completion tokens, -1 unknown")
    tokens_total: Array = column("int64", "all tokens, -1 unknown")
    cost: Array = column("float64", "cost in its recorded currency, -1 unknown")
    cost_text: Array = column("int32", "the exact decimal", text=True)
    tool_call_id: Array = column("int32", "id that pairs a request with its answer", text=True)
    args: Array = column("int32", "digest of the arguments", text=True)
    result: Array = column("int32", "digest of the result's content", text=True)
    args_size: Array = column("int64", "bytes of the recorded arguments as text, -1 unknown")
    result_size: Array = column("int64", "bytes of the recorded result as text, -1 unknown")
    docs: Array = column("int64", "retrieved documents, -1 unknown")
    signals: Array = column("int32", "bit mask of SIGNALS")
    wrapper: Array = column("bool", "AGENT or CHAIN span that a framework opened for a graph node")
    orphan: Array = column("bool", "a recorded parent is not in the source")
    unknown_fields: Array = column("int32", "fields whose absence proves nothing", text=True)
    lossy: Array = column("bool", "more than one cause: the tree shows one of several")
    parent: Array = column("int32", "row of the tree parent, -1 none", row=True)
    parent_evidence: Array = column("int8", "EVIDENCE of the cause behind the tree edge, 0 none")
    depth: Array = column("int32", "tree ancestors, -1 unknown (a parent is missing)")
    children: Array = column("int32", "tree children")
    pre: Array = column("int32", "preorder number in the derived tree, counted over rows", row=True)
    last: Array = column("int32", "preorder number of the last descendant", row=True)
    scope: Array = column("int32", "row of the nearest ancestor that is no wrapper, -1", row=True)
    o0: Array = column("int64", "order bound: start, or seq where the trace has no time; -1")
    o1: Array = column("int64", "order bound: end if possible, or seq; -1 unknown")


@dataclass(slots=True)
class TraceColumns:
    """One entry per trace."""

    source: Array = column("int32", "adapter", text=True)
    file: Array = column("int32", "name of the source file", text=True)
    file_digest: Array = column("int32", "digest of the source file", text=True)
    run_id: Array = column("int32", "run id as recorded", text=True)
    session_id: Array = column("int32", "session, thread or conversation id", text=True)
    agent: Array = column("int32", "agent the run belongs to", text=True)
    status: Array = column("int8", "code of STATUSES")
    fidelity: Array = column("int8", "code of FIDELITIES")
    contained: Array = column("bool", "a root step contains the run")
    cyclic: Array = column("bool", "CAUSED_BY holds a cycle")
    timed: Array = column("bool", "some step has a usable time")
    started: Array = column("int64", "earliest start, ns since the epoch, -1 unknown")
    ended: Array = column("int64", "latest end, ns since the epoch, -1 unknown")
    gaps: Array = column("int32", "JSON object of gap code to count", text=True)
    attributes: Array = column("int32", "JSON object of allowlisted attributes", text=True)


@dataclass(slots=True)
class CauseColumns:
    """One entry per CAUSED_BY edge, sorted by (effect, cause, origin)."""

    effect: Array = column("int32", "row of the effect", row=True)
    cause: Array = column("int32", "row of the cause", row=True)
    origin: Array = column("int8", "code of ORIGINS")
    evidence: Array = column("int8", "code of EVIDENCE")


@dataclass(slots=True)
class Content:
    """Bodies of steps, present only where content is kept; attributes are JSON objects as text."""

    input: Sequence[str | None]
    output: Sequence[str | None]
    attributes: Sequence[str | None]


@dataclass(slots=True)
class Columns:
    """Whole traces as columns.

    Attributes:
        offsets: shape (traces + 1,): steps of trace ``t`` are rows ``offsets[t]:offsets[t + 1]``.
        trace_id: ids, one per trace; not unique over sources or files.
        step_id: ids, one per step; unique in a trace.
        vocabulary: the text behind text codes.
    """

    offsets: Ints
    trace_id: Sequence[str]
    step_id: Sequence[str]
    vocabulary: Sequence[str]
    traces: TraceColumns
    steps: StepColumns
    causes: CauseColumns
    content: Content | None = None

    @property
    def trace_count(self) -> int:
        """Number of traces."""
        return len(self.offsets) - 1

    @property
    def step_count(self) -> int:
        """Number of steps."""
        return int(self.offsets[-1])

    def trace_of(self, rows: Array) -> Ints:
        """Return the trace index of each row."""
        return np.searchsorted(self.offsets, rows, side="right").astype(np.int64) - 1

    def trace_at(self, row: int) -> int:
        """Return the trace index of one row."""
        return int(self.offsets.searchsorted(row, "right")) - 1

    def text(self, code: int) -> str | None:
        """Return the text behind a code, None for unknown."""
        return None if code < 0 else self.vocabulary[int(code)]


def names(table: type) -> tuple[str, ...]:
    """Return the column names of one of the column classes, in order."""
    return tuple(f.name for f in dataclasses.fields(table))


def is_text(table: type, name: str) -> bool:
    """Tell whether a column holds codes into the vocabulary."""
    return bool(table.__dataclass_fields__[name].metadata["text"])  # type: ignore[attr-defined]


def is_row(table: type, name: str) -> bool:
    """Tell whether a column holds rows of the step table (or preorder numbers over rows)."""
    return bool(table.__dataclass_fields__[name].metadata["row"])  # type: ignore[attr-defined]


def dtype(table: type, name: str) -> np.dtype[Any]:
    """Return the numpy dtype of a column."""
    return np.dtype(table.__dataclass_fields__[name].metadata["dtype"])  # type: ignore[attr-defined]


def doc(table: type, name: str) -> str:
    """Return what a column means."""
    return str(table.__dataclass_fields__[name].metadata["doc"])  # type: ignore[attr-defined]


def expand(low: Ints, counts: Ints) -> Ints:
    """Return the numbers ``low[i], low[i] + 1, ...`` of all ranges, one after the other."""
    total = int(counts.sum())
    if not total:
        return np.zeros(0, dtype=np.int64)
    starts = np.cumsum(counts) - counts
    numbers: Ints = np.arange(total, dtype=np.int64) + np.repeat(low - starts, counts)
    return numbers
