"""Write files so that a reader, or a machine that lost power, sees all of one or none of it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracegraph.errors import CorpusError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name in the same folder; what is written there takes ``path``'s place.

    The file is synced and renamed when the block ends, and removed when it fails.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # folders cannot be opened there
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def refuse_unwritable_name(directory: Path) -> None:
    """Refuse a place for a corpus that Arrow and the graph engine cannot open.

    Raises:
        CorpusError: the path holds bytes that are no text.
    """
    try:
        str(directory).encode()
    except UnicodeEncodeError:
        raise CorpusError(
            f"{directory}: a corpus needs a path that is UTF-8 text; name another folder"
        ) from None


def remove_tree(path: Path) -> None:
    """Remove a folder as far as possible; what cannot be removed is tried again next time."""
    shutil.rmtree(path, ignore_errors=True)
