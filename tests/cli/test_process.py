"""What only a process of its own shows: pipes, exit codes, start-up, terminals."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import environment, run
from shared_data import ROOT, fixture

TRACES = str(ROOT / "examples" / "traces")
HEAVY = ("numpy", "pyarrow", "lark", "kuzu", "rich", "pydantic", "networkx")


def _loaded_after(code: str, tmp_path: Path) -> set[str]:
    """Return the heavy packages that are loaded after running some code."""
    script = (
        f"import sys\n{code}\nprint(*[m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


def test_the_version_is_told_without_loading_anything_heavy(tmp_path: Path) -> None:
    code = "from tracegraph.cli.main import main\ntry: main(['--version'])\nexcept SystemExit: pass"
    assert _loaded_after(code, tmp_path) == set()


@pytest.mark.parametrize("module", ["tracegraph", "tracegraph.cli.main"])
def test_importing_loads_nothing_heavy(module: str, tmp_path: Path) -> None:
    assert _loaded_after(f"import {module}", tmp_path) == set()


@pytest.mark.parametrize("options", [[], ["--format", "json", "--backend", "matcher"]])
def test_a_warm_query_with_a_preset_loads_what_it_needs(options: list[str], tmp_path: Path) -> None:
    query = ["query", "tool-failure", TRACES, *options]
    assert run(*query, cwd=tmp_path).code == 0
    unneeded = [
        *("pydantic", "lark", "kuzu", "rich", "filelock", "pyarrow.parquet"),
        *("tracegraph.pattern.compiler", "tracegraph.pattern.cypher_text"),
        *("tracegraph.pattern.parser", "tracegraph.pattern.validator", "tracegraph.pattern.params"),
        *(
            "tracegraph.ingest.otlp.adapter",
            "tracegraph.workflows.rebuild",
            "tracegraph.model.draft",
        ),
    ]
    script = (
        "import sys\nfrom tracegraph.cli.main import main\n"
        f"try: main({query!r})\nexcept SystemExit: pass\n"
        f"print('loaded:', *(name for name in {unneeded!r} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment(tmp_path / ".cache"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_version_and_help(tmp_path: Path) -> None:
    assert run("--version", cwd=tmp_path).out == "0.1.0\n"
    ran = run("--help", cwd=tmp_path)
    assert ran.code == 0
    for name in ("query", "cypher", "ingest", "traces", "inspect", "presets", "cache"):
        assert f"\n  {name} " in ran.out
        helped = run(name, "--help", cwd=tmp_path)
        assert helped.code == 0
        assert "Usage: tracegraph" in helped.out


def test_nothing_is_folded_or_coloured_in_a_pipe(tmp_path: Path) -> None:
    ran = run("query", "tool-failure", TRACES, cwd=tmp_path)  # with COLUMNS=40
    assert max(map(len, ran.out.splitlines())) > 80
    assert ran.out.isascii()
    assert "\x1b" not in ran.out + ran.err


def test_standard_input_is_read(tmp_path: Path) -> None:
    text = Path(TRACES, "tool_error_recover.otlp.json").read_text(encoding="utf-8")
    ran = run("query", "tool-failure", "-", cwd=tmp_path, stdin=text)
    assert ran.code == 0
    assert "1 confirmed match in 1 of 1 trace" in ran.err


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tracegraph", "query", "-e", "ANY ->> ANY", TRACES]
    process = subprocess.Popen(
        [*command, "--format", "json"],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert errors == b""
    assert process.wait() == 141


def _read_all(terminal: int) -> str:
    """Read what was written to a terminal until everybody has left it."""
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
    return shown.decode()


def test_a_terminal_gets_progress_and_a_table_that_fits_it(tmp_path: Path) -> None:
    (answer, answers), (progress, tells) = pty.openpty(), pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tracegraph", "query", "tool-failure", TRACES],
        env={**environment(tmp_path), "COLUMNS": "60", "TERM": "xterm"},
        stdout=answers,
        stderr=tells,
    )
    os.close(answers)
    os.close(tells)
    table, told = _read_all(answer), _read_all(progress)
    assert process.wait() == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", table)
    assert "│" in plain
    assert max(map(len, plain.splitlines())) <= 60
    assert "reading" in told
    assert "6 confirmed matches in 4 of 7 traces (66 steps)" in told


def test_control_characters_of_a_trace_reach_no_terminal_and_no_table(tmp_path: Path) -> None:
    source = str(fixture("cases/07-surrogates-nul-escapes/input.json"))
    for form in ("table", "csv", "md"):
        ran = run("query", "-e", "a: TOOL return $a.name", source, "--format", form, cwd=tmp_path)
        assert ran.code == 0, ran.err
        assert "\x00" not in ran.out
        assert "x00" in ran.out
    ran = run("query", "-e", "a: TOOL return $a.name", source, "--format", "json", cwd=tmp_path)
    assert "sea\x00rch" in [match["values"]["a.name"] for match in json.loads(ran.out)["matches"]]
    assert "\\x00" in run("inspect", source, cwd=tmp_path).out


def test_an_unwritable_cache_is_disclosed_and_the_answer_given(tmp_path: Path) -> None:
    (tmp_path / ".cache").write_text("a file where the cache should be")
    ran = run("query", "tool-failure", TRACES, cwd=tmp_path)
    assert ran.code == 0
    assert "the cache is not used" in ran.err
    assert len(ran.out.splitlines()) == 1 + 6
    quiet = run("query", "tool-failure", TRACES, "--no-cache", cwd=tmp_path)
    assert quiet.out == ran.out
    assert "cache" not in quiet.err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.json", "", "the file is empty"),
        ("cut.json", '{"resourceSpans": [{"resource"', "cut.json"),
        ("other.json", '{"hello": 1}', "no known trace format"),
    ],
)
def test_bad_input_named_by_hand_exits_2(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    ran = run("query", "tool-failure", name, cwd=tmp_path)
    assert ran.code == 2
    assert name in ran.err
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    first = run("query", "tool-failure", TRACES, "--format", "json", "--no-cache", cwd=tmp_path)
    again = run("query", "tool-failure", TRACES, "--format", "json", cwd=tmp_path)
    cached = run("query", "tool-failure", TRACES, "--format", "json", cwd=tmp_path)
    assert first.out == again.out == cached.out
    assert str(ROOT) not in first.out
