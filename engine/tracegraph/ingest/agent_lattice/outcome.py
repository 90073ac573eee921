"""How tools and runs of agent-lattice ended, as their rows say it; text is never searched."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from tracegraph.ingest.agent_lattice.records import mapping, text
from tracegraph.ingest.status import ERROR, INTERRUPT, OK, TOOL_ERROR, UNSET

_INTERRUPTED = "interrupted"
_FAILED = "error"
"""So begins every subtype of a failure: error, error_max_turns, error_abort, error_timeout."""


class Outcome(Struct, gc=False, frozen=True):
    """Status of a step and what decided it.

    Attributes:
        contradiction: an error is recorded beside a status that says otherwise.
    """

    status: int = UNSET
    source: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    signals: int = 0
    contradiction: bool = False


def tool_outcome(is_error: Any, error: Any, content: str | None, source: str) -> Outcome:
    """Judge a tool by ``is_error`` of its result.

    An unregistered tool and a denied permission come without ``error``: there the content, which
    the SDK wrote, says what happened. A hook may turn a failure into a result that is none while
    the error stays: the explicit word stands, the error becomes a signal.
    """
    kind, message = describe(error)
    failed = kind is not None or message is not None
    if is_error is True or (is_error is None and failed):
        return Outcome(ERROR, source, kind, message or text(content))
    if is_error is False:
        return Outcome(OK, source, signals=TOOL_ERROR if failed else 0, contradiction=failed)
    return Outcome()


def run_outcome(data: Mapping[str, Any]) -> Outcome:
    """Judge a run by its ``result`` row; being interrupted is control flow, not a failure.

    ``subtype`` and ``is_error`` say the same; where they differ either makes a failure, since a
    run of which something says that it failed is not known to have worked.
    """
    subtype, is_error = data.get("subtype"), data.get("is_error")
    kind, message = describe(data.get("error"))
    failed = kind is not None or message is not None
    if subtype == _INTERRUPTED:
        return Outcome(UNSET, "control_flow", signals=INTERRUPT)
    named = subtype if isinstance(subtype, str) and subtype.startswith(_FAILED) else None
    if is_error is True or named:
        differs = is_error is False or subtype == "success"
        kind = kind or (named if named != _FAILED else None)
        return Outcome(ERROR, "result", kind, message, contradiction=differs)
    if is_error is False or subtype == "success":
        return Outcome(OK, "result", signals=TOOL_ERROR if failed else 0, contradiction=failed)
    return Outcome(ERROR, "result", kind, message) if failed else Outcome()


def describe(error: Any) -> tuple[str | None, str | None]:
    """Return name and message of a serialised error."""
    if isinstance(error, str):
        return None, text(error)
    found = mapping(error)
    return text(found.get("name")), text(found.get("message"))
