"""What it takes to read 40 MiB in one value and thousands of siblings (case 15)."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from case_files import HUGE_BYTES, SIBLINGS, case, write_huge_case
from cli.case_answers import answer
from cli_runner import Invoke, environment


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_huge_case(tmp_path_factory.mktemp("huge") / "input.json")


def test_15_reading_takes_no_more_than_about_four_times_the_file(
    huge: Path, tmp_path: Path
) -> None:
    """The peak of the process, over that of one that reads two spans."""
    if not Path("/proc/self/status").exists():
        pytest.skip("the peak of a process is read from /proc/self/status")
    code = (
        "import runpy, sys\n"
        "sys.argv = ['tracegraph', *sys.argv[1:]]\n"
        "try:\n"
        "    runpy.run_module('tracegraph', run_name='__main__')\n"
        "except SystemExit as ended:\n"
        "    assert ended.code in (0, None), ended.code\n"
        "print([line for line in open('/proc/self/status') if line.startswith('VmHWM')])\n"
    )

    def peak(path: Path, artifact: Path) -> int:
        done = subprocess.run(
            [sys.executable, "-c", code, "ingest", str(path), "-o", str(artifact), "--no-cache"],
            env=environment(tmp_path / "cache"),
            capture_output=True,
            text=True,
            check=True,
        )
        (kilobytes,) = re.findall(r"VmHWM:\\t *(\d+) kB", done.stdout)
        return int(kilobytes) * 1024

    artifact = tmp_path / "a.json"
    small = peak(case("01", "input.hex.json"), tmp_path / "small.json")
    assert peak(huge, artifact) - small < 4 * huge.stat().st_size
    written = json.loads(artifact.read_text())
    assert len(written["steps"]) == SIBLINGS + 3
    dump = next(step for step in written["steps"] if step["name"] == "dump")
    assert dump["result_size"] == HUGE_BYTES
    assert dump["result_digest"]
    assert artifact.stat().st_size < huge.stat().st_size / 20


def test_15_over_the_limit_is_a_plain_refusal(
    invoke: Invoke, huge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEGRAPH_MAX_RECORD_BYTES", "1000000")
    for arguments in (("traces", huge), ("ingest", huge, "-o", "a.json")):
        ran = invoke(*map(str, arguments))
        assert (ran.code, ran.out) == (2, "")
        assert "limit of 1000000" in ran.err
        assert "TRACEGRAPH_MAX_RECORD_BYTES" in ran.err
    assert not Path("a.json").exists()


def test_15_thousands_of_siblings_are_one_run(invoke: Invoke, huge: Path) -> None:
    result = answer(invoke, "query", "-e", "xs: TOOL {3,} same name return $xs.count", huge)
    assert (result["match_count"], result["possible_count"]) == (1, 0)
    (match,) = result["matches"]
    assert match["values"] == {"xs.count": SIBLINGS}
    assert len(match["steps"]) == SIBLINGS
    listed = answer(invoke, "query", "-e", "xs: TOOL {3,} same name", huge, "--limit", "0")
    assert (listed["match_count"], listed["matches"]) == (1, [])


def test_15_calls_without_arguments_and_results_are_possibly_a_loop(
    invoke: Invoke, huge: Path
) -> None:
    for backend in ("matcher", "cypher"):
        looped = answer(invoke, "query", "tool-loop", huge, "--backend", backend, code=1)
        assert (looped["match_count"], looped["possible_count"]) == (0, 1)
        assert looped["not_evaluable"] == []
        (match,) = looped["matches"]
        assert match["values"] == {"tool": "tick", "count": SIBLINGS}


def test_15_what_the_producer_dropped_may_have_been_there(invoke: Invoke, huge: Path) -> None:
    """An attribute that is not there is unknown on the step of which two were dropped."""
    keep = ("--keep", "content", "--no-cache")
    for absent in ('attr["x"] == "y"', 'not attr["x"] == "y"'):
        ran = invoke("query", "-e", f"TOOL where {absent}", str(huge), *keep, "--format", "json")
        result = json.loads(ran.out)
        found = {m["steps"][0]["name"]: m["certainty"] for m in result["matches"]}
        assert found["edit"] == "possible"
