"""mini-swe-agent: messages in which every answer asks for shell commands, to steps.

Since 2.0 the commands are function calls, or stand beside the answer as ``extra.actions``, and what
came back has the command's return code. In 1.x the command is the one block of ``bash`` in the
answer, and the next message is what came back.
"""

import re
from functools import partial
from typing import Any

from tracegraph.ingest.losses import Losses
from tracegraph.ingest.measures import decimal_text
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.swe_agent.outcome import ERROR, OK
from tracegraph.ingest.swe_agent.run import AREA, Run, heard, rest_of
from tracegraph.ingest.transcript.content import content_digest, content_text
from tracegraph.ingest.transcript.fields import Fields
from tracegraph.ingest.transcript.transcript import Transcript
from tracegraph.ingest.transcript.turns import Asked, ModelTurn, ToolTurn, Turn, asked
from tracegraph.model.codes import SIGNAL_BIT, UNKNOWN
from tracegraph.model.draft import Draft

_BLOCK = re.compile(r"```bash\s*\n(.*?)\n```", re.DOTALL)
_TOOL = "bash"
_LATEST = 2**63 / 1e9
_BODIES = frozenset("role content tool_calls extra output".split())
_TOKENS = {
    "tokens_prompt": ("prompt_tokens", "input_tokens"),
    "tokens_completion": ("completion_tokens", "output_tokens"),
    "tokens_total": ("total_tokens",),
}


