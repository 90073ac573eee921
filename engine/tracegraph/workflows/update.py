"""Bring a corpus up to date: read what is new, take out what is gone, keep the rest as it is."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from tracegraph.corpus.builder import Builder, trace_key, without
from tracegraph.corpus.manifest import NONE, FileEntry, Manifest, SplitTrace
from tracegraph.corpus.segments import Segment
from tracegraph.ingest.registry import uniting
from tracegraph.model.columns import Ints
from tracegraph.workflows.changes import Changes
from tracegraph.workflows.places import Place, TraceKey
from tracegraph.workflows.reading import Reading

SPLIT_CODE = "corpus.split_trace"
LOST_CODE = "corpus.lost_part"
SMALL_STEPS = 50_000
FOLD_AT = 8
"""So many small segments are folded into one: a query costs a little for each segment."""


@dataclass(frozen=True, slots=True)
class Updated:
    """The corpus after an update, before it is published.

    Attributes:
        manifest: files, split traces and counters; its segments are those of ``kept``.
        kept: segments that stay as they are.
        built: new segments, in order, without numbers.
        opened: names of the files that were looked into for it.
    """

    manifest: Manifest
    kept: tuple[Segment, ...]
    built: tuple[Segment, ...]
    opened: frozenset[str]


def update(
    old: Manifest, parts: Sequence[Segment], changes: Changes, builder: Builder, reading: Reading
) -> Updated:
    """Read what changed and decide which segments stay.

    Raises:
        InputError: a file that was named cannot be read, or strictness forbids a loss.
    """
    stale = _Stale(parts, [entry.id for entry in changes.leave])
    whole = _known_places(old, parts, changes, reading, stale)
    new = reading.read(changes.read, old.next_file)
    files = {entry.id: entry for entry in (*changes.stay, *new) if entry.id != NONE}

    gaps = Counter(old.gaps)
    shared = _to_unite(reading, whole, files, gaps)
    partial = [place for places in shared.values() for place in places]
    builder.drop(_keys(partial))
    stale.add(partial)
    reading.unite(shared, files)

    kept = stale.sort_out(builder)
    united = {**{key: places for key, places in whole.items() if key not in shared}, **shared}
    split = [
        SplitTrace(source=source, trace_id=trace_id, parts=tuple(places))
        for (source, trace_id), places in sorted(united.items())
        if len(places) > 1
    ]
    manifest = msgspec.structs.replace(
        old,
        files=changes.entries(new),
        split=tuple(split),
        gaps=dict(sorted(gaps.items())),
        next_file=max([old.next_file - 1, *(entry.id for entry in new)]) + 1,
    )
    return Updated(manifest, tuple(kept), tuple(builder.finish()), frozenset(reading.opened))


class _Stale:
    """The traces of the old segments that do not stay."""

    def __init__(self, parts: Sequence[Segment], homes: Sequence[int]) -> None:
        self._parts = parts
        self._homes = np.array(homes, dtype=np.int64)
        self._places: list[Place] = []

    def add(self, places: Sequence[Place]) -> None:
        """Let the traces at these places go."""
        self._places += places

    def sort_out(self, builder: Builder) -> list[Segment]:
        """Return the segments that stay; what stays of the others goes to the builder."""
        keys = _keys(self._places)
        kept: list[Segment] = []
        for segment in self._parts:
            rest = without(segment.held, keys, self._homes)
            if rest is segment.held:
                kept.append(segment)
            else:
                builder.add(rest.columns, rest.home, rest.position)
            segment.rest()
        small = [segment for segment in kept if segment.entry.steps < SMALL_STEPS]
        if len(small) < FOLD_AT:
            return kept
        for segment in small:
            held = segment.held
            builder.add(held.columns, held.home, held.position)
            segment.rest()
        return [segment for segment in kept if segment not in small]


def _known_places(
    old: Manifest, parts: Sequence[Segment], changes: Changes, reading: Reading, stale: _Stale
) -> dict[TraceKey, list[Place]]:
    """Tell the reading where traces of unchanged files lie.

    Returns:
        The places of traces that are united and stay so unless another file joins. Traces that
        have lost a part are marked stale, and noted with an empty list of places.
    """
    staying = {e.id: e.adapter for e in changes.stay if e.adapter in uniting()}
    whole: dict[TraceKey, list[Place]] = {}
    homes = set()
    for trace in old.split:
        key = (trace.source, trace.trace_id)
        left = [place for place in trace.parts if place[0] in staying]
        homes.add(trace.parts[0])
        whole[key] = left if len(left) == len(trace.parts) else []
        if not whole[key]:
            stale.add([trace.parts[0]])
        for place in left:
            reading.places.add(key, place)
    for segment in parts if staying else ():
        held = segment.held
        listed = zip(held.home.tolist(), held.position.tolist(), strict=True)
        for place, trace_id in zip(listed, held.columns.trace_id, strict=True):
            if place[0] in staying and place not in homes:
                reading.places.add((staying[place[0]], trace_id), place)
        segment.rest()
    return whole


def _to_unite(
    reading: Reading,
    whole: Mapping[TraceKey, Sequence[Place]],
    files: Mapping[int, FileEntry],
    gaps: Counter[str],
) -> dict[TraceKey, list[Place]]:
    """Return the traces to be read from several files, or from what is left of several.

    A file that is gone, though its traces stay in the corpus, cannot be read again: a trace that
    continues elsewhere stays in parts (``corpus.split_trace``), and one that was united and must be
    read again loses the part that it had there (``corpus.lost_part``).
    """
    wanted = {key: places for key, places in reading.places.many.items() if key not in whole}
    for key, places in whole.items():
        now = reading.places.many.get(key) or [
            reading.places.one[key] for key in (key,) if key in reading.places.one
        ]
        if sorted(now) != sorted(places):
            wanted[key] = now
    readable = {
        file: reading.can_read_again(files[file])
        for file in {place[0] for places in wanted.values() for place in places}
    }
    gaps.pop(SPLIT_CODE, None)  # counted anew, since the parts are all still there
    shared: dict[TraceKey, list[Place]] = {}
    for key, places in wanted.items():
        found = sorted(
            (place for place in places if readable[place[0]]),
            key=lambda place: files[place[0]].name,
        )
        if len(found) > 1 or (found and key in whole):
            shared[key] = found
        if len(found) < len(places):
            gaps[LOST_CODE if key in whole else SPLIT_CODE] += 1
    return shared


def _keys(places: Sequence[Place]) -> Ints:
    pairs = np.array(places, dtype=np.int64).reshape(-1, 2)
    return trace_key(pairs[:, 0], pairs[:, 1])
