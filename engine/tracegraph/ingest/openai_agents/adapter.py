"""Traces of the OpenAI Agents SDK: what its tracing processors and exporters write.

Items one a line, the body that is posted to OpenAI's own backend (``{"data": [...]}``), or a trace
with its ``spans``. Spans have parents and no links, and tools name no call: what caused what
follows from the messages of models, and where none are recorded from the runner's order.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.openai_agents.fields import AgentSpan, keep_bodies, make_record
from tracegraph.ingest.openai_agents.records import (
    AREA,
    Found,
    SpanItem,
    TraceItem,
    is_trace,
    items_in,
    read_data,
    read_span,
    read_trace,
)
from tracegraph.ingest.openai_agents.runner import Runs
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import Source
from tracegraph.ingest.spans.exports import ExportReader
from tracegraph.ingest.spans.loop import add_links
from tracegraph.ingest.spans.trace import SpanTrace
from tracegraph.model.codes import FIDELITY_CODE
from tracegraph.model.draft import Draft

_OBJECT = re.compile(rb'"object"\s*:\s*"trace(?:\.span)?"')
_MARKS = (b'"span_data"', b'"workflow_name"')
_MEMBERS = frozenset({"object", "spans", "data", "span_data"})
_FACTS = ("environment", "release", "version")
"""What may be said of a trace under every policy, of metadata that may hold anything."""
_LONGEST = 200
_Item = tuple[Found, TraceItem | SpanItem]


class OpenaiAgentsAdapter:
    """Reads exported traces of the OpenAI Agents SDK."""

    name = AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by the kind of object that traces and spans say they are, and their own members."""
        if opening_keys(source).isdisjoint(_MEMBERS):
            return False
        head = source.head
        return bool(_OBJECT.search(head)) and any(mark in head for mark in _MARKS)

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield the traces of each file.

        Gap codes: those of :mod:`tracegraph.ingest.span_gaps`, and
        ``openai_agents.unreadable_field``, ``openai_agents.unknown_type``,
        ``openai_agents.missing_trace_id`` (a span that names no trace and is in none: that of its
        parents, or the only one of the file, else one of its own), and of the file
        ``openai_agents.trace_without_spans``.
        """
        yield from _Reader(sources, options).read()


class _Reader(ExportReader[_Item]):
    """Reads the traces and spans of the sources."""

    area = AREA
    fidelity = FIDELITY_CODE["parent_only"]
    noun = "span"
    items = staticmethod(items_in)

    def item(self, value: Found, shown: str, losses: Losses) -> _Item | None:
        """Read a trace or a span."""
        read = read_trace if is_trace(value.value) else read_span
        found = read(value.value, shown, losses)
        return None if found is None else (value, found)

    def take(self, items: Sequence[tuple[_Item, Losses]], index: int) -> None:
        """Take the spans whose trace is asked for."""
        told: dict[str, tuple[TraceItem, dict[str, Any], Losses]] = {}
        spans: list[tuple[Found, SpanItem, Losses]] = []
        for (found, item), losses in items:
            if isinstance(item, TraceItem):
                if item.id in told:
                    self.lose_all(losses.counts)
                told.setdefault(item.id, (item, found.value, losses))
            else:
                spans.append((found, item, losses))
        spans = _as_ended(spans)
        traces = _traces(spans, told)
        for number, ((found, span, losses), trace_id) in enumerate(
            zip(spans, traces, strict=True), 1
        ):
            trace = self.open_trace(trace_id, index)
            if trace is None:
                continue
            if not (span.trace_id or found.trace_id):
                losses.add("openai_agents.missing_trace_id", f"span {span.id}: names no trace")
            about = told.get(trace_id)
            if about is not None and not trace.spans:
                _tell(trace, about[0], about[2])
            data = read_data(span, losses)
            record = make_record(span, data, losses)
            record.fields.session = about[0].group_id if about is not None else None
            if self.options.keep_content:
                said = about[1] if about is not None and record.parent is None else None
                keep_bodies(record, span, data, said)
            self.keep_item(trace, record, index, number, losses)
        empty = told.keys() - set(traces)
        if empty:
            self.lose_all({"openai_agents.trace_without_spans": len(empty)})

    def add(self, draft: Draft, trace: SpanTrace) -> None:
        """Append a trace, and what the runner's order tells of its causes."""
        runs = Runs(cast("list[AgentSpan]", list(trace.spans.values())))
        runs.tell_agents()
        runs.judge()
        row, edge = len(draft.steps.step_id), len(draft.effect)
        rows = {step_id: row + i for i, step_id in enumerate(trace.spans)}
        super().add(draft, trace)
        add_links(draft, rows, edge, runs.links())


def _as_ended(
    spans: list[tuple[Found, SpanItem, Losses]],
) -> list[tuple[Found, SpanItem, Losses]]:
    """Leave out what was written of a span when it started, where it is there as ended too."""
    ended = {(span.trace_id, span.id) for _, span, _ in spans if span.ended_at}
    return [
        item for item in spans if item[1].ended_at or (item[1].trace_id, item[1].id) not in ended
    ]


def _traces(
    spans: Sequence[tuple[Found, SpanItem, Losses]],
    told: dict[str, tuple[TraceItem, dict[str, Any], Losses]],
) -> list[str]:
    """Return the trace id of each span: its own, that around it, its parents', the only one.

    Spans whose parents lead out of the file belong with the others below the same missing one.
    """
    own = [span.trace_id or found.trace_id for found, span, _ in spans]
    known = {span.id: trace for (_, span, _), trace in zip(spans, own, strict=True) if trace}
    above = {span.id: span.parent_id for _, span, _ in spans}
    named = {*known.values(), *told}
    only = named.pop() if len(named) == 1 else None
    for _, span, _ in spans:
        climbed: dict[str, None] = {}
        at: str | None = span.id
        while at and at not in known and at not in climbed:
            climbed[at] = None
            at = above.get(at)
        if climbed:
            found_trace = known.get(at) if at else None
            top = next(reversed(climbed))
            known.update(dict.fromkeys(climbed, found_trace or only or top))
    return [trace or known[span.id] for (_, span, _), trace in zip(spans, own, strict=True)]


def _tell(trace: SpanTrace, about: TraceItem, losses: Losses) -> None:
    """Put what is said of the trace as a whole, and is no body, among its attributes."""
    trace.gaps.update(losses.counts)
    metadata = about.metadata or {}
    facts: dict[str, Any] = {key: metadata.get(key) for key in _FACTS}
    for key, value in {"workflow": about.workflow_name, **facts}.items():
        if isinstance(value, str) and 0 < len(value) <= _LONGEST:
            trace.attributes[key] = value
