"""Which calls of tools failed, as a task lists them (``TaskOutput.tool_failures``)."""

from typing import Any

from tracegraph.ingest.crewai.records import AREA, plain_name, type_word
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.tool_payload import make_call
from tracegraph.ingest.transcript.fields import Fields
from tracegraph.model.codes import STATUS_CODE
from tracegraph.model.draft import Draft

_ERROR = STATUS_CODE["error"]
_Key = tuple[str | None, str | None]


def mark_failures(draft: Draft, rows: list[int], task: Fields, losses: Losses) -> None:
    """Mark the tool steps of a task that failed.

    A failure names the tool and its arguments and no call. Of equal calls some of which failed,
    which ones is not known: they stay unset. Gap codes: ``crewai.ambiguous_tool_failure``,
    ``crewai.unmatched_tool_failure``.

    Args:
        draft: that holds the steps.
        rows: of the task's tool steps, in order.
        task: the task.
        losses: where losses are disclosed.
    """
    failures: dict[_Key, list[Fields]] = {}
    for value in task.items("tool_failures"):
        record = Fields(value if isinstance(value, dict) else {}, "tool failure", AREA, losses)
        failures.setdefault(_key(record), []).append(record)
    calls: dict[_Key, list[int]] = {}
    for row in rows if failures else ():
        key = plain_name(draft.steps.name[row]), draft.steps.args[row]
        calls.setdefault(key, []).append(row)
    for key, records in failures.items():
        found, count = calls.get(key, []), len(records)
        if count < len(found):
            losses.add("crewai.ambiguous_tool_failure", "one of several equal calls failed", count)
            continue
        for row, record in zip(found, records, strict=False):
            _mark(draft, row, record.inner("failure"))
        if count > len(found):
            what = "a tool that failed is at no step"
            losses.add("crewai.unmatched_tool_failure", what, count - len(found))


def _key(record: Fields) -> _Key:
    arguments: Any = record.content("tool_args")
    if arguments is None or is_too_deep(arguments):
        return plain_name(record.text("tool_name")), None
    return plain_name(record.text("tool_name")), make_call(None, None, arguments).args


def _mark(draft: Draft, row: int, failure: Fields) -> None:
    """Set the status; the code of an exception is its class, a reason tells other failures."""
    steps, reason = draft.steps, failure.text("reason")
    code = failure.text("code") if reason == "exception" else None
    steps.status[row], steps.status_source[row] = _ERROR, "recorded"
    steps.error_type[row] = type_word(code) or type_word(reason)
    steps.error_message[row] = failure.text("message")
