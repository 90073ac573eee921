"""Messages in the values of a LangGraph checkpoint: of models, of tools, and of others.

LangChain's are objects of ``langchain_core.messages`` (a JSON checkpoint calls the same classes by
``langchain.schema.messages``); states without LangChain hold OpenAI's objects as they are. Both may
lie in any channel, in a packet or in what a task of the functional API returned.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from tracegraph.ingest.attributes import dump, text_of, total_of, whole_number
from tracegraph.ingest.langgraph.blob import Built, plain
from tracegraph.ingest.nesting import deep_nesting, is_too_deep
from tracegraph.ingest.requests import Call
from tracegraph.ingest.tool_payload import make_call, size_of
from tracegraph.model.codes import UNKNOWN
from tracegraph.model.digest import digest_text, digest_value

MODEL, TOOL, OTHER = "model", "tool", "other"
_ROLES = {
    **dict.fromkeys(("ai", "AIMessage", "AIMessageChunk", "assistant"), MODEL),
    **dict.fromkeys(("tool", "ToolMessage", "ToolMessageChunk"), TOOL),
}
_KNOWN = frozenset(
    "human HumanMessage HumanMessageChunk user system SystemMessage SystemMessageChunk developer "
    "function FunctionMessage FunctionMessageChunk chat ChatMessage remove RemoveMessage".split()
)
_RUN_IDS = ("run-", "lc_run-", "lc_run--")
_MODULES = ("langchain_core.messages", "langchain.schema.messages")
_FRAMEWORKS_OWN = "__is_handoff_back"
"""langgraph-supervisor marks so the call and result that it writes itself to end a handoff."""
_CUT = ("length", "max_tokens")
_LEVELS = 8
"""How deep messages lie: a list in a dict in a packet in a list, and some to spare."""


class Message(Struct, gc=False):
    """A message: who said it, its id, and its fields as recorded."""

    role: str
    id: str | None
    fields: dict[str, Any]

    @property
    def call_id(self) -> str | None:
        """The call that a tool's message answers."""
        found = self.fields.get("tool_call_id")
        return found if isinstance(found, str) and found else None

    @property
    def is_frameworks_own(self) -> bool:
        """Whether the framework wrote it, so that no model said it and no tool ran."""
        return _FRAMEWORKS_OWN in _object(self.fields.get("response_metadata"))

    @property
    def text(self) -> str | None:
        """The content, a structured one as JSON; None where it is empty."""
        content = self.fields.get("content")
        if isinstance(content, str) or not content:
            return content or None
        return as_text(content)


class Asked(Struct, gc=False):
    """A tool call that a message asks for; the arguments are decoded or JSON text."""

    id: str
    name: str | None
    args: Any

    def call(self) -> Call:
        """Return the call with the digests of its arguments."""
        args = plain_or_none(self.args)
        return Call(self.id, self.name) if args is None else make_call(self.id, self.name, args)


def messages_in(value: Any) -> Iterator[Message]:
    """Yield the messages in a value, in order."""
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        found, level = waiting.pop()
        message = _message(found)
        if message is not None:
            yield message
        elif level < _LEVELS:
            inner: Iterable[Any] = ()
            if isinstance(found, Built):
                inner = (found.data,)
            elif isinstance(found, dict):
                inner = found.values()
            elif isinstance(found, list | tuple):
                inner = found
            waiting.extend(
                (item, level + 1)
                for item in reversed(tuple(inner))
                if isinstance(item, Built | dict | list | tuple)
            )


def _message(value: Any) -> Message | None:
    if isinstance(value, Built):
        if not value.module.startswith(_MODULES) or not isinstance(value.data, dict):
            return None
        return _of(_ROLES.get(value.name, OTHER), value.data)
    if not isinstance(value, dict) or "content" not in value:
        return None
    word = value.get("role", value.get("type"))
    if not isinstance(word, str) or (word not in _ROLES and word not in _KNOWN):
        return None
    return _of(_ROLES.get(word, OTHER), value)


