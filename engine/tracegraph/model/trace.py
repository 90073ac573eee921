"""Traces and their causes as objects: views over columns, made when someone asks for them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tracegraph.model.codes import EVIDENCE, FIDELITIES, ORIGINS, STATUSES
from tracegraph.model.columns import Columns
from tracegraph.model.step import Step


@dataclass(frozen=True, slots=True)
class CausalEdge:
    """``effect`` was caused by ``cause``; both are step ids of one trace."""

    effect: str
    cause: str
    origin: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Gap:
    """A disclosed loss: a stable code and how often it happened."""

    code: str
    count: int


class Trace:
    """Everything recorded of one execution."""

    __slots__ = ("_columns", "index")

    def __init__(self, columns: Columns, index: int) -> None:
        self._columns = columns
        self.index = index

    def __repr__(self) -> str:
        return f"Trace({self.trace_id!r}, {self.status}, {len(self)} steps)"

    def __len__(self) -> int:
        return int(self._columns.offsets[self.index + 1] - self._columns.offsets[self.index])

    def _text(self, column: str) -> str | None:
        return self._columns.text(getattr(self._columns.traces, column)[self.index])

    def _number(self, column: str) -> int | None:
        value = int(getattr(self._columns.traces, column)[self.index])
        return None if value < 0 else value

    @property
    def columns(self) -> Columns:
        """The columns that hold the trace."""
        return self._columns

    @property
    def rows(self) -> range:
        """The rows of the trace's steps, in seq order."""
        return range(
            int(self._columns.offsets[self.index]), int(self._columns.offsets[self.index + 1])
        )

    @property
    def trace_id(self) -> str:
        """Id as recorded; other sources may hold the same."""
        return self._columns.trace_id[self.index]

    @property
    def source(self) -> str:
        """The adapter that read it."""
        return self._text("source") or ""

    @property
    def file(self) -> str | None:
        """Name of the source file."""
        return self._text("file")

    @property
    def file_digest(self) -> str | None:
        """Digest of the source file."""
        return self._text("file_digest")

    @property
    def run_id(self) -> str | None:
        """Run id as recorded."""
        return self._text("run_id")

    @property
    def session_id(self) -> str | None:
        """Session, thread or conversation id."""
        return self._text("session_id")

    @property
    def agent(self) -> str | None:
        """The agent that the run belongs to."""
        return self._text("agent")

    @property
    def status(self) -> str:
        """Status of the run as a whole."""
        return STATUSES[self._columns.traces.status[self.index]]

    @property
    def fidelity(self) -> str:
        """What kinds of causes the source can hold: full, parent_only or order_only."""
        return FIDELITIES[self._columns.traces.fidelity[self.index]]

    @property
    def cyclic(self) -> bool:
        """Whether the causes hold a cycle."""
        return bool(self._columns.traces.cyclic[self.index])

    @property
    def started(self) -> int | None:
        """Earliest start in ns since the epoch."""
        return self._number("started")

    @property
    def ended(self) -> int | None:
        """Latest end in ns since the epoch."""
        return self._number("ended")

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Disclosed losses, by code."""
        text = self._text("gaps")
        return tuple(Gap(c, n) for c, n in json.loads(text).items()) if text else ()

    @property
    def attributes(self) -> dict[str, Any]:
        """Allowlisted attributes of the run."""
        text = self._text("attributes")
        return dict(json.loads(text)) if text else {}

    @property
    def steps(self) -> Iterator[Step]:
        """The steps in seq order."""
        return (Step(self._columns, row) for row in self.rows)

    @property
    def causes(self) -> Iterator[CausalEdge]:
        """The causal edges, by (effect, cause) in seq order."""
        import numpy as np

        c = self._columns.causes
        rows = self.rows
        low, high = np.searchsorted(c.effect, [rows.start, rows.stop])
        ids = self._columns.step_id
        for i in range(int(low), int(high)):
            yield CausalEdge(
                ids[c.effect[i]], ids[c.cause[i]], ORIGINS[c.origin[i]], EVIDENCE[c.evidence[i]]
            )


def iterate(columns: Columns) -> Iterator[Trace]:
    """Yield a view of every trace."""
    return (Trace(columns, index) for index in range(columns.trace_count))
