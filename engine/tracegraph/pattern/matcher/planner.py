"""In which order slots are bound: few candidates first, along links, filters after what they name.

Truth is a conjunction, so the order is free but for what a filter or a run must know beforehand.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracegraph.pattern.plan import Link


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind a slot, along a link of which the other end is bound, or without one."""

    slot: int
    link: Link | None


@dataclass(frozen=True, slots=True)
class Check:
    """Test a link of which both ends are bound."""

    link: Link


Task = Bind | Check


@dataclass(frozen=True, slots=True)
class Wants:
    """What has to be bound before.

    Attributes:
        links: slots that the filter of each link names.
        slots: slots that the condition of a run names.
    """

    links: Mapping[Link, frozenset[int]]
    slots: Mapping[int, frozenset[int]]


def tasks_for(
    slots: Iterable[int],
    links: tuple[Link, ...],
    bound: Iterable[int],
    wants: Wants,
    sizes: Mapping[int, int],
) -> list[Task]:
    """Order the work so that no slot is bound apart from the others if a link can bind it.

    Args:
        slots: the slots to bind.
        links: the links to hold.
        bound: slots that are bound already.
        wants: what has to come before what.
        sizes: number of candidates of each slot.
    """
    slots, bound = list(slots), set(bound)
    if bound or not slots:
        return _from(None, slots, links, bound, wants, sizes)
    plans = [
        _from(start, slots, links, bound, wants, sizes)
        for start in sorted(slots, key=lambda s: (sizes[s], s))
        if not wants.slots.get(start)
    ]
    return min(plans, key=_detached)


def _from(
    start: int | None,
    slots: list[int],
    links: tuple[Link, ...],
    bound: set[int],
    wants: Wants,
    sizes: Mapping[int, int],
) -> list[Task]:
    tasks: list[Task] = []
    open_slots, open_links, bound = list(slots), list(links), set(bound)
    while open_slots or open_links:
        task: Task
        ready = [link for link in open_links if wants.links[link] <= bound]
        checks = [link for link in ready if link.left in bound and link.right in bound]
        if checks:
            task = Check(checks[0])
            open_links.remove(task.link)
        else:
            if start is not None and not tasks:
                task = Bind(start, None)
            else:
                task = _next(open_slots, ready, bound, wants, sizes)
            if task.link is not None:
                open_links.remove(task.link)
            open_slots.remove(task.slot)
            bound.add(task.slot)
        tasks.append(task)
    return tasks


def _next(
    open_slots: list[int],
    ready: list[Link],
    bound: set[int],
    wants: Wants,
    sizes: Mapping[int, int],
) -> Bind:
    """Choose the next slot: along a link with few candidates, else the first that may be bound."""
    along = []
    for place, link in enumerate(ready):
        ends = {link.left, link.right} - bound
        if len(ends) == 1:
            (slot,) = ends
            if wants.slots.get(slot, frozenset()) <= bound:
                along.append((sizes[slot], place, Bind(slot, link)))
    if along:
        return min(along, key=lambda choice: choice[:2])[2]
    free = [slot for slot in open_slots if wants.slots.get(slot, frozenset()) <= bound]
    return Bind(min(free, key=lambda slot: (sizes[slot], slot)), None)


def _detached(tasks: list[Task]) -> int:
    """Count the slots that are bound without a link, the first one aside."""
    return sum(isinstance(task, Bind) and task.link is None for task in tasks[1:])
