"""What a wheel holds is what a checkout holds."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import tracegraph
from shared_data import ROOT
from tracegraph.resources import DATA_KINDS


def _kept_by_git(folder: Path) -> set[str]:
    """List the files of a folder that git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("the sources are no git checkout, so which files belong to them is not known")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Build the wheel and return the names in it."""
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "-w",
            str(folder),
            str(ROOT),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode and re.search(r"No matching distribution|ConnectionError", built.stderr):
        pytest.skip("hatchling cannot be had here: " + built.stderr.strip().splitlines()[-1])
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


@pytest.mark.parametrize("kind", DATA_KINDS)
def test_every_data_file_is_in_the_wheel(wheel: set[str], kind: str) -> None:
    wanted = {f"tracegraph/_data/{name}" for name in _kept_by_git(ROOT / kind)}
    assert wanted
    assert wanted == {name for name in wheel if name.startswith(f"tracegraph/_data/{kind}/")}


def test_every_file_of_the_package_is_in_the_wheel(wheel: set[str]) -> None:
    wanted = {name.removeprefix("engine/") for name in _kept_by_git(ROOT / "engine" / "tracegraph")}
    assert {"tracegraph/py.typed", "tracegraph/pattern/grammar.lark"} <= wanted
    packed = {n for n in wheel if n.startswith("tracegraph/") and "/_data/" not in n}
    assert wanted == packed


def test_the_version_is_said_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == tracegraph.__version__
