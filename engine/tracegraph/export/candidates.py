"""Why to look at a candidate, in words: what the record shows of it, and never that it is to blame.

A local answer: names stand as recorded.
"""

from typing import Final

from tracegraph.analysis.candidates import Candidate, Reason
from tracegraph.model.codes import KIND_CODE
from tracegraph.model.columns import Columns
from tracegraph.model.step import Step

_TOOL = KIND_CODE["TOOL"]
_PLACE = "no sign, only its place: "
_TEXTS: Final[dict[Reason, str]] = {
    "led_to_failure": "led to {about}, which failed, and nothing made up for it",
    "failed": "failed, and nothing made up for it",
    "went_on": "went on from {about}, which failed, and nothing made up for it",
    "unknown_tool": "asked for a tool that nobody offered",
    "unanswered_call": "asked for something that no step answers",
    "truncated": "its output was cut off",
    "repeated": "the first of {times} in a row that said the very same",
    "unread_result": "led to {about}, whose result no model step is recorded to have read",
    "led_to_recovered_failure": "led to {about}, which failed and was made up for later",
    "first_action": _PLACE + "the first that led to a tool step",
    "second_agent": _PLACE + "the first of another agent than the one that began",
    "first_model_step": _PLACE + "the first model step, on which all others build",
    "last_model_step": _PLACE + "the last model step, which left the outcome",
    "first_step": _PLACE + "the first step",
}
_REPEATED_CALL = "the first of {times} in a row with equal arguments and results"


def step_text(columns: Columns, row: int) -> str:
    """Return a step as a line names it."""
    step = Step(columns, row)
    return f"{step.kind} {step.name or '(no name)'} @{step.step_id}"


def candidate_reason(columns: Columns, candidate: Candidate) -> str:
    """Return the reason as the end of a sentence about the step."""
    text = _TEXTS[candidate.reason]
    about = "" if candidate.about is None else step_text(columns, candidate.about)
    if candidate.reason == "repeated" and about:
        text = f"led to {{about}}, {_REPEATED_CALL}"
    elif candidate.reason == "repeated" and columns.steps.kind[candidate.row] == _TOOL:
        text = _REPEATED_CALL
    return text.format(about=about, times=candidate.times)
