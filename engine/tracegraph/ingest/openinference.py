"""OpenInference attribute names -> what a step is (github.com/Arize-ai/openinference, spec)."""

import re
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from tracegraph.ingest.attributes import Attributes
from tracegraph.ingest.call_steps import Messages
from tracegraph.ingest.requests import Call
from tracegraph.ingest.tool_payload import make_call
from tracegraph.model.codes import KIND_CODE

KIND = "openinference.span.kind"
METADATA = "metadata"
_READ = re.compile(r"llm\.input_messages\.(\d{1,9})\.message\.tool_call_id").fullmatch
_CALL = re.compile(
    r"llm\.output_messages\.(\d{1,9})\.message\.tool_calls\.(\d{1,9})\.tool_call\.(id|function\.name|"
    r"function\.arguments)"
).fullmatch
_DOCUMENT = re.compile(r"(?:retrieval|reranker\.output)[._]documents\.(\d+)\.").match


class Metadata(Struct, gc=False):
    """What frameworks put into the JSON object under ``metadata``."""

    thread_id: Any = None
    session_id: Any = None
    langgraph_step: Any = None
    langgraph_node: Any = None
    langgraph_triggers: Any = None
    langgraph_checkpoint_ns: Any = None


_decode_metadata = lru_cache(maxsize=1024)(msgspec.json.Decoder(Metadata).decode)
"""Every step of a run repeats what the framework says of it."""
_NOTHING = Metadata()


def kind(attributes: Attributes) -> int | None:
    """Return the code of the recorded kind; a word outside the vocabulary is UNKNOWN."""
    if KIND not in attributes.values:
        return None
    text = attributes.text(KIND)
    return KIND_CODE.get(text.upper(), 0) if text else None


def metadata(attributes: Attributes) -> Metadata:
    """Return the framework's metadata; user metadata may be anything, so nothing is refused."""
    if METADATA not in attributes.values:
        return _NOTHING
    value = attributes.get(METADATA)
    try:
        if isinstance(value, str):
            return _decode_metadata(value)
        return msgspec.convert(value, Metadata)
    except (msgspec.MsgspecError, RecursionError):
        return _NOTHING


def messages(attributes: Attributes) -> Messages | None:
    """Return what the flattened messages of a model step say, None where there are none."""
    reads: list[tuple[int, str]] = []
    history: list[str] = []
    calls: dict[tuple[int, int], dict[str, str]] = {}
    answers = found = False
    for key in attributes.values:
        role, message, call = _role(key)
        if role is None:
            continue
        found = True
        if role == "result":
            reads.append((message, key))
        elif role == "history":
            history.append(key)
        elif role == "answer":
            answers = answers or attributes.text(key) is not None
        elif role != "unread":
            calls.setdefault((message, call), {})[role] = key
    if not found:
        return None
    reads.sort()
    return Messages(
        [_call(attributes, calls[place]) for place in sorted(calls)],
        [text for _, key in reads if (text := attributes.text(key))],
        [text for key in history if (text := attributes.text(key))],
        _offered(attributes) if calls or answers else None,
        answers,
        _finish_reason(attributes) in ("length", "max_tokens"),
    )


@lru_cache(maxsize=1 << 14)
def _role(key: str) -> tuple[str | None, int, int]:
    """Return what an attribute holds of a message, and the numbers of the message and of the call.

    None is no attribute of a message. Remembered, since model steps share their attributes' names.
    """
    if key.startswith("llm.input_messages."):
        read = _READ(key)
        if read:
            return "result", int(read[1]), 0
        return "history" if key.endswith(".tool_call.id") else "unread", 0, 0
    if key.startswith("llm.output_messages."):
        call = _CALL(key)
        if call:
            return call[3], int(call[1]), int(call[2])
        is_answer = key.endswith((".message.content", ".message_content.text"))
        return "answer" if is_answer else "unread", 0, 0
    return None, 0, 0


def documents(attributes: Attributes) -> int:
    """Return the number of documents that a retriever or reranker returned, -1 unknown."""
    numbers = {match[1] for key in attributes.values if (match := _DOCUMENT(key))}
    if numbers:
        return len(numbers)
    text = attributes.text("output.value")
    if text is None or text.lstrip()[:1] not in ("[", "{"):
        return -1
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return -1
    value = value.get("documents") if isinstance(value, dict) else value
    return len(value) if isinstance(value, list) else -1


def _call(attributes: Attributes, keys: dict[str, str]) -> Call:
    name, arguments = keys.get("function.name"), keys.get("function.arguments")
    return make_call(
        attributes.text(keys["id"]) if "id" in keys else None,
        attributes.text(name) if name else None,
        attributes.get(arguments) if arguments else None,
    )


def _offered(attributes: Attributes) -> list[str] | None:
    """Return the names of the tools in ``llm.tools.N.tool.json_schema``."""
    names: list[str] = []
    number = 0
    while f"llm.tools.{number}.tool.json_schema" in attributes.values:
        schema = attributes.get(f"llm.tools.{number}.tool.json_schema")
        name = tool_name(schema)
        if name is None:
            return None  # an unnamed tool may be any
        names.append(name)
        number += 1
    return names or None


class _Function(Struct, gc=False):
    name: str | None = None


class _Schema(Struct, gc=False):
    name: str | None = None
    function: _Function | None = None


_schema = msgspec.json.Decoder(_Schema)


def tool_name(schema: Any) -> str | None:
    """Return the name in a tool's schema, in the spelling of OpenAI or of Anthropic."""
    if isinstance(schema, str):
        return _schema_name(schema)
    try:
        return _name(msgspec.convert(schema, _Schema))
    except (msgspec.MsgspecError, RecursionError):
        return None


@lru_cache(maxsize=1024)
def _schema_name(schema: str) -> str | None:
    """Every model step of a run repeats the schemas of all its tools."""
    try:
        return _name(_schema.decode(schema))
    except (msgspec.MsgspecError, RecursionError):
        return None


def _name(schema: _Schema) -> str | None:
    return schema.name or (schema.function.name if schema.function else None)


def _finish_reason(attributes: Attributes) -> str | None:
    return attributes.text("llm.finish_reason")
