"""Run the statements that fill a database; where it stays on disk, in a process of their own.

The engine writes whole pages of memory that it never cleared. What the process held before, bodies
of the traces that it read among it, can so come to stand in the file (measured on Kuzu 0.11.3: in
one of three processes that had held bodies). A new process has held nothing but the statements.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tracegraph.graph.engine import engine, reason

MAX_DB_BYTES: Final = 1 << 38
"""Address space that the engine reserves, not memory: its default of 8 TB is refused in some
containers."""


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """What a graph holds; checked when it is opened."""

    traces: int = 0
    steps: int = 0
    causes: int = 0


@dataclass(frozen=True, slots=True)
class Filling:
    """A database, the size of the engine's pool in bytes, and what is to be run in order."""

    path: str
    pool_bytes: int
    statements: Sequence[str]


def count(connection: Any) -> GraphCounts:
    """Ask a database how much it holds."""
    return GraphCounts(
        *(
            connection.execute(f"MATCH {pattern} RETURN count(*)").get_next()[0]
            for pattern in ("(:Trace)", "(:Step)", "()-[:CAUSED_BY]->()")
        )
    )


def fill(filling: Filling) -> GraphCounts:
    """Fill a database and return what it holds then.

    Raises:
        RuntimeError: whatever the engine has to say.
    """
    database = engine().Database(
        filling.path, buffer_pool_size=filling.pool_bytes, max_db_size=MAX_DB_BYTES
    )
    with closing(database), closing(engine().Connection(database)) as connection:
        for statement in filling.statements:
            connection.execute(statement)
        return count(connection)


def fill_apart(filling: Filling) -> GraphCounts:
    """Fill a database in a process of its own, as :func:`fill` does.

    Where none can be started (a sandbox, an interpreter that this user may not run), this one does
    it: an answer is worth more than what the engine may leave in a file that only the user reads.

    Raises:
        RuntimeError: whatever the engine has to say, or how its process ended.
    """
    source = str(Path(__file__).resolve().parents[2])  # the package may not be installed
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    try:
        ended = subprocess.run(
            [sys.executable, "-m", __name__],
            input=json.dumps(asdict(filling)),
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
            check=False,
        )
    except OSError:
        return fill(filling)
    if ended.returncode:
        said = ended.stderr.strip().splitlines()
        raise RuntimeError(said[-1] if said else f"its process ended with {ended.returncode}")
    return GraphCounts(**json.loads(ended.stdout))


def main() -> None:
    """Fill the database that standard input describes, and print what it holds."""
    try:
        found = fill(Filling(**json.load(sys.stdin)))
    except (OSError, RuntimeError) as error:
        sys.exit(reason(error))
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
