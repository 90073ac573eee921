"""What every join over a link shares: its two ends, its proposals, and groups that prune them.

A join sees lines of which one end of the link, the near one, is bound. :meth:`Join.spans` proposes
far items for each line, a superset where that is cheaper; :meth:`Join.truth` settles it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tracegraph.model.columns import Ints, Mask, expand
from tracegraph.pattern.ast import Edge
from tracegraph.pattern.operands import Frame, Values
from tracegraph.pattern.spans import Spans, compact, spans_of_pairs
from tracegraph.pattern.truth import FALSE, TRUE, Truth


@dataclass(frozen=True, slots=True)
class Ends:
    """A link and the steps at its ends.

    Attributes:
        edge: what must hold.
        exact: whether only declared and containment edges count.
        near: step of each line at the bound end.
        far: step at which each item of the other end meets the link.
        forward: the bound end is the left one.
        frame: the lines, with the slots that a filter names.
        keys: fields that line and item are to share: values over lines, values over items.
    """

    edge: Edge
    exact: bool
    near: Ints
    far: Ints
    forward: bool
    frame: Frame
    keys: Sequence[tuple[Values, Values]] = ()

    def sides(self, line: Ints, far: Ints) -> tuple[Ints, Ints]:
        """Return the left and the right step of pairs of a line and a far step."""
        near = self.near[line]
        return (near, far) if self.forward else (far, near)


class Join(Protocol):
    """How one kind of link is joined.

    Attributes:
        settled: whether what :meth:`spans` proposes holds, so that ``truth`` need not be asked.
    """

    settled: bool

    def spans(self) -> Iterator[Spans]:
        """Propose far items for each line; each pair at most once."""

    def truth(self, line: Ints, far: Ints) -> Truth:
        """Return whether the link holds between lines and far steps."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Lines and items that can only meet where their groups are equal."""

    lines: Ints
    items: Ints
    line_group: Ints
    item_group: Ints


def groupings(
    line_group: Ints, item_group: Ints, keys: Sequence[tuple[Values, Values]]
) -> Iterator[Grouping]:
    """Refine groups by fields that line and item must share; the unknown meets everything."""
    lines, items = np.arange(len(line_group)), np.arange(len(item_group))
    if not keys:
        yield Grouping(lines, items, line_group, item_group)
        return
    told = np.logical_and.reduce([line.known for line, _ in keys])
    known = np.logical_and.reduce([item.known for _, item in keys])
    one, other = lines[told], items[known]
    yield Grouping(
        one,
        other,
        *compact(
            (line_group[one], item_group[other]),
            *((line.data[one], item.data[other]) for line, item in keys),
        ),
    )
    for one, other in ((lines[~told], items), (lines[told], items[~known])):
        if len(one) and len(other):
            yield Grouping(one, other, line_group[one], item_group[other])


def by_row(ends: Ends, near: Ints, far: Ints, lines: Ints | None = None) -> Iterator[Spans]:
    """Turn pairs of steps into spans of items; several items may meet the link at one step."""
    if (np.diff(ends.far) > 0).all():
        items = np.searchsorted(ends.far, far)
    else:
        order = np.argsort(ends.far, kind="stable")
        rows = ends.far[order]
        low = np.searchsorted(rows, far, side="left")
        counts = np.searchsorted(rows, far, side="right") - low
        items, near = order[expand(low, counts)], np.repeat(near, counts)
    if lines is None:
        lines = np.arange(len(ends.near))
    yield replace(spans_of_pairs(ends.near[lines], near, items), line=lines)


def two_valued(holds: Mask) -> Truth:
    """Return the truth of what is never unknown."""
    return np.where(holds, TRUE, FALSE).astype(np.int8)
