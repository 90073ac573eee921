"""The Python of the documentation runs, block after block, beside a copy of examples/."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from cli_runner import environment
from shared_data import ROOT


def test_the_python_of_the_documentation_runs(tmp_path: Path) -> None:
    blocks = _blocks("python-api.md")
    assert len(blocks) >= 4
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    assert "6 0 4" in _run(["-c", "\n".join(blocks)], tmp_path)


def test_the_parquet_of_a_corpus_is_read_as_documented(tmp_path: Path) -> None:
    (block,) = _blocks("model.md")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    _run(["-m", "tracegraph", "ingest", "examples/traces", "--into", "corpus"], tmp_path)
    assert "{'kind': 'TOOL', 'status': 'error', 'step_id_count': 6}" in _run(
        ["-c", block], tmp_path
    )


def _blocks(document: str) -> list[str]:
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def _run(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        env=environment(folder / ".cache"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
