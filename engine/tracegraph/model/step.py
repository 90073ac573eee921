"""A step as an object: a view over columns, made when someone asks for it."""

import json
from typing import Any

from tracegraph.model.codes import EVIDENCE, KINDS, STATUSES, signal_words
from tracegraph.model.columns import Columns


class Step:
    """One step; every property follows DESIGN section 3, None is unknown."""

    __slots__ = ("_columns", "row")

    def __init__(self, columns: Columns, row: int) -> None:
        self._columns = columns
        self.row = row

    def __repr__(self) -> str:
        return f"Step({self.step_id!r}, {self.kind}, {self.name!r}, {self.status})"

    def _text(self, column: str) -> str | None:
        return self._columns.text(getattr(self._columns.steps, column)[self.row])

    def _number(self, column: str) -> int | None:
        value = int(getattr(self._columns.steps, column)[self.row])
        return None if value < 0 else value

    @property
    def columns(self) -> Columns:
        """The columns that hold the step."""
        return self._columns

    @property
    def step_id(self) -> str:
        """Id, unique in the trace."""
        return self._columns.step_id[self.row]

    @property
    def seq(self) -> int:
        """Place in the trace's total order, from 0."""
        columns = self._columns
        return self.row - int(columns.offsets[columns.trace_at(self.row)])

    @property
    def kind(self) -> str:
        """One of KINDS."""
        return KINDS[self._columns.steps.kind[self.row]]

    @property
    def name(self) -> str | None:
        """Tool, agent or node name."""
        return self._text("name")

    @property
    def status(self) -> str:
        """``ok``, ``error`` or ``unset``."""
        return STATUSES[self._columns.steps.status[self.row]]

    @property
    def status_source(self) -> str | None:
        """What decided the status."""
        return self._text("status_source")

    @property
    def agent(self) -> str | None:
        """The agent that acted."""
        return self._text("agent")

    @property
    def model(self) -> str | None:
        """The model that answered."""
        return self._text("model")

    @property
    def start(self) -> int | None:
        """Start in ns since the epoch."""
        return self._number("start")

    @property
    def end(self) -> int | None:
        """End in ns since the epoch, as recorded."""
        return self._number("end")

    @property
    def duration_ns(self) -> int | None:
        """Duration in ns; None where the end precedes the start."""
        return self._number("duration")

    @property
    def error_type(self) -> str | None:
        """Qualified type of the failure."""
        return self._text("error_type")

    @property
    def error_message(self) -> str | None:
        """Text of the failure."""
        return self._text("error_message")

    @property
    def tokens_prompt(self) -> int | None:
        """Prompt tokens."""
        return self._number("tokens_prompt")

    @property
    def tokens_completion(self) -> int | None:
        """Completion tokens."""
        return self._number("tokens_completion")

    @property
    def tokens_total(self) -> int | None:
        """All tokens."""
        return self._number("tokens_total")

    @property
    def cost(self) -> str | None:
        """Cost as exact decimal text."""
        return self._text("cost_text")

    @property
    def tool_call_id(self) -> str | None:
        """Id that pairs a tool request with its answer."""
        return self._text("tool_call_id")

    @property
    def args_digest(self) -> str | None:
        """Digest of the arguments."""
        return self._text("args")

    @property
    def result_digest(self) -> str | None:
        """Digest of the result's content."""
        return self._text("result")

    @property
    def args_size(self) -> int | None:
        """Bytes of the recorded arguments as text."""
        return self._number("args_size")

    @property
    def result_size(self) -> int | None:
        """Bytes of the recorded result as text."""
        return self._number("result_size")

    @property
    def docs(self) -> int | None:
        """Number of retrieved documents."""
        return self._number("docs")

    @property
    def signals(self) -> tuple[str, ...]:
        """Codes found at ingest."""
        return signal_words(int(self._columns.steps.signals[self.row]))

    @property
    def wrapper(self) -> bool:
        """Whether a framework opened the span for a graph node."""
        return bool(self._columns.steps.wrapper[self.row])

    @property
    def orphan(self) -> bool:
        """Whether a recorded parent is missing."""
        return bool(self._columns.steps.orphan[self.row])

    @property
    def lossy(self) -> bool:
        """Whether the tree shows one of several causes."""
        return bool(self._columns.steps.lossy[self.row])

    @property
    def depth(self) -> int | None:
        """Number of tree ancestors."""
        return self._number("depth")

    @property
    def children(self) -> int:
        """Number of tree children."""
        return int(self._columns.steps.children[self.row])

    @property
    def parent(self) -> "Step | None":
        """The tree parent."""
        row = int(self._columns.steps.parent[self.row])
        return None if row < 0 else Step(self._columns, row)

    @property
    def parent_evidence(self) -> str | None:
        """Evidence of the cause that the tree edge was projected from; None for a root."""
        code = int(self._columns.steps.parent_evidence[self.row])
        return EVIDENCE[code] if code else None

    @property
    def unknown_fields(self) -> tuple[str, ...]:
        """Fields whose absence proves nothing."""
        text = self._text("unknown_fields")
        return tuple(text.split(",")) if text else ()

    @property
    def input(self) -> str | None:
        """Input text, only where content is kept."""
        return self._columns.content.input[self.row] if self._columns.content else None

    @property
    def output(self) -> str | None:
        """Output text, only where content is kept."""
        return self._columns.content.output[self.row] if self._columns.content else None

    @property
    def attributes(self) -> dict[str, Any]:
        """Recorded attributes, only where content is kept."""
        text = self._columns.content.attributes[self.row] if self._columns.content else None
        return dict(json.loads(text)) if text else {}
