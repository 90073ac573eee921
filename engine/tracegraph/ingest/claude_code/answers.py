"""What a model said in one go, which may be spread over several lines that share its message's id.

Each line holds the usage so far. Only the line that tells why the model stopped has the whole of
it: releases that never write the reason write no final count of the answer's tokens either, but
what the stream had said when the line was written.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from tracegraph.ingest.attributes import LARGEST, total_of
from tracegraph.ingest.claude_code.entries import MODEL, Entry
from tracegraph.ingest.measures import decimal_text, nanoseconds
from tracegraph.ingest.transcript.content import content_text
from tracegraph.model.codes import UNKNOWN

_CLIENT = "<synthetic>"
"""Stands for the model where the client itself wrote the message."""
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
_PROMPT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The API counts what it took from and put into its cache apart; all of it was prompt."""


class Usage(Struct, frozen=True):
    """Tokens of an answer, -1 unknown.

    Attributes:
        is_partial: tokens were counted while it was still being written.
    """

    prompt: int = UNKNOWN
    completion: int = UNKNOWN
    total: int = UNKNOWN
    is_partial: bool = False


@dataclass(slots=True, eq=False)
class Answer:
    """What a model said, or the client in its place: that a request failed, or was not made.

    Attributes:
        entries: its lines.
        row: of its step.
        results: (call id, row) of the tool steps that it asked for, as they come back.
    """

    entries: list[Entry]
    row: int = UNKNOWN
    results: list[tuple[str | None, int]] = field(default_factory=list)

    @property
    def final(self) -> Entry:
        """The line that tells why the model stopped, the last one where none does."""
        told = (entry for entry in reversed(self.entries) if _reason(entry) is not None)
        return next(told, self.entries[-1])

    @property
    def has_failed(self) -> bool:
        """The request failed, as the client says in place of an answer."""
        return any(entry.has_failed for entry in self.entries)

    @property
    def may_have_failed(self) -> bool:
        """Whether the request failed cannot be read."""
        return any(entry.has_failed is None for entry in self.entries)

    @property
    def model(self) -> str | None:
        """The model; None where it is not recorded, or none was asked."""
        return None if self.is_of_client else self.final.message.text("model")

    @property
    def is_of_client(self) -> bool:
        """No model said it."""
        return self.final.message.values.get("model") == _CLIENT

    @property
    def is_cut(self) -> bool:
        """The model was stopped by a limit."""
        return _reason(self.final) in _CUT

    @property
    def has_ended(self) -> bool:
        """The model gave the turn back to the person."""
        return _reason(self.final) == "end_turn" and not self.is_of_client

    def text(self) -> str | None:
        """Return its text without what it thought and asked for."""
        content = [
            block
            for entry in self.entries
            for block in entry.blocks
            if isinstance(block, dict) and block.get("type") == "text"
        ]
        return content_text(content)

    def usage(self) -> Usage:
        """Return its tokens; what the client wrote has none, whatever it counts."""
        if self.is_of_client:
            return Usage()
        usage = self.final.message.inner("usage")
        parts = [usage.count(key) for key in _PROMPT_TOKENS]
        prompt = _sum(parts) if parts[0] >= 0 else UNKNOWN
        completion = usage.count("output_tokens")
        if completion >= 0 and _reason(self.final) is None:
            return Usage(prompt, is_partial=True)
        total = total_of((prompt, completion))
        return Usage(prompt, completion, total)

    def cost(self) -> str | None:
        """Return the cost in US dollars, which old releases recorded."""
        fields = self.final.fields
        cost = fields.number("costUSD")
        found = None if cost is None else decimal_text(cost)
        if cost is not None and found is None:
            fields.refuse("costUSD", "is no cost")
        return found

    def duration(self) -> int:
        """Return the nanoseconds that it took, -1 unknown; old releases recorded it."""
        fields = self.final.fields
        ms = fields.number("durationMs")
        found = nanoseconds(ms)
        if ms is not None and found == UNKNOWN:
            fields.refuse("durationMs", "is no duration")
        return found


def answers_of(entries: Sequence[Entry]) -> Iterator[tuple[int, Answer]]:
    """Yield (number of a line, the answer that it is a part of).

    Ids of messages are unique where Anthropic gives them out. Others may answer in its place, so
    that lines are of one answer only if they are of one request and of one agent, too.
    """
    known: dict[tuple[str | None, ...], Answer] = {}
    for entry in entries:
        if entry.role == MODEL:
            message_id = entry.message_id
            key = (message_id, entry.fields.text("requestId"), entry.agent)
            answer = Answer([]) if message_id is None else known.setdefault(key, Answer([]))
            answer.entries.append(entry)
            yield entry.number, answer


def _sum(counts: Iterable[int]) -> int:
    """Return the sum of the known counts, -1 where it is larger than a count can be."""
    total = sum(count for count in counts if count > 0)
    return total if total <= LARGEST else UNKNOWN


def _reason(entry: Entry) -> str | None:
    reason = entry.message.values.get("stop_reason")
    return reason if isinstance(reason, str) and reason else None
