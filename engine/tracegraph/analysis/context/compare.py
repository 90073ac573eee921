"""What entered and what left between two contexts: sequences, compared by digest."""

from collections import defaultdict, deque
from dataclasses import dataclass
from itertools import pairwise

from tracegraph.analysis.context.items import Item
from tracegraph.analysis.context.view import Context


@dataclass(frozen=True, slots=True)
class Change:
    """What is different in the later of two contexts.

    Attributes:
        entered: of each item of the later one, whether the earlier one lacked it.
        left: items of the earlier one that the later one lacks, in their order.
        stayed: how many both have.
        reordered: those that both have stand in another order.
    """

    entered: list[bool]
    left: list[Item]
    stayed: int
    reordered: bool


def compare(earlier: Context, later: Context) -> Change:
    """Compare two contexts; of equal items the first stays. One pass over each."""
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for place, item in enumerate(earlier.items):
        waiting[item.digest].append(place)
    kept = [
        waiting[item.digest].popleft() if waiting.get(item.digest) else -1 for item in later.items
    ]
    gone = sorted(place for places in waiting.values() for place in places)
    stayed = [place for place in kept if place >= 0]
    return Change(
        [place < 0 for place in kept],
        [earlier.items[place] for place in gone],
        len(stayed),
        any(before > after for before, after in pairwise(stayed)),
    )
