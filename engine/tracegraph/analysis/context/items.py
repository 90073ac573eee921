"""One thing that was in view at a step: a message, a channel of a state, a tool, an earlier row."""

import json
from dataclasses import dataclass
from typing import Any

from tracegraph.ingest.langchain_messages import unwrapped
from tracegraph.ingest.nesting import deep_nesting, is_too_deep
from tracegraph.ingest.openinference import tool_name
from tracegraph.ingest.tool_payload import size_of
from tracegraph.model.digest import canonical, digest_bytes, parse_text

INSTRUCTION, MESSAGE, TOOL = "instruction", "message", "tool"
CHANNEL, INPUT, ROW = "channel", "input", "row"
_CONTENT = ("content", "parts", "tool_calls")
_SPEAKERS = frozenset(
    "human user ai assistant system developer tool function chat remove HumanMessage AIMessage "
    "SystemMessage ToolMessage FunctionMessage ChatMessage RemoveMessage AIMessageChunk".split()
)
_NESTED = ("[", "{")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing in view.

    Attributes:
        part: instruction, message, tool, channel, input or row.
        place: the channel or member that held it; of a row, which side of the step it is.
        index: its place in a list of several.
        role: who said it, as recorded; of a row, the kind of the step.
        name: of the speaker, the tool or the step.
        step_id: of a row, the step.
        value: text as recorded, or what JSON stands for.
        size: bytes of the value as text, in UTF-8.
        digest: BLAKE2b-128 of canonical JSON of part, place, role, name and value: two items with
            one digest say the same, wherever in the list they stand.
    """

    part: str
    place: str | None
    index: int | None
    role: str | None
    name: str | None
    step_id: str | None
    value: Any
    size: int
    digest: str


def make_item(
    part: str,
    value: Any,
    *,
    place: str | None = None,
    index: int | None = None,
    role: str | None = None,
    name: str | None = None,
    step_id: str | None = None,
) -> Item:
    """Measure a value and make an item of it."""
    with deep_nesting():
        value, text = _measured(value)
        identity = canonical([part, place, role, name, value])
    digest = digest_bytes(identity.encode("utf-8", "surrogatepass"))
    return Item(part, place, index, role, name, step_id, value, size_of(text), digest)


def body(text: str) -> Any:
    """Return the object or list that a recorded body stands for; any other body stays text.

    So does one that holds a key twice or is nested hundreds of levels deep: what it says is not for
    us to choose.
    """
    if text.lstrip()[:1] not in _NESTED:
        return text
    with deep_nesting():
        try:
            value = parse_text(text)
        except (ValueError, RecursionError):
            return text
    return text if is_too_deep(value) else value


def items_of(value: Any, part: str, place: str | None = None) -> list[Item]:
    """Return a value as items: messages one by one, lists of texts or objects likewise."""
    spoken = _messages(value)
    if spoken is not None:
        only = len(spoken) == 1 and not isinstance(value, list)
        return [_message(said, place, None if only else at) for at, said in enumerate(spoken)]
    if part == TOOL:
        return tools_of(value, place)
    if isinstance(value, list) and value and all(isinstance(item, dict | str) for item in value):
        return [make_item(part, item, place=place, index=at) for at, item in enumerate(value)]
    return [make_item(part, value, place=place)]


def tools_of(definitions: Any, place: str | None = None) -> list[Item]:
    """Return the definitions of tools as items."""
    listed = definitions if isinstance(definitions, list) else [definitions]
    decoded = [body(tool) if isinstance(tool, str) else tool for tool in listed]
    return [
        make_item(TOOL, tool, place=place, index=at, name=tool_name(tool))
        for at, tool in enumerate(decoded)
    ]


def is_message(value: Any) -> bool:
    """Tell whether a value is one message."""
    return isinstance(value, dict) and _messages(value) is not None


def _measured(value: Any) -> tuple[Any, str]:
    """Return a value and its text; it becomes its text where no document could hold it."""
    if isinstance(value, str):
        return value, value
    text = json.dumps(value, ensure_ascii=False)
    if is_too_deep(value) or not _is_json(value):
        return text, text
    return value, text


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _messages(value: Any) -> list[dict[str, Any]] | None:
    """Return the messages that a value is; None where it is something else.

    LangChain records a batch: a list of lists of messages, as a rule of one.
    """
    found = unwrapped(value) if isinstance(value, dict | list) else value
    if isinstance(found, dict):
        found = [found]
    elif isinstance(found, list) and found and all(isinstance(inner, list) for inner in found):
        found = [message for inner in found for message in inner]
    if isinstance(found, list) and found and all(map(_speaker, found)):
        return found
    return None


def _speaker(message: Any) -> str | None:
    """Return the role of a message; None where the value is none."""
    if not isinstance(message, dict) or not any(key in message for key in _CONTENT):
        return None
    role = message.get("role")
    if isinstance(role, str) and role:
        return role
    kind = message.get("type")
    return kind if isinstance(kind, str) and kind in _SPEAKERS else None


def _message(message: dict[str, Any], place: str | None, index: int | None) -> Item:
    name = message.get("name")
    named = name if isinstance(name, str) and name else None
    bare = {key: item for key, item in message.items() if item not in (None, {}, [])}
    only_text = bare.keys() <= {"role", "type", "name", "content"}
    content = message.get("content")
    value = content if only_text and isinstance(content, str) else message
    role = _speaker(message)
    return make_item(MESSAGE, value, place=place, index=index, role=role, name=named)
