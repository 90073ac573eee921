"""The vocabulary of a Columns, asked once per distinct text."""

from collections.abc import Callable

import numpy as np

from tracegraph.model.columns import Array, Columns, Mask


class Texts:
    """The vocabulary of a Columns, asked once per distinct text and not once per step."""

    def __init__(self, columns: Columns) -> None:
        self._vocabulary = columns.vocabulary
        self._codes: dict[str, int] = {}

    def code(self, text: str) -> int:
        """Return the code of a text, -2 where no step holds it (-1 would equal unknown)."""
        if text not in self._codes:
            try:
                self._codes[text] = self._vocabulary.index(text)
            except ValueError:
                self._codes[text] = -2
        return self._codes[text]

    def test(self, codes: Array, holds: Callable[[str], bool]) -> Mask:
        """Return for each code whether its text passes; False for unknown."""
        distinct, places = self._distinct(codes)
        passed = np.array([c >= 0 and holds(self._vocabulary[c]) for c in distinct], dtype=bool)
        return passed[places] if len(distinct) else np.zeros(len(codes), dtype=bool)

    def texts(self, codes: Array) -> Array:
        """Return the texts of codes as objects, empty for unknown."""
        distinct, places = self._distinct(codes)
        texts = np.array(
            [self._vocabulary[c] if c >= 0 else "" for c in distinct] or [""], dtype=object
        )
        return texts[places]

    def _distinct(self, codes: Array) -> tuple[list[int], Array]:
        """Return the distinct codes and the place of each code among them."""
        size = len(self._vocabulary)
        if len(codes) < size // 8:  # sorting a few codes is cheaper than marking all
            distinct, places = np.unique(codes, return_inverse=True)
            return distinct.tolist(), places
        used = np.zeros(size + 1, dtype=bool)
        used[codes] = True  # unknown marks the last place
        rank = np.cumsum(used) - 1
        distinct = np.flatnonzero(used)
        return np.where(distinct == size, -1, distinct).tolist(), rank[codes]
