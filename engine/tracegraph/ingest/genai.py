"""OpenTelemetry GenAI attribute names (``gen_ai.*``) -> what a step is.

Follows the semantic conventions for spans and, where exporters still write them, the indexed
``gen_ai.prompt.N`` and ``gen_ai.completion.N`` of OpenLLMetry.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from tracegraph.ingest.attributes import Attributes
from tracegraph.ingest.call_steps import Messages
from tracegraph.ingest.openinference import tool_name
from tracegraph.ingest.requests import Call
from tracegraph.ingest.tool_payload import make_call
from tracegraph.model.codes import KIND_CODE

OPERATION = "gen_ai.operation.name"
INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
DEFINITIONS = "gen_ai.tool.definitions"
_KINDS = {
    "chat": "LLM",
    "text_completion": "LLM",
    "completion": "LLM",
    "generate_content": "LLM",
    "embeddings": "EMBEDDING",
    "embedding": "EMBEDDING",
    "execute_tool": "TOOL",
    "invoke_agent": "AGENT",
    "create_agent": "AGENT",
    "invoke_workflow": "CHAIN",
    "execute_task": "CHAIN",
    "goto": "CHAIN",
    "retrieval": "RETRIEVER",
    "retrieve": "RETRIEVER",
    "rerank": "RERANKER",
}
_CUT = ("length", "max_tokens")


class _Function(Struct, gc=False):
    name: str | None = None
    arguments: Any = None


class _Part(Struct, gc=False):
    """A part of a message, a call as OpenAI writes it, or a content block as Anthropic does."""

    type: str | None = None
    id: Any = None
    name: Any = None
    arguments: Any = None
    input: Any = None
    content: Any = None
    text: Any = None
    function: _Function | None = None


class _Message(Struct, gc=False):
    role: str | None = None
    parts: list[_Part] | None = None
    tool_calls: list[_Part] | None = None
    tool_call_id: Any = None
    content: Any = None
    finish_reason: Any = None


class _ReadPart(Struct, gc=False):
    type: str | None = None
    id: Any = None
    tool_use_id: Any = None


class _ReadMessage(Struct, gc=False):
    role: str | None = None
    parts: list[_ReadPart] | None = None
    tool_calls: list[_ReadPart] | None = None
    tool_call_id: Any = None
    content: msgspec.Raw = msgspec.Raw()


_output = msgspec.json.Decoder(list[_Message])
_input = msgspec.json.Decoder(list[_ReadMessage])
_blocks = msgspec.json.Decoder(list[_ReadPart])


def kind(attributes: Attributes) -> int | None:
    """Return the code of the kind that the operation's name stands for."""
    if OPERATION in attributes.values:
        name = _KINDS.get(attributes.text(OPERATION) or "")
        return KIND_CODE[name] if name else None
    if "gen_ai.tool.name" in attributes.values:
        return KIND_CODE["TOOL"]
    if "gen_ai.request.model" in attributes.values:
        return KIND_CODE["LLM"]
    return None


def messages(attributes: Attributes) -> Messages | None:
    """Return what the messages of a model step say, None where there are none.

    Raises:
        ValueError: they are recorded and cannot be read.
    """
    values = attributes.values
    if OUTPUT not in values and INPUT not in values:
        return _indexed(attributes)
    try:
        spoken: list[_Message] = _read(attributes.get(OUTPUT), _output)
        heard: list[_ReadMessage] = _read(attributes.get(INPUT), _input)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from None
    found = Messages()
    found.calls = [call for message in spoken for call in _calls(message)]
    found.answers = any(_says(message) for message in spoken)
    found.cut = any(message.finish_reason in _CUT for message in spoken) or _cut(attributes)
    for message in heard:
        _hear(message, found)
    if found.calls or found.answers:
        found.offered = offered(attributes.get(DEFINITIONS))
    return found


_CALLS = ("tool_call", "tool_use")
_RESPONSES = ("tool_call_response", "tool_result")


def offered(definitions: Any) -> list[str] | None:
    """Return the names in recorded tool definitions, None where any is unnamed or none is there."""
    try:
        items = msgspec.json.decode(definitions) if isinstance(definitions, str) else definitions
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not isinstance(items, list) or not items:
        return None
    names = [tool_name(item) for item in items]
    known = [name for name in names if name is not None]
    return known if len(known) == len(names) else None


