"""What follows the matches, tried out from the contract: ``needs`` and the rows of ``having``."""

from collections.abc import Callable
from dataclasses import dataclass

from pattern.oracle import Answer, matches, units
from pattern.oracle_trace import PlainStep, PlainTrace, Value
from tracegraph.model.columns import Columns
from tracegraph.pattern import ast


@dataclass(frozen=True)
class Result:
    """A match (``members`` None) or a row of ``having``, as the contract lists it."""

    trace: int
    certain: bool
    evidence: int
    steps: tuple[tuple[str | None, int | None, int], ...]
    members: tuple[tuple[tuple[str | None, int | None, int], ...], ...] | None
    values: dict[str, Value]


def results(
    pattern: ast.Pattern, columns: Columns
) -> tuple[list[Result], list[tuple[int, tuple[str, ...]]]]:
    """Return the answer in order, and the traces that are not evaluable with what they lack."""
    lacking, unfit = [], set()
    for number, trace in enumerate(units(pattern, columns)):
        states = {need: _state(need, trace) for need in pattern.needs}
        if any(state is not True for state in states.values()):
            unfit.add(number)
        if missing := tuple(need for need, state in states.items() if state is False):
            lacking += [(index, missing) for index in trace.traces]
    found = [answer for answer in matches(pattern, columns) if answer.unit not in unfit]
    if pattern.body.having is None:
        plain_results = [
            Result(a.trace, a.certain, a.evidence, a.steps, None, a.values) for a in found
        ]
        return plain_results, lacking
    return _rows(pattern.body, found), lacking


_CARRIERS: dict[str, tuple[Callable[[PlainStep], bool], tuple[str, ...]]] = {
    "args": (lambda s: s.kind == "TOOL", ("args",)),
    "results": (lambda s: s.kind == "TOOL", ("result",)),
    "tokens": (
        lambda s: s.kind == "LLM",
        ("tokens.prompt", "tokens.completion", "tokens.total"),
    ),
    "models": (lambda s: s.kind == "LLM", ("model",)),
    "docs": (lambda s: s.kind == "RETRIEVER", ("docs",)),
    "agents": (lambda s: s.kind == "AGENT", ("agent",)),
    "tool-call-ids": (lambda s: s.kind in ("LLM", "TOOL"), ("tool_call_id",)),
    "errors": (lambda s: s.fields["status"] == "error", ("error.type", "error.message")),
    "times": (lambda s: True, ("start", "end")),
}


def _state(need: str, trace: PlainTrace) -> bool | None:
    """True where some step carries it, False where steps could and none does, else None."""
    could, fields = _CARRIERS[need]
    carriers = [step for step in trace.steps if could(step)]
    if not carriers:
        return None
    return any(step.fields[field] is not None for step in carriers for field in fields)


def _rows(body: ast.Body, found: list[Answer]) -> list[Result]:
    assert body.having is not None
    minimum = body.having.minimum
    groups = {(a.unit, a.by) for a in found if None not in a.by}
    rows: list[tuple[list[Answer], bool, tuple[Value, ...]]] = []
    for unit, by in groups:
        could = [a for a in found if a.unit == unit and _joins(a.by, by)]
        sure = [a for a in could if a.certain and a.by == by]
        if body.within is None:
            if len(sure) >= minimum:
                rows.append((sure, True, by))
            elif len(could) >= minimum:
                rows.append((could, False, by))
            continue
        length = body.within.ns or 0
        timed = [a for a in sure if a.start is not None]
        confirmed = _windows(timed, [], minimum, length)
        rows += [(members, True, by) for members in confirmed]
        taken = [member for members in confirmed for member in members]
        timeless = [a for a in could if a.start is None]
        timed = [a for a in could if a.start is not None]
        for members in _windows(timed, timeless, minimum, length):
            if not any(member in taken for member in members):
                rows.append((members, False, by))
    place = {id(a): number for number, a in enumerate(found)}
    first: dict[tuple[int, tuple[Value, ...]], int] = {}
    for number, answer in enumerate(found):
        first.setdefault((answer.unit, answer.by), number)
    # Rows of one match that could join either stand in the order of their values' first matches.
    rows.sort(key=lambda row: ([place[id(a)] for a in row[0]], first[row[0][0].unit, row[2]]))
    fields = list(body.having.by)
    return [
        Result(
            members[0].trace,
            certain,
            max(a.evidence for a in members),
            (),
            tuple(a.steps for a in members),
            {item.label: by[_place(fields, item.operand)] for item in body.returns},
        )
        for members, certain, by in rows
    ]


def _place(fields: list[ast.Field | ast.Of], operand: ast.Operand) -> int:
    return next(i for i, field in enumerate(fields) if field == operand)


def _joins(values: tuple[Value, ...], by: tuple[Value, ...]) -> bool:
    return all(value is None or value == wanted for value, wanted in zip(values, by, strict=True))


def _windows(
    timed: list[Answer], timeless: list[Answer], minimum: int, length: int
) -> list[list[Answer]]:
    """Return the windows with enough matches; those that share a member are one."""
    windows = []
    for first in timed:
        inside = [a for a in timed if 0 <= _start(a) - _start(first) <= length]
        if len(inside) + len(timeless) >= minimum:
            windows.append(inside + timeless)
    if not windows and len(timeless) >= minimum:
        windows.append(list(timeless))
    united: list[list[Answer]] = []
    for window in windows:
        apart = [other for other in united if not any(a in other for a in window)]
        shared = [other for other in united if other not in apart]
        whole = {id(a): a for members in (window, *shared) for a in members}
        united = [*apart, list(whole.values())]
    return [sorted(members, key=lambda a: a.places) for members in united]


def _start(answer: Answer) -> int:
    assert answer.start is not None
    return answer.start