def _of(role: str, fields: dict[str, Any]) -> Message:
    key = fields.get("id")
    return Message(role, key if isinstance(key, str) and key else None, fields)


def asked_by(message: Message) -> list[Asked]:
    """Return the tool calls that a model's message asks for, in order."""
    if message.role != MODEL or message.is_frameworks_own:
        return []
    recorded = message.fields.get("tool_calls")
    if not recorded:
        recorded = _object(message.fields.get("additional_kwargs")).get("tool_calls")
    calls = (asked(item) for item in recorded) if isinstance(recorded, list) else ()
    return [call for call in calls if call is not None]


def asked(value: Any) -> Asked | None:
    """Read one tool call, in LangChain's spelling or OpenAI's; None where it is none."""
    found = value.fields() if isinstance(value, Built) else value
    if not isinstance(found, dict) or not isinstance(found.get("id"), str) or not found["id"]:
        return None
    function = found.get("function")
    source, key = (function, "arguments") if isinstance(function, dict) else (found, "args")
    call = source.get("name")
    if key not in source and call is None:
        return None
    return Asked(found["id"], call if isinstance(call, str) else None, source.get(key))


def is_of_a_model(message: Message) -> bool:
    """Tell whether the record proves that a call of a model said it, not a node's own code."""
    if message.role != MODEL or message.is_frameworks_own:
        return False
    said = message.id is not None and message.id.startswith(_RUN_IDS)
    return said or bool(message.fields.get("usage_metadata")) or bool(asked_by(message))


class Usage(Struct, gc=False):
    """What the messages of a model say of its calls; -1 is unknown."""

    model: str | None = None
    prompt: int = UNKNOWN
    completion: int = UNKNOWN
    total: int = UNKNOWN
    cut: bool = False


def usage_of(messages: Iterable[Message]) -> Usage:
    """Sum what the messages of one task say; a count that one of them lacks is unknown."""
    usage = Usage()
    counts: list[tuple[int, int, int]] = []
    for message in messages:
        metadata = _object(message.fields.get("response_metadata"))
        model = metadata.get("model_name") or metadata.get("model") or metadata.get("model_id")
        usage.model = model if isinstance(model, str) and model else usage.model
        usage.cut |= (metadata.get("finish_reason") or metadata.get("stop_reason")) in _CUT
        counts.append(_counts(message, metadata))
    if counts:
        usage.prompt, usage.completion, usage.total = map(total_of, zip(*counts, strict=True))
    return usage


def _counts(message: Message, metadata: dict[str, Any]) -> tuple[int, int, int]:
    recorded = _object(message.fields.get("usage_metadata"))
    keys = ("input_tokens", "output_tokens", "total_tokens")
    if not recorded:
        recorded = _object(metadata.get("token_usage"))
        keys = ("prompt_tokens", "completion_tokens", "total_tokens")
    found = [whole_number(recorded.get(key)) for key in keys]
    prompt, completion, total = (UNKNOWN if count is None else count for count in found)
    if total < 0 <= min(prompt, completion):
        total = prompt + completion
    return prompt, completion, total


def result_of(message: Message) -> tuple[str | None, int]:
    """Return the digest of a tool's result and its size in bytes: of the content alone."""
    content = plain_or_none(message.fields.get("content"))
    if content is None:
        return None, UNKNOWN
    if isinstance(content, str):
        return digest_text(content), size_of(content)
    return digest_value(content), size_of(dump(content))


def plain_or_none(value: Any) -> Any:
    """Return a value as JSON can hold it; None where it is nested too deeply to be compared."""
    with deep_nesting():
        found = plain(value)
    return None if is_too_deep(found) else found


def as_text(value: Any) -> str | None:
    """Return a value as text: itself, or JSON; None where there is none."""
    return text_of(plain_or_none(value))


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, Built):
        return value.fields()
    return value if isinstance(value, dict) else {}
