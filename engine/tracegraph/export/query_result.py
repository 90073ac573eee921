"""Where a pattern matches: the result of a query and its forms (contract ``query-result``)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tracegraph.export.table import Report, Table
from tracegraph.export.text import counted, gaps_text
from tracegraph.export.traces import gap_items
from tracegraph.model.step import Step

Certainty = Literal["confirmed", "possible"]


@dataclass(frozen=True, slots=True)
class MatchedStep:
    """The step at one position of a match.

    Attributes:
        var: name of the position, None where the pattern gives none.
        run_index: place in the run, from 0; None for a position that is no run.
        trace_id: label of the step's trace.
        step: the step.
    """

    var: str | None
    run_index: int | None
    trace_id: str
    step: Step


@dataclass(frozen=True, slots=True)
class Match:
    """One match, or one row of ``having``.

    Attributes:
        trace_id: label of the trace of its first step.
        certainty: ``confirmed``, or ``possible`` where it depends on what was not recorded.
        evidence: weakest evidence over its edges, None where the pattern has none.
        steps: steps in the order of the positions; empty in a row of ``having``.
        members: the matches that a row of ``having`` counts; None for a match.
        values: returned values by label, None is unknown.
    """

    trace_id: str
    certainty: Certainty
    evidence: str | None
    steps: tuple[MatchedStep, ...]
    members: tuple[tuple[MatchedStep, ...], ...] | None
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The answer to one pattern; counts are totals whatever ``limit`` leaves in ``matches``.

    Attributes:
        pattern_id: id of the pattern.
        pattern_version: its version.
        pattern_digest: digest of its normal form.
        confidence: ``exact`` or ``heuristic``.
        labels: labels of the returned values.
        backend: ``cypher`` or ``matcher``.
        reason: why that one.
        traces_scanned: number of traces that were asked.
        steps_scanned: number of their steps.
        trace_count: traces with a confirmed match; None when only existence was asked.
        match_count: confirmed matches, likewise.
        possible_count: possible matches, likewise.
        limit: bound on listed matches that was asked for.
        matches: the listed matches, made as they are read, as often as they are read.
        not_evaluable: label of a trace -> what the pattern needs and the trace lacks.
        gaps: code of a disclosed loss -> how often.
        found: whether there is a confirmed match.
    """

    pattern_id: str
    pattern_version: int
    pattern_digest: str
    confidence: str
    labels: tuple[str, ...]
    backend: str
    reason: str
    traces_scanned: int
    steps_scanned: int
    trace_count: int | None
    match_count: int | None
    possible_count: int | None
    limit: int | None
    matches: Iterable[Match] = field(repr=False)
    found: bool
    not_evaluable: Mapping[str, Sequence[str]] = field(default_factory=dict)
    gaps: Mapping[str, int] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Match]:
        return iter(self.matches)


def query_report(result: QueryResult) -> Report:
    """Report a query's result."""

    def members() -> dict[str, Any]:
        return {
            "pattern": {
                "id": result.pattern_id,
                "version": result.pattern_version,
                "digest": result.pattern_digest,
                "confidence": result.confidence,
            },
            "plan": {"backend": result.backend, "reason": result.reason},
            "traces_scanned": result.traces_scanned,
            "trace_count": result.trace_count,
            "match_count": result.match_count,
            "possible_count": result.possible_count,
            "limit": result.limit,
            "matches": map(_item, result),
            "not_evaluable": [
                {"trace_id": trace, "needs": list(needs)}
                for trace, needs in result.not_evaluable.items()
            ],
            "gaps": gap_items(result.gaps),
        }

    def table() -> Table:
        columns = ("trace", "certainty", "evidence", "steps", *result.labels)
        return Table(columns, (_row(match, result.labels) for match in result))

    return Report("query-result", 1, members, lambda: map(_item, result), table)


def summary(result: QueryResult) -> str:
    """Say in one line what was found, in how much, and what was lost on the way."""
    scanned = f"{counted(result.traces_scanned, 'trace')} ({counted(result.steps_scanned, 'step')})"
    if result.match_count is None:
        text = f"{'a' if result.found else 'no'} confirmed match in {scanned}, not counted"
    else:
        text = f"{counted(result.match_count, 'confirmed match', 'es')}"
        text += f" in {f'{result.trace_count} of ' if result.match_count else ''}{scanned}"
    if result.possible_count:
        text += f"; {counted(result.possible_count, 'possible match', 'es')}"
    if result.not_evaluable:
        lacking = sorted({need for needs in result.not_evaluable.values() for need in needs})
        text += f"; {counted(len(result.not_evaluable), 'trace')} not evaluable"
        text += f" (no {', '.join(lacking)} recorded)"
    return text + gaps_text(result.gaps)


def _item(match: Match) -> dict[str, Any]:
    item: dict[str, Any] = {
        "trace_id": match.trace_id,
        "certainty": match.certainty,
        "evidence": match.evidence,
        "steps": [_step_item(step) for step in match.steps],
        "values": match.values,
    }
    if match.members is not None:
        item["members"] = [[_step_item(step) for step in member] for member in match.members]
    return item


def _step_item(matched: MatchedStep) -> dict[str, Any]:
    step = matched.step
    return {
        "var": matched.var,
        "run_index": matched.run_index,
        "trace_id": matched.trace_id,
        "step_id": step.step_id,
        "seq": step.seq,
        "kind": step.kind,
        "name": step.name,
        "status": step.status,
    }


def _row(match: Match, labels: Sequence[str]) -> Sequence[Any]:
    trace, members = match.trace_id, match.members
    steps = _steps(match.steps, trace) if members is None else _members(members, trace)
    values = (match.values.get(label) for label in labels)
    return (match.trace_id, match.certainty, match.evidence, steps, *values)


def _members(members: Sequence[Sequence[MatchedStep]], trace: str) -> str:
    """Name the first and the last match of a row and count those between them."""
    ends = " .. ".join(_steps(m, trace) for m in (members[0], members[-1])[: len(members)])
    return f"{ends} ({len(members)} matches)"


def _steps(steps: Sequence[MatchedStep], trace: str) -> str:
    """Write ``var=name(KIND,status)@id`` for each position; a run by its ends and its length.

    A step of another trace than the one that the match is listed under carries ``#trace``.
    """
    shown: list[str] = []
    index = 0
    while index < len(steps):
        end = index + 1
        while end < len(steps) and steps[end].run_index and steps[index].run_index == 0:
            end += 1
        shown.append(_position(steps[index:end], trace))
        index = end
    return " ".join(shown)


def _position(members: Sequence[MatchedStep], trace: str) -> str:
    first, last = members[0], members[-1]
    step = first.step
    var = f"{first.var}=" if first.var else ""
    text = f"{var}{step.name or ''}({step.kind},{step.status})@{_place(first, trace)}"
    return text if last is first else f"{text}..{_place(last, trace)} (run of {len(members)})"


def _place(matched: MatchedStep, trace: str) -> str:
    elsewhere = "" if matched.trace_id == trace else f"#{matched.trace_id}"
    return matched.step.step_id + elsewhere
