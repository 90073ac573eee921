"""What a model was given: the part of its input that its conversation had not given it before.

Each model event has the whole conversation, as messages or as ranges of a pool of them. Only what
is new is looked at: what was there before was read before, and all of it at every step would be
quadratic in the steps.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any

from tracegraph.ingest.inspect_ai.sample import Sample
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.transcript.fields import Fields

_Range = tuple[int, int]
_Message = dict[str, Any]


class History:
    """The inputs of the models of one sample.

    Gap codes: ``inspect_ai.unresolved_message``, ``inspect_ai.unreadable_message``,
    ``inspect_ai.unreadable_field``.

    Args:
        sample: the sample; its pool is ``events_data`` or, until 2026, ``message_pool``.
    """

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        held = sample.fields.inner("events_data").items("messages")
        self._pool = held or sample.fields.items("message_pool")
        self._before: dict[str | None, list[Any]] = {}
        self._read: dict[str | None, list[int]] = {}
        """By conversation where what it was given of the pool begins and ends, by turns."""

    def new_in(self, event: Fields, conversation: str | None, *, failed: bool) -> list[_Message]:
        """Return the messages that are new in a model's input.

        Args:
            event: of the model.
            conversation: what contains it.
            failed: it gave no answer; so what it was given is new to the next attempt, too.
        """
        given = event.items("input")
        new = given[_common(given, self._before.get(conversation, [])) :]
        read = self._read.get(conversation, [])
        if failed:
            read = read.copy()
        else:
            self._before[conversation], self._read[conversation] = given, read
        for start, end in self._ranges(event):
            for low, high in take_unread(read, start, end):
                new += self._pool[low:high]
        return [message for message in new if self._is_usable(message)]

    def _is_usable(self, message: Any) -> bool:
        is_usable = isinstance(message, dict) and not is_too_deep(message)
        if not is_usable:
            what = f"{self._sample.trace_id}: a message that a model was given cannot be used"
            self._sample.losses.add("inspect_ai.unreadable_message", what)
        return is_usable

    def _ranges(self, event: Fields) -> Iterator[_Range]:
        for item in event.items("input_refs"):
            if _is_range(item) and item[1] <= len(self._pool):
                yield item[0], item[1]
            else:
                what = f"{self._sample.trace_id}: messages of an input are not in the pool"
                self._sample.losses.add("inspect_ai.unresolved_message", what)


def _is_range(item: Any) -> bool:
    if not isinstance(item, list) or len(item) != 2:
        return False
    return all(type(place) is int for place in item) and 0 <= item[0] <= item[1]


def _common(given: list[Any], seen: list[Any]) -> int:
    """Return how many messages two inputs begin with alike."""
    same = 0
    try:
        for one, other in zip(given, seen, strict=False):
            if one != other:
                break
            same += 1
    except RecursionError:
        pass  # nested too deeply to be compared: read again
    return same


def take_unread(read: list[int], start: int, end: int) -> Iterator[_Range]:
    """Return the ranges between two places that were not read, and note them as read.

    Args:
        read: where what was read begins and ends, by turns, ascending.
        start: the first place.
        end: the place behind the last.
    """
    first, last = bisect_left(read, start), bisect_right(read, end)
    begin = [start] if first % 2 == 0 else []  # outside of what was read
    stop = [end] if last % 2 == 0 else []
    edges = iter([*begin, *read[first:last], *stop])
    read[first:last] = begin + stop
    return zip(edges, edges, strict=True)
