"""How an agentdelta node ended, as far as its metadata says so. Content is never searched."""

from dataclasses import dataclass
from typing import Any

from tracegraph.ingest.agentdelta.records import Node
from tracegraph.model.codes import SIGNAL_BIT, STATUS_CODE

_OK, _ERROR, _UNSET = STATUS_CODE["ok"], STATUS_CODE["error"], STATUS_CODE["unset"]
_WORDS = {
    **dict.fromkeys(("ok", "success", "succeeded", "completed"), _OK),
    **dict.fromkeys(("error", "failed", "failure"), _ERROR),
}
_FLAGS = {"ok": (_ERROR, _OK), "success": (_ERROR, _OK), "failed": (_OK, _ERROR)}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Status and error of a step, and the signals that go with them."""

    status: int = _UNSET
    status_source: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    signals: int = 0


def read_outcome(node: Node) -> Outcome:
    """Read status, then ok, success and failed, then error; the first that is there decides.

    An error beside a status of ok is handled, not a failure: it stays as a signal.
    """
    error = node.of("error")
    failed = error not in (None, False, "", {})
    error_type, message = _describe(error) if failed else (None, None)
    found = _recorded(node)
    if found is None:
        if not failed:
            return Outcome()
        found = (_ERROR, "error")
    status, key = found
    signals = SIGNAL_BIT["tool_error"] if failed and status == _OK else 0
    return Outcome(status, f"metadata.{key}", error_type, message, signals)


def _recorded(node: Node) -> tuple[int, str] | None:
    word = node.of("status")
    if isinstance(word, str) and word.lower() in _WORDS:
        return _WORDS[word.lower()], "status"
    for key, (when_false, when_true) in _FLAGS.items():
        flag = node.of(key)
        if isinstance(flag, bool):
            return (when_true if flag else when_false), key
    return None


def _describe(error: Any) -> tuple[str | None, str | None]:
    """Return type and message of an error recorded as text or as an object."""
    if isinstance(error, str):
        return None, error
    if isinstance(error, dict):
        kind, message = error.get("type", error.get("name")), error.get("message")
        return (
            kind if isinstance(kind, str) else None,
            message if isinstance(message, str) else None,
        )
    return None, None
