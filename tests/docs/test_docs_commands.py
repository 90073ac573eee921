"""Every ``tracegraph ...`` line of the documentation runs as written, in a copy of examples/.

In a ``console`` or ``sh`` block of README.md and docs/*.md a line that starts with ``tracegraph ``
(after an optional ``$ ``) is run; a line that ends with ``\\`` goes on. It must exit 0, or N where
it ends with ``# exit N``. Where a ``text exact`` block follows the block, it is what the block's
last command wrote, standard output first, then standard error.
"""

import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pytest

from cli_runner import environment
from shared_data import ROOT

_FENCE = re.compile(r"^```([\w-]+(?: \w+)?)?\s*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"#\s*exit (\d+)\s*$")


@dataclass(frozen=True)
class Command:
    place: str
    line: str
    code: int
    output: str | None


def commands(text: str, name: str) -> list[Command]:
    """Return the commands of one document, in order."""
    found: list[Command] = []
    blocks = list(_FENCE.finditer(text))
    for block, following in zip_longest(blocks, blocks[1:]):
        if block[1] not in {"console", "sh"}:
            continue
        lines = re.sub(r"\\\n\s*", "", block[2]).splitlines()
        here = [line.removeprefix("$ ") for line in lines]
        here = [line for line in here if line.startswith("tracegraph ")]
        for index, line in enumerate(here):
            code = _EXIT.search(line)
            is_last = index == len(here) - 1
            exact = following is not None and following[1] == "text exact" and is_last
            output = following[2] if exact and following is not None else None
            number = text.count("\n", 0, block.start()) + 1
            found.append(Command(f"{name}:{number}", line, int(code[1]) if code else 0, output))
    return found


def _documents() -> list[Path]:
    return [p for p in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if p.exists()]


_COMMANDS = [
    command
    for path in _documents()
    for command in commands(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all commands, so that later ones find what earlier ones wrote."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "examples", folder / "examples")
    return folder


@pytest.mark.parametrize("command", _COMMANDS, ids=lambda c: f"{c.place} {c.line}")
def test_a_documented_command_runs_as_written(command: Command, folder: Path) -> None:
    arguments = shlex.split(command.line, comments=True)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "tracegraph", *arguments],
        cwd=folder,
        env=environment(folder / ".cache"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == command.code, done.stderr
    if command.output is not None:
        assert done.stdout + done.stderr == command.output


def test_the_documentation_shows_every_command() -> None:
    shown = {command.line.split()[1] for command in _COMMANDS}
    named = "query cypher ingest ingest-otlp traces inspect presets cache "
    named += "why analyze validate digest summarize export-review-candidates export-incident-memo"
    assert set(named.split()) <= shown


def test_commands_are_found_with_their_exit_code_and_output() -> None:
    text = (
        "```console\n$ tracegraph a b \\\n    c  # exit 1\nother\n```\n\n```text exact\nout\n```\n"
        "```tgp-body\nTOOL\n```\n"
        "```sh\npip install x\ntracegraph d\ntracegraph e\n```\n```python\ntracegraph f\n```\n"
    )
    assert commands(text, "x.md") == [
        Command("x.md:1", "tracegraph a b c  # exit 1", 1, "out\n"),
        Command("x.md:13", "tracegraph d", 0, None),
        Command("x.md:13", "tracegraph e", 0, None),
    ]


def test_ci_runs_the_test_command_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    developing = readme.split("## Develop", 1)[1]
    command = re.search(r"```sh\n(.+)\n```", developing)
    assert command is not None
    assert command[1] in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("path", _documents(), ids=lambda p: p.name)
def test_a_link_leads_to_a_file(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []
