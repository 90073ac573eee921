"""Run Python as somebody who may not read everything; tests may run as the superuser, who may."""

import subprocess
import sys
from pathlib import Path

from cli_runner import environment
from shared_data import ROOT

# Everything is used once first: nobody may not be able to read modules where they lie.
_USE = f"""
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from tracegraph.ingest.registry import adapters
from tracegraph.workflows.load import ingest_into
adapters()
with TemporaryDirectory() as folder:
    ingest_into([{str(ROOT / "examples" / "traces")!r}], Path(folder, "corpus")).close()
"""
_BECOME_NOBODY = """
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
"""


def run_unprivileged(code: str, *arguments: str, cache: Path, first: str = "") -> str:
    """Run code and return what it prints.

    Args:
        code: the code.
        arguments: what it finds in ``sys.argv[1:]``.
        cache: the folder of its cache.
        first: code that runs before, privileged: it uses whatever else the code uses.
    """
    done = subprocess.run(
        [sys.executable, "-c", _USE + first + _BECOME_NOBODY + code, *arguments],
        env=environment(cache),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
