"""What a model was given, where attributes hold it: messages, instructions, tools.

Flattened lists (``llm.input_messages.0.message.role``) are put together again as they were.
"""

from collections.abc import Mapping
from typing import Any

from tracegraph.analysis.context.items import (
    INSTRUCTION,
    MESSAGE,
    Item,
    body,
    items_of,
    tools_of,
)
from tracegraph.ingest.genai import DEFINITIONS, INPUT

_INSTRUCTIONS = "gen_ai.system_instructions"
_DEEPEST = 12
_CALL = "tool_call"


class _Node(dict[str, Any]):
    """A level of names that is being put together; a recorded dict is none."""


def given_messages(attributes: Mapping[str, Any]) -> list[Item]:
    """Return the messages in attributes of OpenInference, GenAI or OpenLLMetry."""
    found: Any = [
        message.get("message", message) if isinstance(message, dict) else message
        for message in _flattened(attributes, "llm.input_messages.")
    ]
    if not found:
        recorded = attributes.get(INPUT)
        found = body(recorded) if isinstance(recorded, str) else recorded
    found = found or _flattened(attributes, "gen_ai.prompt.")
    found = found or [
        prompt.get("prompt", prompt) if isinstance(prompt, dict) else prompt
        for prompt in _flattened(attributes, "llm.prompts.")
    ]
    return items_of(found, MESSAGE) if found else []


def given_instructions(attributes: Mapping[str, Any]) -> list[Item]:
    """Return the instructions that are recorded apart from the messages."""
    recorded = attributes.get(_INSTRUCTIONS)
    if not recorded:
        return []
    return items_of(body(recorded) if isinstance(recorded, str) else recorded, INSTRUCTION)


def given_tools(attributes: Mapping[str, Any]) -> list[Item]:
    """Return the definitions of the tools that a model could call."""
    tools: Any = [
        tool["tool"].get("json_schema", tool["tool"])
        if isinstance(tool, dict) and isinstance(tool.get("tool"), dict)
        else tool
        for tool in _flattened(attributes, "llm.tools.")
    ]
    tools = tools or attributes.get(DEFINITIONS)
    tools = tools or _flattened(attributes, "llm.request.functions.")
    tools = tools or _inside(attributes, "extra", "invocation_params", "tools")  # LangSmith
    tools = tools or _inside(attributes, "metadata", "tools")  # Langfuse
    if isinstance(tools, str):
        tools = body(tools)
    return tools_of(tools) if tools else []


def _inside(attributes: Mapping[str, Any], *path: str) -> Any:
    value: Any = attributes
    for key in path:
        value = body(value) if isinstance(value, str) else value
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _flattened(attributes: Mapping[str, Any], prefix: str) -> list[Any]:
    """Return the list whose members lie under ``<prefix><index>.<name>...``."""
    root = _Node()
    for key, value in attributes.items():
        if key.startswith(prefix):
            *path, last = key[len(prefix) :].split(".", _DEEPEST)
            node = root
            for name in path:
                inner = node.get(name)
                if not isinstance(inner, _Node):  # a value of its own stays beside what is below it
                    inner = node[name] = _Node() if inner is None else _Node({"": inner})
                node = inner
            if isinstance(node.get(last), _Node):
                node[last][""] = value
            else:
                node[last] = value
    found = _built(root)
    return found if isinstance(found, list) else []


def _built(value: Any) -> Any:
    """Return what names and values make: a list where all names are numbers."""
    if not isinstance(value, _Node):
        return value
    if value and all(name.isdecimal() for name in value):
        return [_built(value[name]) for name in sorted(value, key=lambda name: (len(name), name))]
    if value.keys() == {_CALL}:
        return _built(value[_CALL])
    return {name: _built(item) for name, item in value.items()}
