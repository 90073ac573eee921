"""The messages of a run: whose each one is, whom it asks, and what code goes with it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tracegraph.ingest.losses import Losses
from tracegraph.ingest.salvage import salvage
from tracegraph.ingest.transcript.content import content_text
from tracegraph.ingest.whowhen.code import Block, code_blocks, exit_code
from tracegraph.ingest.whowhen.records import AREA, Message

_PEOPLE = frozenset({"human", "user", "system"})
_EXECUTORS = frozenset({"Computer_terminal", "ComputerTerminal"})
"""What CaptainAgent and Magentic-One call the agent that runs code."""
_ASKS = "-> "


@dataclass(frozen=True, slots=True)
class Said:
    """A message.

    Attributes:
        place: its place in the history, from 0.
        author: who said it, as recorded: ``Orchestrator (-> WebSurfer)``.
        agent: the agent that it is of: ``Orchestrator``.
        asks: the agent that it is for: ``WebSurfer``; None where nobody is addressed.
        is_aside: it is a note of the agent to itself: ``Orchestrator (thought)``.
        content: as recorded.
        text: the content as text, None where it says nothing.
        exit_code: that an executor's message reports; None where it reports none, and of others.
    """

    place: int
    author: str
    agent: str
    asks: str | None
    is_aside: bool
    content: Any
    text: str | None
    exit_code: int | None

    @property
    def is_of_people(self) -> bool:
        """Whether no agent said it."""
        return self.author in _PEOPLE

    @property
    def is_of_executor(self) -> bool:
        """Whether the agent that runs code said it."""
        return self.author in _EXECUTORS

    @property
    def blocks(self) -> list[Block]:
        """The code in it."""
        return code_blocks(self.text or "")


def read_messages(history: list[Any], losses: Losses) -> Iterator[Said]:
    """Yield the messages that can be used.

    Where messages have names, roles (``user``, ``assistant``) are those that a message had for the
    agent that kept the log; else they are the authors.
    Gap codes: ``whowhen.unreadable_message``, ``whowhen.unreadable_field``.
    """
    has_names = any(isinstance(value, dict) and "name" in value for value in history)
    for place, value in enumerate(history):
        message = salvage(Message, value, f"message {place}", AREA, losses)
        author = message and (message.name if has_names else message.role)
        if message is None or not author or not author.strip():
            losses.add("whowhen.unreadable_message", f"message {place} cannot be used")
        else:
            yield _said(place, author, message.content)


def _said(place: int, author: str, content: Any) -> Said:
    agent, opens, note = author.removesuffix(")").partition(" (")
    if not opens or not author.endswith(")"):
        agent, note = author, ""
    text = content_text(content)
    return Said(
        place=place,
        author=author,
        agent=agent,
        asks=note.removeprefix(_ASKS) if note.startswith(_ASKS) else None,
        is_aside=bool(note) and not note.startswith(_ASKS),
        content=content,
        text=text,
        exit_code=exit_code(text or "") if author in _EXECUTORS else None,
    )
