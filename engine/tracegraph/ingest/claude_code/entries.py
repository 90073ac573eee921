"""Lines of a Claude Code session: who said what, in answer to which line.

The format is not documented; the fields are those of the files of versions 1.0 to 2.1. Messages are
Anthropic's: content is text or a list of blocks, ``tool_use`` asks for a call and ``tool_result``,
in a user's message, answers it. One answer of a model may be spread over several lines that share
``message.id``, a block a line, each with the usage so far.
"""

from typing import Any

from msgspec import Struct

from tracegraph.ingest.losses import Losses
from tracegraph.ingest.transcript.fields import Fields

AREA = "claude_code"
MODEL, USER = "assistant", "user"
_ABOVE = ("parentUuid", "logicalParentUuid")
"""The line that a line answers; behind a compaction, where the first is null, the second."""


class Entry(Struct, eq=False):
    """One line.

    Attributes:
        number: its place among the entries of the file, from 1.
        values: as decoded.
        fields: the same, with losses disclosed.
        message: the fields of its message; none where it has none.
        id: its own id, None where it has none.
        parent: id of the line that it answers, None where it begins.
        is_linked: the format tells what it answers, or that it answers nothing.
        is_summarised: what it answers stands behind a compaction, after which models are told a
            summary of it.
        message_id: id of its message, None where it has none.
        has_failed: it says that a request failed; None where that cannot be read.
        role: ``assistant``, ``user`` or None for all that is no message.
        is_aside: of a sub-agent.
        agent: id of the sub-agent, where recorded.
        time: when it was written, nanoseconds since the epoch, -1 unknown.
        blocks: what its message consists of.
    """

    number: int
    values: dict[str, Any]
    fields: Fields
    message: Fields
    id: str | None
    parent: str | None
    is_linked: bool
    is_summarised: bool
    message_id: str | None
    has_failed: bool | None
    role: str | None
    is_aside: bool
    agent: str | None
    time: int
    blocks: list[Any]


def read_entry(value: dict[str, Any], number: int, losses: Losses) -> Entry:
    """Read a line.

    Gap code: ``claude_code.unreadable_field``.
    """
    place = f"entry {number}"
    fields = Fields(value, place, AREA, losses)
    kind = fields.text("type")
    role = kind if kind in (MODEL, USER) else None
    if "type" not in value and isinstance(value.get("message"), dict):
        fields.refuse("type", "is absent: who said its message is not known")
    if role is not None and value.get("message") is None:
        fields.refuse("message", "is absent")
    message = fields.inner("message")
    parents = [fields.text(key) for key in _ABOVE]
    return Entry(
        number,
        value,
        fields,
        message,
        fields.text("uuid"),
        next((parent for parent in parents if parent is not None), None),
        any(key in value for key in _ABOVE),
        parents[0] is None and parents[1] is not None,
        message.id("id"),
        fields.flag("isApiErrorMessage") if value.get("isApiErrorMessage") is not None else False,
        role,
        fields.flag("isSidechain") or False,
        fields.text("agentId"),
        fields.time("timestamp"),
        _blocks(message) if role is not None else [],
    )


def session_of(value: dict[str, Any]) -> str | None:
    """Return the session that a line belongs to."""
    found = value.get("sessionId")
    return found if isinstance(found, str) and found.strip() else None


def _blocks(message: Fields) -> list[Any]:
    """Return the blocks of a message's content; text alone is one of them."""
    content = message.values.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if content is None:
        message.refuse("content", "is absent")
    return message.items("content")
