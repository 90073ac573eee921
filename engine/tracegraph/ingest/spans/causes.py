"""Causes between the spans of one trace that are in no parent and no link."""

from collections import Counter

from tracegraph.ingest import span_gaps
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
from tracegraph.ingest.spans.containers import Containers
from tracegraph.ingest.spans.record import SpanRecord
from tracegraph.ingest.status import ERROR, OK
from tracegraph.ingest.step_fields import TOOL
from tracegraph.model.draft import Draft

_NO_TIME = 2**63


def when(record: SpanRecord, row: int) -> tuple[int, int]:
    """Return the comparable time of a step: unknown ones last, ties in the order of rows."""
    return (record.start if record.start >= 0 else _NO_TIME, row)


def add_message_causes(
    draft: Draft, records: list[SpanRecord], rows: dict[str, int], gaps: Counter[str]
) -> None:
    """Add what the messages of model steps and the ids of tool steps tell."""
    containers = Containers(records, rows)
    models: list[ModelStep] = []
    tools: list[ToolStep] = []
    for record in records:
        fields = record.fields
        row = rows[record.step_id]
        if fields.messages is not None:
            went_on = record.verdict.status == OK or fields.messages.says_anything()
            path = containers.of(record)
            models.append(ModelStep(row, when(record, row), path, fields.messages, went_on))
        elif fields.kind == TOOL:
            payload = fields.payload
            tools.append(
                ToolStep(
                    row,
                    when(record, row),
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
        gaps[span_gaps.AMBIGUOUS_TOOL_CALL] += found.ambiguous


def add_graph_causes(
    draft: Draft, records: list[SpanRecord], rows: dict[str, int], gaps: Counter[str]
) -> None:
    """Add what graph frameworks record of their nodes."""
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
            gaps[span_gaps.AMBIGUOUS_GRAPH_STEP] += found.ambiguous
    if spans:
        parents = parent_causes(spans)
        for effect, cause, evidence in parents.edges:
            draft.link(effect, cause, "graph_parent", evidence)
        gaps.update(parents.gaps)


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
        when(record, row),
    )
