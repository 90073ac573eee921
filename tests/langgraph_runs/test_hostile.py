"""Blobs that would run code, lie, or are too large, planted in a real database: a gap, no import.

Everything is read in a process of its own, which says what it imported; whatever ran would have
left a file.
"""

import json
import pickle
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import reduce
from pathlib import Path
from typing import Any

import ormsgpack
import pytest

from cli_runner import environment
from langgraph_runs.recorded import Recordings

UNDECODABLE = "langgraph.undecodable_blob"
MODULE = "tracegraph_hostile_module"
LEVELS = 5_000
HUGE = 100_000_000
WRITTEN_BY_A = "task_path LIKE '%, a' AND channel = 'said'"

_READ = f"""
import json, re, sys
from pathlib import Path
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.reader import read_file
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import iterate

limit = int(sys.argv[1])
for name in sys.argv[2:]:
    told = []
    source = Source.open(Path(name), name, limit)
    for draft in read_file(source, ReadOptions()):
        for trace in iterate(seal(draft)):
            told.append({{
                "steps": [[step.name, step.status] for step in trace.steps],
                "edges": sum(1 for _ in trace.causes),
                "gaps": {{gap.code: gap.count for gap in trace.gaps}},
            }})
    hostile = {{{MODULE!r}, "langgraph", "langchain_core"}}
    imported = [module for module in sys.modules if module.split(".")[0] in hostile]
    # Not ru_maxrss, which begins with what the process that started this one had reached.
    peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
    print(json.dumps({{"traces": told, "imported": imported, "peak_kib": peak}}))
"""


class Touches:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def extension(code: int, content: Any) -> bytes:
    return ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(content)))


def nested_extensions(depth: int) -> bytes:
    """Return a constructor whose argument is a constructor, and so on."""

    def wrap(inner: bytes, _: int) -> bytes:
        content = b"\x93" + ormsgpack.packb(MODULE) + ormsgpack.packb("Hostile") + inner
        return b"\xc9" + len(content).to_bytes(4, "big") + b"\x00" + content

    return reduce(wrap, range(depth), b"\xc0")


