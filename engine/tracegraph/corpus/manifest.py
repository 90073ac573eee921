"""``corpus.json``: what a corpus holds and where it came from. Written last, so it is never ahead.

It and the graph are the only files of a corpus that may hold absolute paths: they say which files
to look at again.
"""

import json
import os
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from tracegraph.corpus.durable import replacing
from tracegraph.corpus.policy import Keep
from tracegraph.errors import CorpusError, system_reason
from tracegraph.model.unmapped import Unmapped

MANIFEST = "corpus.json"
FORMAT_VERSION = 1
"""Raised whenever columns change, or what sealing makes of a draft: caches are keyed by it."""
ANEW = "remove the folder and ingest its files again"
"""What mends a damaged corpus; a damaged cache mends itself."""
_Read = TypeVar("_Read")
NONE = -1
"""Id of a file that was skipped; size of one that is to be tried again next time."""


class FileEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that was read, or met and skipped.

    Attributes:
        id: number that segments know it by, never used again in this corpus; -1 if skipped.
        name: how people know it.
        root: what was named and led to it: an absolute path or glob; empty for a stream.
        path: where it lies; empty for a stream, which cannot be read again.
        size: bytes when it was read; -1 for a stream, and for a file that could not be opened, or
            not read for want of a library.
        mtime_ns: time of its last change when it was read.
        beside: of a database, the same two of each file beside it that may hold content.
        digest: digest of its bytes; empty if it was skipped and its time tells when it changes.
        adapter: the format that it has; empty if it has none that is known.
        gaps: losses that belong to the file and to no trace of it.
        skipped: why it was skipped; empty if it was read.
        lost: it was skipped although it may hold traces.
        mapping: digest of the mapping that it was, or was to be, read by; empty if there was none.
        unmapped: what that mapping left of it.
    """

    id: int
    name: str
    root: str
    path: str
    size: int
    mtime_ns: int
    beside: tuple[tuple[int, int], ...] = ()
    digest: str = ""
    adapter: str = ""
    gaps: dict[str, int] = {}
    skipped: str = ""
    lost: bool = False
    mapping: str = ""
    unmapped: Unmapped | None = None


class SegmentEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A segment and the counts that plans are made by."""

    number: int
    traces: int
    steps: int
    causes: int
    largest_trace: int
    cyclic: bool


class SplitTrace(msgspec.Struct, frozen=True, kw_only=True):
    """A trace that lies in several files.

    Attributes:
        source: the adapter that unites it.
        trace_id: its id.
        parts: (file id, place of the trace in that file) in file order; the first is its home.
    """

    source: str
    trace_id: str
    parts: tuple[tuple[int, int], ...]


class GraphEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The published graph: its generation and the segments that it was built from."""

    generation: int
    segments: tuple[int, ...]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``corpus.json``."""

    kind: Literal["tracegraph.corpus"] = "tracegraph.corpus"
    format_version: int = FORMAT_VERSION
    keep: Keep = "errors"
    record: bool = False
    """Whether the segments carry the Parquet record for other programs."""
    record_limit: int = 0
    """Largest record that was admitted: with another limit skipped files are tried again."""
    unpacked_limit: int = 0
    """Bytes that a compressed file could unpack to; the same holds for it."""
    adapters: dict[str, int] = {}
    """Version of each adapter that was there."""
    roots: tuple[str, ...] = ()
    """What was named."""
    files: tuple[FileEntry, ...] = ()
    """By name: the order of the corpus."""
    segments: tuple[SegmentEntry, ...] = ()
    split: tuple[SplitTrace, ...] = ()
    gaps: dict[str, int] = {}
    """Losses that belong to no one file."""
    graph: GraphEntry | None = None
    next_file: int = 0
    next_segment: int = 0
    next_generation: int = 0


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of a corpus.

    Raises:
        CorpusError: there is none, it is damaged, or a newer tracegraph wrote it.
    """
    path = directory / MANIFEST
    try:
        data = path.read_bytes()
        version = _decode(data, _Version).format_version
        if version > FORMAT_VERSION:
            raise CorpusError(
                f"{path}: format {version} was written by a newer tracegraph; this one reads up "
                f"to {FORMAT_VERSION}: upgrade tracegraph to read it"
            )
        return _decode(data, Manifest)
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {system_reason(error)}") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise CorpusError(f"{path}: not a corpus manifest ({error}); {ANEW}") from None


def as_of(directory: Path) -> int:
    """Return the time, in ns, as of which a manifest describes the files; 0 if there is none."""
    try:
        return (directory / MANIFEST).stat().st_mtime_ns
    except OSError:
        return 0


def write_manifest(directory: Path, manifest: Manifest, as_of_ns: int) -> None:
    """Publish a manifest: from here on readers see what it says.

    Args:
        directory: the corpus.
        manifest: what it holds.
        as_of_ns: when looking at the files began; kept as the time of the file itself. What changed
            after it, or shortly before, may have changed again without a new time.
    """
    try:
        text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    except UnicodeEncodeError:  # a path with bytes that are no text: json escapes them
        text = json.dumps(msgspec.to_builtins(manifest), indent=1).encode()
    with replacing(directory / MANIFEST) as temporary:
        temporary.write_bytes(text + b"\n")
        os.utime(temporary, ns=(as_of_ns, as_of_ns))


def _decode(data: bytes, kind: type[_Read]) -> _Read:
    """Decode a manifest, also one with paths that are no text."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError:
        return msgspec.convert(json.loads(data), kind)


class _Version(msgspec.Struct):
    kind: Literal["tracegraph.corpus"]
    format_version: int
