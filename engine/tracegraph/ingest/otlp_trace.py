"""The spans of one trace -> steps and causes in a draft."""

import unicodedata
from collections import Counter
from dataclasses import dataclass, field

from tracegraph.ingest.attributes import dump
from tracegraph.ingest.call_steps import ModelStep, ToolStep
from tracegraph.ingest.graph_causes import (
    Edges,
    GraphSpan,
    NodeRun,
    parent_causes,
    static_edges,
    step_causes,
)
from tracegraph.ingest.message_causes import message_causes
from tracegraph.ingest.otlp_containers import Containers
from tracegraph.ingest.otlp_spans import SpanRecord
from tracegraph.ingest.status import ERROR, OK
from tracegraph.ingest.step_fields import TOOL
from tracegraph.ingest.tool_payload import ToolPayload
from tracegraph.model.codes import UNKNOWN
from tracegraph.model.draft import Draft

_NO_PAYLOAD = ToolPayload()
_NO_TIME = 2**63
_MAX_NOTES = 20


@dataclass(slots=True)
class SpanTrace:
    """The spans of one trace as they come in from one or more sources.

    Attributes:
        trace_id: normalised.
        source: index of the first source that holds it.
        spans: by span id, in order of first appearance.
        gaps: what was lost or contradicts itself.
        attributes: allowlisted attributes of the resource that came first.
        notes: places of losses, in words.
    """

    trace_id: str
    source: int
    spans: dict[str, SpanRecord] = field(default_factory=dict)
    gaps: Counter[str] = field(default_factory=Counter)
    attributes: dict[str, str] = field(default_factory=dict)
    notes: set[str] = field(default_factory=set)


def add_trace(draft: Draft, trace: SpanTrace, file: str, file_digest: str) -> None:
    """Append a trace: its steps in recorded order and every cause that the record holds."""
    records = list(trace.spans.values())
    first = draft.begin(
        trace.trace_id,
        source="otlp",
        file=file,
        file_digest=file_digest,
        session_id=next((r.fields.session for r in records if r.fields.session), None),
        agent=_agent(records),
        attributes=_attributes(trace),
        gaps=trace.gaps,
    )
    rows = {record.step_id: first + i for i, record in enumerate(records)}
    _add_steps(draft, records, rows)
    for record in records:
        _add_parent(draft, record, rows)
        for code, count in (record.gaps or {}).items():
            draft.gap(code, count)
        if record.links:
            _add_links(draft, record, rows, trace.trace_id)
    containers = Containers(records, rows)
    _add_message_causes(draft, records, rows, containers)
    _add_graph_causes(draft, records, rows)
    _compare_names(draft, records)


def _add_steps(draft: Draft, records: list[SpanRecord], rows: dict[str, int]) -> None:
    into = draft.steps
    fields = [r.fields for r in records]
    verdicts = [r.verdict for r in records]
    payloads = [f.payload or _NO_PAYLOAD for f in fields]
    into.step_id += [r.step_id for r in records]
    into.kind += [f.kind for f in fields]
    into.name += [f.name for f in fields]
    into.status += [v.status for v in verdicts]
    into.status_source += [v.source for v in verdicts]
    into.agent += [f.agent for f in fields]
    into.model += [f.model for f in fields]
    into.start += [r.start for r in records]
    into.end += [r.end for r in records]
    into.duration += [UNKNOWN] * len(records)
    into.error_type += [v.error_type for v in verdicts]
    into.error_message += [v.error_message for v in verdicts]
    into.tokens_prompt += [f.tokens_prompt for f in fields]
    into.tokens_completion += [f.tokens_completion for f in fields]
    into.tokens_total += [f.tokens_total for f in fields]
    into.cost += [f.cost for f in fields]
    into.tool_call_id += [p.call_id for p in payloads]
    into.args += [p.args for p in payloads]
    into.result += [p.result for p in payloads]
    into.args_size += [p.args_size for p in payloads]
    into.result_size += [p.result_size for p in payloads]
    into.docs += [f.docs for f in fields]
    into.signals += [v.signals for v in verdicts]
    into.wrapper += [f.wrapper for f in fields]
    into.orphan += [_is_orphan(r, rows) for r in records]
    into.unknown_fields += [r.unknown_fields for r in records]
    if draft.keep_content:
        into.input += [r.input for r in records]
        into.output += [r.output for r in records]
        into.attributes += [r.attributes for r in records]


def _is_orphan(record: SpanRecord, rows: dict[str, int]) -> bool:
    parent = record.parent
    return parent is not None and (parent not in rows or parent == record.step_id)


def _add_parent(draft: Draft, record: SpanRecord, rows: dict[str, int]) -> None:
    parent = record.parent
    if parent is None:
        return
    if parent == record.step_id:
        draft.gap("otlp.self_parent")
    elif parent not in rows:
        draft.gap("otlp.missing_parent")
    else:
        draft.link(rows[record.step_id], rows[parent], "span_parent")


def _add_links(draft: Draft, record: SpanRecord, rows: dict[str, int], trace_id: str) -> None:
    row = rows[record.step_id]
    for linked_trace, linked_span in record.links:
        if linked_trace != trace_id:
            draft.gap("otlp.foreign_trace_link" if linked_trace else "otlp.unresolved_span_link")
        elif linked_span == record.step_id:
            draft.gap("otlp.self_link")
        elif linked_span is None or linked_span not in rows:
            draft.gap("otlp.unresolved_span_link")
        else:
            draft.link(row, rows[linked_span], "span_link")


