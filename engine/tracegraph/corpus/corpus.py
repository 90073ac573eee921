"""A corpus: traces of many files in one order, however often the files changed.

The order of traces is that of their files by name, then of their place in the file. It does not
depend on which segment holds a trace, so a corpus that was kept up to date answers as a fresh one.
"""

import json
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, overload

import numpy as np

from tracegraph.corpus.durable import refuse_unwritable_name
from tracegraph.corpus.manifest import ANEW, FileEntry, Manifest, read_manifest
from tracegraph.corpus.policy import Keep
from tracegraph.corpus.segments import Segment
from tracegraph.errors import CorpusError
from tracegraph.model.columns import Columns, Ints
from tracegraph.model.trace import Trace

SEGMENTS = "segments"
SKIPPED_CODE = "files.skipped"
_AWAKE = 4  # segments whose pages stay in memory


class Skipped(NamedTuple):
    """A file that was met and not read, and why."""

    name: str
    reason: str


class Corpus:
    """Traces to query, on disk or in memory.

    Attributes:
        manifest: what it holds and where it came from.
        directory: where it lies; None in memory.
        notices: what people should know of how it was read, one sentence each.
        private_graph: a graph that was built for this process only.
        opened: names of the files that were looked into for this answer; all others are as they
            were when they were read.
    """

    def __init__(
        self,
        manifest: Manifest,
        parts: Sequence[Segment],
        directory: Path | None = None,
        notices: Sequence[str] = (),
    ) -> None:
        self.manifest = manifest
        self.directory = directory
        self.notices = list(notices)
        self.parts = tuple(parts)
        self._awake: OrderedDict[int, Segment] = OrderedDict()
        self.private_graph: Path | None = None
        self.opened: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        place = f" in {self.directory}" if self.directory else ""
        return f"Corpus({self.trace_count} traces, {self.step_count} steps{place})"

    def __enter__(self) -> "Corpus":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the memory of mapped segments; what someone still holds stays usable."""
        for segment in self.parts:
            segment.rest()
        self._awake.clear()

    @property
    def keep(self) -> Keep:
        """What it keeps of the content of steps."""
        return self.manifest.keep

    @property
    def files(self) -> tuple[FileEntry, ...]:
        """The files that were read, by name."""
        return tuple(entry for entry in self.manifest.files if not entry.skipped)

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The files that were met and not read, by name."""
        return tuple(Skipped(f.name, f.skipped) for f in self.manifest.files if f.skipped)

    @property
    def trace_count(self) -> int:
        """Number of traces."""
        return sum(segment.entry.traces for segment in self.parts)

    @property
    def step_count(self) -> int:
        """Number of steps."""
        return sum(segment.entry.steps for segment in self.parts)

    @property
    def cause_count(self) -> int:
        """Number of causal edges."""
        return sum(segment.entry.causes for segment in self.parts)

    @property
    def largest_trace(self) -> int:
        """Steps of the largest trace."""
        return max((segment.entry.largest_trace for segment in self.parts), default=0)

    @property
    def cyclic(self) -> bool:
        """Whether the causes of some trace hold a cycle."""
        return any(segment.entry.cyclic for segment in self.parts)

    @property
    def segments(self) -> Sequence[tuple[int, Columns]]:
        """(number, columns) of each segment, in segment order."""
        return _Segments(self)

    def columns(self, number: int) -> Columns:
        """Return the columns of one segment by its number."""
        return self._used(self._by_number[number]).columns

    @cached_property
    def ranks(self) -> dict[int, Ints]:
        """By segment number: the place of each of its traces in the order of the corpus."""
        place = {entry.id: at for at, entry in enumerate(self.manifest.files)}
        held = [segment.held for segment in self.parts]
        if not held:
            return {}
        home = np.concatenate([h.home for h in held])
        files, inverse = np.unique(home, return_inverse=True)
        file_rank = np.array([place.get(int(f), len(place)) for f in files], dtype=np.int64)
        order = np.lexsort((np.concatenate([h.position for h in held]), file_rank[inverse]))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        bounds = np.cumsum([h.columns.trace_count for h in held])[:-1]
        pieces = np.split(rank.astype(np.int64), bounds)
        return {s.number: piece for s, piece in zip(self.parts, pieces, strict=True)}

    def traces(self) -> Iterator[Trace]:
        """Yield every trace, in the order of the corpus."""
        return (Trace(self.columns(number), index) for number, index in self.order())

    def order(self) -> Iterator[tuple[int, int]]:
        """Yield (segment number, trace index) of every trace, in the order of the corpus."""
        ranks = self.ranks
        if not ranks:
            return
        numbers = np.repeat(list(ranks), [len(rank) for rank in ranks.values()])
        indices = np.concatenate([np.arange(len(rank)) for rank in ranks.values()])
        order = np.argsort(np.concatenate(list(ranks.values())))
        yield from zip(numbers[order].tolist(), indices[order].tolist(), strict=True)

    @cached_property
    def gaps(self) -> dict[str, int]:
        """Everything that was lost on the way in, by code: in traces, files and whole files."""
        total: Counter[str] = Counter(self.manifest.gaps)
        for entry in self.manifest.files:
            total.update(entry.gaps)
        for _, columns in self.segments:
            codes, counts = np.unique(columns.traces.gaps, return_counts=True)
            for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
                if code >= 0:
                    for gap, times in json.loads(columns.vocabulary[code]).items():
                        total[gap] += times * count
        if self.skipped:
            total[SKIPPED_CODE] += len(self.skipped)
        return dict(sorted(total.items()))

    @property
    def graph_path(self) -> Path | None:
        """The graph of exactly these segments; None while there is none."""
        if self.private_graph is not None:
            return self.private_graph
        graph = self.manifest.graph
        if self.directory is None or graph is None:
            return None
        if graph.segments != tuple(segment.number for segment in self.parts):
            return None
        path = graph_file(self.directory, graph.generation)
        return path if path.exists() else None

    @cached_property
    def _by_number(self) -> dict[int, Segment]:
        return {segment.number: segment for segment in self.parts}

    def _used(self, segment: Segment) -> Segment:
        """Note that a segment is used; the one that was not used for longest may rest."""
        self._awake[segment.number] = segment
        self._awake.move_to_end(segment.number)
        while len(self._awake) > _AWAKE:
            self._awake.popitem(last=False)[1].rest()
        return segment


