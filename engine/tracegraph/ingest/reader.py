"""Read one file, or the traces that several files share, into drafts."""

from collections import Counter
from collections.abc import Iterator, Sequence

from tracegraph.errors import InputError
from tracegraph.ingest.adapter import Adapter, ReadOptions
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.registry import adapter_named, detect
from tracegraph.ingest.source import Source
from tracegraph.model.draft import Draft
from tracegraph.model.unmapped import Unmapped

DAMAGED_CODE = "files.damaged"


class FileRead:
    """The traces of one file, read as they are asked for.

    Gap codes: those of the adapter, and ``files.damaged`` for a compressed file that can only be
    unpacked in part.

    Attributes:
        adapter: the format that the file was found to have.
        gaps: losses that belong to the file and to no trace; complete after the iteration.
        unmapped: of a home-made log what its mapping left; known after the iteration.
    """

    def __init__(self, adapter: Adapter, sources: Sequence[Source], options: ReadOptions) -> None:
        self.adapter = adapter
        self.gaps: Counter[str] = Counter()
        self.unmapped: Unmapped | None = None
        self._sources = sources
        self._options = options

    def __iter__(self) -> Iterator[Draft]:
        for source in self._sources:
            self.gaps.update(file_losses(source, self._options.strict))
        try:
            for draft in self.adapter.read(self._sources, self._options):
                self.gaps.update(draft.file_gaps)
                self.unmapped = draft.unmapped
                yield draft
        except InputError as error:
            faults = [source.fault for source in self._sources if source.fault]
            if not faults:
                raise
            raise type(error)("; ".join([str(error), *faults])) from None


def file_losses(source: Source, strict: bool) -> Counter[str]:
    """Return what a file lost before any adapter saw its content.

    Raises:
        StrictError: something, and losses are to be refused.
    """
    losses = Losses(source.name, strict)
    if source.fault:
        losses.add(DAMAGED_CODE, source.fault)
    return losses.counts


def read_file(source: Source, options: ReadOptions) -> FileRead:
    """Find out what a file is, unless a mapping says it, and get ready to read it.

    Raises:
        UnknownFormatError: no adapter knows its content.
    """
    adapter = detect(source) if options.mapping is None else adapter_named("mapped")
    return FileRead(adapter, [source], options)


def read_shared(adapter: Adapter, sources: Sequence[Source], options: ReadOptions) -> FileRead:
    """Get ready to read the traces ``options.only`` from all the files that hold parts of them."""
    return FileRead(adapter, sources, options)
