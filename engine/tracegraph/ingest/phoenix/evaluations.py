"""Phoenix's annotations: what people, models and code said of a span or a trace afterwards.

Name, label, score and who said it stay under every content policy, as ``evaluations`` among the
attributes of the trace; explanations and notes are text of people and models, so they stay only
where content is kept, among the attributes of the step.
"""

import json
import math
from typing import Any

from msgspec import Struct

from tracegraph.ingest.attributes import dump
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.salvage import salvage
from tracegraph.ingest.spans.trace import SpanTrace

_MOST = 200
"""More evaluations of one trace than this are left out and counted."""
_LONGEST = 200
"""What is longer is no label but a text, and stays where texts stay."""
_NOTE = "note"
_OF_SPAN, _OF_TRACE = "annotations", "trace_annotations"


class _Result(Struct, gc=False):
    label: str | None = None
    score: float | None = None


class _Annotation(_Result, gc=False):
    name: str | None = None
    annotator_kind: str | None = None
    document_position: int | None = None
    result: _Result | None = None


class Evaluations:
    """The annotations of the traces of one reading, until their traces are complete."""

    def __init__(self) -> None:
        self._by_trace: dict[str, dict[str | None, list[Any]]] = {}

    def add(self, trace_id: str, step_id: str | None, annotations: list[Any]) -> None:
        """Take annotations of a span, or of the trace where there is no span id."""
        of_trace = self._by_trace.setdefault(trace_id, {})
        of_trace.setdefault(step_id, []).extend(annotations)

    def attach(self, trace: SpanTrace, losses: Losses, keep_content: bool) -> None:
        """Put the annotations of a trace where they stay.

        Gap codes: ``phoenix.unreadable_annotation``, ``phoenix.evaluations_left_out``.
        """
        found: dict[str, dict[str, Any]] = {}
        for step_id, annotations in self._by_trace.pop(trace.trace_id, {}).items():
            for annotation in annotations:
                evaluation = _evaluation(annotation, step_id, losses)
                if evaluation is not None:
                    found[dump(evaluation)] = evaluation
            if keep_content:
                _keep_whole(trace, step_id, annotations)
        if not found:
            return
        rows = {step_id: row for row, step_id in enumerate(trace.spans)}

        def rank(text: str) -> tuple[int, str]:
            return rows.get(found[text].get("step_id", ""), -1), text

        in_order = sorted(found, key=rank)
        trace.attributes["evaluations"] = [found[text] for text in in_order[:_MOST]]
        if len(in_order) > _MOST:
            what = f"trace {trace.trace_id} has more than {_MOST} evaluations"
            losses.add("phoenix.evaluations_left_out", what, len(in_order) - _MOST)


def _evaluation(value: Any, step_id: str | None, losses: Losses) -> dict[str, Any] | None:
    """Return what an annotation evaluates; None of a note, which only says something."""
    shown = f"an annotation of span {step_id}" if step_id else "an annotation of the trace"
    annotation = salvage(_Annotation, value, shown, "phoenix", losses)
    if annotation is None or not annotation.name:
        losses.add("phoenix.unreadable_annotation", f"{shown} cannot be used")
        return None
    result = annotation.result or annotation
    label, score = result.label, result.score
    if annotation.name == _NOTE and label is None and score is None:
        return None
    if (label and len(label) > _LONGEST) or (score is not None and not math.isfinite(score)):
        losses.add("phoenix.unreadable_annotation", f"{shown}: {annotation.name[:_LONGEST]}")
        return None
    fields = {
        "step_id": step_id,
        "document": annotation.document_position,
        "name": annotation.name[:_LONGEST],
        "label": label,
        "score": score,
        "annotator_kind": annotation.annotator_kind,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _keep_whole(trace: SpanTrace, step_id: str | None, annotations: list[Any]) -> None:
    """Put annotations as they are among the attributes of their step, a trace's in its root."""
    root = next((r for r in trace.spans.values() if r.parent is None), None)
    record = root if step_id is None else trace.spans.get(step_id)
    if record is not None:
        attributes = json.loads(record.attributes or "{}")
        kept = [annotation for annotation in annotations if not is_too_deep(annotation)]
        attributes[_OF_TRACE if step_id is None else _OF_SPAN] = kept
        record.attributes = dump(attributes)