# (name, type, blob for a marker path, whether it cannot be decoded)
BLOBS: list[tuple[str, str, Callable[[Path], bytes | str], bool]] = [
    ("pickle", "pickle", lambda marker: pickle.dumps(Touches(marker)), True),
    ("pickle said to be msgpack", "msgpack", lambda m: pickle.dumps(Touches(m)), True),
    ("pickle said to be JSON", "json", lambda m: pickle.dumps(Touches(m)), True),
    (
        "constructor, one argument",
        "msgpack",
        lambda m: extension(0, (MODULE, "Hostile", "x")),
        False,
    ),
    ("constructor, arguments", "msgpack", lambda m: extension(1, (MODULE, "Hostile", [1])), False),
    (
        "constructor, keywords",
        "msgpack",
        lambda m: extension(2, (MODULE, "Hostile", {"x": 1})),
        False,
    ),
    (
        "a call of the system",
        "msgpack",
        lambda m: extension(0, ("os", "system", f"touch {m}")),
        False,
    ),
    ("a method", "msgpack", lambda m: extension(3, ("pathlib", "Path", str(m), "touch")), False),
    (
        "pydantic",
        "msgpack",
        lambda m: extension(5, (MODULE, "Hostile", {"x": 1}, "model_validate_json")),
        False,
    ),
    (
        "JSON constructor",
        "json",
        lambda m: json.dumps(
            {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": [f"touch {m}"]}
        ).encode(),
        False,
    ),
    (
        "JSON constructor of langchain",
        "json",
        lambda m: json.dumps(
            {"lc": 1, "type": "constructor", "id": [MODULE, "Hostile"], "kwargs": {"x": 1}}
        ).encode(),
        False,
    ),
    ("unknown extension", "msgpack", lambda m: extension(77, ["x"]), True),
    (
        "extension with no array",
        "msgpack",
        lambda m: ormsgpack.packb(ormsgpack.Ext(2, b"\xc1")),
        True,
    ),
    ("truncated", "msgpack", lambda m: ormsgpack.packb(["x" * 100])[:-10], True),
    ("truncated JSON", "json", lambda m: b'{"a": [1, 2', True),
    ("a length that lies", "msgpack", lambda m: b"\xdd\xff\xff\xff\xff\x01", True),
    ("unknown type", "cloudpickle", lambda m: pickle.dumps(Touches(m)), True),
    ("text", "msgpack", lambda m: "not a blob", True),
    ("nothing", "msgpack", lambda m: b"", True),
    ("a bomb of constructors", "msgpack", lambda m: nested_extensions(LEVELS), True),
    ("a bomb of arrays", "msgpack", lambda m: b"\x91" * LEVELS + b"\xc0", True),
]
NAMES = [name for name, *_ in BLOBS]


def plant(original: Path, target: Path, kind: str, blob: bytes | str, where: str) -> Path:
    """Copy a database and put a blob where the task `a` wrote, or into the state it ran from."""
    shutil.copyfile(original, target)
    with closing(sqlite3.connect(target)) as connection, connection:
        (checkpoint,) = connection.execute(
            "SELECT checkpoint_id FROM writes WHERE task_path LIKE '%, a'"
        ).fetchone()
        if where == "writes":
            changed = connection.execute(
                f"UPDATE writes SET type = ?, value = ? WHERE {WRITTEN_BY_A}", (kind, blob)
            )
        else:
            changed = connection.execute(
                f"UPDATE checkpoints SET type = ?, {where} = ? WHERE checkpoint_id = ?",
                (kind, blob, checkpoint),
            )
        assert changed.rowcount == 1
    return target


def read_apart(folder: Path, paths: list[Path], limit: int = 0) -> list[dict[str, Any]]:
    """Read files in another process, in whose path the hostile module lies."""
    (folder / f"{MODULE}.py").write_text(
        f"from pathlib import Path\nPath({str(folder / 'imported')!r}).touch()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(limit), *map(str, paths)],
        env=environment(folder / "cache") | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def original(recorded: Recordings) -> Path:
    return recorded.of("1.2.24")["fan_out"].path


@pytest.fixture(scope="module", params=["writes", "checkpoint", "metadata"])
def told(
    request: pytest.FixtureRequest, original: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, dict[str, dict[str, Any]]]:
    """Return what reading each planted database said, and the folder in which code would write."""
    folder = tmp_path_factory.mktemp("hostile")
    paths = []
    for number, (_, kind, blob, _) in enumerate(BLOBS):
        made = blob(folder / "ran")
        paths.append(plant(original, folder / f"{number}.sqlite", kind, made, request.param))
    return request.param, folder, dict(zip(NAMES, read_apart(folder, paths), strict=True))


def test_nothing_ran_and_nothing_was_imported(
    told: tuple[str, Path, dict[str, dict[str, Any]]],
) -> None:
    _, folder, said = told
    assert not (folder / "ran").exists()
    assert not (folder / "imported").exists()
    assert [entry["imported"] for entry in said.values()] == [[]] * len(NAMES)


@pytest.mark.parametrize(("name", "_kind", "_blob", "undecodable"), BLOBS, ids=NAMES)
def test_a_hostile_blob_costs_itself_and_a_gap(
    told: tuple[str, Path, dict[str, dict[str, Any]]],
    name: str,
    _kind: str,
    _blob: Any,
    undecodable: bool,
) -> None:
    where, _, said = told
    (trace,) = said[name]["traces"]
    names = sorted(str(step) for step, _ in trace["steps"])
    assert names == ["__start__", "a", "b", "c", "join", "plan"]
    if where == "writes":
        assert trace["gaps"].get(UNDECODABLE, 0) == undecodable
        assert all(status == "ok" for _, status in trace["steps"])
        assert trace["edges"] == 7
    elif undecodable:
        assert trace["gaps"].get(UNDECODABLE, 0) >= (where == "checkpoint")


def test_a_huge_blob_over_the_limit_is_not_loaded(original: Path, tmp_path: Path) -> None:
    huge = tmp_path / "huge.sqlite"
    plant(original, huge, "msgpack", b"", "writes")
    with closing(sqlite3.connect(huge)) as connection, connection:
        connection.execute(f"UPDATE writes SET value = zeroblob(?) WHERE {WRITTEN_BY_A}", (HUGE,))
    (plain,) = read_apart(tmp_path, [original], limit=1_000_000)
    (large,) = read_apart(tmp_path, [huge], limit=1_000_000)
    (trace,) = large["traces"]
    assert len(trace["steps"]) == 6
    assert trace["gaps"][UNDECODABLE] == 1
    assert (large["peak_kib"] - plain["peak_kib"]) * 1024 < HUGE / 2


def test_a_huge_blob_under_the_limit_is_read(original: Path, tmp_path: Path) -> None:
    huge = tmp_path / "huge.sqlite"
    plant(original, huge, "msgpack", ormsgpack.packb(["x" * HUGE]), "writes")
    (large,) = read_apart(tmp_path, [huge])
    (trace,) = large["traces"]
    assert len(trace["steps"]) == 6
    assert UNDECODABLE not in trace["gaps"]
    assert large["peak_kib"] * 1024 < 6 * HUGE


@pytest.mark.parametrize("kind", ["pickle", "cloudpickle"])
def test_an_error_that_cannot_be_decoded_is_still_an_error(
    recorded: Recordings, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "raises.sqlite"
    shutil.copyfile(recorded.of("1.2.24")["node_raises"].path, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE writes SET type = ?, value = ? WHERE channel = '__error__'",
            (kind, pickle.dumps(Touches(tmp_path / "ran"))),
        )
    (said,) = read_apart(tmp_path, [path])
    (trace,) = said["traces"]
    assert trace["steps"][-1] == ["second", "error"]
    assert trace["gaps"][UNDECODABLE] == 1
    assert not (tmp_path / "ran").exists()
