"""Bindings under construction: one line per assignment of the slots bound so far."""

from dataclasses import dataclass

import numpy as np

from tracegraph.model.columns import Array, Ints
from tracegraph.pattern.truth import TRUE, Truth


@dataclass(frozen=True, slots=True)
class Table:
    """Lines of bound items.

    Attributes:
        items: for each bound slot the item of each line.
        truth: truth of each line; none is false.
        origin: for a counter-match, the line that it may silence.
    """

    items: dict[int, Ints]
    truth: Truth
    origin: Ints

    def __len__(self) -> int:
        return len(self.truth)

    def take(self, index: Array) -> "Table":
        """Return the chosen lines."""
        items = {slot: column[index] for slot, column in self.items.items()}
        return Table(items, self.truth[index], self.origin[index])

    def bound(self, slot: int, items: Ints, truth: Truth) -> "Table":
        """Return the lines with one more slot bound."""
        return Table({**self.items, slot: items}, np.minimum(self.truth, truth), self.origin)

    def also(self, truth: Truth) -> "Table":
        """Return the lines for which another condition is not false."""
        both = np.minimum(self.truth, truth)
        kept = both > 0
        table = Table(self.items, both, self.origin)
        return table if kept.all() else table.take(kept)


def lines(count: int) -> Table:
    """Return lines without any slot."""
    return Table({}, np.full(count, TRUE, dtype=np.int8), np.arange(count))
