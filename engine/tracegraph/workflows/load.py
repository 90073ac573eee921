"""PATHS -> a corpus to query: from the cache where it can, in memory where it must.

``with load(["traces/"]) as corpus: ...`` needs no ceremony; :func:`ingest_into` makes a corpus on
purpose.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tracegraph.corpus.cache import cache_folder, cache_root, make_private
from tracegraph.corpus.corpus import SEGMENTS, SKIPPED_CODE, Corpus, open_corpus
from tracegraph.corpus.durable import refuse_unwritable_name, remove_tree
from tracegraph.corpus.lock import HOLDER, LOCK, writing
from tracegraph.corpus.manifest import MANIFEST
from tracegraph.corpus.policy import Keep
from tracegraph.errors import CorpusError, CorpusLockedError, StrictError, system_reason
from tracegraph.ingest.discover import Discovery, discover
from tracegraph.ingest.registry import adapter_versions
from tracegraph.workflows.refresh import bring_up_to_date
from tracegraph.workflows.request import Progress, Request

if TYPE_CHECKING:
    from tracegraph.ingest.adapter import ReadOptions

CACHE_WAIT = 5.0
"""Seconds to wait for another writer of the cache before working in memory."""
CORPUS_WAIT = 30.0
"""Seconds to wait for another writer of a corpus before giving up."""

_Paths = Sequence[str | os.PathLike[str]]


def load(
    paths: _Paths,
    *,
    keep: Keep = "errors",
    strict: bool = False,
    cache: bool = True,
    progress: Progress | None = None,
    options: "ReadOptions | None" = None,
) -> Corpus:
    """Return the traces that PATHS hold.

    Args:
        paths: files, folders (recursive), globs, ``-`` for standard input, or corpora.
        keep: what may be written to the cache, and is there to query.
        strict: refuse at the first loss instead of disclosing it.
        cache: read what did not change from the cache, and write the rest to it.
        progress: hears how far reading has come.
        options: what else the reader is asked for; the cache, which holds the usual reading, is
            not used then.

    Raises:
        InputError: a file that was named cannot be read, or nothing could be read.
        StrictError: something was lost, and ``strict``.
        CorpusError: a corpus among the paths is damaged.
    """
    found = discover(paths)
    corpora = [_opened(directory, keep, strict) for directory in found.corpora]
    if found.files or found.passed or not corpora:
        _refuse_unreadable(found, strict)
        request = Request(found, keep, strict, progress, options=options)
        corpora.append(_of_files(request, cache and options is None))
    if len(corpora) == 1:
        return corpora[0]
    from tracegraph.corpus.publish import combined

    return combined(corpora)


def ingest_into(
    paths: _Paths,
    directory: Path,
    *,
    keep: Keep = "errors",
    strict: bool = False,
    progress: Progress | None = None,
    wait: float = CORPUS_WAIT,
    options: "ReadOptions | None" = None,
) -> Corpus:
    """Make a corpus of PATHS, or bring one up to date.

    Files under the paths that changed are read again, those that vanished leave; files that came
    from other paths stay. The segments carry the Parquet record for other programs. What a mapping
    (``options.mapping``) has read another one reads anew; with none it stays until it changes.

    Raises:
        InputError: a file that was named cannot be read, or nothing could be read.
        StrictError: something was lost, and ``strict``.
        CorpusLockedError: another writer holds the corpus for longer than ``wait`` seconds.
        CorpusError: the directory cannot be written, holds something else, or another policy.
    """
    found = discover(paths, ignore=directory)
    if found.corpora:
        raise CorpusError(f"{found.corpora[0]}: a corpus already; name the files it was made of")
    _refuse_unreadable(found, strict)
    _refuse_foreign(directory)
    refuse_unwritable_name(directory)
    is_made = not directory.exists()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        request = Request(found, keep, strict, progress, on_purpose=True, options=options)
        return bring_up_to_date(directory, request, wait)
    except OSError as error:
        raise CorpusError(f"{directory}: cannot be written: {system_reason(error)}") from None
    finally:
        if is_made:
            _remove_unused(directory)


def _opened(directory: Path, keep: Keep, strict: bool) -> Corpus:
    corpus = open_corpus(directory)
    if strict:
        _refuse_losses(corpus, str(directory), "the corpus was made without --strict")
    if keep == "content" and corpus.keep != "content":
        corpus.notices.append(f"{directory}: was made with --keep {corpus.keep}, without bodies")
    return corpus


def _of_files(request: Request, cache: bool) -> Corpus:
    """Return the traces of files, through the cache if that is possible."""
    notices: list[str] = []
    if cache and not any(file.stream for file in request.found.files):
        try:
            corpus = _cached(request)
        except (OSError, CorpusError) as error:
            notices.append(f"the cache is not used: {_reason(error)}")
        else:
            if not request.strict or not _losses(corpus):
                return corpus
            # Files that were read before, without --strict: reading names file and place.
    from tracegraph.workflows.rebuild import read_in_memory

    corpus = read_in_memory(request)
    if request.strict:
        _refuse_losses(corpus, ", ".join(request.found.given), "recorded in the source itself")
    corpus.notices += notices
    return corpus


def _cached(request: Request) -> Corpus:
    """Return the cache's corpus for these paths, brought up to date.

    Raises:
        OSError: the cache cannot be written.
        CorpusLockedError: another process writes to it.
    """
    directory = cache_folder(request.found.roots, request.keep, adapter_versions())
    refuse_unwritable_name(directory)
    make_private(directory.parent)
    make_private(directory)
    try:
        try:
            return bring_up_to_date(directory, request, CACHE_WAIT)
        except CorpusLockedError:
            raise
        except CorpusError:  # damaged: nothing is lost by making it anew
            with writing(directory, CACHE_WAIT):
                (directory / MANIFEST).unlink(missing_ok=True)
        return bring_up_to_date(directory, request, CACHE_WAIT)
    finally:
        _remove_unused(directory)


def _refuse_losses(corpus: Corpus, name: str, why: str) -> None:
    for code, count in _losses(corpus).items():
        raise StrictError(f"{name}: {code} {count}: {why}")


def _losses(corpus: Corpus) -> dict[str, int]:
    """Return the gaps under which something was lost, as against found odd and kept."""
    from tracegraph.ingest.losses import is_loss

    lost = {code: n for code, n in corpus.gaps.items() if is_loss(code)}
    if not any(entry.lost for entry in corpus.manifest.files):
        lost.pop(SKIPPED_CODE, None)
    return lost


def _refuse_unreadable(found: Discovery, strict: bool) -> None:
    for item in found.passed if strict else ():
        if item.lost:
            raise StrictError(f"{item.name}: {item.reason}")


def _refuse_foreign(directory: Path) -> None:
    """Refuse to make a corpus in a folder that holds something else."""
    if (directory / MANIFEST).exists() or not directory.exists():
        return
    ours = {LOCK, HOLDER, SEGMENTS}
    if not directory.is_dir() or any(entry.name not in ours for entry in directory.iterdir()):
        raise CorpusError(f"{directory}: exists and is no corpus; name an empty or a new folder")


def _remove_unused(directory: Path) -> None:
    """Remove a folder that was made for a corpus that did not come about, unless one is in it."""
    if (directory / MANIFEST).exists():
        return
    with suppress(OSError, CorpusLockedError), writing(directory, 0):
        if not (directory / MANIFEST).exists():
            remove_tree(directory)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or cache_root()}: {system_reason(error)}"
    return str(error)
