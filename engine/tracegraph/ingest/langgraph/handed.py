"""What a checkpoint hands to the tasks that run from it: its messages, channel by channel.

Agents that work side by side keep lists of their own, and ids of calls are no more unique than
whoever gives them: what a call belongs to is told by the list in which it is asked and answered.
"""

from functools import cached_property
from typing import Any

from tracegraph.ingest.langgraph.history import Task
from tracegraph.ingest.langgraph.messages import MODEL, TOOL, Asked, asked, asked_by, messages_in


class State:
    """What the messages of a state say.

    Attributes:
        ids: of the messages.
        channels: those that hold messages.
        answered: the channels that hold a result, by call.
        asked: by call and channel; of a call that was asked for again, the last request.
    """

    def __init__(self, values: Any) -> None:
        self.ids: set[str] = set()
        self.channels: set[str] = set()
        self.answered: dict[str, set[str]] = {}
        self.asked: dict[str, dict[str, Asked]] = {}
        is_state = isinstance(values, dict) and "content" not in values  # else it is a message
        for channel, value in values.items() if is_state else [("", values)]:
            for message in messages_in(value):
                self.channels.add(channel)
                if message.id is not None:
                    self.ids.add(message.id)
                if message.role == TOOL and message.call_id is not None:
                    self.answered.setdefault(message.call_id, set()).add(channel)
                elif message.role == MODEL:
                    for call in asked_by(message):
                        self.asked.setdefault(call.id, {})[channel] = call

    def answers(self, call_id: str, channel: str) -> bool:
        """Tell whether it holds a result of a call that was asked for in a channel."""
        where = self.answered.get(call_id)
        return where is not None and (channel in where or channel not in self.channels)

    def request(self, call_id: str, channel: str) -> Asked | None:
        """Return the request of a call in a channel, or in any where that holds no messages."""
        where = self.asked.get(call_id, {})
        if channel in where or channel in self.channels:
            return where.get(channel)
        return next(reversed(where.values()), None)


class Handed:
    """What a checkpoint hands to its tasks.

    Attributes:
        holds_error: the error channel holds something.
        packets: arguments of the packets, by their index.
    """

    def __init__(self, values: dict[str, Any], error_channel: str) -> None:
        self._values = values
        self.holds_error = bool(values.get(error_channel))
        self.packets: list[Any] = []

    @cached_property
    def state(self) -> State:
        """What its messages say; most of the last checkpoints of a run hand it to nobody."""
        return State(self._values)

    def to(self, task: Task) -> State:
        """Return what a task was handed: the argument of its packet, where that holds messages."""
        if 0 <= task.packet < len(self.packets):
            state = State(self.packets[task.packet])
            if state.ids or state.answered or state.asked:
                return state
        return self.state


def handed_call(argument: Any) -> Asked | None:
    """Return the one tool call that a packet hands over, None where it hands over none or several.

    LangGraph's tool node is sent a call, a list of one, or a call beside the state.
    """
    if isinstance(argument, list) and len(argument) == 1:
        argument = argument[0]
    if isinstance(argument, dict):
        call = argument.get("tool_call", argument)
        return asked(call) if isinstance(call, dict) and "name" in call else None
    return None
