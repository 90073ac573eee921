"""Where, from a place on, numbers first reach a bound: in logarithmic time, however few do."""

from collections.abc import Sequence


class Maxima:
    """A list of numbers and, level by level, the maxima of its pairs."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._levels: list[Sequence[int]] = [numbers]
        while len(self._levels[-1]) > 1:
            below = self._levels[-1]
            self._levels.append([max(below[i : i + 2]) for i in range(0, len(below), 2)])

    def first_from(self, place: int, bound: int) -> int | None:
        """Return the first place, from one on, whose number is at least ``bound``."""
        level = 0
        while place < len(self._levels[level]) and self._levels[level][place] < bound:
            place += 1
            while place % 2 == 0 and level + 1 < len(self._levels):  # to the pair that begins here
                place, level = place // 2, level + 1
        if place >= len(self._levels[level]):
            return None
        while level:
            place, level = place * 2, level - 1
            if self._levels[level][place] < bound:
                place += 1
        return place