def _read(value: Any, decoder: Any) -> Any:
    if value is None:
        return []
    if isinstance(value, str):
        return decoder.decode(value) if value.strip() else []
    return decoder.decode(msgspec.json.encode(value))


def _parts(message: _Message) -> list[_Part]:
    """Return the parts of a message; Anthropic's are blocks under ``content``."""
    parts = list(message.parts or ())
    if isinstance(message.content, list):
        blocks = [block for block in message.content if isinstance(block, dict)]
        parts += msgspec.convert(blocks, list[_Part])
    return parts


def _calls(message: _Message) -> Iterable[Call]:
    for part in (*_parts(message), *(message.tool_calls or ())):
        if part.type in _CALLS or part.function is not None:
            function = part.function or _Function()
            name = part.name if isinstance(part.name, str) else function.name
            arguments = part.arguments if part.arguments is not None else part.input
            yield make_call(
                part.id if isinstance(part.id, str) else None,
                name,
                arguments if part.function is None else function.arguments,
            )


def _says(message: _Message) -> bool:
    if isinstance(message.content, str) and message.content.strip():
        return True
    return any(
        part.type == "text" and isinstance(text := part.content or part.text, str) and text.strip()
        for part in _parts(message)
    )


def _hear(message: _ReadMessage, found: Messages) -> None:
    """Note the ids of the results and of the requests in a message of the input."""
    if isinstance(message.tool_call_id, str):
        found.reads.append(message.tool_call_id)
    _hear_parts((*(message.parts or ()), *(message.tool_calls or ())), found)
    if bytes(memoryview(message.content)[:1]) == b"[":
        _hear_parts(_blocks_of(bytes(message.content)), found)


def _blocks_of(content: str | bytes) -> list[_ReadPart]:
    """Return content blocks; content may be any other list, which holds none."""
    try:
        return _blocks.decode(content)
    except (msgspec.MsgspecError, RecursionError):
        return []


def _hear_parts(parts: Iterable[_ReadPart], found: Messages) -> None:
    for part in parts:
        is_result = part.type in _RESPONSES
        call_id = part.id if part.id is not None or not is_result else part.tool_use_id
        if isinstance(call_id, str):
            (found.reads if is_result else found.history).append(call_id)


def _cut(attributes: Attributes) -> bool:
    reasons = attributes.get("gen_ai.response.finish_reasons")
    return isinstance(reasons, list) and any(reason in _CUT for reason in reasons)


_INDEXED_CALL = re.compile(
    r"gen_ai\.completion\.(\d+)\.tool_calls\.(\d+)\.(id|name|arguments)"
).fullmatch


def _indexed(attributes: Attributes) -> Messages | None:
    """Read ``gen_ai.prompt.N.*`` and ``gen_ai.completion.N.*``."""
    found = Messages()
    calls: dict[tuple[int, int], dict[str, Any]] = {}
    any_message = False
    for key in attributes.values:
        if key.startswith("gen_ai.completion."):
            any_message = True
            match = _INDEXED_CALL(key)
            if match:
                place = int(match[1]), int(match[2])
                calls.setdefault(place, {})[match[3]] = attributes.get(key)
            elif key.endswith(".content"):
                found.answers = found.answers or attributes.text(key) is not None
            elif key.endswith(".finish_reason"):
                found.cut = found.cut or attributes.text(key) in _CUT
        elif key.startswith("gen_ai.prompt."):
            any_message = True
            target = (
                found.reads
                if key.endswith(".tool_call_id")
                else found.history
                if ".tool_calls." in key and key.endswith(".id")
                else None
            )
            text = attributes.text(key) if target is not None else None
            if target is not None and text:
                target.append(text)
            elif key.endswith(".content"):
                _hear_indexed(attributes.text(key), found)
    if not any_message:
        return None
    for place in sorted(calls):
        call = calls[place]
        found.calls.append(make_call(call.get("id"), call.get("name"), call.get("arguments")))
    found.cut = found.cut or _cut(attributes)
    return found


def _hear_indexed(content: str | None, found: Messages) -> None:
    """Note ids in the content blocks that OpenLLMetry writes as text for Anthropic."""
    if content is not None and content[:1] == "[" and '"tool_' in content:
        _hear_parts(_blocks_of(content), found)
