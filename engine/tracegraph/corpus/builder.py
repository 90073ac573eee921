"""Collect traces into segments of about a quarter of a million steps.

Each segment is written as soon as it is full and mapped back, so memory does not grow with the
corpus; without a folder the segments stay in memory. Traces that turn out to be stale (a file that
broke off, a trace that continues in another file) are taken out again before anything is published.
"""

import dataclasses
import shutil
from pathlib import Path

import numpy as np

from tracegraph.corpus.merge import compact, concat, take
from tracegraph.corpus.policy import Keep, restrict
from tracegraph.corpus.segment import Held, open_segment, write_segment
from tracegraph.corpus.segments import Segment
from tracegraph.model.columns import Columns, Ints

SEGMENT_STEPS = 250_000


class Builder:
    """Takes traces in input order and turns them into segments."""

    def __init__(self, keep: Keep, folder: Path | None, limit: int | None = None) -> None:
        """Start with nothing.

        Args:
            keep: content policy, applied before anything is written.
            folder: where segments are written under temporary names; None keeps them in memory.
            limit: steps after which a segment is full; :data:`SEGMENT_STEPS` if left out.
        """
        self._keep = keep
        self._folder = folder
        self._limit = limit or SEGMENT_STEPS
        self._pending: list[Held] = []
        self._steps = 0
        self._built: list[Segment] = []
        self._written = 0

    def add(self, columns: Columns, home: Ints, position: Ints) -> None:
        """Add traces that belong to the files ``home``, at the places ``position`` in them."""
        if columns.trace_count == 0:
            return
        self._pending.append(Held(restrict(columns, self._keep), home, position))
        self._steps += columns.step_count
        if self._steps >= self._limit:
            self.flush()

    def flush(self) -> None:
        """Make segments of what was added since the last one."""
        if not self._pending:
            return
        whole = Held(
            concat([held.columns for held in self._pending]),
            np.concatenate([held.home for held in self._pending]),
            np.concatenate([held.position for held in self._pending]),
        )
        self._pending, self._steps = [], 0
        count = whole.columns.trace_count
        for first, last in _cuts(whole.columns.offsets, self._limit):
            if last - first < count:
                piece = select(whole, np.arange(first, last))
            else:
                piece = dataclasses.replace(whole, columns=compact(whole.columns))
            self._built.append(self._store(piece))

    def drop(self, stale: Ints) -> None:
        """Take traces out again; ``stale`` holds their :func:`trace_key`."""
        if not len(stale):
            return
        kept: list[Segment] = []
        for segment in self._built:
            rest = without(segment.held, stale)
            segment.rest()
            if rest is segment.held:
                kept.append(segment)
                continue
            if len(rest.home):
                kept.append(self._store(rest))
            segment.discard()
        self._built = kept
        rests = [without(held, stale) for held in self._pending]
        self._pending = [rest for rest in rests if len(rest.home)]
        self._steps = sum(held.columns.step_count for held in self._pending)

    def finish(self) -> list[Segment]:
        """Return all segments, in input order, not numbered yet."""
        self.flush()
        return self._built

    def _store(self, held: Held) -> Segment:
        if self._folder is None:
            return Segment.new(held)
        path = self._folder / f".{self._written}.tmp"
        self._written += 1
        shutil.rmtree(path, ignore_errors=True)  # left by a writer that was killed
        write_segment(path, held)
        return Segment.new(open_segment(path), path)


def select(held: Held, traces: Ints) -> Held:
    """Return some of the traces."""
    return Held(take(held.columns, traces), held.home[traces], held.position[traces])


def without(held: Held, stale: Ints, homes: Ints | None = None) -> Held:
    """Return what is left without some traces (by :func:`trace_key`) and without some files."""
    stays = ~np.isin(trace_key(held.home, held.position), stale)
    if homes is not None:
        stays &= ~np.isin(held.home, homes)
    return held if stays.all() else select(held, np.flatnonzero(stays))


def trace_key(home: Ints, position: Ints) -> Ints:
    """Return one integer per trace that tells it from every other trace of a corpus."""
    return (np.asarray(home, dtype=np.int64) << 40) | np.asarray(position, dtype=np.int64)


def _cuts(offsets: Ints, limit: int) -> list[tuple[int, int]]:
    """Cut traces into stretches of at least ``limit`` steps, if there are two or more."""
    cuts, first = [], 0
    total = int(offsets[-1])
    while total - offsets[first] >= 2 * limit:
        last = int(np.searchsorted(offsets, offsets[first] + limit))
        if last >= len(offsets) - 1:
            break
        cuts.append((first, last))
        first = last
    cuts.append((first, len(offsets) - 1))
    return cuts
