"""Messages as chat completion APIs have them: roles, ``tool_calls``, results by ``tool_call_id``.

The shape is that of OpenAI's API reference (Chat, "Create chat completion"), which most libraries
and logs follow; ``function_call`` and the role ``function`` are its first form, without ids.
"""

from typing import Any

from tracegraph.ingest.attributes import dump
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.transcript.content import content_digest, content_text
from tracegraph.ingest.transcript.fields import Fields
from tracegraph.ingest.transcript.transcript import Transcript
from tracegraph.ingest.transcript.turns import Asked, ModelTurn, ToolTurn, asked
from tracegraph.model.draft import Draft

MODEL_ROLES = frozenset({"assistant"})
TOOL_ROLES = frozenset({"tool", "function"})
OTHER_ROLES = frozenset({"system", "user", "developer"})
_BODIES = frozenset({"role", "content", "tool_calls", "function_call"})


class Chat:
    """The messages of one conversation, read one after the other.

    Gap codes, each of the area: ``unreadable_message``, ``unreadable_field``,
    ``result_without_call``.

    Args:
        draft: where the steps go, into its open trace.
        area: what gap codes start with.
        losses: where losses are disclosed.
        agent: whose messages those of models are, None unknown.
    """

    def __init__(self, draft: Draft, area: str, losses: Losses, agent: str | None = None) -> None:
        self.transcript = Transcript(draft)
        self._keeps = draft.keep_content
        self._area = area
        self._losses = losses
        self._agent = agent

    def add(self, value: Any, step_id: str) -> int | None:
        """Read a message; return the row of its step, None where it is none."""
        fields = value if isinstance(value, dict) else {}
        role = fields.get("role")
        role = role if isinstance(role, str) else None
        message = Fields(fields, step_id, self._area, self._losses)
        if role in MODEL_ROLES:
            return self._add_model(message, step_id)
        if role in TOOL_ROLES:
            return self._add_tool(message, step_id)
        if role in OTHER_ROLES and not is_too_deep(value):
            self.transcript.hear(value)
        else:
            self._losses.add(f"{self._area}.unreadable_message", f"{step_id} cannot be used")
        return None

    def _add_model(self, message: Fields, step_id: str) -> int:
        return self.transcript.add_model(
            ModelTurn(
                step_id=step_id,
                agent=self._agent,
                text=content_text(message.content("content")) if self._keeps else None,
                attributes=self._rest(message),
                calls=self._calls(message),
            )
        )

    def _add_tool(self, message: Fields, step_id: str) -> int:
        call_id, content = message.id("tool_call_id"), message.content("content")
        result, size = content_digest(content)
        row, is_asked_for = self.transcript.add_tool(
            ToolTurn(
                step_id=step_id,
                call_id=call_id,
                name=message.text("name"),
                result=result,
                result_size=size,
                text=content_text(content) if self._keeps else None,
                attributes=self._rest(message),
            )
        )
        if not is_asked_for:
            what = f"{step_id}: nobody asked for call {call_id or '(without an id)'}"
            self._losses.add(f"{self._area}.result_without_call", what)
        return row

    def _calls(self, message: Fields) -> list[Asked]:
        found = [self._call(message, call) for call in message.records("tool_calls", "call")]
        if message.values.get("function_call") is not None:
            function = message.inner("function_call")
            found.append(asked(None, function.text("name"), function.content("arguments")))
        return [call for call in found if call is not None]

    def _call(self, message: Fields, call: Fields) -> Asked | None:
        holder = call.inner("function") if "function" in call.values else call
        name, call_id = holder.text("name"), call.id("id")
        if name is None and call_id is None:
            message.refuse("tool_calls", "holds a call without a name and an id")
            return None
        return asked(call_id, name, holder.content("arguments"))

    def _rest(self, message: Fields) -> str | None:
        """Return what a message records besides its content, where content is kept."""
        if not self._keeps:
            return None
        rest = {k: v for k, v in message.values.items() if k not in _BODIES and not is_too_deep(v)}
        return dump({key: value for key, value in rest.items() if value not in (None, {}, [])})
