"""Run commands in this process: as fast as the code, and with the folder of examples at hand."""

import os
import shutil
from pathlib import Path

import pytest

from cli_runner import Invoke, Ran
from shared_data import ROOT
from tracegraph.cli.main import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a copy of examples/ and a cache of its own."""
    work = tmp_path / "work"
    shutil.copytree(ROOT / "examples", work / "examples")
    for name in list(os.environ):
        if name.startswith("TRACEGRAPH_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TRACEGRAPH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def invoke(folder: Path, capsys: pytest.CaptureFixture[str]) -> Invoke:
    """A function that runs a command and returns its exit code and output."""

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        written = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Ran(code, written.out, written.err)

    return run
