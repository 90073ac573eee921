"""The same input gives the same bytes, whatever the process, the time zone, the locale, the folder.

One process runs every command in every form; then others do, in which everything is different that
must make no difference.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from cli.every_command import ANSWERS, NO_FILES_OF_TRACES, WRITERS, answers, lay_out
from cli_runner import environment
from shared_data import ROOT
from tracegraph.cli.main import app

LINES = [
    *answers(),
    *([*line, "-o", f"{name}.out"] for name, line in WRITERS.items()),
    ["ingest", "examples", "--into", "corpus"],
    ["query", "tool-failure", "corpus", "--format", "json"],
]
# What names the paths that were typed, to be typed again or as its subject.
TYPED = {"why", "analyze", "ingest", "presets"}


@dataclass(frozen=True)
class Left:
    """What a process left: of each command what it said, and files."""

    folder: Path
    said: list[list[object]]
    files: dict[str, bytes]


def _run(folder: Path, lines: list[list[str]] = LINES, **settings: str) -> Left:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "examples").exists():
        lay_out(folder)
    result = folder / "result.json"
    variables = {**environment(folder / ".cache"), "PYTHONHASHSEED": "1", "TZ": "UTC", **settings}
    subprocess.run(
        [sys.executable, str(ROOT / "tests" / "cli" / "run_each.py")],
        cwd=folder,
        env=variables,
        input=json.dumps({"lines": lines, "output": "kept", "result": result.name}),
        text=True,
        check=True,
    )
    written = [*folder.glob("*.out"), *folder.glob("corpus/segments/*/*")]
    files = {str(path.relative_to(folder)): path.read_bytes() for path in written}
    return Left(folder, json.loads(result.read_text(encoding="utf-8")), files)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Left:
    """What one process left."""
    left = _run(tmp_path_factory.mktemp("first"))
    wrong = [
        (line, said)
        for line, said in zip(LINES, left.said, strict=True)
        if said[0] not in (0, 1, 3)
    ]
    assert wrong == []
    assert len(left.files) > len(WRITERS)
    return left


def _same(first: Left, other: Left) -> None:
    for line, before, after in zip(LINES, first.said, other.said, strict=True):
        assert before == after, " ".join(line)
    assert first.files.keys() == other.files.keys()
    for name, content in first.files.items():
        assert content == other.files[name], name


def test_another_process_time_zone_locale_and_folder(first: Left, tmp_path: Path) -> None:
    language = {"LC_ALL": "C", "LANG": "tr_TR", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    settings = {**language, "PYTHONHASHSEED": "4711", "TZ": "Asia/Kathmandu", "COLUMNS": "200"}
    folder = tmp_path / "somewhere else" / "deeper"
    other = _run(folder, LINES, **settings)
    _same(first, other)
    for line, (_, out, err) in zip(LINES, other.said, strict=True):
        assert str(tmp_path) not in f"{out}{err}", " ".join(line)
    for name, content in other.files.items():
        assert os.fsencode(tmp_path) not in content, name


def test_a_warm_cache_and_a_corpus_that_is_there(first: Left) -> None:
    """All but what ``ingest`` says, which is what it read."""
    asked = [
        (line, said)
        for line, said in zip(LINES, first.said, strict=True)
        if line[0] != "ingest" or "-o" in line
    ]
    again = _run(first.folder, [line for line, _ in asked])
    for (line, before), after in zip(asked, again.said, strict=True):
        assert before == after, " ".join(line)
    assert again.files == first.files


def test_an_answer_has_the_same_bytes_wherever_its_inputs_are(first: Left, tmp_path: Path) -> None:
    """Named by absolute paths, from another folder."""
    folder = lay_out(tmp_path / "far" / "away")
    expected = [
        (line, said)
        for line, said in zip(LINES, first.said, strict=True)
        if line[0] not in TYPED and "corpus" not in line
    ]
    lines = [[_absolute(folder, word) for word in line] for line, _ in expected]
    other = _run(tmp_path / "elsewhere", lines)
    for (line, before), after in zip(expected, other.said, strict=True):
        assert after[:2] == before[:2], " ".join(line)
    assert other.files.items() <= first.files.items()
    left_out = sum(line[0] == "ingest" for line in WRITERS.values())
    assert len(other.files) == len(WRITERS) - left_out


def _absolute(folder: Path, word: str) -> str:
    return str(folder / word) if (folder / word.partition("#")[0]).exists() else word


def test_every_command_is_here() -> None:
    commands = vars(typer.main.get_command(app))["commands"]
    names = {
        f"{name} {sub}".strip()
        for name, command in commands.items()
        for sub in vars(command).get("commands", [""])
    }
    lines = [*(line for line, _ in ANSWERS.values()), *WRITERS.values()]
    tested = {line[0] if line[0] in names else " ".join(line[:2]) for line in lines}
    assert tested | NO_FILES_OF_TRACES == names
