"""Small checkpoint databases, as LangGraph's SqliteSaver lays them out, written by plain SQL."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_TABLES = """
CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '',
  checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB,
  metadata BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '',
  checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL,
  type TEXT, value BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));
"""


def open_checkpoints(path: Path, *threads: str, wal: bool = False) -> sqlite3.Connection:
    """Make a database and leave it open; with ``wal`` what is added later stays in its log."""
    connection = sqlite3.connect(path)
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.executescript(_TABLES)
    for thread in threads:
        add_thread(connection, thread)
    if wal:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return connection


def write_checkpoints(path: Path, *threads: str) -> Path:
    """Make a database and close it."""
    open_checkpoints(path, *threads).close()
    return path


def add_thread(
    connection: sqlite3.Connection, thread: str, nodes: Sequence[str] = ("plan",), error: str = ""
) -> None:
    """Add a thread whose nodes ran one after the other; the last one leaves ``error`` behind."""
    before = None
    for step in range(-1, len(nodes) + 1):
        checkpoint_id = f"1f000000-0000-6{step + 1:03d}-8000-000000000000"
        values: dict[str, Any] = {"text": f"after {step}"}
        versions = {"__start__": 2, "text": step + 2}
        if 0 <= step < len(nodes):
            versions[f"branch:to:{nodes[step]}"] = values[f"branch:to:{nodes[step]}"] = step + 2
        if error and step == len(nodes):
            values["failure"] = error
            versions["failure"] = step + 2
        checkpoint = {
            "v": 4,
            "ts": f"2025-11-24T16:00:{step + 1:02d}.000000+00:00",
            "id": checkpoint_id,
            "channel_values": values,
            "channel_versions": versions,
            "versions_seen": {"__input__": {}},
            "pending_sends": [],
        }
        source = "input" if step < 0 else "loop"
        connection.execute(
            "INSERT INTO checkpoints VALUES (?, '', ?, ?, 'json', ?, ?)",
            (
                thread,
                checkpoint_id,
                before,
                json.dumps(checkpoint).encode(),
                json.dumps({"source": source, "step": step, "parents": {}}).encode(),
            ),
        )
        if step >= 0 and step < len(nodes):
            for index, (channel, value) in enumerate(
                [("text", f"of {nodes[step]}"), *([("failure", error)] if error else [])]
            ):
                connection.execute(
                    "INSERT INTO writes VALUES (?, '', ?, ?, ?, ?, 'json', ?)",
                    (
                        thread,
                        checkpoint_id,
                        f"task-{thread}-{step}",
                        index,
                        channel,
                        json.dumps(value).encode(),
                    ),
                )
        before = checkpoint_id
    connection.commit()
