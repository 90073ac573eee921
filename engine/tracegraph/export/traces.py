"""Traces, sessions of them, and one trace as a whole: ``traces``, ``sessions``, ``inspect``."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracegraph.export.document import milliseconds, timestamp
from tracegraph.export.drawing import Arrow
from tracegraph.export.table import Report, Table
from tracegraph.model.codes import EVIDENCE, ORIGINS
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace

_COLUMNS = ("trace", "source", "status", "fidelity", "steps", "errors", "started_at", "file")
_SESSION_COLUMNS = (
    "session",
    "source",
    "status",
    "traces",
    "steps",
    "errors",
    "started_at",
    "first_trace",
)
_ALWAYS = ("step_id", "seq", "kind", "name", "status", "depth", "parent", "parent_evidence")
"""Columns of a step table that stay when no step has a value; others without any are left out."""


@dataclass(frozen=True, slots=True)
class ListedTrace:
    """A trace, what people call it, and its number of failing steps.

    Attributes:
        trace: the trace, or the run that the traces of a session make together.
        label: what people call it, and write behind ``#``.
        error_count: failing steps.
        parts: the traces that a session's run was made of, all in the same columns.
        rows: for each step of such a run, by seq, its row in those.
    """

    trace: Trace
    label: str
    error_count: int
    parts: Sequence[Trace] = ()
    rows: Sequence[int] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files that it was read from."""
        files = dict.fromkeys(part.file for part in self.parts or (self.trace,))
        return tuple(file for file in files if file is not None)


@dataclass(frozen=True, slots=True)
class ListedSession:
    """The traces of one session by start, unknown starts last; or one that names no session."""

    session_id: str | None
    traces: Sequence[ListedTrace]

    @property
    def status(self) -> str | None:
        """Status of the last trace; None where nobody knows which one that is."""
        is_known = len(self.traces) == 1 or self.traces[-1].trace.started is not None
        return self.traces[-1].trace.status if is_known else None


@dataclass(frozen=True, slots=True)
class SessionTotals:
    """Numbers of sessions with an id and of traces without, whatever is listed."""

    sessions: int
    alone: int


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over all traces of an input, whatever is listed."""

    traces: int
    steps: int
    errors: int


def gap_items(gaps: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return disclosed losses, sorted by code."""
    return [{"code": code, "count": gaps[code]} for code in sorted(gaps)]


def traces_report(
    listed: Callable[[], Iterable[ListedTrace]],
    totals: Totals,
    gaps: Mapping[str, int],
    limit: int | None,
) -> Report:
    """Report the traces of an input; ``listed`` starts a pass over those that are listed."""

    def members() -> dict[str, Any]:
        return {
            "trace_count": totals.traces,
            "step_count": totals.steps,
            "error_count": totals.errors,
            "limit": limit,
            "traces": map(_trace_item, listed()),
            "gaps": gap_items(gaps),
        }

    return Report(
        "traces",
        1,
        members,
        lambda: map(_trace_item, listed()),
        lambda: Table(_COLUMNS, map(_trace_row, listed())),
    )


def sessions_report(
    listed: Callable[[], Iterable[ListedSession]],
    found: SessionTotals,
    totals: Totals,
    gaps: Mapping[str, int],
    limit: int | None,
) -> Report:
    """Report the sessions of an input; ``listed`` starts a pass over those that are listed."""

    def members() -> dict[str, Any]:
        return {
            "session_count": found.sessions,
            "alone_count": found.alone,
            "trace_count": totals.traces,
            "step_count": totals.steps,
            "error_count": totals.errors,
            "limit": limit,
            "sessions": map(_session_item, listed()),
            "gaps": gap_items(gaps),
        }

    return Report(
        "sessions",
        1,
        members,
        lambda: map(_session_item, listed()),
        lambda: Table(_SESSION_COLUMNS, map(_session_row, listed())),
    )


def inspect_report(listed: ListedTrace) -> Report:
    """Report one trace with all its steps and causes."""
    trace = listed.trace

    def members() -> dict[str, Any]:
        causes = (
            {"effect": e.effect, "cause": e.cause, "origin": e.origin, "evidence": e.evidence}
            for e in trace.causes
        )
        return {
            "trace": _trace_item(listed),
            "steps": map(_step_item, trace.steps),
            "causes": causes,
        }

    def table() -> Table:
        items = [_step_item(step) for step in trace.steps]
        names = items[0] if items else _ALWAYS
        told = [n for n in names if n in _ALWAYS or any(item[n] for item in items)]
        return Table(told, ([item[name] for name in told] for item in items))

    return Report("inspect", 1, members, lambda: map(_step_item, trace.steps), table)


