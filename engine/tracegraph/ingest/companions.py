"""The files that SQLite keeps beside a database: what they hold is part of what it holds.

``-wal`` has committed pages that the main file lacks, ``-journal`` what a transaction that broke
off must undo, ``-shm`` an index of the first (https://www.sqlite.org/tempfiles.html). So a database
has changed when one of them has, though its main file is byte for byte the same.
"""

import hashlib
import os
from functools import partial
from pathlib import Path

MAGIC = b"SQLite format 3\x00"
HOLDING = ("-wal", "-journal")
"""Endings of the files that hold content."""
SUFFIXES = (*HOLDING, "-shm")
_ABSENT = (-1, 0)
_HASHER = partial(hashlib.blake2b, digest_size=16)

State = tuple[int, int]
"""(size, time of the last change in ns) of a file; (-1, 0) for one that holds nothing."""


def beside(path: Path, suffix: str) -> Path:
    """Return the path of a file that SQLite keeps beside a database."""
    return path.with_name(path.name + suffix)


def is_database(path: Path) -> bool:
    """Tell a SQLite database by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def companion_states(path: Path) -> tuple[State, ...]:
    """Return the states of the files beside a database that may hold content.

    An empty one counts as none: SQLite makes and removes those for whoever only looks.
    """
    states = []
    for suffix in HOLDING:
        try:
            status = beside(path, suffix).stat()
        except OSError:
            states.append(_ABSENT)
            continue
        states.append((status.st_size, status.st_mtime_ns) if status.st_size else _ABSENT)
    return tuple(states)


def database_digest(path: Path) -> str:
    """Return the BLAKE2b-128 of a database: of its main file, and of what holds more beside it.

    The files are read and not mapped: SQLite shortens them while others look, and a database can be
    many times larger than what is read of it.

    Raises:
        OSError: the main file cannot be read.
    """
    with path.open("rb") as file:
        found = [hashlib.file_digest(file, _HASHER).hexdigest()]
    for suffix in HOLDING:
        try:
            with beside(path, suffix).open("rb") as file:
                if os.fstat(file.fileno()).st_size:
                    found.append(f"{suffix} {hashlib.file_digest(file, _HASHER).hexdigest()}")
        except OSError:
            continue
    return found[0] if len(found) == 1 else _HASHER(" ".join(found).encode()).hexdigest()
