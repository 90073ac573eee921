"""The events of a sample to the spans of a trace.

Models and tools are steps, and so is what contains them: the sample itself, spans, in logs until
2025 the solvers and scorers between a ``begin`` and an ``end``. States, stores, sandboxes, scores
and what people wrote are none. A call of a tool is one event inside of which more may happen: the
span that is opened for it holds that, and is the same step.
"""

from collections import Counter, defaultdict
from typing import Any

from tracegraph.ingest import span_gaps
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.inspect_ai.history import History
from tracegraph.ingest.inspect_ai.log import AREA
from tracegraph.ingest.inspect_ai.sample import Sample, facts_of, rest_of, verdict_of
from tracegraph.ingest.inspect_ai.turns import model_record, tool_record
from tracegraph.ingest.spans.record import SpanRecord, count
from tracegraph.ingest.spans.trace import SpanTrace
from tracegraph.ingest.status import INTERRUPT, UNSET, Verdict
from tracegraph.ingest.step_fields import AGENT, CHAIN, TOOL, StepFields
from tracegraph.ingest.times import parse_time
from tracegraph.ingest.transcript.fields import Fields
from tracegraph.model.codes import KIND_CODE, UNKNOWN

_KINDS = {"agent": AGENT, "scorer": KIND_CODE["EVALUATOR"], "tool": TOOL}
_STEPS = frozenset({"model", "tool", "span_begin", "span_end", "step", "subtask", "interrupt"})
_NO_STEPS = frozenset(
    "sample_init sample_limit sandbox state store input score score_edit error logger info "
    "approval review sentinel anchor branch checkpoint compaction".split()
)
_MOST_NESTED = 50
"""Calls within calls that are followed, in logs that nest their events."""
_BODIES = frozenset({"events", "input", "result", "event", "sample", "state"})


