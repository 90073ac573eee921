"""Runs, tried out block by block."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any


@dataclass
class Line:
    """Steps lined up: their ``same`` values (None unknown) and the truth of their condition."""

    values: list[tuple[Any, ...]]
    truths: list[bool | None]


def blocks(
    line: Line, minimum: int, period: tuple[int, int] | None
) -> Iterator[tuple[int, int, bool]]:
    """Yield (first, beyond the last, certain) of every run."""
    found: dict[tuple[int, int], bool] = {}
    if period is None:
        sure = [b for b in _maximal(line, _all_equal_surely) if _size(b) >= minimum]
        open_ones = [b for b in _maximal(line, _none_differ) if _size(b) >= minimum]
        found = dict.fromkeys(sure, True)
        for block in open_ones:
            if not any(_inside(other, block) for other in sure):
                found[block] = False
    else:
        _periodic(line, minimum, period, found)
    for (low, high), certain in sorted(found.items()):
        yield low, high, certain


def _periodic(
    line: Line, minimum: int, period: tuple[int, int], found: dict[tuple[int, int], bool]
) -> None:
    for sure in (True, False):
        confirmed = list(found)
        for k in range(period[0], period[1] + 1):
            for block in _maximal(line, partial(_repeats, k=k, sure=sure)):
                # k has to be the smallest: a block whose values surely repeat sooner is out.
                smaller = any(_same(line, *block, k=j, sure=True) for j in range(1, k))
                holds_one = any(_inside(other, block) for other in confirmed)
                if _size(block) >= minimum * k and not smaller and not holds_one:
                    found.setdefault(block, sure)


def _inside(small: tuple[int, int], large: tuple[int, int]) -> bool:
    return large[0] <= small[0] and small[1] <= large[1]


def _size(block: tuple[int, int]) -> int:
    return block[1] - block[0]


def _maximal(line: Line, good: Callable[[Line, int, int], bool]) -> Iterator[tuple[int, int]]:
    """Yield the blocks that are good and lie in no larger good one."""
    count = len(line.values)
    all_good = [
        (low, high)
        for low in range(count)
        for high in range(low + 1, count + 1)
        if good(line, low, high)
    ]
    for block in all_good:
        if not any(other != block and _inside(block, other) for other in all_good):
            yield block


def _all_equal_surely(line: Line, low: int, high: int) -> bool:
    block = line.values[low:high]
    known = all(value is not None for values in block for value in values)
    return known and len(set(block)) == 1 and all(line.truths[low:high])


def _none_differ(line: Line, low: int, high: int) -> bool:
    if any(truth is False for truth in line.truths[low:high]):
        return False
    fields = zip(*line.values[low:high], strict=True)
    return all(len({value for value in field if value is not None}) <= 1 for field in fields)


def _repeats(line: Line, low: int, high: int, *, k: int, sure: bool) -> bool:
    truths = line.truths[low:high]
    known = all(value is not None for values in line.values[low:high] for value in values)
    if sure and not (known and all(truths)):
        return False
    if any(truth is False for truth in truths):
        return False
    return _same(line, low, high, k=k, sure=sure)


def _same(line: Line, low: int, high: int, *, k: int, sure: bool) -> bool:
    """Do members a multiple of k apart agree (or, not ``sure``, could they)?"""
    for rest in range(min(k, high - low)):
        for field in zip(*line.values[low + rest : high : k], strict=True):
            if sure and None in field and len(field) > 1:
                return False
            if len({value for value in field if value is not None}) > 1:
                return False
    return True
