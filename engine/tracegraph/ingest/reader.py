"""Read one file, or the traces that several files share, into drafts."""

from collections import Counter
from collections.abc import Iterator, Sequence

from tracegraph.ingest.adapter import Adapter, ReadOptions
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.model.draft import Draft


class FileRead:
    """The traces of one file, read as they are asked for.

    Attributes:
        adapter: the format that the file was found to have.
        gaps: losses that belong to the file and to no trace; complete after the iteration.
    """

    def __init__(self, adapter: Adapter, sources: Sequence[Source], options: ReadOptions) -> None:
        self.adapter = adapter
        self.gaps: Counter[str] = Counter()
        self._sources = sources
        self._options = options

    def __iter__(self) -> Iterator[Draft]:
        for draft in self.adapter.read(self._sources, self._options):
            self.gaps.update(draft.file_gaps)
            yield draft


def read_file(source: Source, options: ReadOptions) -> FileRead:
    """Find out what a file is and get ready to read it.

    Raises:
        UnknownFormatError: no adapter knows its content.
    """
    return FileRead(detect(source), [source], options)


def read_shared(adapter: Adapter, sources: Sequence[Source], options: ReadOptions) -> FileRead:
    """Get ready to read the traces ``options.only`` from all the files that hold parts of them."""
    return FileRead(adapter, sources, options)
