"""Ids that people chose may repeat where ours must not: the second ``a`` of a file is ``a~2``."""

from collections.abc import Iterable


class FreeIds:
    """Gives out ids, each once.

    Args:
        own: all the ids that will be asked for, so that a made one never takes the place of one
            that is recorded further on.
    """

    def __init__(self, own: Iterable[str] = ()) -> None:
        self._own = frozenset(own)
        self._taken: set[str] = set()
        self._times: dict[str, int] = {}

    def __contains__(self, wanted: str) -> bool:
        return wanted in self._taken

    def take(self, wanted: str) -> str:
        """Return the id, numbered where it is taken."""
        found = wanted
        if found in self._taken:
            number = self._times.get(wanted, 1)
            while found in self._taken or found in self._own:
                number += 1
                found = f"{wanted}~{number}"
            self._times[wanted] = number
        self._taken.add(found)
        return found
