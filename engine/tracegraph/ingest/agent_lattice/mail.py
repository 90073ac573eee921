"""The mailbox texts through which agent-lattice's team members talk.

Delegated work, its receipt and the replies are plain text with ``key: value`` headers. Only headers
are read: what a person or a model wrote below them may quote anything.
"""

import re
from typing import Any

import msgspec
from msgspec import Struct

from tracegraph.ingest.agent_lattice.content import plain
from tracegraph.ingest.agent_lattice.records import text

_TASK = re.compile(r"^--- delegated task ---[ \t]*\n?", re.MULTILINE)
_REPLY = re.compile(r"^--- mailbox reply ---[ \t]*\n", re.MULTILINE)
_MESSAGE_ID = re.compile(r"^message_id:[ \t]*(\S+)[ \t]*$", re.MULTILINE)
_REPLY_TO = re.compile(r"^reply_to:[ \t]*(\S+)[ \t]*$", re.MULTILINE)
_FROM = re.compile(r"^from:[ \t]*(\S+)[ \t]*$", re.MULTILINE)
_decode = msgspec.json.Decoder().decode


class Delegated(Struct, gc=False, frozen=True):
    """A prompt that hands work to a member.

    Attributes:
        message_id: of the message that brought the work; unique in one mailbox only.
        task: the work itself, as it was handed over.
    """

    message_id: str
    task: str | None


class Receipt(Struct, gc=False, frozen=True):
    """A tool result that says that work was taken on: ``message_id`` went to mailbox ``to``."""

    message_id: str
    to: str | None


class Reply(Struct, gc=False, frozen=True):
    """A report on work: mailbox ``sender`` answers the message with that id."""

    message_id: str
    sender: str | None


def read_delegated(prompt: str) -> Delegated | None:
    """Read a prompt as delegated work, None where it is something else."""
    mark = _TASK.search(prompt)
    head = prompt if mark is None else prompt[: mark.start()]
    found = _MESSAGE_ID.search(head)
    if found is None:
        return None
    return Delegated(found[1], None if mark is None else text(prompt[mark.end() :].strip()))


def read_replies(prompt: str) -> list[Reply]:
    """Return the replies of the mailbox in a prompt."""
    heads = [part.partition("\n\n")[0] for part in _REPLY.split(prompt)[1:]]
    replies: list[Reply] = []
    for head in heads:
        answered, sender = _REPLY_TO.search(head), _FROM.search(head)
        if answered is not None:
            replies.append(Reply(answered[1], None if sender is None else sender[1]))
    return list(dict.fromkeys(replies))


def read_receipt(content: Any) -> Receipt | None:
    """Read the result of a handoff, None where it is another result."""
    said = plain(content)
    if said is None or '"accepted"' not in said or not said.lstrip().startswith("{"):
        return None
    try:
        value = _decode(said)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("status") != "accepted":
        return None
    message_id = text(value.get("message_id"))
    return None if message_id is None else Receipt(message_id, text(value.get("to")))
