"""Read what a corpus lacks and publish it; a query on what was read before never comes here."""

import dataclasses
from pathlib import Path

import msgspec

from tracegraph.corpus.builder import Builder
from tracegraph.corpus.corpus import SEGMENTS, Corpus
from tracegraph.corpus.manifest import Manifest
from tracegraph.corpus.policy import keeps_content
from tracegraph.corpus.publish import number_in_memory, publish, sweep
from tracegraph.errors import InputError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.compression import unpacked_limit
from tracegraph.ingest.discover import Discovery
from tracegraph.ingest.registry import adapter_versions
from tracegraph.ingest.source import record_limit
from tracegraph.workflows.changes import Changes, find_changes
from tracegraph.workflows.reading import Reading
from tracegraph.workflows.request import Request
from tracegraph.workflows.update import Updated, update

_SHOWN = 3


def rebuild(
    directory: Path, corpus: Corpus, changes: Changes, request: Request, began: int
) -> Corpus:
    """Make the changes in a corpus directory, as the holder of its lock.

    Args:
        directory: the folder.
        corpus: what is in it.
        changes: what is to be different.
        request: what is to be in it.
        began: when looking at the files began, in ns.

    Raises:
        InputError: a file that was named cannot be read, or nothing could be read.
        OSError: the folder cannot be written.
    """
    old = corpus.manifest
    sweep(directory, old)
    try:
        updated = _read(request, corpus, changes, directory / SEGMENTS)
    except BaseException:
        sweep(directory, old)
        raise
    roots = {*old.roots, *request.found.roots} if request.on_purpose else request.found.roots
    new = msgspec.structs.replace(
        updated.manifest,
        adapters=adapter_versions(),
        record_limit=record_limit(),
        unpacked_limit=unpacked_limit(),
        roots=tuple(sorted(roots)),
    )
    made = publish(directory, old, new, updated.kept, updated.built, began)
    made.opened = updated.opened
    return made


def read_in_memory(request: Request) -> Corpus:
    """Read everything, and write nothing.

    Raises:
        InputError: a file that was named cannot be read, or nothing could be read.
    """
    nothing = Manifest(keep=request.keep, adapters=adapter_versions(), record_limit=record_limit())
    changes = find_changes(nothing, 0, request.found)
    updated = _read(request, Corpus(nothing, ()), changes, None)
    made = number_in_memory(updated.manifest, updated.built)
    made.opened = updated.opened
    return made


def _read(request: Request, corpus: Corpus, changes: Changes, folder: Path | None) -> Updated:
    """Read what changed into segments: in a folder, or in memory."""
    builder = Builder(request.keep, folder)
    options = dataclasses.replace(
        request.options or ReadOptions(),
        keep_content=keeps_content(request.keep),
        strict=request.strict,
    )
    reading = Reading(builder, options, request.progress)
    updated = update(corpus.manifest, corpus.parts, changes, builder, reading)
    _refuse_nothing(updated.manifest, request.found)
    return updated


def _refuse_nothing(manifest: Manifest, found: Discovery) -> None:
    """Refuse a corpus that holds no file at all; the message says why."""
    if any(not entry.skipped for entry in manifest.files):
        return
    skipped = [f"{entry.name}: {entry.skipped}" for entry in manifest.files]
    what = "; ".join(skipped[:_SHOWN]) + ("; ..." if len(skipped) > _SHOWN else "")
    named = ", ".join(found.given)
    raise InputError(f"{named}: nothing to read" + (f" ({what})" if what else ""))
