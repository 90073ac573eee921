"""What is different between a corpus and the files that it was made of."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracegraph.corpus.manifest import NONE, FileEntry, Manifest
from tracegraph.errors import InputError
from tracegraph.ingest.companions import companion_states
from tracegraph.ingest.compression import unpacked_limit
from tracegraph.ingest.discover import Discovery, InputFile, Passed
from tracegraph.ingest.registry import adapter_versions
from tracegraph.ingest.source import Source, record_limit

RACY_NS = 2_000_000_000
"""A file that changed this short a time before it was looked at may have changed again since
without a new time."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What an update has to do.

    Attributes:
        stay: entries that hold as they are.
        leave: entries that changed or vanished.
        read: files that are new or changed, by name.
        passed: entries for what was met and is not read.
        verified: some file was compared by its digest, since its time alone proves nothing.
    """

    stay: tuple[FileEntry, ...]
    leave: tuple[FileEntry, ...]
    read: tuple[InputFile, ...]
    passed: tuple[FileEntry, ...]
    verified: bool

    def are_none(self, old: Manifest) -> bool:
        """Tell whether reading everything again would give what the manifest says."""
        return not self.leave and not self.read and self.entries() == old.files

    def entries(self, new: Sequence[FileEntry] = ()) -> tuple[FileEntry, ...]:
        """Return the entries of the corpus after the update, by name."""
        every = [*self.stay, *self.passed, *new]
        return tuple(sorted(every, key=lambda entry: (entry.name, entry.id, entry.skipped)))


def find_changes(
    old: Manifest, as_of_ns: int, found: Discovery, accumulate: bool = False, mapping: str = ""
) -> Changes:
    """Compare a manifest with the files that were found.

    Args:
        old: the manifest; an empty one for a new corpus.
        as_of_ns: when looking at the files of the manifest began.
        found: the files.
        accumulate: entries under other paths than were named now stay, and files keep the names
            that they were given first.
        mapping: digest of the mapping that files are to be read by; empty for none, with which
            files that one was used for stay as they were read until they change.
    """
    known = {entry.path or entry.name: entry for entry in old.files}
    outside = [entry for entry in old.files if accumulate and not _is_under(entry, found.roots)]
    taken = {entry.name for entry in outside}
    versions = adapter_versions()
    stay, read = [*outside], []
    verified = False
    for given in found.files:
        file, entry = given, None if given.stream else known.get(str(given.path))
        if accumulate:
            file = dataclasses.replace(file, name=entry.name if entry else _free_name(file, taken))
            taken.add(file.name)
        if (
            entry is None
            or entry.name != file.name
            or _is_mapped_otherwise(entry, mapping)
            or _reads_anew(entry, file, old, versions)
        ):
            read.append(file)
            continue
        same, hashed = _is_same(entry, as_of_ns)
        verified |= hashed
        if same:
            stay.append(entry)
        else:
            read.append(file)
    passed = [_passed(item) for item in found.passed]
    staying = {entry.id for entry in stay}
    leave = [entry for entry in old.files if entry.id != NONE and entry.id not in staying]
    return Changes(tuple(stay), tuple(leave), tuple(read), tuple(passed), verified)


def _is_under(entry: FileEntry, roots: Sequence[str]) -> bool:
    """Tell whether a file would have been found again under one of the paths named now."""
    parents = {str(parent) for parent in Path(entry.path).parents} if entry.path else set()
    return any(root in (entry.root, entry.path) or root in parents for root in roots)


def _free_name(file: InputFile, taken: set[str]) -> str:
    """Return a name that no other file has: with more of the folders above it, or a number."""
    name, count = file.name, file.name.count("/") + 1
    parts = file.path.parts[1:] if file.path else ()
    while name in taken and count < len(parts):
        count += 1
        name = "/".join(parts[-count:])
    number = 2
    while name in taken:
        name = f"{file.name} ({number})"
        number += 1
    return name


def _is_mapped_otherwise(entry: FileEntry, mapping: str) -> bool:
    """Tell whether a file was read, or refused, by another mapping than it is to be read by."""
    return entry.mapping != mapping and bool(mapping or entry.skipped)


def _reads_anew(
    entry: FileEntry, file: InputFile, old: Manifest, versions: Mapping[str, int]
) -> bool:
    """Tell whether the same bytes would be read, or refused, differently now."""
    if entry.skipped:
        limits = (old.record_limit, old.unpacked_limit)
        is_limited_alike = limits == (record_limit(), unpacked_limit())
        return file.named or old.adapters != versions or not is_limited_alike
    return old.adapters.get(entry.adapter) != versions.get(entry.adapter)


def is_as_read(entry: FileEntry) -> bool:
    """Tell whether a file, and what lies beside a database, has the sizes and times it was read at.

    Only for a database more than one file is looked at.
    """
    try:
        status = os.stat(entry.path)
    except OSError:
        return False
    if (status.st_size, status.st_mtime_ns) != (entry.size, entry.mtime_ns):
        return False
    return not entry.beside or companion_states(Path(entry.path)) == entry.beside


def _is_same(entry: FileEntry, as_of_ns: int) -> tuple[bool, bool]:
    """Return whether a file is what it was, and whether its bytes had to be hashed to know."""
    if entry.size == NONE:  # it could not be opened, or a library was missing
        return not os.access(entry.path, os.R_OK), False
    if not is_as_read(entry):
        return False, False
    if max([entry.mtime_ns, *(time for _, time in entry.beside)]) < as_of_ns - RACY_NS:
        return True, False
    try:
        return Source.open(Path(entry.path), entry.name).digest == entry.digest, True
    except InputError:
        return False, False


def _passed(item: Passed) -> FileEntry:
    return FileEntry(
        id=NONE,
        name=item.name,
        root=item.root,
        path="",
        size=NONE,
        mtime_ns=0,
        skipped=item.reason,
        lost=item.lost,
    )
