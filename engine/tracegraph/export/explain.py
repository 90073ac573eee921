"""The causes of one step, backward to every root: document, lines of text, drawings."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from tracegraph.analysis.explain import CUT, NO_CAUSE, NOT_HERE, Explanation, Link, Reached
from tracegraph.export.drawing import Arrow
from tracegraph.export.table import Report, Table
from tracegraph.export.text import counted, visible
from tracegraph.export.traces import gap_items
from tracegraph.export.tree import failure
from tracegraph.model.codes import EVIDENCE, ORIGINS
from tracegraph.model.step import Step

_ENDS = {
    NO_CAUSE: "nothing recorded caused it",
    NOT_HERE: "cause not in this export",
    CUT: "its causes were not asked for",
}
_COLUMNS = ("distance", "step_id", "kind", "name", "status", "caused_by", "end")


def explain_report(
    label: str, explanation: Explanation, depth: int | None, evidence: str | None
) -> Report:
    """Report what led to a step; a local answer, with names and error text as recorded."""
    items = partial(map, partial(_item, explanation, explanation.effects), explanation.steps)

    def members() -> dict[str, Any]:
        trace = explanation.trace
        return {
            "trace_id": trace.trace_id,
            "label": label,
            "fidelity": trace.fidelity,
            "step_id": _step(explanation, explanation.steps[0]).step_id,
            "depth": depth,
            "evidence": evidence,
            "steps": items(),
            "roots": [
                {"step_id": _step(explanation, reached).step_id, "end": reached.end}
                for reached in explanation.steps
                if reached.end is not None
            ],
            "edges_beyond_depth": explanation.beyond_depth,
            "edges_of_weaker_evidence": explanation.too_weak,
            "gaps": gap_items({gap.code: gap.count for gap in trace.gaps}),
        }

    def table() -> Table:
        return Table(_COLUMNS, (_row(explanation, reached) for reached in explanation.steps))

    return Report("explain", 1, members, items, table)


def explain_lines(label: str, explanation: Explanation) -> Iterator[str]:
    """Yield the steps, nearest first, each with all its causes below it and how they are known."""
    trace = explanation.trace
    yield visible(f"{label} ({trace.source}, {trace.status}, {trace.fidelity})") + "\n"
    effects = explanation.effects
    numbers = {reached.row: number for number, reached in enumerate(explanation.steps)}
    for number, reached in enumerate(explanation.steps):
        yield f"{number:>4} {_title(explanation, reached, effects)}\n"
        for link in reached.links:
            yield f"       <- {_cause(explanation, link, numbers)}\n"
        if reached.end is not None:
            yield f"       -- {_ENDS[reached.end]}\n"
    yield _summary(explanation) + "\n"


def arrows(explanation: Explanation) -> Iterator[Arrow]:
    """Yield an arrow for each cause, between steps that were reached."""
    for reached in explanation.steps:
        for link in reached.links:
            yield Arrow(link.cause, reached.row, _known(link))


def steps(explanation: Explanation) -> Iterator[Step]:
    """Yield the steps that were reached."""
    return (_step(explanation, reached) for reached in explanation.steps)


def _step(explanation: Explanation, reached: Reached) -> Step:
    return Step(explanation.trace.columns, reached.row)


def _title(explanation: Explanation, reached: Reached, effects: Mapping[int, int]) -> str:
    step = _step(explanation, reached)
    parts = [step.kind, step.name or "(no name)", step.status]
    parts += [failure(step)] if step.error_type or step.error_message else []
    parts.append(f"@{step.step_id}")
    causes = len({link.cause for link in reached.links})
    notes = [f"join of {causes}"] if causes > 1 else []
    notes += [f"branches to {effects[reached.row]}"] if effects.get(reached.row, 0) > 1 else []
    return visible(" ".join([*parts, *([f"[{', '.join(notes)}]"] if notes else [])]))


def _cause(explanation: Explanation, link: Link, numbers: Mapping[int, int]) -> str:
    step = Step(explanation.trace.columns, link.cause)
    back = ", closes a cycle" if link.backward else ""
    text = f"{numbers[link.cause]} {step.kind} {step.name or '(no name)'} [{_known(link)}{back}]"
    return visible(text)


def _known(link: Link) -> str:
    return f"{EVIDENCE[link.evidence]}: {ORIGINS[link.origin]}"


def _summary(explanation: Explanation) -> str:
    ends = [reached.end for reached in explanation.steps]
    parts = [
        counted(len(explanation.steps) - 1, "step") + " led to it",
        *(f"{ends.count(end)} where {text}" for end, text in _ENDS.items() if end in ends),
    ]
    if explanation.beyond_depth:
        parts.append(f"{counted(explanation.beyond_depth, 'edge')} beyond --depth")
    if explanation.too_weak:
        parts.append(f"{counted(explanation.too_weak, 'edge')} of weaker evidence left out")
    if explanation.trace.fidelity != "full":
        parts.append(f"{explanation.trace.fidelity}: causes may be missing from this export")
    parts += [f"{gap.code} {gap.count}" for gap in explanation.trace.gaps]
    return ", ".join(parts)


def _item(explanation: Explanation, effects: Mapping[int, int], reached: Reached) -> dict[str, Any]:
    step = _step(explanation, reached)
    ids = explanation.trace.columns.step_id
    return {
        "distance": reached.distance,
        "step_id": step.step_id,
        "seq": step.seq,
        "kind": step.kind,
        "name": step.name,
        "status": step.status,
        "error_type": step.error_type,
        "error_message": step.error_message,
        "effects": effects.get(reached.row, 0),
        "causes": [
            {
                "step_id": ids[link.cause],
                "origin": ORIGINS[link.origin],
                "evidence": EVIDENCE[link.evidence],
                "closes_cycle": link.backward,
            }
            for link in reached.links
        ],
        "end": reached.end,
    }


def _row(explanation: Explanation, reached: Reached) -> Sequence[Any]:
    step = _step(explanation, reached)
    ids = explanation.trace.columns.step_id
    causes = " ".join(f"{ids[link.cause]}({_known(link)})" for link in reached.links)
    end = _ENDS[reached.end] if reached.end else None
    return (reached.distance, step.step_id, step.kind, step.name, step.status, causes, end)
