"""Where the traces of formats with random ids lie: an id in several files is a trace in parts."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Place = tuple[int, int]
"""(file id, place of the trace among the traces of that file)."""
TraceKey = tuple[str, str]
"""(source, trace id)."""


@dataclass(slots=True)
class Places:
    """Places by trace.

    Attributes:
        one: traces that lie in one file.
        many: traces that lie in several.
    """

    one: dict[TraceKey, Place] = field(default_factory=dict)
    many: dict[TraceKey, list[Place]] = field(default_factory=dict)

    def add(self, key: TraceKey, place: Place) -> None:
        """Note that a trace was found at a place."""
        if key in self.many:
            self.many[key].append(place)
        elif key in self.one:
            self.many[key] = [self.one.pop(key), place]
        else:
            self.one[key] = place

    def forget(self, file: int) -> None:
        """Forget everything that was found in a file."""
        for key in [key for key, place in self.one.items() if place[0] == file]:
            del self.one[key]
        for key, places in list(self.many.items()):
            left = [place for place in places if place[0] != file]
            self.many[key] = left
            if len(left) < 2:
                del self.many[key]
                self.one.update((key, place) for place in left)


def groups(
    shared: Mapping[TraceKey, Sequence[Place]],
) -> Iterator[tuple[str, frozenset[str], list[int]]]:
    """Yield (source, trace ids, file ids) such that no two groups of a source share a file."""
    leader: dict[tuple[str, int], tuple[str, int]] = {}

    def find(node: tuple[str, int]) -> tuple[str, int]:
        while leader.setdefault(node, node) != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    for (source, _), places in shared.items():
        first = find((source, places[0][0]))
        for file, _ in places[1:]:
            leader[find((source, file))] = first
    ids: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    files: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for (source, trace_id), places in shared.items():
        group = find((source, places[0][0]))
        ids[group].add(trace_id)
        files[group].update(file for file, _ in places)
    for group, members in ids.items():
        yield group[0], frozenset(members), sorted(files[group])
