"""A database is left byte for byte as it was, its log included, while somebody writes to it."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from langgraph_runs.recorded import Recordings, read_traces

# A writer that stays connected: what it committed lies in the write-ahead log alone.
_WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("PRAGMA wal_autocheckpoint = 0")
for table in ("checkpoints", "writes"):
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    rest = ", ".join(columns[1:])
    connection.execute(f"INSERT INTO {table} SELECT 'late', {rest} FROM {table}")
connection.commit()
if sys.argv[2] == "writing":
    connection.execute("DELETE FROM writes")
print("ready", flush=True)
sys.stdin.readline()
"""


@contextmanager
def writer(path: Path, state: str) -> Iterator[None]:
    """Run a process that has written to a database and keeps it open."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path), state],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    try:
        yield
    finally:
        process.stdin.close()
        process.wait(timeout=30)
        process.stdout.close()


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of each file, of a log's index all but where its readers say that they read.

    A reader of a log must say how far it reads, lest a writer overwrites that: in shared memory
    that lies in the index file (https://www.sqlite.org/walformat.html#the_wal_index_file_format,
    WalCkptInfo, bytes 96 to 135), and that SQLite makes anew from the log whenever it is missing.
    """
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {
        name: content[:96] + content[136:] if name.endswith("-shm") else content
        for name, content in found.items()
    }


@pytest.fixture
def database(recorded: Recordings, tmp_path: Path) -> Path:
    path = tmp_path / "run" / "run.sqlite"
    path.parent.mkdir()
    shutil.copyfile(recorded.of("1.2.24")["react_parallel"].path, path)
    return path


@pytest.mark.parametrize("state", ["connected", "writing"])
def test_a_database_with_a_writer_is_read_and_left_alone(database: Path, state: str) -> None:
    with writer(database, state):
        before = contents(database.parent)
        assert {"run.sqlite-wal", "run.sqlite-shm"} <= set(before)
        traces = read_traces(database)
        assert contents(database.parent) == before
    # What was committed is read, from the log; what was not is not.
    assert sorted(trace.trace_id for trace in traces) == ["late", "react_parallel"]
    assert len({len(trace) for trace in traces}) == 1


def test_a_database_of_which_nobody_is_left_is_left_alone(database: Path) -> None:
    before = contents(database.parent)
    assert [len(trace) for trace in read_traces(database)] == [7]
    assert contents(database.parent) == before


def test_a_log_without_its_index_is_read(database: Path, tmp_path: Path) -> None:
    """As a copy of the two files has it."""
    with writer(database, "connected"):
        copy = tmp_path / "copied" / "run.sqlite"
        copy.parent.mkdir()
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{database}{suffix}", f"{copy}{suffix}")
    before = contents(copy.parent)
    assert len(read_traces(copy)) == 2
    assert contents(copy.parent) == before


def test_a_thread_is_read_alone(database: Path, recorded: Recordings) -> None:
    path = recorded.of("1.2.24")["two_threads"].path
    with closing(sqlite3.connect(path)) as connection:
        known = sorted(
            t for (t,) in connection.execute("SELECT DISTINCT thread_id FROM checkpoints")
        )
    assert known == ["two_threads-bad", "two_threads-good"]
    (trace,) = read_traces(path, only=frozenset({"two_threads-bad"}))
    assert trace.trace_id == "two_threads-bad"
    assert trace.status == "error"
    both = {trace.trace_id: trace for trace in read_traces(path)}
    assert both["two_threads-good"].status == "ok"
    assert len(both["two_threads-good"]) == 6
    assert {step.step_id for step in both["two_threads-bad"].steps} == {
        step.step_id for step in trace.steps
    }
