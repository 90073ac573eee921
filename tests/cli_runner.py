"""Run the command line as people do: in a process of its own, with a cache of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shared_data import ROOT


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str


Invoke = Callable[..., Ran]
"""The fixture of tests/cli: runs a command in this process."""


def environment(cache: Path) -> dict[str, str]:
    """Return an environment in which tracegraph is importable and its cache lies in ``cache``."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TRACEGRAPH_")}
    paths = [str(ROOT / "engine"), *filter(None, [kept.get("PYTHONPATH")])]
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(paths),
        "TRACEGRAPH_CACHE_DIR": str(cache),
        "COLUMNS": "40",
    }


def run(*arguments: str, cwd: Path, stdin: str = "") -> Ran:
    """Run ``tracegraph`` with pipes for all three streams."""
    done = subprocess.run(
        [sys.executable, "-m", "tracegraph", *arguments],
        cwd=cwd,
        env=environment(cwd / ".cache"),
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
