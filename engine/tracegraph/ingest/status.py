"""What a step's status is, and what decided it (DESIGN section 3).

An explicit OK or ERROR stands. Without one, an exception event that has a type or a message, a
recorded ``error.type`` or an error flag of the tool protocol make an error; an ended span without
any is ok by OpenTelemetry's meaning of UNSET. Control flow that frameworks report as failure is no
error; it is told by the fully qualified type, since anybody may name a class GraphInterrupt.
"""

from collections.abc import Sequence

from msgspec import Struct

from tracegraph.ingest import span_gaps
from tracegraph.model.codes import SIGNAL_BIT, STATUS_CODE

UNSET, OK, ERROR = STATUS_CODE["unset"], STATUS_CODE["ok"], STATUS_CODE["error"]
TOOL_ERROR = SIGNAL_BIT["tool_error"]
INTERRUPT = SIGNAL_BIT["interrupt"]

_INTERRUPTS = frozenset({"langgraph.errors.GraphInterrupt", "langgraph.errors.NodeInterrupt"})
_CONTROL_FLOW = _INTERRUPTS | {
    "langgraph.errors.ParentCommand",
    "langgraph.errors.GraphBubbleUp",
    "langgraph.errors.GraphDelegate",
}
_UNQUALIFIED = frozenset(name.rpartition(".")[2] for name in _CONTROL_FLOW)

_CODES = {
    None: UNSET,
    0: UNSET,
    1: OK,
    2: ERROR,
    "": UNSET,
    "0": UNSET,
    "1": OK,
    "2": ERROR,
    "UNSET": UNSET,
    "OK": OK,
    "ERROR": ERROR,
}


class RaisedException(Struct, gc=False):
    """One exception event."""

    type: str | None = None
    message: str | None = None
    escaped: bool = False


class Verdict(Struct, gc=False):
    """The status of a step.

    Attributes:
        status: code of STATUSES.
        source: what decided it, None where nothing did.
        error_type: qualified type of the failure, only of an error.
        error_message: text of the failure, only of an error.
        signals: bit mask.
        gaps: contradictions to disclose, codes of :mod:`tracegraph.ingest.span_gaps`.
    """

    status: int
    source: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    signals: int = 0
    gaps: tuple[str, ...] = ()


_DEFAULT = Verdict(OK, "default")
_RECORDED = Verdict(OK, "recorded")
_OPEN = Verdict(UNSET)


def status_code(code: int | str | None) -> int | None:
    """Read a status code: a number, its text or the name of the enum; None if it is none."""
    if isinstance(code, str):
        code = code.removeprefix("STATUS_CODE_").upper()
    return _CODES.get(code)


def judge(
    recorded: int,
    *,
    ended: bool,
    message: str | None = None,
    exceptions: Sequence[RaisedException] = (),
    error_type: str | None = None,
    tool_status: str | None = None,
    result_is_error: bool = False,
    message_failed: bool = False,
) -> Verdict:
    """Decide the status of a step.

    Args:
        recorded: code of STATUSES as recorded explicitly, unset where it was not.
        ended: the step has an end.
        message: description beside the recorded status.
        exceptions: exception events in order.
        error_type: the attribute ``error.type``.
        tool_status: the attribute ``gen_ai.tool.status``.
        result_is_error: the tool protocol's own flag on the result (MCP ``isError``).
        message_failed: the tool message around the result says ``status: error``.
    """
    known = [e for e in exceptions if e.type or e.message]
    failed = tool_status is not None and tool_status.lower() in ("error", "failed", "failure")
    soft = TOOL_ERROR if failed or result_is_error or message_failed else 0
    if recorded == OK:
        if not known and not soft and not error_type:
            escaped = exceptions and any(e.escaped for e in exceptions)
            return _escaped(0) if escaped else _RECORDED
        return _explicit_ok(known, exceptions, error_type, soft, failed)
    if recorded == UNSET and not known and not error_type and not soft:
        return _DEFAULT if ended else _OPEN

    types = [e.type for e in known] or ([error_type] if error_type else [])
    if _is_control_flow(types, error_type):
        interrupt = INTERRUPT if any(name in _INTERRUPTS for name in types) else 0
        return Verdict(UNSET, "control_flow", signals=interrupt)
    source = _failure(recorded, known, error_type, result_is_error, failed)
    if source is None:  # only the message around the result failed: the tool answered
        return Verdict(OK, "default", signals=soft) if ended else Verdict(UNSET, signals=soft)
    last = known[-1] if known else RaisedException()
    gaps = (span_gaps.UNQUALIFIED_CONTROL_FLOW,) if any(t in _UNQUALIFIED for t in types) else ()
    return Verdict(
        ERROR,
        source,
        last.type or error_type,
        last.message or message or None,
        soft,
        gaps,
    )


def _is_control_flow(types: Sequence[str | None], error_type: str | None) -> bool:
    """Tell whether everything that a step reports as its failure is control flow.

    One exception that is none, or that does not say what it is, makes it a failure. Beside the
    qualified type of an exception ``error.type`` may repeat the bare name of the class.
    """
    if not types or not all(name in _CONTROL_FLOW for name in types):
        return False
    bare = {name.rpartition(".")[2] for name in types if name}
    return error_type is None or error_type in _CONTROL_FLOW or error_type in bare


def _failure(
    recorded: int,
    known: list[RaisedException],
    error_type: str | None,
    result_is_error: bool,
    failed: bool,
) -> str | None:
    if recorded == ERROR:
        return "recorded"
    if known:
        return "exception"
    if error_type:
        return "error.type"
    if result_is_error:
        return "result.isError"
    return "gen_ai.tool.status" if failed else None


def _explicit_ok(
    known: list[RaisedException],
    exceptions: Sequence[RaisedException],
    error_type: str | None,
    soft: int,
    failed: bool,
) -> Verdict:
    interrupted = any(e.type in _INTERRUPTS for e in known)
    verdict = Verdict(OK, "recorded", signals=soft | (INTERRUPT if interrupted else 0))
    if error_type and not _is_control_flow([e.type for e in known] or [error_type], error_type):
        verdict.signals |= TOOL_ERROR
        verdict.gaps += (span_gaps.STATUS_CONTRADICTS_ERROR_TYPE,)
    if failed:
        verdict.gaps += (span_gaps.STATUS_CONTRADICTS_TOOL_STATUS,)
    if any(e.escaped for e in exceptions):
        verdict.gaps += _escaped(0).gaps
    return verdict


def _escaped(signals: int) -> Verdict:
    """An exception that left the span, under a status that says OK."""
    gaps = (span_gaps.STATUS_CONTRADICTS_ESCAPED_EXCEPTION,)
    return Verdict(OK, "recorded", signals=signals, gaps=gaps)
