"""Bring a corpus directory up to date under its lock, if it is not."""

import os
import time
from contextlib import suppress
from pathlib import Path

from tracegraph.corpus.corpus import Corpus, open_corpus
from tracegraph.corpus.manifest import MANIFEST, Manifest
from tracegraph.errors import CorpusError
from tracegraph.workflows.changes import Changes, find_changes
from tracegraph.workflows.request import Request


def bring_up_to_date(directory: Path, request: Request, wait: float) -> Corpus:
    """Update a corpus in an existing folder; one that is up to date is opened without a lock.

    Args:
        directory: the folder.
        request: what is to be in it.
        wait: seconds to wait for another writer.

    Raises:
        InputError: a file that was named cannot be read, or nothing could be read.
        CorpusError: the corpus is damaged, locked, or has another policy.
        OSError: the folder cannot be written.
    """
    corpus, changes = _compare(directory, request)
    if corpus.directory and changes.are_none(corpus.manifest):
        return corpus
    # Here and not above: only what has to be read anew needs the half of the program that reads.
    from tracegraph.corpus.lock import writing
    from tracegraph.workflows.rebuild import rebuild

    with writing(directory, wait):
        began = time.time_ns()
        corpus, changes = _compare(directory, request)  # another writer may have done it
        if corpus.directory and changes.are_none(corpus.manifest):
            return corpus
        return rebuild(directory, corpus, changes, request, began)


def _compare(directory: Path, request: Request) -> tuple[Corpus, Changes]:
    """Return the corpus as it is and what an update would have to do."""
    began = time.time_ns()
    try:
        file = (directory / MANIFEST).open("rb")
    except FileNotFoundError:
        empty = Manifest(keep=request.keep, record=request.on_purpose)
        return Corpus(empty, ()), find_changes(empty, 0, request.found)
    with file:
        corpus = open_corpus(directory)
        old = corpus.manifest
        if old.keep != request.keep:
            raise CorpusError(
                f"{directory}: was made with --keep {old.keep}; "
                f"make another one for --keep {request.keep}"
            )
        as_of_ns = os.fstat(file.fileno()).st_mtime_ns
        changes = find_changes(
            old, as_of_ns, request.found, accumulate=request.on_purpose, mapping=request.mapping
        )
        if changes.verified and changes.are_none(old):
            # So that the next query need not hash again. By descriptor: a writer may have
            # published another manifest meanwhile, of which nothing was verified.
            with suppress(OSError, NotImplementedError):
                os.utime(file.fileno(), ns=(began, began))
    return corpus, changes
