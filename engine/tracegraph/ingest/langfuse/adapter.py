"""Langfuse exports: a trace with its observations, or pages of either.

The platform knows parents and no links; what caused what follows from messages, and from what
frameworks attached when they were recorded.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.langfuse.fields import keep_bodies, make_record
from tracegraph.ingest.langfuse.records import (
    AREA,
    Found,
    Observation,
    TraceRecord,
    observations_in,
    read_observation,
    read_trace,
)
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import finite_number
from tracegraph.ingest.opening import opening_keys
from tracegraph.ingest.source import Source
from tracegraph.ingest.spans.exports import ExportReader
from tracegraph.ingest.spans.trace import SpanTrace
from tracegraph.model.codes import FIDELITY_CODE
from tracegraph.model.draft import Draft

_MARKS = (b'"parentObservationId"', b'"startTime"', b'"projectId"')
_HOLDING = frozenset({"data", "parentObservationId"})
_TRACE = frozenset({"projectId", "timestamp"})
_FACTS = ("name", "environment", "release", "version", "tags")
_SCORE = {
    "observationId": "step_id",
    "name": "name",
    "stringValue": "label",
    "value": "score",
    "source": "annotator_kind",
}
_MOST_SCORES, _LONGEST = 200, 200
_Item = tuple[Found, Observation]


class LangfuseAdapter:
    """Reads exported Langfuse traces."""

    name = AREA
    version = 1
    unites = False

    def sniff(self, source: Source) -> bool:
        """Tell by observations, or by what names the parent of one."""
        keys, head = opening_keys(source), source.head
        if "observations" in keys:
            return any(mark in head for mark in _MARKS)
        if "trace" in keys or keys >= _TRACE:  # bodies of the trace may fill the head
            return b'"projectId"' in head and b'"createdAt"' in head
        return not keys.isdisjoint(_HOLDING) and _MARKS[0] in head

    def read(self, sources: Sequence[Source], options: ReadOptions) -> Iterator[Draft]:
        """Yield the traces of each file.

        Gap codes: those of :mod:`tracegraph.ingest.span_gaps`, and ``langfuse.unreadable_field``,
        ``langfuse.unknown_type``, ``langfuse.scores_left_out``.
        """
        yield from _Reader(sources, options).read()


class _Reader(ExportReader[_Item]):
    """Reads the observations of the sources."""

    area = AREA
    fidelity = FIDELITY_CODE["parent_only"]
    noun = "observation"
    items = staticmethod(observations_in)

    def item(self, value: Found, shown: str, losses: Losses) -> _Item | None:
        """Read an observation."""
        found = read_observation(value.value, shown, losses)
        return None if found is None else (value, found)

    def take(self, items: Sequence[tuple[_Item, Losses]], index: int) -> None:
        """Take the observations whose trace is asked for."""
        told: dict[int, TraceRecord] = {}
        for number, ((where, found), losses) in enumerate(items, 1):
            around, is_new = TraceRecord(), False
            if where.trace is not None:
                is_new = id(where.trace) not in told
                if is_new:
                    told[id(where.trace)] = read_trace(where.trace, losses)
                around = told[id(where.trace)]
            trace = self.open_trace(found.trace_id or around.id or found.id, index)
            if trace is None:
                continue
            if is_new:
                _tell(trace, around, losses)
            record = make_record(found, losses)
            record.fields.session = around.session_id or record.fields.session
            if self.options.keep_content:
                keep_bodies(record, found, _rest(where, is_root=record.parent is None), losses)
            self.keep_item(trace, record, index, number, losses)


def _rest(where: Found, is_root: bool) -> dict[str, Any]:
    """Return what is recorded besides the bodies; a root keeps what is said of the trace."""
    rest = {k: v for k, v in where.value.items() if k not in ("input", "output") and v is not None}
    if is_root and where.trace is not None:
        rest["trace"] = {k: v for k, v in where.trace.items() if k != "observations"}
    return rest


def _tell(trace: SpanTrace, around: TraceRecord, losses: Losses) -> None:
    """Put what is said of the trace as a whole, and is no body, among its attributes.

    Scores become ``evaluations``; their comments are text, which stays with the root's attributes.
    """
    facts = {fact: getattr(around, fact) for fact in _FACTS}
    trace.attributes.update({fact: value for fact, value in facts.items() if value})
    scores = [_evaluation(score) for score in around.scores or () if isinstance(score, dict)]
    if scores:
        trace.attributes["evaluations"] = scores[:_MOST_SCORES]
        if len(scores) > _MOST_SCORES:
            left = len(scores) - _MOST_SCORES
            losses.add("langfuse.scores_left_out", f"more than {_MOST_SCORES} scores", left)


def _evaluation(score: dict[str, Any]) -> dict[str, Any]:
    values = ((ours, score.get(theirs)) for theirs, ours in _SCORE.items())
    return {
        name: value
        for name, value in values
        if finite_number(value) is not None or (isinstance(value, str) and len(value) <= _LONGEST)
    }
