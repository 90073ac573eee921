"""A sample: one run of an agent at one task, and what is said of it as a whole."""

from dataclasses import dataclass, field
from typing import Any

from tracegraph.errors import InputError
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.free_ids import FreeIds
from tracegraph.ingest.inspect_ai.log import AREA, Evaluation
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import finite_number
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.raised import raised_by
from tracegraph.ingest.status import ERROR, OK, UNSET, Verdict
from tracegraph.ingest.transcript.fields import Fields

_REFERENCES = ("attachment://", "tc://")
"""What a text that was moved to the sample's attachments is replaced by; the second until 2024."""
_MAX_SCORES = 100


@dataclass(slots=True)
class Sample:
    """A sample as decoded.

    Attributes:
        trace_id: ``<id>_epoch_<n>``, as Inspect itself names a sample's file.
        evaluation: what the log says over it.
        fields: all that is recorded of it.
        events: what happened, in order.
        messages: the conversation as it was at the end.
        attachments: long texts by the hash that stands in their place.
        losses: where losses are disclosed.
    """

    trace_id: str
    evaluation: Evaluation
    fields: Fields
    events: list[Any]
    messages: list[Any]
    losses: Losses
    attachments: dict[str, Any] = field(default_factory=dict)
    _missing: int = 0

    def resolved(self, value: Any) -> Any:
        """Return a value with the texts that it refers to.

        Gap code: ``inspect_ai.unresolved_attachment``.
        """
        found: list[Any] = [value]
        places: list[tuple[Any, Any]] = [(found, 0)]
        while places:  # not by recursion: values may have hundreds of levels
            holder, key = places.pop()
            item = holder[key]
            if isinstance(item, str):
                holder[key] = self._text(item)
            elif isinstance(item, list):
                holder[key] = item = item.copy()
                places += [(item, number) for number in range(len(item))]
            elif isinstance(item, dict):
                holder[key] = item = item.copy()
                places += [(item, name) for name in item]
        return found[0]

    def whole(self, value: Any) -> Any:
        """Return a value with the texts that it refers to; None where one of them is missing."""
        before = self._missing
        found = self.resolved(value)
        return found if self._missing == before else None

    def _text(self, text: str) -> str:
        prefix = next((each for each in _REFERENCES if text.startswith(each)), None)
        if prefix is None:
            return text
        found = self.attachments.get(text.removeprefix(prefix))
        if isinstance(found, str):
            return found
        self._missing += 1
        what = f"{self.trace_id}: an attachment is missing"
        self.losses.add("inspect_ai.unresolved_attachment", what)
        return text


def read_sample(
    value: Any, place: str, evaluation: Evaluation, ids: FreeIds, losses: Losses
) -> Sample:
    """Read a sample.

    Raises:
        InputError: it is no object.
    """
    if not isinstance(value, dict):
        raise InputError(f"{place}: is no sample")
    fields = Fields(value, "the sample", AREA, losses)
    old = fields.inner("transcript")  # until version 2
    events = fields.items("events") or old.items("events")
    held = fields.inner("attachments").values or old.inner("content").values
    wanted = _id(fields)
    epoch = fields.count("epoch")
    trace_id = ids.take(wanted if epoch < 0 else f"{wanted}_epoch_{epoch}")
    messages = fields.items("messages")
    return Sample(trace_id, evaluation, fields, events, messages, losses, dict(held))


def verdict_of(sample: Sample) -> Verdict:
    """Return how a sample ended: with an error, stopped by a limit, or as it should.

    A limit is neither: what was there was scored, and the agent might have gone on.
    """
    error, limit = sample.fields.values.get("error"), sample.fields.values.get("limit")
    if error is not None:
        said = sample.fields.inner("error").text("message") if isinstance(error, dict) else None
        raised = raised_by(said) if said is not None else None
        return Verdict(ERROR, "recorded", raised.type if raised is not None else None, said)
    return Verdict(OK, "default") if limit is None else Verdict(UNSET)


def facts_of(sample: Sample) -> dict[str, object]:
    """Return what is said of a sample, labels included: no text that a model or a person wrote.

    Gap codes: ``inspect_ai.unreadable_field``, ``inspect_ai.scores_left_out``,
    ``inspect_ai.earlier_attempts``.
    """
    fields, log = sample.fields, sample.evaluation
    limit = fields.inner("limit")
    ended_by = {"limit": limit.text("type"), "limit_value": limit.number("limit")}
    retried = len(fields.items("error_retries"))
    if retried:
        what = f"{sample.trace_id}: the attempts before the last are no steps"
        sample.losses.add("inspect_ai.earlier_attempts", what, retried)
    epoch = fields.count("epoch")
    found: dict[str, object] = {
        "task": log.task,
        "model": log.model,
        "eval_id": log.eval_id,
        "eval_status": log.status,
        "sample": _id(fields),
        "epoch": None if epoch < 0 else epoch,
        "sample_uuid": fields.text("uuid"),
        "ended_by": {name: fact for name, fact in ended_by.items() if fact is not None} or None,
        "retries": retried or None,
        "evaluations": _evaluations(sample) or None,
    }
    return {name: fact for name, fact in found.items() if fact is not None}


def rest_of(fields: Fields, bodies: frozenset[str]) -> str:
    """Return what is recorded besides the bodies, as JSON text."""
    kept = {k: v for k, v in fields.values.items() if k not in bodies and not is_too_deep(v)}
    return dump({key: value for key, value in kept.items() if value not in (None, {}, [])})


def _evaluations(sample: Sample) -> list[dict[str, object]]:
    """Return what scorers said of a sample.

    Values are numbers and grades of one letter; another text may quote the answer and stays out,
    as answers and explanations do.
    """
    fields = sample.fields
    found = fields.inner("scores").values
    if not found and isinstance(fields.values.get("score"), dict):
        found = {"score": fields.values["score"]}  # until version 2 there was one
    kept: list[dict[str, object]] = []
    for name, score in found.items():
        said = _said(name, score.get("value") if isinstance(score, dict) else None)
        if said is None or len(kept) + len(said) > _MAX_SCORES:
            what = f"{sample.trace_id}: a score is neither a number nor a grade"
            sample.losses.add("inspect_ai.scores_left_out", what)
        else:
            kept += said
    return kept


def _said(name: str, value: Any) -> list[dict[str, object]] | None:
    """Return the evaluations of a score, which may be several in one; None if one is no label."""
    values = {name: value}
    if isinstance(value, dict):
        values = {f"{name}.{key}": each for key, each in value.items()}
    elif isinstance(value, list):
        values = {f"{name}.{number}": each for number, each in enumerate(value)}
    found: list[dict[str, object]] = []
    for key, each in values.items():
        if isinstance(each, bool):
            found.append({"name": key, "label": "true" if each else "false"})
        elif isinstance(each, str) and len(each) == 1 and each.isalpha():
            found.append({"name": key, "label": each})
        elif finite_number(each) is not None:
            found.append({"name": key, "score": each})
        else:
            return None
    return found


def _id(fields: Fields) -> str:
    value = fields.values.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return fields.text("id") or "sample"