def arrows(trace: Trace) -> Iterator[Arrow]:
    """Yield an arrow for each cause of a trace."""
    causes = trace.columns.causes
    low, high = causes.effect.searchsorted([trace.rows.start, trace.rows.stop]).tolist()
    columns = (causes.effect, causes.cause, causes.origin, causes.evidence)
    for effect, cause, origin, evidence in zip(
        *(c[low:high].tolist() for c in columns), strict=True
    ):
        yield Arrow(cause, effect, f"{EVIDENCE[evidence]}: {ORIGINS[origin]}")


def _trace_item(listed: ListedTrace) -> dict[str, Any]:
    trace = listed.trace
    return {
        "trace_id": trace.trace_id,
        "label": listed.label,
        "source": trace.source,
        "file": trace.file,
        "file_digest": trace.file_digest,
        "run_id": trace.run_id,
        "session_id": trace.session_id,
        "agent": trace.agent,
        "status": trace.status,
        "fidelity": trace.fidelity,
        "started_at": timestamp(trace.started),
        "ended_at": timestamp(trace.ended),
        "step_count": len(trace),
        "error_count": listed.error_count,
        "cyclic": trace.cyclic,
        "gaps": [{"code": gap.code, "count": gap.count} for gap in trace.gaps],
    }


def _trace_row(listed: ListedTrace) -> Sequence[Any]:
    trace = listed.trace
    return (
        listed.label,
        trace.source,
        trace.status,
        trace.fidelity,
        len(trace),
        listed.error_count,
        timestamp(trace.started),
        trace.file,
    )


def _session_item(session: ListedSession) -> dict[str, Any]:
    traces = [listed.trace for listed in session.traces]
    return {
        "session_id": session.session_id,
        "source": traces[0].source,
        "status": session.status,
        "started_at": _first_start(session),
        "ended_at": timestamp(max((t.ended for t in traces if t.ended is not None), default=None)),
        "trace_count": len(traces),
        "step_count": sum(map(len, traces)),
        "error_count": sum(listed.error_count for listed in session.traces),
        "traces": [_trace_item(listed) for listed in session.traces],
    }


def _session_row(session: ListedSession) -> Sequence[Any]:
    first = session.traces[0]
    return (
        session.session_id,
        first.trace.source,
        session.status,
        len(session.traces),
        sum(len(listed.trace) for listed in session.traces),
        sum(listed.error_count for listed in session.traces),
        _first_start(session),
        first.label,
    )


def _first_start(session: ListedSession) -> str | None:
    return timestamp(session.traces[0].trace.started)  # those without a start are last


def _step_item(step: Step) -> dict[str, Any]:
    parent = step.parent
    return {
        "step_id": step.step_id,
        "seq": step.seq,
        "kind": step.kind,
        "name": step.name,
        "status": step.status,
        "status_source": step.status_source,
        "agent": step.agent,
        "model": step.model,
        "started_at": timestamp(step.start),
        "ended_at": timestamp(step.end),
        "duration_ms": milliseconds(step.duration_ns),
        "error_type": step.error_type,
        "error_message": step.error_message,
        "tokens_prompt": step.tokens_prompt,
        "tokens_completion": step.tokens_completion,
        "tokens_total": step.tokens_total,
        "cost": step.cost,
        "tool_call_id": step.tool_call_id,
        "args_digest": step.args_digest,
        "result_digest": step.result_digest,
        "args_size": step.args_size,
        "result_size": step.result_size,
        "docs": step.docs,
        "signals": list(step.signals),
        "wrapper": step.wrapper,
        "orphan": step.orphan,
        "lossy": step.lossy,
        "depth": step.depth,
        "children": step.children,
        "parent": parent.step_id if parent else None,
        "parent_evidence": step.parent_evidence,
        "unknown_fields": list(step.unknown_fields),
        "input": step.input,
        "output": step.output,
        "attributes": step.attributes if step.columns.content else None,
    }
