"""The turns of a conversation that are steps, in whatever format they were logged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracegraph.ingest.attributes import dump
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.requests import Call
from tracegraph.ingest.tool_payload import make_call
from tracegraph.model.codes import STATUS_CODE, UNKNOWN


@dataclass(frozen=True, slots=True)
class Asked:
    """A tool call that a model asked for.

    Attributes:
        call: its id, its tool and the digests of its arguments.
        given: the arguments as text, None where they are not recorded.
    """

    call: Call
    given: str | None = None


def asked(call_id: str | None, name: str | None, arguments: Any) -> Asked:
    """Describe a call; the arguments are JSON text or decoded, None where not recorded.

    Blank ones say nothing, and ones that are nested too deeply cannot be compared.
    """
    is_blank = isinstance(arguments, str) and not arguments.strip()
    if arguments is None or is_blank or is_too_deep(arguments):
        return Asked(Call(call_id, name))
    text = arguments if isinstance(arguments, str) else dump(arguments)
    return Asked(make_call(call_id, name, arguments), text)


@dataclass(slots=True, kw_only=True)
class Turn:
    """What the steps of models and of tools have in common.

    Attributes:
        step_id: unique in the trace.
        name: of the model's role or of the tool.
        agent: whose turn it is.
        status: code of STATUSES. That a model's message is there proves that the model answered; a
            tool's proves nothing but that it came back, unless the format says more.
        status_source: what the status is known by.
        start: nanoseconds since the epoch, -1 unknown.
        end: nanoseconds since the epoch, -1 unknown.
        signals: bit mask of SIGNALS.
        result: digest of the content alone, None unknown.
        result_size: bytes of it, -1 unknown.
        text: the output; kept with content only.
        attributes: a JSON object as text; kept with content only.
    """

    step_id: str
    name: str | None = None
    agent: str | None = None
    status: int = STATUS_CODE["unset"]
    status_source: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    start: int = UNKNOWN
    end: int = UNKNOWN
    duration: int = UNKNOWN
    cost: str | None = None
    signals: int = 0
    result: str | None = None
    result_size: int = UNKNOWN
    text: str | None = None
    attributes: str | None = None


@dataclass(slots=True, kw_only=True)
class ModelTurn(Turn):
    """What a model said, and the calls that it asked for, in order."""

    status: int = STATUS_CODE["ok"]
    status_source: str | None = "default"
    model: str | None = None
    tokens_prompt: int = UNKNOWN
    tokens_completion: int = UNKNOWN
    tokens_total: int = UNKNOWN
    calls: Sequence[Asked] = ()


@dataclass(slots=True, kw_only=True)
class ToolTurn(Turn):
    """What a tool gave back.

    Attributes:
        call_id: the call that it answers, None where the format pairs by position.
    """

    call_id: str | None = None
