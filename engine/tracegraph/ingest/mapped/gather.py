"""The steps of a file by column, as they come, and which trace each belongs to.

The records of several traces may be mixed in one log, and only its end tells that a trace is whole.
So the columns of all steps are held, never the records.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.attributes import LARGEST
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.mapped.field_map import FieldMap
from tracegraph.ingest.mapped.parts import SAME_PART
from tracegraph.ingest.mapped.records import Record
from tracegraph.ingest.mapped.steps import StepReader, payload_of, total_tokens
from tracegraph.ingest.mapped.unused import UnusableTally
from tracegraph.ingest.source import Source
from tracegraph.ingest.step_fields import TOOL
from tracegraph.model.codes import UNKNOWN
from tracegraph.model.draft import Draft, DraftSteps


@dataclass(slots=True)
class TraceRows:
    """The rows of one trace in the order of the source, and what is said of it as a whole."""

    trace_id: str
    rows: list[int] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    gaps: Counter[str] = field(default_factory=Counter)


class Gathered:
    """The steps of a file.

    Attributes:
        traces: in order of first appearance.
        steps: the columns of all steps; ``step_id`` is blank where none is recorded.
        parents: the recorded parent of each step.
        causes: the recorded causes of each step.
        sessions: the recorded session of each step.
        runs: the recorded run of each step.
        numbers: the number of the record of each step.
        places: where each step was read.
        tally: what of the fields could not be used.
        field_map: the mapping.
    """

    def __init__(self, source: Source, options: ReadOptions, field_map: FieldMap) -> None:
        self.traces: list[TraceRows] = []
        self.parents: list[str | None] = []
        self.causes: list[tuple[str, ...]] = []
        self.sessions: list[str | None] = []
        self.runs: list[str | None] = []
        self.numbers: list[int] = []
        self.places: list[str] = []
        self.tally = UnusableTally(field_map)
        self.field_map = field_map
        self._reader = StepReader(field_map, self.unusable)
        self._draft = Draft(keep_content=options.keep_content)
        self._losses = Losses(source.name, options.strict)
        self._stem = PurePosixPath(source.name).stem
        self._by_id: dict[tuple[str, int], TraceRows] = {}
        self._gaps: Counter[str] = Counter()

    @property
    def steps(self) -> DraftSteps:
        """The columns."""
        return self._draft.steps

    def add(self, record: Record, held: dict[str, Any]) -> None:
        """Add the step of a record, of which ``held`` are the values by field.

        Gap codes: those of :mod:`tracegraph.ingest.mapped.steps`, ``mapped.missing_id``,
        ``mapped.missing_trace_id``, ``mapped.conflicting_label``.

        Raises:
            StrictError: strict, and something of it cannot be used.
        """
        self._gaps = Counter()
        for code in record.gaps:
            if code == SAME_PART:
                self.unusable("step_id", code, record.place)
            else:
                self.note(code, f"{record.place}: not as many cells as the header has")
        found = self._reader.read(held, record.place)
        self._append(record, held, found)
        trace = self._trace(record, found.get("trace_id"))
        for name, label in self._reader.labels(record).items():
            if trace.labels.setdefault(name, label) != label:
                self.unusable(f"labels.{name}", "mapped.conflicting_label", record.place)
        trace.rows.append(len(self.numbers) - 1)
        trace.gaps.update(self._gaps)

    def unusable(self, name: str, code: str, place: str) -> None:
        """Disclose that a value of a field cannot be used."""
        self.tally.add(name, code, place)
        self.note(code, f"{place}: {name}")

    def note(self, code: str, what: str) -> None:
        """Disclose something of the trace of the record that is being read."""
        self._losses.add(code, what)
        self._gaps[code] += 1

    def unusable_in(self, trace: TraceRows, name: str, code: str, row: int) -> None:
        """Disclose that a value of a step that was read before cannot be used."""
        self._gaps = trace.gaps
        self.unusable(name, code, self.places[row])

    def _trace(self, record: Record, named: object) -> TraceRows:
        """Return the trace of a record; without a name for it, a document or a file is one."""
        trace_id, unit = str(named), 0
        if named is None:
            if "trace_id" in self.field_map.fields:
                self.note("mapped.missing_trace_id", f"{record.place}: no trace id")
            trace_id, unit = self._stem, record.unit + 1 if self.field_map.records else 1
        trace = self._by_id.get((trace_id, unit))
        if trace is None:
            trace = self._by_id[trace_id, unit] = TraceRows(trace_id)
            self.traces.append(trace)
        return trace

    def _append(self, record: Record, held: dict[str, Any], found: dict[str, Any]) -> None:
        reader, payload, place = self._reader, payload_of(found), record.place
        kind = reader.kind(held, place)
        outcome = reader.outcome(held, found.get("error_type"), payload, place)
        step_id = found.get("step_id")
        if step_id is None and "step_id" in self.field_map.fields:
            self.note("mapped.missing_id", f"{place}: no id")
        keep = self._draft.keep_content
        start, end = reader.time("start", held, place), reader.time("end", held, place)
        duration = reader.duration(held, place)
        if end < 0 <= min(start, duration) and start + duration <= LARGEST:
            end = start + duration
        self._draft.step(
            step_id or "",
            kind=kind,
            name=found.get("name"),
            status=outcome.status,
            status_source=outcome.source,
            agent=found.get("agent"),
            model=found.get("model"),
            start=start,
            end=end,
            duration=duration,
            error_type=outcome.error_type,
            error_message=outcome.error_message,
            tokens_prompt=found.get("tokens_prompt", UNKNOWN),
            tokens_completion=found.get("tokens_completion", UNKNOWN),
            tokens_total=total_tokens(found),
            cost=found.get("cost"),
            tool_call_id=payload.call_id,
            args=payload.args,
            result=payload.result,
            args_size=payload.args_size,
            result_size=payload.result_size,
            docs=found.get("docs", UNKNOWN),
            signals=outcome.signals if kind == TOOL else 0,
            input=found.get("args") if keep else None,
            output=found.get("result") if keep else None,
            attributes=reader.rest(record) if keep else None,
        )
        parent = found.get("parent")
        is_root = parent is not None and parent.strip().casefold() in self.field_map.roots
        self.parents.append(None if is_root else parent)
        self.causes.append(reader.causes(held, place))
        self.sessions.append(found.get("session_id"))
        self.runs.append(found.get("run_id"))
        self.numbers.append(record.number)
        self.places.append(place)