class _Segments(Sequence[tuple[int, Columns]]):
    """The segments of a corpus; a pass over them lets those behind it rest."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __len__(self) -> int:
        return len(self._corpus.parts)

    @overload
    def __getitem__(self, index: int) -> tuple[int, Columns]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[int, Columns]]: ...
    def __getitem__(
        self, index: int | slice
    ) -> tuple[int, Columns] | Sequence[tuple[int, Columns]]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        number = self._corpus.parts[index].number
        return number, self._corpus.columns(number)


def open_corpus(directory: Path) -> Corpus:
    """Open a corpus directory as it is now.

    A writer may replace segments between reading the manifest and mapping them; then the newer
    manifest is read.

    Raises:
        CorpusError: it is no corpus, or it is damaged.
    """
    refuse_unwritable_name(directory)
    manifest = read_manifest(directory)
    while True:
        try:
            parts = [
                Segment.open(entry, segment_folder(directory, entry.number))
                for entry in manifest.segments
            ]
            return Corpus(manifest, parts, directory)
        except FileNotFoundError as error:
            newer = read_manifest(directory)
            if newer.segments == manifest.segments:
                raise CorpusError(f"{error.filename}: is missing; {ANEW}") from None
            manifest = newer


def segment_folder(directory: Path, number: int) -> Path:
    """Return where a segment lies."""
    return directory / SEGMENTS / str(number)


def graph_file(directory: Path, generation: int) -> Path:
    """Return where a generation of the graph lies."""
    return directory / f"graph.{generation}.kuzu"
