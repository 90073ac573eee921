"""One writer at a time. Readers need no lock: what they read is replaced by renaming."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tracegraph.corpus.durable import replacing
from tracegraph.errors import CorpusLockedError

LOCK = ".lock"
HOLDER = ".lock.json"


class Holder(msgspec.Struct, frozen=True):
    """Who writes, for people that wait: the system's own lock is what counts."""

    pid: int
    host: str
    since: str


@contextmanager
def writing(directory: Path, wait: float) -> Iterator[None]:
    """Be the only writer of a corpus; the lock ends with the process at the latest.

    Args:
        directory: the corpus, which must exist.
        wait: seconds to wait for another writer.

    Raises:
        CorpusLockedError: another writer holds it for longer; the message names it.
        OSError: the directory cannot be written.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(directory / LOCK)
    try:
        lock.acquire(timeout=wait)
    except Timeout:
        raise CorpusLockedError(
            f"{directory}: {_described(holder(directory))} writes to it; "
            f"waited {wait:g} s, try again"
        ) from None
    try:
        mine = Holder(
            os.getpid(), socket.gethostname(), datetime.now(UTC).isoformat("T", "seconds")
        )
        with replacing(directory / HOLDER) as temporary:
            temporary.write_bytes(msgspec.json.encode(mine))
        yield
    finally:
        with suppress(OSError):
            (directory / HOLDER).unlink()
        lock.release()


def holder(directory: Path) -> Holder | None:
    """Return who says that it writes to a corpus."""
    try:
        return msgspec.json.decode((directory / HOLDER).read_bytes(), type=Holder)
    except (OSError, msgspec.MsgspecError):
        return None


def _described(other: Holder | None) -> str:
    if other is None:
        return "another process"
    return f"process {other.pid} on {other.host}, since {other.since},"
