"""How an AgentDiff step ended, and whether its run failed.

The recorded word stands; without one the format's default is success, but for a step that records
an error message, which is "set when the step errored". A message beside a recorded success is a
contradiction: disclosed, not a failure.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from tracegraph.ingest.agentdiff.records import StepRecord, body_text
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.tool_payload import ToolPayload
from tracegraph.model.codes import SIGNAL_BIT, STATUS_CODE

_OK, _ERROR, _UNSET = STATUS_CODE["ok"], STATUS_CODE["error"], STATUS_CODE["unset"]
_TOOL_ERROR = SIGNAL_BIT["tool_error"]
_WORDS: dict[object, tuple[int, str | None]] = {
    "success": (_OK, "recorded"),
    "error": (_ERROR, "recorded"),
    "retry": (_ERROR, "recorded.retry"),
    "abandoned": (_ERROR, "recorded.abandoned"),
    UNSET: (_OK, "default"),
}
"""``retry`` is an attempt that failed and was made again, ``abandoned`` one that was given up."""


class Outcome(Struct, gc=False):
    """Status of a step, what decided it, the text of the failure, and signals."""

    status: int
    source: str | None
    message: str | None = None
    signals: int = 0


def read_outcome(step: StepRecord, payload: ToolPayload | None, losses: Losses) -> Outcome:
    """Read the status of a step.

    Gap codes: ``agentdiff.unknown_status``, ``agentdiff.status_contradicts_error_message``.
    """
    shown = f"step {step.step_id!r}"
    word = step.status if isinstance(step.status, str | UnsetType) else None
    status, source = _WORDS.get(word, (_UNSET, None))
    if source is None and step.status is not None:
        losses.add("agentdiff.unknown_status", f"{shown}: a status that is none")
    outcome = Outcome(status, source, _message(step.error_message, shown, losses))
    failed_result = payload is not None and payload.is_error
    if source in (None, "default"):
        if outcome.message is not None:
            outcome.status, outcome.source = _ERROR, "error_message"
        elif failed_result:
            outcome.status, outcome.source = _ERROR, "result.isError"
    elif status == _OK and outcome.message is not None:
        losses.add("agentdiff.status_contradicts_error_message", f"{shown}: success with an error")
        outcome.signals = _TOOL_ERROR
    if failed_result or (payload is not None and payload.message_failed):
        outcome.signals = _TOOL_ERROR
    return outcome


def _message(recorded: Any, shown: str, losses: Losses) -> str | None:
    """Return the text of an error, None where none is recorded; some write an object."""
    if recorded in (None, False, {}, []):
        return None
    text = recorded
    if not isinstance(text, str):
        text = body_text(recorded, f"{shown}: error_message", losses)
    return text if text and text.strip() else None


def failed_without_answer(
    steps: Sequence[StepRecord], outcomes: Sequence[Outcome], answer: Any
) -> bool:
    """Tell whether a run has no final output after a failure that no later step made good.

    Made good is a failed attempt that a later step of the same type and name succeeded in.
    """
    if answer not in (None, {}, "", []):
        return False
    succeeded: set[tuple[str | None, str | None]] = set()
    for step, outcome in zip(reversed(steps), reversed(outcomes), strict=True):
        attempt = (step.step_type, step.name)
        if outcome.status == _ERROR and attempt not in succeeded:
            return True
        if outcome.status == _OK:
            succeeded.add(attempt)
    return False
