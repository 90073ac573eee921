"""OpenTelemetry GenAI span events -> the messages that newer exporters write as attributes.

Three generations are in use: one event with both lists of messages
(``gen_ai.client.inference.operation.details``), and one event a message, whose fields are either
attributes of their own or JSON under ``gen_ai.event.content``.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from tracegraph.ingest.attributes import RawAttributes
from tracegraph.ingest.genai import INPUT, OUTPUT
from tracegraph.ingest.otlp_records import Event

_PREFIX = "gen_ai."
_TOOL, _CHOICE = "gen_ai.tool.message", "gen_ai.choice"
_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    _TOOL: "tool",
    _CHOICE: "assistant",
}


def with_events(values: dict[str, object], events: Iterable[Event]) -> dict[str, object]:
    """Return the attributes of a span and, where they hold no messages, those of its events."""
    if INPUT in values or OUTPUT in values:
        return values
    found = dict(values)
    heard: list[dict[str, Any]] = []
    spoken: list[dict[str, Any]] = []
    for event in events:
        name = event.name or ""
        if not name.startswith(_PREFIX):
            continue
        raw = {item.key: item.value for item in event.attributes or ()}
        if name in _ROLES:
            (spoken if name == _CHOICE else heard).append(_message(name, RawAttributes(raw)))
        else:
            found.update((key, raw[key]) for key in (INPUT, OUTPUT) if key in raw)
    for key, messages in ((INPUT, heard), (OUTPUT, spoken)):
        if messages and key not in found:
            text = msgspec.json.encode(messages).decode()
            found[key] = msgspec.Raw(msgspec.json.encode({"stringValue": text}))
    return found


def _message(name: str, attributes: RawAttributes) -> dict[str, Any]:
    body = _decoded(attributes.get("gen_ai.event.content"))
    fields: Mapping[str, Any] = body if isinstance(body, dict) else attributes.plain()
    inner = _decoded(fields.get("message"))
    if isinstance(inner, dict):
        fields = {**fields, **inner}
    content = _decoded(fields.get("content") if inner is None else inner)
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
