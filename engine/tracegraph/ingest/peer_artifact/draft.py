"""From a decoded artifact of agent-tracegraph to a draft, in bulk."""

import json
from typing import Any

from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import decimal_text, nanosecond_column
from tracegraph.ingest.peer_artifact.records import Edge, Evidence, Header, PeerArtifact, Step
from tracegraph.ingest.source import Source
from tracegraph.ingest.times import UNREADABLE, parse_times
from tracegraph.model.codes import (
    FIDELITY_CODE,
    HEURISTIC,
    KIND_CODE,
    ORIGIN_CODE,
    SIGNAL_BIT,
    STATUS_CODE,
    UNKNOWN,
    evidence_of,
)
from tracegraph.model.draft import Draft

_FIDELITY = {
    "declared_dag": FIDELITY_CODE["full"],
    "parent_only": FIDELITY_CODE["parent_only"],
    "legacy_unknown": FIDELITY_CODE["order_only"],
}
_ORIGIN = {
    "checkpoint_parent": "checkpoint_parent",
    "checkpoint_subgraph_return": "subgraph_return",
    "graph_parent": "graph_parent",
    "graph_parent_heuristic": "graph_parent",
    "span_link": "span_link",
    "span_parent_fallback": "span_parent",
    "legacy_unknown": "legacy_unknown",
    None: "legacy_unknown",
}
_ORIGIN_CODES = {theirs: ORIGIN_CODE[ours] for theirs, ours in _ORIGIN.items()}
_EVIDENCE = {
    theirs: HEURISTIC if theirs == "graph_parent_heuristic" else evidence_of(ours)
    for theirs, ours in _ORIGIN.items()
}
_NO_EVIDENCE = Evidence()
_INTERRUPT = SIGNAL_BIT["interrupt"]
_CHECKPOINTS = "langgraph"  # the source_kind of runs that no root contains


def add_trace(draft: Draft, record: PeerArtifact, source: Source, losses: Losses) -> None:
    """Append the artifact's trace to the draft, under the source that it names."""
    header, steps = record.trace.trace, record.trace.steps
    checkpoints = header.source_kind == _CHECKPOINTS
    # Without threads of its own, a source is given its trace id as thread id.
    is_thread = checkpoints or header.thread_id != header.trace_id
    first = len(draft.steps.step_id)
    rows = {step.step_id: first + i for i, step in enumerate(steps)}
    if len(rows) != len(steps):
        steps = _distinct(steps, losses)
        rows = {step.step_id: first + i for i, step in enumerate(steps)}
    draft.begin(
        header.trace_id,
        source=header.source_kind,
        file=source.name,
        file_digest=source.digest,
        run_id=header.run_id,
        session_id=header.thread_id if is_thread else None,
        fidelity=_FIDELITY[header.causal_fidelity],
        contained=not checkpoints,
        attributes=_attributes(header, steps),
        gaps=_gaps(header),
    )
    _add_steps(draft, steps, losses)
    _add_causes(draft, record.trace.edges, rows, losses)
    draft.traces.gaps[-1].update(losses.counts)


def _gaps(header: Header) -> dict[str, int]:
    """Return what the adapter behind the artifact disclosed, or that nobody wrote it down."""
    if header.capture is None:
        return {"peer_artifact.unrecorded_gaps": 1}
    return {gap.code: gap.count for gap in header.capture.gaps}


def _distinct(steps: list[Step], losses: Losses) -> list[Step]:
    """Keep, of steps with one id, the one that ends last (the first of equals)."""
    chosen: dict[str, tuple[int, Step]] = {}
    ends = parse_times([(step.evidence or _NO_EVIDENCE).end_ts for step in steps])
    for step, end in zip(steps, ends, strict=True):
        known = chosen.get(step.step_id)
        if known is not None:
            losses.add("peer_artifact.duplicate_step", f"step {step.step_id!r} is there twice")
        if known is None or end > known[0]:
            chosen[step.step_id] = (end, step)
    return [step for _, step in chosen.values()]


