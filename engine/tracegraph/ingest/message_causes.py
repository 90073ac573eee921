"""Causes that messages tell: which model step asked for a tool step, which one read its result.

Format-neutral: adapters describe the model steps (calls in the output, results and calls in the
input) and the tool steps of one trace. The rules are DESIGN section 3's:

- the model step whose output asks for call ``id`` causes the tool step that ran it;
- the tool step causes the *first* model step after it whose input holds the result; later ones
  re-read the whole history and get no edge;
- ids repeat within a run, so a result belongs to the latest open request;
- a tool step without an id is paired with the one open request of that tool and those arguments;
  where two could fit it stays open, and that is disclosed.

A conversation is told by its container, the last of a step's ``path``. A step looks among the
requests of its own conversation first, and beyond it only for what its own never asked for, so
that agents whose ids collide do not take each other's results. What the rules leave open is
decided for what the record proves:

- a model step of another conversation that is given a result (a handoff, a summariser) is caused
  by it, once; the conversation that asked still goes on with its own first reader;
- a failed attempt of a model step read the result, but the attempt that went on did so too;
- of a call that ran again before its result was read, the last run that had ended gave the result;
- a model or tool step inside of a step that records the same call is that call recorded twice: the
  innermost model step and the outermost tool step stand for it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tracegraph.ingest.call_steps import Conversation, ModelStep, ToolStep
from tracegraph.ingest.claims import claim_by_id
from tracegraph.ingest.requests import (
    Call,
    OpenById,
    OpenByName,
    Request,
    Run,
    latest_ended,
    same_arguments,
)
from tracegraph.model.codes import SIGNAL_BIT


@dataclass(slots=True)
class MessageCauses:
    """What follows from the messages of one trace.

    Attributes:
        edges: (effect row, cause row, origin).
        args: digest of the request's arguments, by row of the tool step that ran it.
        signals: bit masks to add, by row.
        ambiguous: tool steps that two or more open requests fit.
    """

    edges: list[tuple[int, int, str]] = field(default_factory=list)
    args: dict[int, str] = field(default_factory=dict)
    signals: Counter[int] = field(default_factory=Counter)
    ambiguous: int = 0


def message_causes(models: Sequence[ModelStep], tools: Sequence[ToolStep]) -> MessageCauses:
    """Pair requests, tool steps and readers of one trace."""
    return _Pairing(Conversation(models, tools)).run()


class _Pairing:
    """One pass in time, after that by id, which closes requests as their results are read."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._without_id = {
            (tool.path[-1], tool.name)
            for tool in conversation.tools.values()
            if tool.call_id is None
        }
        self._of_tool: dict[int, Request] = {}
        self._open = OpenById()
        self._unclaimed = OpenByName()
        self._unread = OpenByName()
        self._found = MessageCauses()

    def run(self) -> MessageCauses:
        self._of_tool = claim_by_id(self._conversation)
        for step in self._conversation.steps:
            if isinstance(step, ModelStep):
                if step.messages.reads:
                    self._read_results(step)
                for request in self._conversation.requests[step.row]:
                    if request.read:
                        continue  # its start is unknown or skewed: all that follows came before
                    self._open.push(request)
                    if self._without_id:
                        self._offer(request)
            elif not self._conversation.is_inner(step):
                self._run_tool(step)
        self._signal()
        return self._found

    def _offer(self, request: Request) -> None:
        """Offer a request to tool steps without an id: its own conversation's where it has any."""
        shared = (request.path[-1], request.call.name) not in self._without_id
        self._unread.add(request, shared=False)
        if not request.claimed:
            self._unclaimed.add(request, shared)

    def _is_too_early(self, request: Request) -> bool:
        """Tell whether a result of that id can only be an older one: its tool step comes later.

        Of an id that was asked for once, the result is that request's whatever the clocks say.
        """
        return (
            request.claimed
            and not request.answered
            and request.call.id in self._conversation.repeated
        )

    def _run_tool(self, step: ToolStep) -> None:
        origin = "tool_call_id"
        request = self._of_tool.get(step.row)
        if request is None and step.call_id is not None:
            # Asked for in another trace (a resumed thread): the reader may still be in this one.
            call = Call(step.call_id, step.name)
            request = Request(call, -1, step.path, step.when, claimed=True)
            self._open.push(request)
        elif request is None:
            origin = "protocol"
            request = self._only_fitting(step)
            if request is None:
                return
            self._of_tool[step.row] = request
        if request.model >= 0:
            self._found.edges.append((step.row, request.model, origin))
            if request.when > step.when:
                self._open.push(request)
        if request.call.args is not None:
            self._found.args[step.row] = request.call.args
        self._found.edges.extend((reader, step.row, origin) for reader in request.early)
        if request.read and not request.early:
            self._open.push(request)  # run again after its first result was read
        if not (request.read and request.early):
            request.runs.append(Run(step.row, step.end, origin))
        request.early.clear()
        request.answered = True

    def _only_fitting(self, step: ToolStep) -> Request | None:
        """Return the request that a tool step without an id ran, where only one can be it."""
        outer = self._of_tool.get(step.path[-1])
        elsewhere = (None,) if outer is None and step.args is not None else ()
        digests = same_arguments(step.args)
        fitting = self._unclaimed.fitting(step.name, digests, (*step.path, *elsewhere))
        if not fitting and step.args is not None:  # an attempt before or after the one that counts
            fitting = self._unread.fitting(step.name, digests[:1], step.path)
        if len(fitting) != 1:
            self._found.ambiguous += len(fitting) > 1
            for other in fitting:
                other.contested = True
            return None
        request = fitting[0]
        request.claimed = True
        self._unclaimed.remove(request)
        return request

    def _read_results(self, step: ModelStep) -> None:
        for call_id, times in self._conversation.heard(step).items():
            own = self._open.own(call_id, step.path, times)
            if own is None:
                self._be_told(step, call_id)
                continue
            for request in own:
                if self._is_too_early(request):
                    continue
                self._read(step, request)
                if step.went_on:
                    self._close(request)

    def _close(self, request: Request) -> None:
        request.read = True
        request.runs.clear()
        self._open.remove(request)
        if self._without_id:
            self._unclaimed.remove(request)
            self._unread.remove(request)

    def _be_told(self, step: ModelStep, call_id: str) -> None:
        """Read a result that another conversation asked for."""
        request = self._open.foreign(call_id)
        if request is not None and not self._is_too_early(request):
            self._read(step, request)
            if step.went_on:
                request.told = True
                self._open.hide(request)

    def _read(self, step: ModelStep, request: Request) -> None:
        if request.runs:
            run = latest_ended(request.runs, step.when[0])
            self._found.edges.append((step.row, run.row, run.origin))
        elif not request.answered:
            request.early.append(step.row)

    def _signal(self) -> None:
        models = self._conversation.models
        ran = {tool.name for tool in self._conversation.tools.values()}
        capable = bool(ran) or any(step.messages.reads for step in models)
        for step in models:
            messages = step.messages
            mask = 0
            for request in self._conversation.requests[step.row]:
                name = request.call.name
                if request.answered or request.contested:
                    continue
                offered = messages.offered
                is_known = offered is None or name is None or name in offered or name in ran
                if not is_known:
                    mask |= SIGNAL_BIT["unknown_tool"]
                # Without an id nothing could show that a later step reads the result.
                readable = capable and request.call.id is not None
                if readable and not (request.read or request.told or request.early):
                    mask |= SIGNAL_BIT["unanswered_call"]
            if messages.answers and not messages.calls and messages.offered and not messages.cut:
                mask |= SIGNAL_BIT["final_answer"]
            if messages.cut:
                mask |= SIGNAL_BIT["truncated"]
            if mask:
                self._found.signals[step.row] |= mask
