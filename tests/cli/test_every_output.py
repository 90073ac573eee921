"""Where an answer cannot go: every command says so, and nothing that was there is lost.

The reader of a pipe is gone, a disk is full, a folder may not be written, the output is an input.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cli.every_command import (
    ANSWERS,
    PHOENIX,
    WRITERS,
    answers,
    inputs_of,
    lay_out,
)
from cli_runner import Invoke, environment
from shared_data import ROOT, fixture
from unprivileged import run_unprivileged

JSON = {name: [*line, "--format", "json"] for name, (line, _) in ANSWERS.items()}
JSON["errors"] = JSON["inspect"]
OUTPUTS = {**{name: line for name, (line, _) in ANSWERS.items() if line[0] != "ingest"}, **WRITERS}
"""What takes ``-o``."""
UNNAMED = ("artifact of a thread", "ingest-otlp", "ingest-phoenix")
"""What names the file itself where nobody does."""
PRIVATE_FILES = ("state", "presets test", "artifact of a thread")
"""What has files of its own for a while: a copy of a database, a graph. They do not fit either."""
JSON_OUT = ("query", "analyze", "diff", "check")
SMALL = 20
"""Bytes that a file may have where the disk is to be full: fewer than any answer has."""


def _folder(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "work")


def _run_each(folder: Path, lines: list[list[str]], output: str) -> list[list[object]]:
    subprocess.run(
        [sys.executable, str(ROOT / "tests" / "cli" / "run_each.py")],
        cwd=folder,
        env=environment(folder / ".cache"),
        input=json.dumps({"lines": lines, "output": output, "result": "result.json"}),
        text=True,
        check=True,
    )
    found = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert isinstance(found, list)
    return found


def test_a_pipe_that_nobody_reads_ends_every_command_quietly(tmp_path: Path) -> None:
    lines = [*JSON.values(), *answers()]
    for line, (code, _, err) in zip(
        lines, _run_each(_folder(tmp_path), lines, "closed"), strict=True
    ):
        assert code == 141, (line, err)
        assert "Broken pipe" not in str(err) and "Traceback" not in str(err), line


def test_head_gets_its_line_and_ends_every_command_quietly(tmp_path: Path) -> None:
    """As people type it; an answer that fits the pipe may end before its reader does."""
    folder = _folder(tmp_path)
    for name in ("query", "cypher", "diff", "check"):
        command = [sys.executable, "-m", "tracegraph", *JSON[name]]
        made = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(folder / ".cache"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert made.stdout is not None and made.stderr is not None
        head = subprocess.run(["head", "-1"], stdin=made.stdout, capture_output=True, check=True)
        made.stdout.close()
        err = made.stderr.read()
        made.stderr.close()
        assert head.stdout == b"{\n"
        assert made.wait() in {0, 1, 141}
        assert b"Broken pipe" not in err and b"Traceback" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no such device")
def test_a_full_disk_behind_standard_output_is_said_by_every_command(tmp_path: Path) -> None:
    for line, (code, _, err) in zip(
        JSON.values(), _run_each(_folder(tmp_path), list(JSON.values()), "full"), strict=True
    ):
        assert code == 2, (line, err)
        said = "tracegraph: standard output: cannot be written: No space left on device"
        assert str(err).splitlines()[-1] == said, line


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no such device")
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_full_device_is_said_by_every_command(invoke: Invoke, folder: Path, name: str) -> None:
    _add_phoenix(folder)
    ran = invoke(*OUTPUTS[name], "-o", "/dev/full")
    assert (ran.code, ran.out) == (2, "")
    said = "tracegraph: /dev/full: cannot be written: No space left on device"
    assert ran.err.splitlines()[-1] == said


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_answer_that_does_not_fit_leaves_the_old_file_alone(
    invoke: Invoke, folder: Path, name: str
) -> None:
    resource = pytest.importorskip("resource")
    _add_phoenix(folder)
    line = OUTPUTS[name]
    assert invoke(*line, "-o", "before").code in {0, 1}  # what a cache holds is there from now on
    Path("old").write_text("as it was", encoding="utf-8")
    left = _names(folder)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, limits[1]))
    try:
        ran = invoke(*line, "-o", "old")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert ran.code == 2, ran.err
    if name not in PRIVATE_FILES:
        assert ran.err.splitlines()[-1] == "tracegraph: old: cannot be written: File too large"
    assert Path("old").read_text(encoding="utf-8") == "as it was"
    assert _names(folder) == left


@pytest.mark.parametrize("option", ["-o", "--json-out"])
@pytest.mark.parametrize(
    "name", [name for name in OUTPUTS if name != "errors" and inputs_of(OUTPUTS[name])]
)
def test_no_output_of_any_command_is_an_input(
    invoke: Invoke, folder: Path, name: str, option: str
) -> None:
    if option == "--json-out" and name not in JSON_OUT:
        return
    _add_phoenix(folder)
    for number, file in enumerate(inputs_of(OUTPUTS[name])):
        Path(f"soft{number}").symlink_to(file)
        Path(f"hard{number}").hardlink_to(file)
        Path("loop").unlink(missing_ok=True)
        Path("loop").symlink_to(".")
        before = _files(folder)
        for output in (
            file,
            f"./examples/../{file}",
            f"soft{number}",
            f"hard{number}",
            f"loop/{file}",
        ):
            ran = invoke(*OUTPUTS[name], option, output)
            assert ran.code == 2, output
            assert "is an input" in ran.err
            assert ran.out == ""
            assert _files(folder) == before


@pytest.mark.parametrize("option", ["-o", "--json-out"])
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_dash_is_standard_output_and_no_file(
    invoke: Invoke, folder: Path, name: str, option: str
) -> None:
    if option == "--json-out" and name not in JSON_OUT:
        return
    _add_phoenix(folder)
    asked = invoke(*OUTPUTS[name], option, "file")
    left = _names(folder)
    ran = invoke(*OUTPUTS[name], option, "-")
    assert (ran.code, ran.out) == (asked.code, Path("file").read_text(encoding="utf-8"))
    assert ran.out
    assert _names(folder) == left


@pytest.mark.parametrize("name", UNNAMED)
def test_a_file_that_nobody_named_is_never_replaced(
    invoke: Invoke, folder: Path, name: str
) -> None:
    _add_phoenix(folder)
    before = _names(folder)
    assert invoke(*WRITERS[name]).code == 0
    (made,) = _names(folder) - before
    Path(made).write_text("mine", encoding="utf-8")
    ran = invoke(*WRITERS[name])
    assert ran.code == 2
    assert f"{made}: is there already" in ran.err
    assert Path(made).read_text(encoding="utf-8") == "mine"
    assert _names(folder) - before == {made}


_RUN_THE_LINES = """
import contextlib, io, json, sys
from tracegraph.cli.main import main
def run_in(folder):
    os.chdir(folder)
    done = []
    for line in json.loads(sys.argv[3]):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                main(line)
            except SystemExit as ended:
                done.append((ended.code, said.getvalue()))
    return done
