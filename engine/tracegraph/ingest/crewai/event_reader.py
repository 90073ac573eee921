"""Events of crews to traces: one for each event that nothing is above."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.crewai.context import parts_of
from tracegraph.ingest.crewai.event_fields import keep_bodies, make_record
from tracegraph.ingest.crewai.events import Event, Whole, events_in, read_event, wholes
from tracegraph.ingest.crewai.records import AREA
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.source import Source
from tracegraph.ingest.spans.causes import when
from tracegraph.ingest.spans.exports import ExportReader
from tracegraph.ingest.spans.loop import Link, Loop, add_links
from tracegraph.ingest.spans.record import SpanRecord
from tracegraph.ingest.spans.trace import SpanTrace
from tracegraph.ingest.step_fields import LLM, TOOL
from tracegraph.model.draft import Draft

_LONGEST = 200
"""Characters of a name that is kept under every policy."""
_Item = tuple[Event, dict[str, Any]]


class EventReader(ExportReader[_Item]):
    """Reads the events of a file."""

    area = AREA
    noun = "event"
    items = staticmethod(events_in)

    def __init__(self, sources: Sequence[Source], options: ReadOptions) -> None:
        super().__init__(sources, options)
        self._given: dict[str, list[tuple[str, str]]] = {}
        """Of each trace, (effect, cause) of tasks that were given what others made."""

    def item(self, value: Any, shown: str, losses: Losses) -> _Item | None:
        """Read an event."""
        found = read_event(value, shown, losses)
        return None if found is None else (found, value)

    def take(self, items: Sequence[tuple[_Item, Losses]], index: int) -> None:
        """Take what started and ended in the traces that are asked for."""
        lost = {event.event_id: losses for (event, _), losses in items if losses.counts}
        found, others = wholes([item for item, _ in items])
        starts = {event.event_id: event.started_event_id for (event, _), _ in items}
        known = {whole.step_id for whole in found}
        above = {whole.step_id: _parent(whole, starts, known) for whole in found}
        roots = _roots(above)
        by_trace: defaultdict[str, list[Whole]] = defaultdict(list)
        for number, whole in enumerate(found, 1):
            trace = self.open_trace(roots[whole.step_id], index)
            if trace is None:
                continue
            by_trace[trace.trace_id].append(whole)
            for event, _ in whole.each():
                if event.event_id in lost:
                    trace.gaps.update(lost[event.event_id].counts)
            trigger = whole.said("triggered_by_event_id")
            triggers = [] if trigger is None else [starts.get(trigger) or trigger]
            record = make_record(whole, above[whole.step_id])
            record.links += [(trace.trace_id, cause) for cause in triggers]
            self._keep(trace, record, whole, index, number)
        self._given = {trace_id: list(_given(held)) for trace_id, held in by_trace.items()}
        if others:
            self.lose_all({"crewai.events_left_out": others})

    def _keep(
        self, trace: SpanTrace, record: SpanRecord, whole: Whole, index: int, number: int
    ) -> None:
        if self.options.keep_content:
            keep_bodies(record, whole)
        crew = whole.said("crew_name")
        if crew and len(crew) <= _LONGEST:
            trace.attributes.setdefault("crew", crew)
        self.keep(trace, record, index, number, f"event {whole.step_id}")

    def add(self, draft: Draft, trace: SpanTrace) -> None:
        """Append a trace, and what the order of its loops and the contexts of its tasks tell."""
        row, edge = len(draft.steps.step_id), len(draft.effect)
        rows = {step_id: row + i for i, step_id in enumerate(trace.spans)}
        super().add(draft, trace)
        add_links(draft, rows, edge, _links(list(trace.spans.values())))
        for effect, cause in self._given[trace.trace_id]:
            draft.link(rows[effect], rows[cause], "data_flow")


def _parent(whole: Whole, starts: dict[str, str | None], known: set[str]) -> str | None:
    """Return what something ran in: what its parent event started, or is the end of."""
    parent = whole.said("parent_event_id")
    if parent is None or parent in known:
        return parent if isinstance(parent, str) else None
    return starts.get(parent) or parent


def _roots(above: dict[str, str | None]) -> dict[str, str]:
    """Return what is above all else of each step; where that is not here, its id all the same."""
    found: dict[str, str] = {}
    for step_id in above:
        climbed: dict[str, None] = {}
        at: str | None = step_id
        while at is not None and at not in found and at not in climbed:
            climbed[at] = None
            at = above.get(at)
        top = found[at] if at is not None and at in found else next(reversed(climbed))
        found.update(dict.fromkeys(climbed, top))
    return found


def _links(spans: list[SpanRecord]) -> Iterator[Link]:
    """Yield what caused what in each loop: the models and tools that one span holds."""
    loops: defaultdict[str | None, list[tuple[tuple[int, int], SpanRecord]]] = defaultdict(list)
    for number, span in enumerate(spans):
        if span.fields.kind in (LLM, TOOL) and span.start >= 0 and span.parent is not None:
            loops[span.parent].append((when(span, number), span))
    for held in loops.values():
        loop = Loop()
        for _, span in sorted(held, key=lambda item: item[0]):
            yield from loop.add(span)


def _given(held: list[Whole]) -> Iterator[tuple[str, str]]:
    """Yield (effect, cause) of tasks that were given what others made, and no other did."""
    made: dict[str, str | None] = {}
    tasks = [whole for whole in held if whole.work == "task"]
    for task in tasks:
        for part in parts_of(task.body("context")):
            maker = made.get(part)
            if maker is not None:
                yield task.step_id, maker
        output = task.body("output")
        raw = output.get("raw") if isinstance(output, dict) else output
        if isinstance(raw, str) and raw.strip():
            made[raw.strip()] = None if raw.strip() in made else task.step_id
