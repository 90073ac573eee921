"""What stands in the messages of an agent-lattice run: text, blocks, calls, results, histories."""

import re
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from tracegraph.ingest.agent_lattice.records import mapping, text
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.call_steps import Messages
from tracegraph.ingest.tool_payload import make_call
from tracegraph.model.digest import digest_text, digest_value

_BASE64 = re.compile(r'"data":\s*"([A-Za-z0-9+/=]{256,})"')
_decode = msgspec.json.Decoder().decode
_CUT = "max_tokens"


def blocks(content: Any, kind: str) -> list[dict[str, Any]]:
    """Return the blocks of one type in a message's content, which may be plain text."""
    if not isinstance(content, list):
        return []
    return [item for item in content if isinstance(item, dict) and item.get("type") == kind]


def plain(content: Any) -> str | None:
    """Return content as text where it is nothing but text, in one piece or in blocks."""
    if isinstance(content, str):
        return content
    parts = [block.get("text") for block in blocks(content, "text")]
    if not parts or len(parts) != len(content) or not all(isinstance(p, str) for p in parts):
        return None
    return "".join(map(str, parts))


def digest(content: Any) -> str | None:
    """Return the digest of content; text has one digest whether or not it lies in blocks."""
    said = plain(content)
    return digest_value(content) if said is None else digest_text(said)


def shown(content: Any) -> str | None:
    """Return content as text to keep, an image in it as no more than its size."""
    if content is None:
        return None
    said = plain(content)
    return without_images(dump(content)) if said is None else said


def without_images(json_text: str) -> str:
    """Return JSON text in which long base64 data is replaced by its length."""
    return _BASE64.sub(lambda found: f'"data":"[base64: {len(found[1])} characters]"', json_text)


def offered(tools: Any) -> list[str] | None:
    """Return the names of the tools that a model could call."""
    return [name for name in tools if isinstance(name, str)] if isinstance(tools, list) else None


def hear(message: Any, messages: Messages) -> None:
    """Fill in what a model step said. Equal placeholders are no equal arguments."""
    said = mapping(message)
    content = said.get("content")
    for block in blocks(content, "tool_use"):
        given = block.get("input")
        known = None if isinstance(given, str) else given
        messages.calls.append(make_call(text(block.get("id")), text(block.get("name")), known))
    parts = [content, *(block.get("text") for block in blocks(content, "text"))]
    messages.answers = any(text(part) for part in parts)
    messages.cut = said.get("stopReason") == _CUT


@dataclass(slots=True)
class History:
    """What a model request shows of its conversation.

    Attributes:
        results: call ids of the last message with tool results.
        said: the texts of the users' messages.
    """

    results: frozenset[str]
    said: frozenset[str]


def read_history(messages: Raw) -> History | None:
    """Read the ``messages`` of a request; None where they are redacted or cannot be read."""
    try:
        found = _decode(messages)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    users = [m.get("content") for m in found if isinstance(m, dict) and m.get("role") == "user"]
    batches = [batch for content in users if (batch := blocks(content, "tool_result"))]
    ids = [block.get("tool_use_id") for block in batches[-1]] if batches else []
    return History(
        frozenset(call_id for call_id in ids if isinstance(call_id, str)),
        frozenset(said for content in users if (said := plain(content)) is not None),
    )
