"""Which line answers which: a session is a tree of lines, since people go back and ask again."""

from collections.abc import Sequence

from tracegraph.ingest.claude_code.entries import Entry
from tracegraph.ingest.losses import Losses


class Thread:
    """The lines of one session by what they answer.

    Lines without any such field (exports of the web client) answer the line before them.

    Gap codes: ``claude_code.duplicate_identical``, ``claude_code.duplicate_conflict``.

    Args:
        entries: in recorded order.
        losses: where losses are disclosed.

    Attributes:
        entries: the same, each id once (of two different lines with one id the later stays), and
            each behind the line that it answers: lines may be written in another order.
    """

    def __init__(self, entries: Sequence[Entry], losses: Losses) -> None:
        self._by_id: dict[str, Entry] = {}
        kept: dict[str | int, Entry] = {}
        for entry in entries:
            if entry.id is not None and entry.id in self._by_id:
                known = self._by_id[entry.id]
                code = "identical" if known.values == entry.values else "conflict"
                what = f"entries {known.number} and {entry.number} have one id"
                losses.add(f"claude_code.duplicate_{code}", what)
            kept[entry.id or entry.number] = entry
            if entry.id is not None:
                self._by_id[entry.id] = entry
        self._before: dict[int, Entry] = {}
        last: dict[bool, Entry] = {}
        for entry in kept.values():
            if not entry.is_linked and entry.is_aside in last:
                self._before[entry.number] = last[entry.is_aside]
            last[entry.is_aside] = entry
        self.entries = self._behind_answered(list(kept.values()))

    def answered(self, entry: Entry) -> Entry | None:
        """Return the line that a line answers, None where it begins or that line is not here."""
        if entry.parent is not None:
            return self._by_id.get(entry.parent)
        return self._before.get(entry.number)

    def is_torn(self, entry: Entry) -> bool:
        """Tell whether what a line answers is not here."""
        return entry.parent is not None and entry.parent not in self._by_id

    def _behind_answered(self, entries: list[Entry]) -> list[Entry]:
        ordered: dict[int, Entry] = {}
        for entry in entries:
            climbed: dict[int, Entry] = {}  # lines that answer each other in a circle end it
            at: Entry | None = entry
            while at is not None and at.number not in ordered and at.number not in climbed:
                climbed[at.number] = at
                at = self.answered(at)
            for number in reversed(climbed):
                ordered[number] = climbed[number]
        return list(ordered.values())
