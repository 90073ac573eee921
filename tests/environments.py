"""Virtual environments of their own for tests that run other programs, built once and kept.

A folder holds them: ``TRACEGRAPH_TEST_ENVIRONMENTS``, or ``.test-environments`` in the project. An
environment is keyed by its requirements and the Python that built it, so that a changed pin is
another environment and an old one is never reused by mistake. Where pip cannot install (no
network) the test is skipped with pip's reason, or fails where ``TRACEGRAPH_REQUIRE_ENVIRONMENTS``
is 1, as ``.ci/run`` sets it.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from filelock import FileLock

from shared_data import ROOT

FOLDER_VARIABLE = "TRACEGRAPH_TEST_ENVIRONMENTS"
REQUIRE_VARIABLE = "TRACEGRAPH_REQUIRE_ENVIRONMENTS"
_COMPLETE = "complete"
_INSTALL_SECONDS = 600
_INSTALL = ("install", "--quiet", "--disable-pip-version-check", "--no-input")


def python_of(requirements: Path) -> Path:
    """Return the Python of the environment that a requirements file describes, or skip the test."""
    content = requirements.read_bytes()
    key = hashlib.blake2b(content + sys.version.encode(), digest_size=6).hexdigest()
    home = folder() / f"{requirements.stem}-{key}"
    reason = _build(home, content)
    if reason is None:
        return _python(home)
    if os.environ.get(REQUIRE_VARIABLE) == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def folder() -> Path:
    """Return where environments are kept."""
    return Path(os.environ.get(FOLDER_VARIABLE) or ROOT / ".test-environments")


@cache
def _build(home: Path, requirements: bytes) -> str | None:
    """Build an environment that is not there; return why it failed: one attempt a process."""
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        # Of two test runs at once one builds it, and the other waits and finds it complete.
        with FileLock(f"{home}.lock"):
            if not (home / _COMPLETE).exists():
                shutil.rmtree(home, ignore_errors=True)
                _run([sys.executable, "-m", "venv", str(home)])
                listed = home / "requirements.txt"
                listed.write_bytes(requirements)
                _run([str(_python(home)), "-m", "pip", *_INSTALL, "-r", str(listed)])
                (home / _COMPLETE).touch()
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        decisive = [line for line in said if line.startswith("ERROR")] or said
        return f"environment {home.name} cannot be built: {decisive[-1]}"
    return None


def _python(home: Path) -> Path:
    return home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
