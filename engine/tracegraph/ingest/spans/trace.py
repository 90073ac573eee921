"""The spans of one trace -> steps and causes in a draft."""

import unicodedata
from collections import Counter
from dataclasses import dataclass, field

from tracegraph.ingest import span_gaps
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.sessions import CONFLICT, session_of
from tracegraph.ingest.spans.causes import add_graph_causes, add_message_causes, when
from tracegraph.ingest.spans.record import SpanRecord
from tracegraph.ingest.tool_payload import ToolPayload
from tracegraph.model.codes import UNKNOWN
from tracegraph.model.draft import Draft

_NO_PAYLOAD = ToolPayload()
_MAX_NOTES = 20
_FOREIGN, _UNRESOLVED = span_gaps.FOREIGN_TRACE_LINK, span_gaps.UNRESOLVED_SPAN_LINK


@dataclass(slots=True)
class SpanTrace:
    """The spans of one trace as they come in from one or more sources.

    Attributes:
        trace_id: normalised.
        source: index of the first source that holds it.
        spans: by span id, in order of first appearance.
        gaps: what was lost or contradicts itself.
        attributes: what is said of the trace as a whole: allowlisted attributes of the resource
            that came first, evaluations.
        notes: places of losses, in words.
    """

    trace_id: str
    source: int
    spans: dict[str, SpanRecord] = field(default_factory=dict)
    gaps: Counter[str] = field(default_factory=Counter)
    attributes: dict[str, object] = field(default_factory=dict)
    notes: set[str] = field(default_factory=set)


def add_trace(
    draft: Draft, trace: SpanTrace, area: str, file: str, file_digest: str, fidelity: int = 0
) -> None:
    """Append a trace: its steps in recorded order and every cause that the record holds.

    Args:
        draft: where to.
        trace: the trace.
        area: name of its source, with which its gap codes begin.
        file: name of the file that it came from first.
        file_digest: digest of that file.
        fidelity: code of FIDELITIES: what the format keeps of causes.
    """
    records = list(trace.spans.values())
    session, others = session_of(
        [r.fields.session for r in records],
        lambda row: (records[row].parent is not None, *when(records[row], row)),
    )
    if others:
        trace.gaps[CONFLICT] += others
    runs = {r.fields.run for r in records} - {None}
    if len(runs) > 1:  # which of them a report would mean is not known
        trace.gaps[f"{area}.{span_gaps.CONFLICTING_RUN_ID}"] += 1
    first = draft.begin(
        trace.trace_id,
        source=area,
        file=file,
        file_digest=file_digest,
        run_id=runs.pop() if len(runs) == 1 else None,
        session_id=session,
        agent=_agent(records),
        fidelity=fidelity,
        attributes=_attributes(trace),
        gaps=trace.gaps,
    )
    rows = {record.step_id: first + i for i, record in enumerate(records)}
    _add_steps(draft, records, rows)
    gaps = Counter[str]()
    for record in records:
        _add_parent(draft, record, rows, gaps)
        if record.gaps:
            gaps.update(record.gaps)
        if record.links:
            _add_links(draft, record, rows, trace.trace_id, gaps)
    add_message_causes(draft, records, rows, gaps)
    add_graph_causes(draft, records, rows, gaps)
    for code, count in gaps.items():
        draft.gap(f"{area}.{code}", count)
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


def _add_parent(draft: Draft, record: SpanRecord, rows: dict[str, int], gaps: Counter[str]) -> None:
    parent = record.parent
    if parent is None:
        return
    if parent == record.step_id:
        gaps[span_gaps.SELF_PARENT] += 1
    elif parent not in rows:
        gaps[span_gaps.MISSING_PARENT] += 1
    else:
        draft.link(rows[record.step_id], rows[parent], "span_parent")


def _add_links(
    draft: Draft, record: SpanRecord, rows: dict[str, int], trace_id: str, gaps: Counter[str]
) -> None:
    row = rows[record.step_id]
    for linked_trace, linked_span in record.links:
        if linked_trace != trace_id:
            gaps[_FOREIGN if linked_trace else _UNRESOLVED] += 1
        elif linked_span == record.step_id:
            gaps[span_gaps.SELF_LINK] += 1
        elif linked_span is None or linked_span not in rows:
            gaps[_UNRESOLVED] += 1
        else:
            draft.link(row, rows[linked_span], "span_link")


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
