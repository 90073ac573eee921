"""What comes of a px that is missing, old, slow, talkative or broken; and of outputs."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli_runner import Ran, environment
from tracegraph.errors import UsageError
from tracegraph.workflows.phoenix import diagnose
from tracegraph.workflows.px import Px, PxError

Tracegraph = Callable[..., Ran]
Install = Callable[[str], Path]
VERSIONED = 'import sys, time\nif sys.argv[1:] == ["--version"]:\n    print("1.0.4"); sys.exit()\n'
INSTALL = "npm install -g @arizeai/phoenix-cli"


def test_a_recorded_answer_is_diagnosed(recorded: bytes, tracegraph: Tracegraph) -> None:
    done = tracegraph("phoenix", "diagnose")
    assert done.code == 0, done.err
    assert "of the 2 newest traces" in done.err
    assert done.out.startswith("c510f81de578c81de5f6a89169c5e199 (phoenix, error, parent_only)\n")
    assert "evaluation: correctness redacted:" in done.out
    as_json = tracegraph("phoenix", "diagnose", "--format", "json", "--limit", "0")
    report = json.loads(as_json.out)
    assert report["incidents"] == []
    assert report["incident_counts"] == {"fatal": 1, "unresolved": 0, "recovered": 0}
    as_csv = tracegraph("phoenix", "diagnose", "--format", "csv")
    assert as_csv.out.splitlines()[1].startswith("fatal,183f92407e2c3a38,TOOL,fetch_page")


def test_of_several_traces_with_one_start_one_has_to_be_named(
    px: Install, recorded: bytes, tracegraph: Tracegraph
) -> None:
    """px merges all traces whose ids start as asked; the spans tell them apart."""
    spans = [span for trace in json.loads(recorded) for span in trace["spans"]]
    px(VERSIONED + f"print({json.dumps({'traceId': 'x', 'spans': spans})!r})")
    done = tracegraph("phoenix", "diagnose", "9")
    assert done.out.startswith("93b2117217ca0c0ac0340db0a1a7c725")
    done = tracegraph("phoenix", "diagnose", "a")
    assert done.code == 2
    assert "no trace 'a'" in done.err


def test_two_diagnoses_of_one_answer_are_the_same_bytes(
    recorded: bytes, tracegraph: Tracegraph, folder: Path
) -> None:
    for name in ("one", "two"):
        outputs = ("--save-artifact", f"{name}.trace.json", "--json-out", f"{name}.json")
        assert tracegraph("phoenix", "diagnose", *outputs).code == 0
    assert (folder / "one.json").read_bytes() == (folder / "two.json").read_bytes()
    assert (folder / "one.trace.json").read_bytes() == (folder / "two.trace.json").read_bytes()


def test_without_px_it_says_how_to_get_it(tracegraph: Tracegraph) -> None:
    done = tracegraph("phoenix", "diagnose")
    assert (done.code, done.out) == (1, "")
    assert done.err == f"tracegraph: px: not found; install Phoenix's command line: {INSTALL}\n"
    looked = tracegraph("phoenix", "doctor")
    assert looked.code == 1
    assert looked.out.splitlines()[0].startswith("px       failed   px: not found")
    assert [line.split()[1] for line in looked.out.splitlines()[1:]] == ["skipped", "skipped"]


@pytest.mark.parametrize("version", ["0.9.12", "1.0.3", "px/1.0.3 (darwin)"])
def test_a_px_that_is_too_old_is_refused(px: Install, tracegraph: Tracegraph, version: str) -> None:
    px(f"print({version!r})")
    done = tracegraph("phoenix", "diagnose")
    assert done.code == 1
    assert "too old, 1.0.4 or newer is needed" in done.err
    assert INSTALL in done.err


@pytest.mark.parametrize("version", ["1.0.4", "1.10.0", "v2.0.0"])
def test_a_px_that_is_new_enough_is_taken(px: Install, version: str) -> None:
    px(f"print({version!r})")
    assert Px().version() == version.removeprefix("v")


def test_another_program_called_px_is_told_apart(px: Install, tracegraph: Tracegraph) -> None:
    px("print('px: the picture exporter')")
    done = tracegraph("phoenix", "diagnose")
    assert done.code == 1
    assert "tells no version" in done.err


def test_a_px_that_hangs_is_ended(px: Install) -> None:
    px(VERSIONED + "time.sleep(600)")
    with pytest.raises(PxError, match=r"px trace list: no answer within 1 s"):
        diagnose(timeout=1)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc for processes")
def test_what_px_starts_ends_with_it(px: Install, folder: Path) -> None:
    child = folder / "child"
    px(
        VERSIONED
        + "import subprocess\n"
        + "left = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        + f"open({str(child)!r}, 'w').write(str(left.pid))"
    )
    with pytest.raises(PxError, match="no answer within"):
        diagnose("abc", timeout=5)
    assert _ends(int(child.read_text()))


def _ends(pid: int) -> bool:
    """Tell whether a process has ended, or does so shortly; whoever inherits it reaps it."""
    status = Path(f"/proc/{pid}/stat")
    for _ in range(100):
        try:
            if status.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("nonsense", "no known trace format"),
        ("{'traceId': 1}", "no known trace format"),
        ('[{"traceId": "ab", "spans": []}]', "px trace list"),
    ],
)
def test_garbage_is_no_trace(
    px: Install, tracegraph: Tracegraph, printed: str, reason: str
) -> None:
    px(VERSIONED + f"print({printed!r})")
    done = tracegraph("phoenix", "diagnose")
    assert (done.code, done.out) == (1, "")
    assert reason in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("printed", ["", "[]", "\n"])
def test_a_project_without_traces_is_said_to_have_none(
    px: Install, tracegraph: Tracegraph, printed: str
) -> None:
    px(VERSIONED + f"print({printed!r})")
    done = tracegraph("phoenix", "diagnose")
    assert (done.code, done.err) == (
        1,
        "tracegraph: px trace list: the project holds no traces\n",
    )


def test_too_much_is_refused_by_limit_and_variable(
    px: Install, tracegraph: Tracegraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    px(VERSIONED + "while True:\n    sys.stdout.write('x' * 65536)")
    monkeypatch.setenv("TRACEGRAPH_MAX_RECORD_BYTES", "100000")
    with pytest.raises(PxError, match="more than 100000 bytes; raise TRACEGRAPH_MAX_RECORD_BYTES"):
        diagnose()


@pytest.mark.parametrize("code", [1, 3, 4, 5])
def test_a_px_that_fails_is_quoted(px: Install, tracegraph: Tracegraph, code: int) -> None:
    px(VERSIONED + f"print('\\x1b[31mno luck\\nmore', file=sys.stderr); sys.exit({code})")
    done = tracegraph("phoenix", "diagnose", "abc")
    assert (done.code, done.out) == (1, "")
    assert done.err == "tracegraph: px trace get: \\x1b[31mno luck\n"


def test_a_px_that_fails_silently_gives_its_exit_code(px: Install) -> None:
    px(VERSIONED + "sys.exit(7)")
    with pytest.raises(PxError, match="px trace list: exit code 7"):
        diagnose()


@pytest.mark.parametrize("name", ["-x", "--file=/tmp/x", "", " ", "a\nb"])
def test_nothing_that_px_could_take_for_an_option_reaches_it(recorded: bytes, name: str) -> None:
    for given in ({"trace_id": name}, {"baseline": name}, {"project": name}):
        with pytest.raises(UsageError, match="of Phoenix"):
            diagnose(**given)  # type: ignore[arg-type]


def test_a_trace_that_cannot_be_had_whole_is_told_as_listed(px: Install, recorded: bytes) -> None:
    spans = json.loads(recorded)[0]["spans"]
    many = [
        {**span, "context": {**span["context"], "span_id": f"{number:016x}"}, "parent_id": None}
        for number, span in enumerate(spans * 40, 1)
    ]
    px(
        VERSIONED
        + "import json\n"
        + "if sys.argv[2] == 'get':\n    sys.exit('Trace not found')\n"
        + f"print(json.dumps([{{'traceId': 'x', 'spans': json.loads({json.dumps(many)!r})}}]))"
    )
    found = diagnose()
    assert len(found.analysed.analysis.trace) == len(many)
    assert any("may lack spans" in text for text in found.notices)


def test_outputs_are_written_before_anything_is_shown(recorded: bytes, folder: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    outputs = ["--save-artifact", "safe.json", "--json-out", "report.json"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tracegraph", "phoenix", "diagnose", *outputs],
            cwd=folder,
            env=environment(folder / ".cache"),
            stdout=write,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(write)
    assert done.returncode == 141, done.stderr
    assert json.loads((folder / "safe.json").read_bytes())["kind"] == "tracegraph.trace"
    assert json.loads((folder / "report.json").read_bytes())["kind"] == "tracegraph.analysis"


def test_standard_output_takes_one_answer(
    recorded: bytes, tracegraph: Tracegraph, folder: Path
) -> None:
    done = tracegraph("phoenix", "diagnose", "--save-artifact", "safe.json", "--json-out", "-")
    assert done.code == 0
    assert json.loads(done.out)["kind"] == "tracegraph.analysis"
    assert not (folder / "-").exists()


def test_one_file_does_not_take_both_outputs(
    recorded: bytes, tracegraph: Tracegraph, folder: Path
) -> None:
    (folder / "there.json").write_text("kept")
    os.link(folder / "there.json", folder / "linked.json")
    for artifact, report in (("a.json", "./a.json"), ("there.json", "linked.json")):
        done = tracegraph("phoenix", "diagnose", "--save-artifact", artifact, "--json-out", report)
        assert done.code == 2
        assert "is the artifact's file" in done.err
    assert not (folder / "a.json").exists()
    assert (folder / "there.json").read_text() == "kept"


def test_an_output_that_cannot_be_written_is_usage(
    recorded: bytes, tracegraph: Tracegraph, folder: Path
) -> None:
    done = tracegraph("phoenix", "diagnose", "--json-out", "nowhere/report.json")
    assert done.code == 2
    assert "nowhere/report.json: cannot be written" in done.err
    assert list(folder.glob("*.json")) == []
