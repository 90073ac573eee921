"""Make new segments part of a corpus. The manifest comes last, so readers see all or nothing."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from tracegraph.corpus.corpus import SEGMENTS, Corpus, segment_folder
from tracegraph.corpus.durable import remove_tree, sync
from tracegraph.corpus.manifest import FileEntry, Manifest, write_manifest
from tracegraph.corpus.record import write_record
from tracegraph.corpus.segments import Segment


def publish(
    directory: Path,
    old: Manifest,
    new: Manifest,
    kept: Sequence[Segment],
    built: Sequence[Segment],
    as_of_ns: int,
) -> Corpus:
    """Number the new segments, move them to their places, and publish the manifest.

    Only the holder of the lock may do this.

    Args:
        directory: the corpus.
        old: its manifest until now.
        new: its manifest from now on; the segments are filled in here.
        kept: segments of the old manifest that stay.
        built: new segments, in order, under temporary names in the folder of segments.
        as_of_ns: when looking at the files began.

    Raises:
        OSError: the disk is full or the directory cannot be written.
    """
    parts = list(kept)
    for number, segment in enumerate(built, old.next_segment):
        assert segment.path is not None
        if new.record:
            write_record(segment.path, segment.columns)
            segment.rest()
        target = segment_folder(directory, number)
        segment.path.rename(target)
        parts.append(Segment.open(segment.numbered(number).entry, target))
    if built:
        sync(directory / SEGMENTS)
    new = msgspec.structs.replace(
        new,
        segments=tuple(segment.entry for segment in parts),
        next_segment=old.next_segment + len(built),
    )
    write_manifest(directory, new, as_of_ns)
    sweep(directory, new)
    return Corpus(new, parts, directory)


def number_in_memory(manifest: Manifest, built: Sequence[Segment]) -> Corpus:
    """Return a corpus of segments in memory."""
    parts = [segment.numbered(number) for number, segment in enumerate(built)]
    entries = tuple(segment.entry for segment in parts)
    return Corpus(
        msgspec.structs.replace(manifest, segments=entries, next_segment=len(parts)), parts
    )


def sweep(directory: Path, manifest: Manifest) -> None:
    """Remove segments that the manifest does not name: old ones, and those of killed writers.

    Who has mapped one keeps it; who is about to open one reads the manifest again.
    """
    named = {str(entry.number) for entry in manifest.segments}
    with suppress(FileNotFoundError):
        for folder in sorted((directory / SEGMENTS).iterdir()):
            if folder.name not in named:
                remove_tree(folder)
    for stray in directory.glob(".*.tmp"):  # a file whose writer was killed before renaming it
        stray.unlink(missing_ok=True)


def combined(corpora: Sequence[Corpus]) -> Corpus:
    """Return several corpora as one, in memory; their traces keep the order of their files."""
    files: list[FileEntry] = []
    parts: list[Segment] = []
    adapters: dict[str, int] = {}
    gaps: Counter[str] = Counter()
    shift = 0
    for corpus in corpora:
        manifest = corpus.manifest
        files += [
            msgspec.structs.replace(entry, id=entry.id + shift) if entry.id >= 0 else entry
            for entry in manifest.files
        ]
        parts += [s.numbered(len(parts) + i, shift=shift) for i, s in enumerate(corpus.parts)]
        adapters |= manifest.adapters
        gaps.update(manifest.gaps)
        shift += manifest.next_file
    whole = Manifest(
        keep=corpora[0].keep,
        adapters=adapters,
        roots=tuple(sorted({root for corpus in corpora for root in corpus.manifest.roots})),
        files=tuple(sorted(files, key=lambda entry: (entry.name, entry.id))),
        segments=tuple(segment.entry for segment in parts),
        gaps=dict(sorted(gaps.items())),
        next_file=shift,
        next_segment=len(parts),
    )
    together = Corpus(whole, parts, None, [n for corpus in corpora for n in corpus.notices])
    together.opened = frozenset().union(*(corpus.opened for corpus in corpora))
    return together