class Mini:
    """The steps of one run, appended to the open trace of a draft.

    Gap codes: ``swe_agent.unreadable_message``, ``swe_agent.unreadable_field``,
    ``swe_agent.result_without_call``.

    Attributes:
        raised: an exception ended the run.
        said: what it says.
    """

    def __init__(self, draft: Draft, run: Run, losses: Losses) -> None:
        self._draft = draft
        self._run = run
        self._losses = losses
        self._talk = Transcript(draft)
        self.raised = run.fields.inner("info").text("traceback") is not None
        self.said: str | None = None
        self._last = UNKNOWN

    def read(self) -> None:
        """Append the steps."""
        waits = False
        for number, message in self._run.records("messages", "message", self._losses):
            place, role = f"message-{number}", message.text("role")
            extra = message.inner("extra")
            if role == "assistant" or message.values.get("object") == "response":
                calls = self._calls(message, extra)
                self._add_model(message, extra, place, calls)
                waits = len(calls) == 1 and calls[0].call.id is None
            elif role == "exit":
                self._end(message, extra, place)
            elif self._is_answer(message, extra, waits):
                waits = False
                self._add_tool(message, extra, place)
            elif role is None:
                self._losses.add("swe_agent.unreadable_message", f"{place} has no role")
            else:
                waits = False
                self._talk.hear(heard(message))
        self._talk.end()

    def _is_answer(self, message: Fields, extra: Fields, waits: bool) -> bool:
        if message.values.get("role") == "tool" or "returncode" in extra.values:
            return True
        return waits or message.values.get("type") == "function_call_output"

    def _add_model(self, message: Fields, extra: Fields, place: str, calls: list[Asked]) -> None:
        response = extra.inner("response")
        turn = ModelTurn(step_id=place, model=response.text("model"), calls=calls)
        usage = (response if response.values else message).inner("usage")
        for name, keys in _TOKENS.items():
            counts = (usage.count(key) for key in keys)
            setattr(turn, name, next((count for count in counts if count >= 0), UNKNOWN))
        cost = extra.number("cost")
        turn.cost = decimal_text(cost) if cost else None  # zero stands for an unknown price
        if _stop_reason(response) == "length":
            turn.signals = SIGNAL_BIT["truncated"]
        self._finish(turn, message, extra, _said(message))
        self._last = self._talk.add_model(turn)

    def _add_tool(self, message: Fields, extra: Fields, place: str) -> None:
        call_id = message.text("tool_call_id") or message.text("call_id")
        turn = ToolTurn(step_id=place, call_id=call_id, name=_TOOL)
        code = extra.number("returncode")
        if code is not None:
            turn.status, turn.status_source = (ERROR if code else OK), "recorded"
        if code:
            turn.error_type = extra.text("exception_type")
            turn.error_message = extra.text("exception_info") or f"returncode {code}"
            turn.signals = SIGNAL_BIT["tool_error"]
        raw = extra.content("raw_output")
        body = message.content("output" if "output" in message.values else "content")
        turn.result, turn.result_size = content_digest(body if raw is None else raw)
        self._finish(turn, message, extra, body)
        _, is_asked_for = self._talk.add_tool(turn)
        if not is_asked_for:
            what = f"{place}: nobody asked for call {call_id}"
            self._losses.add("swe_agent.result_without_call", what)

    def _end(self, message: Fields, extra: Fields, place: str) -> None:
        """Read how the run ended: what was submitted is what the last command gave back."""
        self.said = extra.text("exception_str")
        self.raised |= self.said is not None
        waiting = [call for asker, call in self._talk.waiting() if asker == self._last]
        if extra.values.get("exit_status") != "Submitted" or len(waiting) != 1:
            return
        (call,) = waiting
        turn = ToolTurn(step_id=place, call_id=call.call.id, name=call.call.name)
        content = message.content("content")
        turn.result, turn.result_size = content_digest(content)
        self._finish(turn, message, extra, content)
        self._talk.add_tool(turn)

    def _calls(self, message: Fields, extra: Fields) -> list[Asked]:
        items = message.items("tool_calls") or [
            item
            for item in message.items("output")
            if isinstance(item, dict) and item.get("type") == "function_call"
        ]
        if items:
            return [call for call in map(partial(self._call, message), items) if call is not None]
        if "actions" not in extra.values:
            content = message.values.get("content")
            blocks = _BLOCK.findall(content) if isinstance(content, str) else []
            return [_command(blocks[0].strip(), None)] if len(blocks) == 1 else []
        return [
            _command(action.text("command"), action.text("tool_call_id"))
            for action in extra.records("actions", "action")
        ]

    def _call(self, message: Fields, item: Any) -> Asked | None:
        """Read a function call of a chat completion, or of the Responses API."""
        if not isinstance(item, dict):
            message.refuse("tool_calls", "holds what is no call")
            return None
        call = Fields(item, "call", AREA, self._losses)
        holder = call.inner("function") if "function" in item else call
        call_id = call.text("call_id") or call.text("id")
        return asked(call_id, holder.text("name"), holder.content("arguments"))

    def _finish(self, turn: Turn, message: Fields, extra: Fields, content: Any) -> None:
        """Add the time, when something was over, and bodies where they are kept."""
        key, holder = "timestamp", extra if "timestamp" in extra.values else message
        time = holder.number(key)
        if time is not None and 0 <= time < _LATEST:
            turn.end = round(time * 1e6) * 1_000  # a double holds no more of a time of today
        elif time is not None:
            holder.refuse(key, "is no time")
        if self._draft.keep_content:
            turn.text = content_text(content)
            turn.attributes = rest_of(message, _BODIES)


def _command(command: str | None, call_id: str | None) -> Asked:
    return asked(call_id, _TOOL, None if command is None else {"command": command})


def _said(message: Fields) -> Any:
    """Return what a model said: of a Responses API the text among what it put out."""
    if "content" in message.values:
        return message.content("content")
    said: list[Any] = []
    for item in message.items("output"):
        parts = item.get("content") if isinstance(item, dict) else 0
        if isinstance(parts, list) and not is_too_deep(parts):
            said += parts
        elif parts is not None:
            message.refuse("output", "holds what cannot be read")
    return said or None


def _stop_reason(response: Fields) -> Any:
    first = next(iter(response.items("choices")), None)
    return first.get("finish_reason") if isinstance(first, dict) else None
