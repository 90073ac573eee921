"""Planted inputs of every format, commands run over them, and every byte that they leave."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cli_runner import environment
from every_format import PLACES, files_of
from privacy.planting import Planter, Role
from tracegraph.cli.main import main
from tracegraph.ingest.registry import MAPPED

# Logs that a mapping reads have a test of their own: which column holds what, the mapping says.
FORMATS = (*(name for name in PLACES if name != MAPPED), "phoenix_database")
_LEFT_OUT = {
    "empty_page.json",  # holds no text
    "made_frame_columns.json",  # has row numbers for keys, which do not say what they hold
}
_CANARY = re.compile(r"KANARI-([A-Z])-[0-9a-f]{10}")


@dataclass(frozen=True)
class Planted:
    """Inputs of every format, a folder each.

    Attributes:
        folder: where they are.
        planter: knows where each canary is.
        traces: of each format, how its traces are named on the command line, failing ones first.
    """

    folder: Path
    planter: Planter
    traces: dict[str, list[str]]

    def found(self, text: str | bytes, roles: Iterable[Role] = Role) -> dict[str, str]:
        """Return the canaries of these roles that are in a text, and where they were planted."""
        if isinstance(text, bytes):
            text = text.decode("latin-1")
        wanted = {role.value for role in roles}
        seen = {m.group() for m in _CANARY.finditer(text) if m.group(1) in wanted}
        return {token: self.planter.places[token] for token in sorted(seen)}


def plant(folder: Path, *, words: bool) -> Planted:
    """Write the planted inputs, and list their traces."""
    planter = Planter(words=words)
    for name in FORMATS:
        (folder / name).mkdir(parents=True)
        if name == "phoenix_database":
            planter.phoenix(folder / name / "phoenix.db")
            continue
        for path in files_of(name):
            target = folder / name / path.name
            if path.suffix in {".sqlite", ".db"}:
                planter.checkpoints(path, target)
            elif path.suffix == ".eval":
                planter.archive(path, target)
            elif path.name not in _LEFT_OUT and ".examples" not in str(path):
                target.write_bytes(planter.document(path))
    return Planted(folder, planter, {name: _traces(folder / name) for name in FORMATS})


def _traces(folder: Path) -> list[str]:
    listed = []
    for path in sorted(folder.iterdir()):
        lines = tracegraph("traces", path, "--format", "jsonl").text.splitlines()
        rows = [json.loads(line) for line in lines if line.startswith("{")]
        listed += [(row["error_count"] == 0, f"{path}#{row['trace_id']}") for row in rows]
    return [trace for _, trace in sorted(listed)]


@dataclass(frozen=True)
class Said:
    """What a command said on both streams."""

    code: int
    text: str


def tracegraph(*arguments: object) -> Said:
    """Run a command in this process."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said), pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    assert isinstance(ended.value.code, int)
    return Said(ended.value.code, said.getvalue())


def tracegraph_alone(*arguments: object, cache: Path) -> Said:
    """Run a command in a process of its own: the memory of this one is full of canaries."""
    ran = subprocess.run(
        [sys.executable, "-m", "tracegraph", *map(str, arguments)],
        env=environment(cache),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Said(ran.returncode, ran.stdout)


def written(folder: Path) -> dict[str, str]:
    """Return what each file holds: its bytes, and what is compressed in them as text besides."""
    return {
        str(path.relative_to(folder)): path.read_bytes().decode("latin-1") + _unpacked(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _unpacked(path: Path) -> str:
    if path.suffix != ".parquet":
        return ""
    columns = pq.read_table(path).columns
    return "".join(str(each.to_pylist()) for each in columns if "string" in str(each.type))
