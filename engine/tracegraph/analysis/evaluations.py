"""What people, models and code said of a run afterwards, where the record holds it."""

from dataclasses import dataclass
from typing import Any

from tracegraph.model.trace import Trace

ATTRIBUTE = "evaluations"
"""The attribute of a trace that holds them, as a list of objects."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One judgement.

    Attributes:
        step_id: the step that it is about; None for the run.
        name: what was judged.
        label: the verdict in a word; None if unknown.
        score: the verdict as a number; None if unknown.
    """

    step_id: str | None
    name: str | None
    label: str | None
    score: float | None


def evaluations_of(trace: Trace) -> tuple[Evaluation, ...]:
    """Return the evaluations of a run and of its steps, in recorded order."""
    held = trace.attributes.get(ATTRIBUTE)
    if not isinstance(held, list):
        return ()
    return tuple(_evaluation(item) for item in held if isinstance(item, dict))


def _evaluation(item: dict[str, Any]) -> Evaluation:
    score = item.get("score")
    if not isinstance(score, int | float) or isinstance(score, bool):
        score = None
    texts = (item.get(key) for key in ("step_id", "name", "label"))
    step_id, name, label = (text if isinstance(text, str) else None for text in texts)
    return Evaluation(step_id, name, label, score)