def _add_steps(draft: Draft, steps: list[Step], losses: Losses) -> None:
    into, count = draft.steps, len(steps)
    evidence = [step.evidence or _NO_EVIDENCE for step in steps]
    first = len(into.step_id)
    nothing: list[str | None] = [None] * count
    into.step_id += [s.step_id for s in steps]
    into.kind += [KIND_CODE[s.kind] for s in steps]
    into.name += [s.name for s in steps]
    into.status += [STATUS_CODE[s.status] for s in steps]
    into.status_source += nothing
    into.agent += nothing
    into.model += nothing
    times = _times([s.ts for s in steps] + [e.end_ts for e in evidence], losses)
    into.start += times[:count]
    into.end += times[count:]
    into.duration += nanosecond_column([e.duration_ms for e in evidence])
    into.error_type += nothing
    into.error_message += [s.error_msg for s in steps]
    into.tokens_prompt += [
        UNKNOWN if e.prompt_tokens is None else e.prompt_tokens for e in evidence
    ]
    into.tokens_completion += [
        UNKNOWN if e.completion_tokens is None else e.completion_tokens for e in evidence
    ]
    into.tokens_total += [UNKNOWN if e.total_tokens is None else e.total_tokens for e in evidence]
    into.cost += [None if e.total_cost is None else _cost(e.total_cost, losses) for e in evidence]
    into.tool_call_id += nothing
    into.args += nothing
    into.result += nothing
    into.args_size += [UNKNOWN] * count
    into.result_size += [UNKNOWN] * count
    into.docs += [UNKNOWN] * count
    into.signals += [_INTERRUPT if s.source == "interrupt" else 0 for s in steps]
    into.wrapper += [False] * count
    into.orphan += [False] * count
    into.unknown_fields += nothing
    if draft.keep_content:
        into.input += nothing
        into.output += nothing
        into.attributes += [_step_attributes(s) for s in steps]
    for row, step in enumerate(steps, first):
        if step.unknown_fields:
            _forget_substitutes(draft, row, step.unknown_fields)


def _forget_substitutes(draft: Draft, row: int, fields: tuple[str, ...]) -> None:
    """Make unknown what the adapter that wrote the artifact had put in the place of a value."""
    into = draft.steps
    for field in fields:
        if field == "kind":
            into.kind[row] = KIND_CODE["UNKNOWN"]
        elif field == "name":
            into.name[row] = None
        elif field == "error_msg":
            into.error_message[row] = None
    ours = {"error_message" if field == "error_msg" else field for field in fields}
    into.unknown_fields[row] = ",".join(sorted(ours))


def _add_causes(draft: Draft, edges: list[Edge], rows: dict[str, int], losses: Losses) -> None:
    causes = [edge for edge in edges if edge.type == "CAUSED_BY"]
    try:
        effect, cause = [rows[e.src] for e in causes], [rows[e.dst] for e in causes]
    except KeyError:
        causes = _attached(draft, causes, rows, losses)
        effect, cause = [rows[e.src] for e in causes], [rows[e.dst] for e in causes]
    draft.effect += effect
    draft.cause += cause
    draft.origin += [_ORIGIN_CODES[e.origin] for e in causes]
    draft.evidence += [_EVIDENCE[e.origin] for e in causes]


def _attached(draft: Draft, causes: list[Edge], rows: dict[str, int], losses: Losses) -> list[Edge]:
    """Return the edges between known steps; an effect without its cause is an orphan."""
    attached: list[Edge] = []
    for edge in causes:
        if edge.src in rows and edge.dst in rows:
            attached.append(edge)
            continue
        missing = edge.dst if edge.src in rows else edge.src
        losses.add("peer_artifact.dangling_cause", f"an edge names step {missing!r}, not there")
        if edge.src in rows:
            draft.steps.orphan[rows[edge.src]] = True
    return attached


def _attributes(header: Header, steps: list[Step]) -> str | None:
    """Return what the header says besides the model's own columns, and the costs' currencies."""
    currencies = {s.evidence.cost_currency for s in steps if s.evidence} - {None}
    value = {
        "cost_currency": sorted(c for c in currencies if c),
        "decision_evidence": header.decision_evidence,
        "links_preserved": header.links_preserved,
        "schedule_graph": header.schedule_graph,
    }
    return _json({key: item for key, item in value.items() if item not in (None, [])})


def _step_attributes(step: Step) -> str | None:
    """Return the labels and measurements that have no column of their own."""
    evidence = step.evidence or _NO_EVIDENCE
    value: dict[str, Any] = {
        "artifact_digest": evidence.artifact_digest,
        "completion_cost": evidence.completion_cost,
        "evaluations": list(evidence.evaluations) or None,
        "prompt_cost": evidence.prompt_cost,
        "source": None if step.source == "loop" else step.source,
        "substituted": {field: getattr(step, field, None) for field in step.unknown_fields} or None,
    }
    return _json({key: item for key, item in value.items() if item is not None})


def _json(value: dict[str, Any]) -> str | None:
    return json.dumps(value, sort_keys=True, ensure_ascii=False) if value else None


def _times(texts: list[str | None], losses: Losses) -> list[int]:
    times = parse_times(texts)
    if UNREADABLE in times:
        losses.add("peer_artifact.unreadable_field", "a time is no time", times.count(UNREADABLE))
        times = [max(time, UNKNOWN) for time in times]
    return times


def _cost(cost: str, losses: Losses) -> str | None:
    text = decimal_text(cost)
    if text is None:
        losses.add("peer_artifact.unreadable_field", f"cost {cost!r} is no decimal")
    return text
