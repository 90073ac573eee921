"""A segment as the corpus handles it: its traces, its counts, and its folder if it has one."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from tracegraph.corpus.durable import remove_tree
from tracegraph.corpus.manifest import SegmentEntry
from tracegraph.corpus.segment import Held, open_segment
from tracegraph.model.columns import Columns


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Some whole traces, in memory or in a folder.

    A folder is mapped from the start, so a writer that replaces it takes nothing away. Between uses
    a segment rests, so that a pass over a large corpus needs the memory of a few segments.

    Attributes:
        entry: its number and counts.
        held: its traces and where they come from.
        path: its folder; None in memory.
    """

    entry: SegmentEntry
    held: Held
    path: Path | None = None

    @classmethod
    def new(cls, held: Held, path: Path | None = None) -> "Segment":
        """Return a segment that has no number yet."""
        return cls(describe(held.columns), held, path)

    @classmethod
    def open(cls, entry: SegmentEntry, path: Path) -> "Segment":
        """Map a segment.

        Raises:
            FileNotFoundError: it is not there (any more).
            CorpusError: its files are damaged.
        """
        return cls(entry, open_segment(path), path)

    @property
    def number(self) -> int:
        """The upper half of its steps' keys; -1 before it is numbered."""
        return self.entry.number

    @property
    def columns(self) -> Columns:
        """Its traces."""
        return self.held.columns

    def numbered(self, number: int, shift: int = 0) -> "Segment":
        """Return it with a number, and ``shift`` added to the numbers of its files."""
        held = dataclasses.replace(self.held, home=self.held.home + shift)
        return Segment(msgspec.structs.replace(self.entry, number=number), held, self.path)

    def rest(self) -> None:
        """Give back the memory of a mapped segment until it is used again."""
        self.held.rest()

    def discard(self) -> None:
        """Remove its folder, if it has one."""
        if self.path is not None:
            remove_tree(self.path)


def describe(columns: Columns) -> SegmentEntry:
    """Return the counts of a segment that has no number yet."""
    return SegmentEntry(
        number=-1,
        traces=columns.trace_count,
        steps=columns.step_count,
        causes=len(columns.causes.effect),
        largest_trace=int(np.diff(columns.offsets).max(initial=0)),
        cyclic=bool(columns.traces.cyclic.any()),
    )
