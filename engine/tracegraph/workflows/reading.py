"""Read files into a builder, and unite the traces that lie in several of them.

Every file is read alone first. A trace id of a uniting format that turns up in several files is one
trace in parts: those files are read once more, together, for these ids only, and the parts leave.
"""

import dataclasses
import gc
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tracegraph.corpus.builder import Builder, trace_key
from tracegraph.corpus.manifest import NONE, FileEntry
from tracegraph.errors import InputError, MissingLibraryError, UnknownFormatError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.companions import companion_states, is_database
from tracegraph.ingest.discover import InputFile
from tracegraph.ingest.reader import read_file, read_shared
from tracegraph.ingest.registry import adapter_named
from tracegraph.ingest.source import Source, record_limit
from tracegraph.workflows.changes import RACY_NS, is_as_read
from tracegraph.workflows.gather import Gather
from tracegraph.workflows.places import Place, Places, TraceKey, groups
from tracegraph.workflows.request import Progress


class Reading:
    """One pass over files that are new or have changed.

    Attributes:
        places: where the traces of uniting formats lie, those of unchanged files included.
        opened: names of the files that were looked into, those that were skipped included.
    """

    def __init__(
        self, builder: Builder, options: ReadOptions, progress: Progress | None = None
    ) -> None:
        self.places = Places()
        self.opened: set[str] = set()
        self._builder = builder
        self._gather = Gather(builder)
        self._options = options
        self._mapping = options.mapping.digest if options.mapping else ""
        self._progress = progress
        self._limit = record_limit()
        self._streams: dict[int, Source] = {}
        self._found: dict[int, int] = {}
        self._adapter = ""
        self._began = time.time_ns()

    def read(self, files: Sequence[InputFile], first_id: int) -> list[FileEntry]:
        """Read files one by one, in order, numbering them from ``first_id``.

        Raises:
            InputError: a file that was named cannot be read, or strictness forbids a loss.
        """
        sizes = [_size(file) for file in files]
        if self._progress:
            self._progress.start(sum(sizes))
        entries = []
        with _no_collection():
            for file_id, (file, size) in enumerate(zip(files, sizes, strict=True), first_id):
                entries.append(self._read_or_skip(file, file_id))
                if self._progress:
                    self._progress.advance(size)
            self._gather.flush()
        return entries

    def can_read_again(self, entry: FileEntry) -> bool:
        """Tell whether a file still holds what it held when it was read."""
        return entry.id in self._streams or is_as_read(entry)

    def unite(
        self, shared: Mapping[TraceKey, Sequence[Place]], files: Mapping[int, FileEntry]
    ) -> None:
        """Read traces from all the files that hold parts of them; the parts must be gone by then.

        Args:
            shared: the places of the parts of each trace, in file order.
            files: the entries of those files, by id.

        Raises:
            InputError: a file does not hold what it held a moment ago.
        """
        for source, ids, members in groups(shared):
            entries = sorted((files[member] for member in members), key=lambda entry: entry.name)
            options = dataclasses.replace(self._options, only=ids)
            missing = set(ids)
            for draft in read_shared(
                adapter_named(source), [self._source(entry) for entry in entries], options
            ):
                ids_read = draft.traces.trace_id
                places = [shared[source, trace_id][0] for trace_id in ids_read]
                missing.difference_update(ids_read)
                homes = np.array(places, dtype=np.int64).reshape(-1, 2)
                self._gather.add(draft, homes[:, 0], homes[:, 1])
            if missing:
                raise InputError(
                    f"{entries[0].name}: trace {min(missing)} went missing while it was read; "
                    "run again when nobody writes to the files"
                )
        self._gather.flush()

    def _read_or_skip(self, file: InputFile, file_id: int) -> FileEntry:
        self.opened.add(file.name)
        self._adapter = ""
        try:
            return self._read(file, file_id)
        except InputError as error:
            is_unknown = isinstance(error, UnknownFormatError)
            if file.named or (self._options.strict and not is_unknown):
                raise
            found = self._found.pop(file_id, 0)
            if found:
                self._gather.flush()
                self._builder.drop(trace_key(np.full(found, file_id), np.arange(found)))
                self.places.forget(file_id)
            return self._skipped(file, error)

    def _read(self, file: InputFile, file_id: int) -> FileEntry:
        size, mtime_ns = _state(file)  # before it is opened: what is written later shows
        source = self._open(file)
        beside = companion_states(source.path) if source.path and source.is_database else ()
        if file.stream:
            self._streams[file_id] = source
        read = read_file(source, self._options)
        self._adapter = "" if self._mapping else read.adapter.name  # a mapping tells no format
        digest = source.digest  # before it is read, for the same reason
        found = 0
        for draft in read:
            ids = draft.traces.trace_id
            count = len(ids)
            if read.adapter.unites:
                for position, trace_id in enumerate(ids, found):
                    self.places.add((read.adapter.name, trace_id), (file_id, position))
            self._gather.add(draft, np.full(count, file_id), np.arange(found, found + count))
            found += count
            self._found[file_id] = found
        return FileEntry(
            id=file_id,
            name=file.name,
            root=file.root,
            path="" if file.stream else str(file.path),
            size=size,
            mtime_ns=mtime_ns,
            beside=beside,
            digest=digest,
            adapter=read.adapter.name,
            gaps=dict(sorted(read.gaps.items())),
            mapping=self._mapping,
            unmapped=read.unmapped,
        )

    def _skipped(self, file: InputFile, error: InputError) -> FileEntry:
        """Describe a file that was skipped.

        It is tried again when it, the adapters or a limit change; one that could not even be
        opened, as soon as it can be; one that a library was missing for, every time, since
        nothing about the file tells when that is there.
        """
        is_missing = isinstance(error, MissingLibraryError)
        is_open = file.path is not None and os.access(file.path, os.R_OK) and not is_missing
        size, mtime_ns = _state(file) if is_open else (NONE, 0)
        beside = companion_states(file.path) if file.path and is_database(file.path) else ()
        is_unknown = isinstance(error, UnknownFormatError)
        reason = error.reason if isinstance(error, UnknownFormatError) else str(error)
        # Only of a file this new will the time not tell whether it has changed.
        is_new = is_open and mtime_ns > self._began - 2 * RACY_NS
        return FileEntry(
            id=NONE,
            name=file.name,
            root=file.root,
            path=str(file.path),
            size=size,
            mtime_ns=mtime_ns,
            beside=beside,
            digest=self._digest(file) if is_new else "",
            adapter=self._adapter,
            skipped=reason.removeprefix(file.name).lstrip(": "),
            lost=not is_unknown,
            mapping=self._mapping,
        )

    def _digest(self, file: InputFile) -> str:
        """Return the digest of a file that was skipped; empty where it cannot be told."""
        try:
            return self._open(file).digest
        except InputError:
            return ""

    def _open(self, file: InputFile) -> Source:
        if file.path is None:
            return Source(file.name, sys.stdin.buffer.read(), self._limit)
        if not file.stream:
            return Source.open(file.path, file.name, self._limit)
        try:
            return Source(file.name, file.path.read_bytes(), self._limit)
        except OSError as error:
            raise InputError(f"{file.name}: cannot be read: {error.strerror}") from None

    def _source(self, entry: FileEntry) -> Source:
        self.opened.add(entry.name)
        if entry.id in self._streams:
            return self._streams[entry.id]
        return Source.open(Path(entry.path), entry.name, self._limit)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the search for reference cycles: reading makes none, and it takes a tenth longer."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _state(file: InputFile) -> tuple[int, int]:
    """Return size and time of the last change, or (-1, 0) for a stream."""
    if file.stream or file.path is None:
        return NONE, 0
    try:
        status = file.path.stat()
    except OSError as error:
        raise InputError(f"{file.name}: cannot be read: {error.strerror}") from None
    return status.st_size, status.st_mtime_ns


def _size(file: InputFile) -> int:
    """Return the bytes to be read, 0 where nobody knows."""
    try:
        return max(0, _state(file)[0])
    except InputError:
        return 0
