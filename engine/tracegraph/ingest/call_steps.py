"""The model steps and tool steps of a trace, as far as calls of tools concern them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from msgspec import Struct

from tracegraph.ingest.requests import Call, Request

When = tuple[int, int]


class Messages(Struct, gc=False):
    """What a model step's recorded messages say.

    Attributes:
        calls: tool calls in the output.
        reads: call ids of the tool results in the input, in order.
        history: call ids of the requests in the input.
        offered: names of the tools that the model could call, None where not recorded.
        answers: the output holds text.
        cut: the output ended at a limit of length.
    """

    calls: list[Call] = []
    reads: list[str] = []
    history: list[str] = []
    offered: list[str] | None = None
    answers: bool = False
    cut: bool = False

    def says_anything(self) -> bool:
        """Tell whether the output holds text or a call."""
        return self.answers or bool(self.calls)


class ModelStep(Struct, gc=False):
    """A model step.

    Attributes:
        row: its row.
        when: comparable time of its start.
        path: rows of the containers from the nearest to the one that tells its conversation; -1
            where nothing contains it. Never empty.
        messages: what it heard and said.
        went_on: it is not known to have failed, or it said something.
    """

    row: int
    when: When
    path: tuple[int, ...]
    messages: Messages
    went_on: bool = True


class ToolStep(Struct, gc=False):
    """A tool step: row, start and path as of a model step, its end in ns, and what it ran."""

    row: int
    when: When
    path: tuple[int, ...]
    name: str | None = None
    call_id: str | None = None
    args: str | None = None
    end: int = -1


class Conversation:
    """The steps of one trace and what they ask for.

    Attributes:
        models: the model steps.
        tools: the tool steps by row.
        steps: all in order of time.
        requests: what each model step asks for, by row.
        repeated: ids that were asked for more than once.
    """

    def __init__(self, models: Sequence[ModelStep], tools: Sequence[ToolStep]) -> None:
        self.models = models
        self.tools = {tool.row: tool for tool in tools}
        self.steps: list[ModelStep | ToolStep] = sorted([*models, *tools], key=attrgetter("when"))
        self._inner = _calls_of_inner_steps(models)
        self.requests = {
            step.row: [
                Request(call, step.row, step.path, step.when)
                for call in step.messages.calls
                if step.row not in self._inner or _key(call) not in self._inner[step.row].asked
            ]
            for step in models
        }
        everything = [request for requests in self.requests.values() for request in requests]
        asked = Counter(request.call.id for request in everything)
        self.repeated = {call_id for call_id, times in asked.items() if times > 1}
        self._asked_in = {(request.call.id, request.path[-1]) for request in everything}

    def heard(self, step: ModelStep) -> dict[str, int]:
        """Return how many results of which ids a model step may be the first to read."""
        messages = step.messages
        inner = self._inner.get(step.row)
        if not self.repeated and inner is None:
            return dict.fromkeys(messages.reads, 1)
        found = dict(Counter(messages.reads))
        for call_id in messages.reads:
            # An id that every agent counts from zero is told by the request beside it.
            stray = call_id in self.repeated and call_id not in messages.history
            if (inner is not None and call_id in inner.read) or (stray and messages.history):
                found.pop(call_id, None)
        return found

    def is_inner(self, step: ToolStep) -> bool:
        """Tell whether the tool step that encloses a step records the same call.

        It does not where the outer tool holds a conversation that asked for the id itself.
        """
        outer = self.tools.get(step.path[-1])
        if outer is None or step.call_id is None or step.call_id != outer.call_id:
            return False
        return (step.call_id, outer.row) not in self._asked_in


_Key = tuple[str | None, str | None, str | None]


def _key(call: Call) -> _Key:
    return (call.id, None, None) if call.id is not None else (None, call.name, call.args)


@dataclass(slots=True)
class _Inner:
    """What the model steps inside of a model step ask for and read."""

    asked: set[_Key] = field(default_factory=set)
    read: set[str] = field(default_factory=set)


def _calls_of_inner_steps(models: Sequence[ModelStep]) -> dict[int, _Inner]:
    """Return what inner model steps tell, by the row of the outer one.

    A client library and the framework above it may both record one call of a model.
    """
    rows = {step.row for step in models}
    found: dict[int, _Inner] = {}
    for step in models:
        for container in step.path:
            if container in rows:
                inner = found.setdefault(container, _Inner())
                inner.asked.update(map(_key, step.messages.calls))
                inner.read.update(step.messages.reads)
    return found
