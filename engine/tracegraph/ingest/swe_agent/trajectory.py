"""SWE-agent: the items of a trajectory, or the messages of a history, to steps.

An item is one answer of the model, the command that it asked for and what came back: a model step
and a tool step. Until 1.0 commands have no ids and pair by position; the function calls of later
versions are in the history. A history without a trajectory is read message by message.
"""

from collections import Counter, defaultdict, deque
from typing import Any

from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import nanoseconds
from tracegraph.ingest.swe_agent.command import command_name
from tracegraph.ingest.swe_agent.outcome import UNSET, Outcome
from tracegraph.ingest.swe_agent.run import Run, heard, rest_of
from tracegraph.ingest.transcript.content import content_digest, content_text
from tracegraph.ingest.transcript.fields import Fields
from tracegraph.ingest.transcript.transcript import Transcript
from tracegraph.ingest.transcript.turns import Asked, ModelTurn, ToolTurn, asked
from tracegraph.model.codes import KIND_CODE
from tracegraph.model.draft import Draft

_CHAIN = KIND_CODE["CHAIN"]
_BODIES = frozenset("action observation response content tool_calls query messages".split())
_Asking = dict[str | None, deque[Fields]]


class Trajectory:
    """The steps of one run, appended to the open trace of a draft.

    Gap codes: ``swe_agent.unreadable_step``, ``swe_agent.unreadable_message``,
    ``swe_agent.unreadable_field``, ``swe_agent.result_without_call``.

    Attributes:
        has_end: the last step says how the run ended.
    """

    def __init__(self, draft: Draft, run: Run, outcome: Outcome, losses: Losses) -> None:
        self._draft = draft
        self._run = run
        self._outcome = outcome
        self._losses = losses
        self._talk = Transcript(draft)
        self.has_end = False

    def read(self) -> None:
        """Append the steps."""
        if self._run.fields.items("trajectory"):
            asking = self._history()
            for number, item in self._run.records("trajectory", "step", self._losses):
                self._add_item(item, f"step-{number}", asking)
        else:
            self._read_history()
        self._talk.end()

    def _history(self) -> _Asking:
        """Return the answers of the model in the history by their command, to find ids by.

        What comes before the first was what the model was given first. A history may lack an
        answer, or hold it in other words: of a command that it holds more or less often than the
        trajectory does, which one is which is not known.
        """
        asking: defaultdict[str | None, deque[Fields]] = defaultdict(deque)
        for _, message in self._run.records("history", "message", self._losses):
            if message.text("role") == "assistant" and not _is_demo(message):
                asking[message.text("action")].append(message)
            elif not asking:
                self._talk.hear(heard(message))
        items = (item for item in self._run.fields.items("trajectory") if isinstance(item, dict))
        actions = (item.get("action") for item in items)
        times = Counter(action for action in actions if isinstance(action, str))
        return {each: found for each, found in asking.items() if len(found) == times[each or ""]}

    def _add_item(self, item: Fields, step_id: str, asking: _Asking) -> None:
        action, thought = item.text("action"), item.text("thought")
        content = item.content("response")
        if "action" not in item.values:
            item.refuse("action", "is missing")
        if self._is_end(action):
            self._add_end(step_id, item, thought)
            return
        recorded = asking.get(action)
        message = recorded.popleft() if recorded else None
        calls = self._calls(message, action)
        agent = message.text("agent") if message is not None else None
        self._add_model(item, step_id, agent, content, calls)
        observation = item.content("observation")
        if item.values.get("observation") is None:
            item.refuse("observation", "is missing")
            return
        if not calls:
            if observation:
                self._talk.hear({"role": "user", "content": observation})
            return
        call = calls[0].call
        took = item.number("execution_time")
        turn = ToolTurn(step_id=f"{step_id}-tool", name=call.name, call_id=call.id, agent=agent)
        turn.duration = nanoseconds(took * 1_000 if took is not None else None)
        self._add_tool(turn, item, observation)

    def _is_end(self, action: str | None) -> bool:
        """Tell an item that the agent itself wrote when it ended the run: no model asked for it."""
        word = self._outcome.word
        is_ended_otherwise = word is not None and not word.lower().startswith("submitted")
        return is_ended_otherwise and action in (None, word)

    def _add_end(self, step_id: str, item: Fields, said: str | None) -> None:
        self.has_end = True
        is_known = self._outcome.status != UNSET
        self._draft.step(
            step_id,
            kind=_CHAIN,
            name=self._outcome.word,
            status=self._outcome.status,
            status_source="recorded" if is_known else None,
            error_type=self._outcome.word if is_known else None,
            error_message=said if is_known else None,
            output=content_text(item.content("observation")),
        )

    def _read_history(self) -> None:
        waits = False
        for number, message in self._run.records("history", "message", self._losses):
            place, role = f"message-{number}", message.text("role")
            content = message.content("content")
            if role is None:
                what = f"message {number} has no role"
                self._losses.add("swe_agent.unreadable_message", what)
            elif _is_demo(message):
                self._talk.hear(heard(message))
            elif role == "assistant":
                calls = self._calls(message, message.text("action"))
                self._add_model(message, place, message.text("agent"), content, calls)
                waits = bool(calls) and calls[0].call.id is None
                continue
            elif role == "tool" or waits:
                self._add_answers(message, place, content)
            else:
                self._talk.hear(heard(message))
            waits = False

    def _add_answers(self, message: Fields, place: str, content: Any) -> None:
        """Append the answer to a call: one message, be it for several."""
        ids = [each for each in message.items("tool_call_ids") if isinstance(each, str)]
        if len(ids) != len(message.items("tool_call_ids")):
            message.refuse("tool_call_ids", "holds what is no id")
        for number, call_id in enumerate(ids or [message.text("tool_call_id")]):
            step_id = f"{place}-{number + 1}" if number else place
            turn = ToolTurn(step_id=step_id, call_id=call_id, agent=message.text("agent"))
            self._add_tool(turn, message, content)

    def _add_model(
        self, said: Fields, step_id: str, agent: str | None, content: Any, calls: list[Asked]
    ) -> None:
        turn = ModelTurn(step_id=step_id, agent=agent, calls=calls)
        if self._draft.keep_content:
            turn.text, turn.attributes = content_text(content), rest_of(said, _BODIES)
        self._talk.add_model(turn)

    def _add_tool(self, turn: ToolTurn, said: Fields, content: Any) -> None:
        turn.result, turn.result_size = content_digest(content)
        if self._draft.keep_content:
            turn.text = content_text(content)
        _, is_asked_for = self._talk.add_tool(turn)
        if not is_asked_for:
            what = f"{turn.step_id}: nobody asked for call {turn.call_id}"
            self._losses.add("swe_agent.result_without_call", what)

    def _calls(self, message: Fields | None, action: str | None) -> list[Asked]:
        """Return the function calls of an answer, else its command as the one call."""
        found: list[Asked] = []
        for call in message.records("tool_calls", "call") if message is not None else ():
            function = call.inner("function")
            arguments = function.content("arguments")
            found.append(asked(call.text("id"), function.text("name"), arguments))
        if found or action is None:
            return found
        return [asked(None, command_name(action), action)]


def _is_demo(message: Fields) -> bool:
    """Tell a message that was shown as an example: nothing in it is of this run."""
    return bool(message.flag("is_demo")) or message.values.get("message_type") == "demonstration"
