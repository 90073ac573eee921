"""Streams that are closed, full or narrow neither change an answer nor end in a traceback."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import environment
from shared_data import ROOT

TRACES = str(ROOT / "examples" / "traces")
QUERY = f"query tool-failure {TRACES}"
TOTAL = "6 confirmed matches in 4 of 7 traces (66 steps)"


def _shell(command: str, cache: Path) -> subprocess.CompletedProcess[str]:
    line = command.replace("tracegraph", f"{sys.executable} -m tracegraph", 1)
    return subprocess.run(
        ["sh", "-c", line], env=environment(cache), capture_output=True, text=True, check=False
    )


def test_a_closed_output_is_nobody_listening(tmp_path: Path) -> None:
    ran = _shell(f"tracegraph {QUERY} >&-", tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", f"{TOTAL}\n")
    ran = _shell(f"tracegraph {QUERY} 2>&-", tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert len(ran.stdout.splitlines()) == 1 + 6


def test_a_closed_input_is_an_empty_one(tmp_path: Path) -> None:
    ran = _shell("tracegraph query error - <&-", tmp_path)
    assert (ran.returncode, ran.stderr) == (2, "tracegraph: stdin: the file is empty\n")
    ran = _shell(f"tracegraph cypher {TRACES} <&-", tmp_path)
    assert ran.returncode == 2
    assert "put a QUERY before it" in ran.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no such device")
@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_a_full_disk_behind_a_stream_is_said(form: str, tmp_path: Path) -> None:
    ran = _shell(f"tracegraph {QUERY} --format {form} >/dev/full", tmp_path)
    assert ran.returncode == 2
    assert ran.stderr == (
        "tracegraph: standard output: cannot be written: No space left on device\n"
    )
    ran = _shell(f"tracegraph {QUERY} --format {form} 2>/dev/full", tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout


def _on_terminal(arguments: list[str], cache: Path, **settings: str) -> str:
    """Run a command with a terminal for all it writes, and return what was written."""
    terminal, written = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tracegraph", *arguments],
        env={**environment(cache), **settings},
        stdout=written,
        stderr=written,
    )
    os.close(written)
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other side has gone
            break
        if not piece:
            break
        shown += piece
    os.close(terminal)
    assert process.wait() == 0
    return shown.decode()


@pytest.mark.parametrize("columns", ["0", "1", "20", "wide"])
def test_no_terminal_is_too_narrow_for_any_column(columns: str, tmp_path: Path) -> None:
    shown = _on_terminal(QUERY.split(), tmp_path, TERM="xterm", COLUMNS=columns)
    cells: list[str] = [""] * 5
    for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).splitlines():
        for place, text in enumerate(line.split("│") if line.count("│") == 4 else []):
            cells[place] += text.strip()
    assert "29bcfa86df7ebfa16b4f3685a6f1943c" in cells[0]
    assert cells[1].count("confirmed") == 6
    assert "t=get_weather(TOOL,error)@7047b9bd2d7a3ec4" in cells[3]
    assert cells[4].count("fetch_page") == 4


def test_a_dumb_terminal_gets_text_alone(tmp_path: Path) -> None:
    one = f"{TRACES}/tool_error_recover.otlp.json"
    for arguments in (QUERY.split(), ["inspect", one], ["traces", TRACES, "--no-cache"]):
        shown = _on_terminal(arguments, tmp_path, TERM="dumb", COLUMNS="100")
        assert "\x1b" not in shown
        assert "reading" not in shown
        assert not shown.startswith("\r\n")
