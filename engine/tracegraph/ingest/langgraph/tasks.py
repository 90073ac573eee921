"""What the writes of one task say: what it made, how it ended, which tools answered in it."""

from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from tracegraph.ingest.langgraph.blob import UNDECODABLE, Built
from tracegraph.ingest.langgraph.messages import Usage
from tracegraph.ingest.requests import Call
from tracegraph.model.codes import UNKNOWN

ERROR, INTERRUPT, RESUME = "__error__", "__interrupt__", "__resume__"
SCHEDULED, NO_WRITES = "__scheduled__", "__no_writes__"
HANDLED, PACKETS = "__error_source_node__", "__pregel_tasks"
RETURN, END, PREVIOUS = "__return__", "__end__", "__previous__"
"""Functional API: what a called task returns, what an entrypoint returns, and what it keeps."""
ENDINGS = (RESUME, INTERRUPT, ERROR)
"""What a call of the graph records of a task that it did not finish, in the order of ``idx``."""
_CONTROL = frozenset({ERROR, INTERRUPT, RESUME, SCHEDULED, HANDLED})
"""Channels that say what happened to a task; all others, and NO_WRITES, are its result."""


class Answer(Struct, gc=False):
    """The result of a tool, as a message in a task's writes records it: a TOOL step.

    Attributes:
        call_id: the call that it answers.
        name: the tool.
        status: as recorded: success or error, None in releases that did not record it.
        call: the request, where it is known.
        result: digest of the content.
        result_size: its bytes.
        channel: that it was written to.
        text: the content, kept where it is error text or content is kept.
        arguments: the arguments as text, where content is kept.
        row: of its step in the draft.
    """

    call_id: str
    name: str | None
    status: str | None = None
    call: Call | None = None
    result: str | None = None
    result_size: int = UNKNOWN
    args_size: int = UNKNOWN
    text: str | None = None
    arguments: str | None = None
    channel: str = ""
    row: int = -1


@dataclass(slots=True, eq=False)
class Request:
    """A tool call on its way from the task that asked for it to those that answer it.

    Attributes:
        call: what is asked for.
        asker: position among the askers; -1 where a message from outside asks, or nobody knows
            which of several.
        channel: in which it is asked for.
        turn: number of the message that asks.
        number: of the request among all.
        answered: some task answered it, or a write from outside did.
    """

    call: Call
    asker: int
    channel: str = ""
    turn: int = -1
    number: int = -1
    answered: bool = False


@dataclass(slots=True)
class Record:
    """What the writes of a task say.

    Attributes:
        channels: the channels it wrote, with the values that are text (joins name their writer so).
        packets: nodes of the packets it sent, in order.
        has_result: it wrote a result, or that it has none.
        is_silent: it finished, but its result is not among the writes.
        has_error, error: it failed at least once, and with what.
        is_handled: another task was given its failure.
        has_interrupt, has_resume, is_scheduled: of the control channels.
        interrupted_in: namespace that an interrupt names, whose last level is the task (0.2).
        said: a model's message is among its writes, whoever wrote it first.
        heard: a tool's message is.
        usage: of the messages that a model call of this task made; None without any.
        asked: the requests in them.
        answers_in_text: the last of them holds text and asks for nothing.
        answers: results of tools that ran in it.
        is_asked: the one call that it was given to run, where it is given one.
        open: calls that waited for an answer when it failed; None where they are too many.
        set_error: text of the error that it was the first to write into the error channel.
        reset_error: it wrote the error channel while that held an error.
        output: its result as JSON, where content is kept.
    """

    channels: dict[str, str | None] = field(default_factory=dict)
    packets: list[str] = field(default_factory=list)
    has_result: bool = False
    is_silent: bool = False
    has_error: bool = False
    error: Any = None
    is_handled: bool = False
    has_interrupt: bool = False
    interrupted_in: str = ""
    has_resume: bool = False
    is_scheduled: bool = False
    said: bool = False
    heard: bool = False
    usage: Usage | None = None
    asked: list[Request] = field(default_factory=list)
    answers_in_text: bool = False
    answers: list[Answer] = field(default_factory=list)
    is_asked: Call | None = None
    open: list[Request] | None = None
    set_error: str | None = None
    reset_error: bool = False
    output: str | None = None

    def take(self, channel: str, value: Any) -> bool:
        """Take in one write; return whether it is a value of the state or of a return."""
        if channel in _CONTROL:
            if channel == ERROR:
                self.has_error, self.error = True, value
            if channel == INTERRUPT:
                self.has_interrupt = True
                self.interrupted_in = _namespace_of_interrupt(value)
            self.has_resume |= channel == RESUME
            self.is_scheduled |= channel == SCHEDULED
            self.is_handled |= channel == HANDLED
            return False
        self.has_result = True
        if channel == PACKETS:
            self.packets.append(packet_node(value) or "")
            return False
        self.channels[channel] = value if isinstance(value, str) and len(value) < 512 else None
        return channel != NO_WRITES


def _namespace_of_interrupt(value: Any) -> str:
    """Return the namespace in which an interrupt was raised, as releases before 1.0 record it."""
    first = value[0] if isinstance(value, list) and value else value
    levels = first.fields().get("ns") if isinstance(first, Built) else None
    if not isinstance(levels, list) or not all(isinstance(level, str) for level in levels):
        return ""
    return levels[-1] if levels else ""


def packet_node(value: Any) -> str | None:
    """Return the node that a ``Send`` schedules, None where the value is none."""
    node = packet_parts(value)[0]
    return node


def packet_parts(value: Any) -> tuple[str | None, Any]:
    """Return node and argument of a ``Send``, in the spellings of msgpack and of JSON."""
    if isinstance(value, Built) and value.name == "Send":
        data = value.data
        if isinstance(data, list) and len(data) >= 2 and isinstance(data[0], str):
            return data[0], data[1]
        if isinstance(data, dict) and isinstance(data.get("node"), str):
            return data["node"], data.get("arg")
    return None, UNDECODABLE