def _when(record: SpanRecord, row: int) -> tuple[int, int]:
    return (record.start if record.start >= 0 else _NO_TIME, row)


def _add_message_causes(
    draft: Draft, records: list[SpanRecord], rows: dict[str, int], containers: Containers
) -> None:
    models: list[ModelStep] = []
    tools: list[ToolStep] = []
    for record in records:
        fields = record.fields
        row = rows[record.step_id]
        if fields.messages is not None:
            went_on = record.verdict.status == OK or fields.messages.says_anything()
            path = containers.of(record)
            models.append(ModelStep(row, _when(record, row), path, fields.messages, went_on))
        elif fields.kind == TOOL:
            payload = fields.payload
            tools.append(
                ToolStep(
                    row,
                    _when(record, row),
                    containers.of(record),
                    fields.name,
                    payload.call_id if payload is not None else None,
                    payload.args if payload is not None else None,
                    record.end,
                )
            )
    if not models:
        return
    found = message_causes(models, tools)
    for effect, cause, origin in found.edges:
        draft.link(effect, cause, origin)
    for row, args in found.args.items():
        draft.steps.args[row] = args
    for row, mask in found.signals.items():
        draft.steps.signals[row] |= mask
    if found.ambiguous:
        draft.gap("otlp.ambiguous_tool_call", found.ambiguous)


def _add_graph_causes(draft: Draft, records: list[SpanRecord], rows: dict[str, int]) -> None:
    runs: list[NodeRun] = []
    edges: dict[str, Edges] = {}
    spans: list[GraphSpan] = []
    for record in records:
        if record.fields.wrapper:
            run = _node_run(record, rows[record.step_id])
            if run is not None:
                runs.append(run)
        if record.graph_edges:
            edges[record.step_id] = static_edges(record.graph_edges)
        if record.graph_id is not None or record.graph_parent is not None:
            row = rows[record.step_id]
            spans.append(GraphSpan(row, record.start, record.graph_id, record.graph_parent))
    if len(runs) > 1:
        found = step_causes(runs, _edges_of_instances(runs, edges, records))
        for effect, cause in found.edges:
            draft.link(effect, cause, "graph_step")
        if found.ambiguous:
            draft.gap("otlp.ambiguous_graph_step", found.ambiguous)
    if spans:
        parents = parent_causes(spans)
        for effect, cause, evidence in parents.edges:
            draft.link(effect, cause, "graph_parent", evidence)
        for code, count in parents.gaps.items():
            draft.gap(code, count)


def _edges_of_instances(
    runs: list[NodeRun], edges: dict[str, Edges], records: list[SpanRecord]
) -> dict[str, Edges]:
    """Return the recorded edges of each graph instance.

    They are on its span or on one above it, but never beyond a node of an outer graph.
    """
    if not edges:
        return {}
    by_id = {record.step_id: record for record in records}
    found: dict[str, Edges] = {}
    for instance in {run.instance for run in runs}:
        above, seen = by_id.get(instance), set[str]()
        while above is not None and above.step_id not in seen:
            if above.step_id in edges:
                found[instance] = edges[above.step_id]
                break
            seen.add(above.step_id)
            above = None if above.fields.wrapper else by_id.get(above.parent or "")
    return found


def _node_run(record: SpanRecord, row: int) -> NodeRun | None:
    """Return the run of a graph's node; one that nothing contains may be of any graph: None."""
    metadata = record.fields.metadata
    step, triggers = (metadata.langgraph_step, metadata.langgraph_triggers) if metadata else (0, 0)
    if metadata is None or not isinstance(step, int) or not isinstance(triggers, list):
        return None
    if record.parent is None:
        return None
    task = metadata.langgraph_checkpoint_ns
    return NodeRun(
        row,
        record.parent,
        step,
        str(metadata.langgraph_node),
        tuple(str(trigger) for trigger in triggers),
        task if isinstance(task, str) and task else None,
        record.verdict.status == ERROR,
        _when(record, row),
    )


def _agent(records: list[SpanRecord]) -> str | None:
    """Return the agent of a root, else the only agent that the trace names."""
    for record in records:
        if record.parent is None and record.fields.agent is not None:
            return record.fields.agent
    agents = {record.fields.agent for record in records} - {None}
    return agents.pop() if len(agents) == 1 else None


def _attributes(trace: SpanTrace) -> str | None:
    attributes: dict[str, object] = dict(sorted(trace.attributes.items()))
    if trace.notes:
        notes = sorted(trace.notes)
        more = len(notes) - _MAX_NOTES
        attributes["notes"] = notes[:_MAX_NOTES] + ([f"and {more} more"] if more > 0 else [])
    return dump(attributes) if attributes else None


def _compare_names(draft: Draft, records: list[SpanRecord]) -> None:
    """Disclose names that differ only by Unicode form: they stay apart, people see them as one."""
    names = {r.fields.name for r in records if r.fields.name and not r.fields.name.isascii()}
    forms = Counter(unicodedata.normalize("NFC", name) for name in names if name is not None)
    alike = sum(count - 1 for count in forms.values())
    if alike:
        draft.gap("text.unicode_form", alike)
