"""A syntax tree with the places of its parts.

The tree itself carries no places, so that it compares by value; they stand beside it, keyed by the
identity of the node, for messages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tracegraph.errors import PatternError
from tracegraph.pattern.ast import Node, Pattern


class Mark(NamedTuple):
    """A place in the text, both from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Parsed:
    """A pattern and the places of its parts.

    Attributes:
        pattern: the syntax tree; it must stay alive as long as ``marks`` is used.
        marks: place of a node, keyed by ``id(node)``; of the n-th word inside it (the ``same``
            fields of a run), by ``(id(node), n)``.
        heads: place of each header, by its keyword (``id``, ``title``, ``export``,
            ``param summary``).
        source: file name for messages; empty for a text given on the command line.
    """

    pattern: Pattern
    marks: Mapping[int | tuple[int, int], Mark] = field(default_factory=dict)
    heads: Mapping[str, Mark] = field(default_factory=dict)
    source: str = ""

    def error(self, message: str, *places: Node | str | tuple[Node, int]) -> PatternError:
        """Make the error for the first of these places that is known."""
        for place in places:
            mark = self._mark(place)
            if mark is not None:
                return PatternError(message, mark.line, mark.column, self.source)
        return PatternError(f"{self.pattern.id}: {message}", source=self.source)

    def _mark(self, place: Node | str | tuple[Node, int]) -> Mark | None:
        if isinstance(place, str):
            return self.heads.get(place)
        if isinstance(place, tuple):
            return self.marks.get((id(place[0]), place[1]))
        return self.marks.get(id(place))
