"""OpenTelemetry GenAI span events -> the messages that newer exporters write as attributes.

Three generations are in use: one event with both lists of messages
(``gen_ai.client.inference.operation.details``), and one event a message, whose fields are either
attributes of their own or JSON under ``gen_ai.event.content``.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from tracegraph.ingest.attributes import Attributes
from tracegraph.ingest.genai import INPUT, OUTPUT

_Attributes = TypeVar("_Attributes", bound=Attributes)
_PREFIX = "gen_ai."
_TOOL, _CHOICE = "gen_ai.tool.message", "gen_ai.choice"
_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    _TOOL: "tool",
    _CHOICE: "assistant",
}


def holds_messages(name: str, said: Attributes) -> bool:
    """Tell whether an event is one of those that hold what a model was told or said."""
    if name in _ROLES:
        return True
    return name.startswith(_PREFIX) and (INPUT in said.values or OUTPUT in said.values)


def with_events(attributes: _Attributes, events: Iterable[tuple[str, Attributes]]) -> _Attributes:
    """Return the attributes of a span and, where they hold no messages, those of its events.

    Args:
        attributes: of the span.
        events: name and attributes of each event, in order.
    """
    if INPUT in attributes.values or OUTPUT in attributes.values:
        return attributes
    texts: dict[str, str] = {}
    heard: list[dict[str, Any]] = []
    spoken: list[dict[str, Any]] = []
    for name, said in events:
        if not name.startswith(_PREFIX):
            continue
        if name in _ROLES:
            (spoken if name == _CHOICE else heard).append(_message(name, said))
        else:
            found = ((key, said.body(key)) for key in (INPUT, OUTPUT))
            texts.update((key, text) for key, text in found if text is not None)
    for key, messages in ((INPUT, heard), (OUTPUT, spoken)):
        if messages and key not in texts:
            texts[key] = msgspec.json.encode(messages).decode()
    return attributes.adding(texts) if texts else attributes


def _message(name: str, attributes: Attributes) -> dict[str, Any]:
    body = _decoded(attributes.get("gen_ai.event.content"))
    fields: Mapping[str, Any] = body if isinstance(body, dict) else attributes.plain()
    inner = _decoded(fields.get("message"))
    if isinstance(inner, dict):
        fields = {**fields, **inner}
    content = _decoded(fields.get("content") if inner is None or isinstance(inner, dict) else inner)
    if isinstance(content, list):
        content = [_block(block) for block in content]
    message: dict[str, Any] = {"role": _ROLES[name], "content": content}
    calls = _decoded(fields.get("tool_calls"))
    if isinstance(calls, list):
        message["tool_calls"] = [call for call in calls if isinstance(call, dict)]
    if name == _TOOL:
        message["tool_call_id"] = fields.get("id") or fields.get("tool_call_id")
    if isinstance(fields.get("finish_reason"), str):
        message["finish_reason"] = fields["finish_reason"]
    return message


def _decoded(value: Any) -> Any:
    """Return what a text that is a JSON object or array stands for, anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except (msgspec.MsgspecError, RecursionError):
            return value
    return value


def _block(block: Any) -> Any:
    """Return a content block of Amazon Bedrock in Anthropic's spelling, any other as it is."""
    if not isinstance(block, dict):
        return block
    used, result = block.get("toolUse"), block.get("toolResult")
    if isinstance(used, dict):
        told = {"id": used.get("toolUseId"), "name": used.get("name"), "input": used.get("input")}
        return {"type": "tool_use", **told}
    if isinstance(result, dict):
        return {"type": "tool_result", "tool_use_id": result.get("toolUseId")}
    return {"type": "text", **block} if isinstance(block.get("text"), str) else block
