"""What is known of the messages at one point of a thread's history; every change can be taken back.

A history is followed branch by branch, and the tasks of one step do not hear each other: what one
of them changed is taken back for the next, and happens after all where the step has ended.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from tracegraph.ingest.langgraph.tasks import Answer, Request

_LOOK_BACK = 64
"""How many open requests of one id are told apart."""


class _Change(NamedTuple):
    table: dict[Any, Any]
    key: Any
    before: Any
    after: Any


_ABSENT: Any = object()


@dataclass(slots=True)
class Known:
    """What is known at one point of the history.

    Attributes:
        open: requests that wait for an answer, by their own number.
        open_by_call: the same, by call.
        answered: answers, by call; None where the record has no step that gave it.
        unread: answers that no model step has read yet, by identity.
        unread_by_call: the same, by call.
        said: ids of messages of models.
    """

    open: dict[int, Request] = field(default_factory=dict)
    open_by_call: dict[str, dict[int, Request]] = field(default_factory=dict)
    answered: dict[str, Answer | None] = field(default_factory=dict)
    unread: dict[int, Answer] = field(default_factory=dict)
    unread_by_call: dict[str, dict[int, Answer]] = field(default_factory=dict)
    said: dict[str, bool] = field(default_factory=dict)
    _changes: list[_Change] = field(default_factory=list)
    _numbers: int = 0

    def ask(self, request: Request) -> None:
        """Let a request wait for its answer."""
        self._numbers += 1
        request.number = self._numbers
        self.put(self.open, request.number, request)
        of_call = self.open_by_call.setdefault(request.call.id or "", {})
        self.put(of_call, request.number, request)

    def close(self, request: Request) -> None:
        """Let a request wait no more."""
        self.drop(self.open, request.number)
        self.drop(self.open_by_call.get(request.call.id or "", {}), request.number)

    def waiting(self, call_id: str) -> list[Request]:
        """Return the latest open requests of a call, the oldest of them first."""
        of_call = self.open_by_call.get(call_id)
        if not of_call:
            return []
        latest = list(islice(reversed(of_call.values()), _LOOK_BACK))
        return sorted(latest, key=lambda request: request.number)

    def tell(self, answer: Answer) -> None:
        """Let an answer wait for its reader."""
        self.put(self.unread, id(answer), answer)
        self.put(self.unread_by_call.setdefault(answer.call_id, {}), id(answer), answer)

    def hear(self, answer: Answer) -> None:
        """Let an answer be read."""
        self.drop(self.unread, id(answer))
        self.drop(self.unread_by_call.get(answer.call_id, {}), id(answer))

    def unread_of(self, calls: Collection[str]) -> list[Answer]:
        """Return the answers to some calls that nobody has read yet."""
        if len(calls) < len(self.unread):
            found = (self.unread_by_call.get(call, {}) for call in calls)
            return [answer for answers in found for answer in answers.values()]
        return [answer for answer in self.unread.values() if answer.call_id in calls]

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Set an entry."""
        self._changes.append(_Change(table, key, table.get(key, _ABSENT), value))
        table[key] = value

    def drop(self, table: dict[Any, Any], key: Any) -> None:
        """Remove an entry, if it is there."""
        if key in table:
            self._changes.append(_Change(table, key, table.pop(key), _ABSENT))

    def mark(self) -> int:
        """Return the point that :meth:`undo` goes back to."""
        return len(self._changes)

    def undo(self, mark: int) -> list[_Change]:
        """Take back and return what changed since."""
        changes = self._changes[mark:]
        del self._changes[mark:]
        for table, key, before, _ in reversed(changes):
            _set(table, key, before)
        return changes

    def redo(self, changes: Iterable[_Change]) -> None:
        """Let changes that were taken back happen after all."""
        for table, key, _, after in changes:
            self._changes.append(_Change(table, key, table.get(key, _ABSENT), after))
            _set(table, key, after)


def _set(table: dict[Any, Any], key: Any, value: Any) -> None:
    if value is _ABSENT:
        table.pop(key, None)
    else:
        table[key] = value
