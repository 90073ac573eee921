"""The cache: one corpus for what people name on the command line, in their own cache directory."""

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tracegraph.corpus.durable import remove_tree
from tracegraph.corpus.lock import writing
from tracegraph.corpus.manifest import FORMAT_VERSION, MANIFEST, read_manifest
from tracegraph.corpus.policy import Keep
from tracegraph.errors import CorpusError, CorpusLockedError, system_reason

_KEY = re.compile("[0-9a-f]{32}")
CACHE_VARIABLE = "TRACEGRAPH_CACHE_DIR"


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """One corpus in the cache.

    Attributes:
        directory: where it lies.
        roots: what it was made of, as absolute paths and globs.
        keep: its content policy.
        traces: number of traces.
        steps: number of steps.
        size: bytes on disk.
    """

    directory: Path
    roots: tuple[str, ...]
    keep: Keep
    traces: int
    steps: int
    size: int


def cache_root() -> Path:
    """Return the cache directory: ``TRACEGRAPH_CACHE_DIR``, else the user's."""
    chosen = os.environ.get(CACHE_VARIABLE, "")
    if chosen:
        return Path(os.path.abspath(chosen))
    import platformdirs

    return platformdirs.user_cache_path("tracegraph", appauthor=False)


def cache_folder(roots: Iterable[str], keep: Keep, adapters: Mapping[str, int]) -> Path:
    """Return where the corpus of these paths lies, be it there or not."""
    key = json.dumps([FORMAT_VERSION, keep, sorted(roots), sorted(adapters.items())])
    name = hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return cache_root() / name


def make_private(directory: Path) -> None:
    """Create a folder that only its owner may enter.

    Raises:
        OSError: it cannot be created.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as error:
        reason = os.strerror(errno.ENOTDIR)
        raise NotADirectoryError(errno.ENOTDIR, reason, error.filename) from None


def list_cache() -> list[CacheEntry]:
    """Return what the cache holds, by what it was made of."""
    entries = []
    for directory in _folders():
        try:
            manifest = read_manifest(directory)
        except CorpusError:
            continue
        entries.append(
            CacheEntry(
                directory,
                manifest.roots,
                manifest.keep,
                sum(segment.traces for segment in manifest.segments),
                sum(segment.steps for segment in manifest.segments),
                sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()),
            )
        )
    return sorted(entries, key=lambda entry: (entry.roots, entry.keep, entry.directory.name))


def clear_cache() -> tuple[int, list[str]]:
    """Remove everything that tracegraph keeps in the cache and nobody is writing to.

    Returns:
        How many corpora were removed, and why others stay: they are being written, or somebody
        else's.
    """
    removed, held = 0, []
    for directory in _folders():
        try:
            with writing(directory, wait=0):
                (directory / MANIFEST).unlink(missing_ok=True)
                remove_tree(directory)
            remove_tree(directory)
            removed += 1
        except CorpusLockedError as error:
            held.append(str(error))
        except OSError as error:
            held.append(f"{directory}: cannot be removed: {system_reason(error)}")
    return removed, held


def _folders() -> list[Path]:
    """Return the folders of the cache that are ours: named by a key."""
    try:
        return sorted(
            path for path in cache_root().iterdir() if path.is_dir() and _KEY.fullmatch(path.name)
        )
    except OSError:
        return []