class EventReader:
    """Makes the trace of one sample.

    Gap codes: ``inspect_ai.unreadable_event``, ``inspect_ai.unreadable_field``,
    ``inspect_ai.unknown_event``, and those of :mod:`tracegraph.ingest.span_gaps`.

    Attributes:
        trace: the trace.
        seconds: recorded durations of steps without an end, by step id.
    """

    def __init__(self, sample: Sample, *, keep_content: bool) -> None:
        self.trace = SpanTrace(sample.trace_id, 0)
        self.seconds: dict[str, float] = {}
        self._sample = sample
        self._keep = keep_content
        self._history = History(sample)
        self._ids = FreeIds()
        self._root = self._open_root()
        self._spans: dict[str, str] = {}
        """Step ids of the spans by their own."""
        self._agents: dict[str, str] = {}
        """Agents by the step ids of what they contain."""
        self._steps: list[tuple[str | None, str]] = []
        """Names and step ids of the steps that began and did not end."""
        self._begun = Counter[str | None]()
        """How many of them have a name."""

    def read(self) -> SpanTrace:
        """Read the events; return the trace."""
        self._read_all(self._sample.events, "event", None)
        return self.trace

    def _read_all(self, events: list[Any], label: str, holder: str | None) -> None:
        """Read events; ``holder`` is the step in which an older log nests them."""
        calls = _spans_of_calls(events)
        own = {span for spans in calls.values() for span in spans}
        for number, value in enumerate(events):
            place = f"{label}-{number + 1}"
            word = value.get("event") if isinstance(value, dict) else None
            if not isinstance(word, str):
                self._sample.losses.add("inspect_ai.unreadable_event", f"{place} cannot be used")
            elif word in _STEPS:
                event = Fields(value, place, AREA, self._sample.losses)
                is_own = word in ("span_begin", "span_end") and event.text("id") in own
                if not is_own:
                    self._add(word, event, place, holder, calls.get(number, ()))
            elif word not in _NO_STEPS:
                what = f"{place}: an event of the kind {word[:60]!r}"
                self._sample.losses.add("inspect_ai.unknown_event", what)

    def _add(
        self, word: str, event: Fields, place: str, holder: str | None, spans: tuple[str, ...]
    ) -> None:
        if word == "span_end":
            self._end(self._spans.get(event.text("id") or ""), event)
        elif word == "interrupt":
            self._root.verdict.signals |= INTERRUPT
        elif word == "span_begin":
            self._begin_span(event, place)
        elif word == "step":
            self._step(event, place)
        else:
            self._add_event(word, event, place, holder, spans)

    def _begin_span(self, event: Fields, place: str) -> None:
        span = event.text("id")
        parent = self._container(event.text("parent_id"), None)
        record = self._open(span or place, parent, event)
        if span is not None:
            self._spans[span] = record.step_id

    def _step(self, event: Fields, place: str) -> None:
        """Begin or end a step: those since the one that ends have ended too."""
        name, action = event.text("name"), event.text("action")
        if action == "begin":
            record = self._open(place, self._container(None, None), event)
            self._steps.append((name, record.step_id))
            self._begun[name] += 1
        elif action == "end" and self._begun[name]:
            begun, step_id = self._steps.pop()
            self._begun[begun] -= 1
            while begun != name:
                begun, step_id = self._steps.pop()
                self._begun[begun] -= 1
            self._end(step_id, event)
        elif action != "end":
            event.refuse("action", "is neither begin nor end")

    def _add_event(
        self, word: str, event: Fields, place: str, holder: str | None, spans: tuple[str, ...]
    ) -> None:
        parent = self._container(event.text("span_id"), holder)
        record = self._record(event.text("uuid") or place, parent, event)
        record.end = self._time(event, "completed", record)
        if word == "model":
            failed = event.values.get("error") is not None
            given = self._history.new_in(event, parent, failed=failed)
            took = model_record(event, record, given, self._sample, keep=self._keep)
            if took is not None and record.end < 0:
                self.seconds[record.step_id] = took
        elif word == "tool":
            tool_record(event, record, self._sample, keep=self._keep)
            self._spans.update(dict.fromkeys(spans, record.step_id))
        else:
            record.fields = StepFields(kind=CHAIN, name=event.text("name"))
            record.attributes = rest_of(event, _BODIES) if self._keep else None
        agent = self._agents.get(parent)
        record.fields.agent = agent
        if agent is not None:
            self._agents[record.step_id] = agent
        nested = event.items("events")
        if nested and place.count("-") > _MOST_NESTED:
            event.refuse("events", "is nested too deeply to be read")
        elif nested:
            self._read_all(nested, place, record.step_id)

    def _open_root(self) -> SpanRecord:
        """Open the step that stands for the sample and contains all others."""
        fields = self._sample.fields
        verdict = verdict_of(self._sample)
        log = self._sample.evaluation
        said = StepFields(kind=CHAIN, name=log.task, run=log.run_id)
        step_id = self._ids.take(fields.text("uuid") or "sample")
        record = SpanRecord(step_id, None, UNKNOWN, UNKNOWN, said, verdict)
        record.start = self._time(fields, "started_at", record)
        record.end = self._time(fields, "completed_at", record)
        took = fields.number("total_time")
        if took is not None and record.end < 0:
            self.seconds[step_id] = took
        self.trace.spans[step_id] = record
        self.trace.attributes.update(facts_of(self._sample))
        return record

    def _open(self, wanted: str, parent: str, event: Fields) -> SpanRecord:
        """Add the step of something that contains others."""
        record = self._record(wanted, parent, event)
        name, kind = event.text("name"), _KINDS.get(event.text("type") or "", CHAIN)
        record.fields = StepFields(kind=kind, name=name)
        agent = name if kind == AGENT and name else self._agents.get(parent)
        record.fields.agent = agent
        if agent is not None:
            self._agents[record.step_id] = agent
        record.attributes = rest_of(event, _BODIES) if self._keep else None
        return record

    def _record(self, wanted: str, parent: str, event: Fields) -> SpanRecord:
        step_id = self._ids.take(wanted)
        record = SpanRecord(step_id, parent, UNKNOWN, UNKNOWN, StepFields(), Verdict(UNSET))
        record.start = self._time(event, "timestamp", record)
        self.trace.spans[step_id] = record
        return record

    def _container(self, span: str | None, holder: str | None) -> str:
        """Return the step id of what contains an event; of a span that is not here, its id."""
        if span is not None:
            return self._spans.get(span, span)
        if holder is not None:
            return holder
        return self._steps[-1][1] if self._steps else self._root.step_id

    def _end(self, step_id: str | None, event: Fields) -> None:
        record = self.trace.spans.get(step_id or "")
        if record is not None:
            record.end = self._time(event, "timestamp", record)

    def _time(self, event: Fields, key: str, record: SpanRecord) -> int:
        text = event.text(key)
        try:
            return UNKNOWN if text is None else parse_time(text)
        except ValueError:
            count(record, span_gaps.UNREADABLE_TIMESTAMP)
            return UNKNOWN


def _spans_of_calls(events: list[Any]) -> dict[int, tuple[str, ...]]:
    """Return the spans that were opened for calls, by the number of the call's event.

    The event of a call comes right behind the span of its name that was opened for it, which a
    handoff puts into one more; what contains the span contains the call. So agents that run side by
    side do not take each other's spans.
    """
    found: dict[int, tuple[str, ...]] = {}
    opened: defaultdict[tuple[str | None, str | None], list[tuple[str, ...]]] = defaultdict(list)
    handoffs: dict[str, str | None] = {}
    for number, value in enumerate(events):
        word = value.get("event") if isinstance(value, dict) else None
        if word == "span_begin":
            span, parent, name = (_text(value, key) for key in ("id", "parent_id", "name"))
            if span is None or name is None:
                continue
            if value.get("type") == "handoff":
                handoffs[span] = parent
            elif value.get("type") == "tool":
                if parent is not None and parent in handoffs:
                    opened[name, handoffs[parent]].append((span, parent))
                else:
                    opened[name, parent].append((span,))
        elif word == "tool":
            of_call = opened[_text(value, "function"), _text(value, "span_id")]
            if of_call:
                found[number] = of_call.pop()
    return found


def _text(value: dict[str, Any], key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) else None