if sys.argv[1] != sys.argv[2]:
    cache = os.environ["TRACEGRAPH_CACHE_DIR"]
    os.environ["TRACEGRAPH_CACHE_DIR"] = os.path.join(sys.argv[1], "cache")
    run_in(sys.argv[1])
    os.environ["TRACEGRAPH_CACHE_DIR"] = cache
"""
"""Once elsewhere as who may, so that everything is imported, if this is the superuser."""


def test_a_folder_that_may_not_be_written_stays_as_it_is() -> None:
    """What is to be written there is refused, and what is only asked is answered all the same."""
    refused = [[*line, "-o", "made"] for line in OUTPUTS.values()]
    refused += [WRITERS[name] for name in UNNAMED]
    answered = [line for line, _ in ANSWERS.values()]
    with tempfile.TemporaryDirectory() as name:  # tmp_path is closed to other users
        root = Path(name)
        folder = lay_out(root / "work")
        for path in (root, folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = _files(folder)
        said = run_unprivileged(
            "print(json.dumps(run_in(sys.argv[2])))",
            str(lay_out(root / "before")) if os.geteuid() == 0 else str(folder),
            str(folder),
            json.dumps([*refused, *answered]),
            cache=folder / "cache",
            first=_RUN_THE_LINES,
        )
        assert _files(folder) == before
        for path in (root, *root.rglob("*")):
            path.chmod(0o755)
    done = json.loads(said)
    for line, (code, text) in zip(refused, done, strict=False):
        assert code == 2, (line, text)
        assert text.splitlines()[-1].endswith("cannot be written: Permission denied"), line
    for line, (code, text) in zip(answered, done[len(refused) :], strict=True):
        assert code in {0, 1, 3}, (line, text)
        assert text, line


def _add_phoenix(folder: Path) -> None:
    (folder / PHOENIX).write_bytes((fixture("phoenix") / "made_spans.jsonl").read_bytes())


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _names(folder: Path) -> set[str]:
    return set(os.listdir(folder))
