"""``tracegraph phoenix`` against a real Phoenix server, through a stand-in for px."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cli_runner import Ran
from shared_data import ROOT

FATAL = "c510f81de578c81de5f6a89169c5e199"
RECOVERED = "6f3d4ceebcd24ca896e0935518f8c813"
OK = "93b2117217ca0c0ac0340db0a1a7c725"
READING = ["--include-annotations", "--format", "raw", "--no-progress", "--project", "agents"]
Tracegraph = Callable[..., Ran]
Calls = Callable[[], list[list[str]]]


@pytest.fixture
def connected(stand_in: Calls, server: str, agents: str, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """The stand-in, set to the server and to the project of agents."""
    monkeypatch.setenv("PHOENIX_HOST", server)
    return stand_in


def _report(path: Path) -> Any:
    report = json.loads(path.read_text(encoding="utf-8"))
    contract = ROOT / "contracts" / "analysis.v1.schema.json"
    validator = Draft202012Validator(json.loads(contract.read_text(encoding="utf-8")))
    assert [error.message for error in validator.iter_errors(report)] == []
    return report


def test_doctor_finds_px_server_and_project(connected: Calls, tracegraph: Tracegraph) -> None:
    done = tracegraph("phoenix", "doctor", "--project", "agents")
    assert done.code == 0, done.out
    lines = [line.split()[:2] for line in done.out.splitlines()]
    assert lines == [["px", "ok"], ["version", "ok"], ["server", "ok"], ["project", "ok"]]
    reading = ["project", "list", "--limit", "1", "--format", "raw", "--no-progress"]
    assert connected() == [["--version"], reading]


def test_doctor_names_the_projects_where_one_is_missing(
    connected: Calls, tracegraph: Tracegraph
) -> None:
    done = tracegraph("phoenix", "doctor", "--project", "agent")
    assert done.code == 1
    assert "project  failed   no project 'agent' there; there is: agents" in done.out


def test_doctor_says_what_to_do_where_no_server_answers(
    connected: Calls, tracegraph: Tracegraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHOENIX_HOST", "http://127.0.0.1:9")
    done = tracegraph("phoenix", "doctor")
    assert done.code == 1
    assert "fetch failed; set PHOENIX_HOST" in done.out


def test_the_newest_failed_run_is_diagnosed(
    connected: Calls, tracegraph: Tracegraph, folder: Path
) -> None:
    done = tracegraph("phoenix", "diagnose", "--project", "agents", "--json-out", "report.json")
    assert done.code == 0, done.err
    assert f"trace {FATAL}: the newest that failed, of the 4 newest traces" in done.err
    assert "1. fatal: TOOL fetch_page" in done.out
    report = _report(folder / "report.json")
    (incident,) = report["incidents"]
    assert (incident["state"], incident["origin"]["kind"]) == ("fatal", "TOOL")
    assert [step["name"] for step in incident["propagation"]] == ["tools", "LangGraph"]
    assert [cause["cause"]["kind"] for cause in incident["causes"]] == ["LLM", "AGENT"]
    assert report["trace"]["fidelity"] == "parent_only"
    assert "fidelity.parent_only" in {d["code"] for d in report["disclosures"]}
    assert connected() == [["--version"], ["trace", "list", "--limit", "20", *READING]]


def test_an_id_or_its_start_bypasses_the_choice(connected: Calls, tracegraph: Tracegraph) -> None:
    done = tracegraph("phoenix", "diagnose", RECOVERED[:8], "--project", "agents")
    assert done.code == 0, done.err
    assert "1. recovered: TOOL get_weather" in done.out
    assert connected() == [["--version"], ["trace", "get", RECOVERED[:8], *READING]]


def test_a_baseline_shows_what_changed(
    connected: Calls, tracegraph: Tracegraph, folder: Path
) -> None:
    done = tracegraph(
        *("phoenix", "diagnose", FATAL, "--baseline", OK, "--project", "agents"),
        *("--json-out", "report.json"),
    )
    assert done.code == 0, done.err
    comparison = _report(folder / "report.json")["comparison"]
    assert comparison["baseline"]["trace_id"] == OK
    assert comparison["comparable"]
    (changed,) = comparison["incidents"]
    assert (changed["state"], changed["name"], changed["delta"]) == ("fatal", "fetch_page", 1)
    assert comparison["metrics"]["tokens_total"]["delta"] == -60


def test_an_unknown_trace_is_said_to_be_unknown(connected: Calls, tracegraph: Tracegraph) -> None:
    done = tracegraph("phoenix", "diagnose", "ffff", "--project", "agents")
    assert (done.code, done.out) == (1, "")
    assert done.err == "tracegraph: px trace get: Trace not found: ffff\n"


def test_where_no_run_failed_the_newest_is_diagnosed(
    connected: Calls, tracegraph: Tracegraph, fill: Callable[..., None]
) -> None:
    fill("healthy", ROOT / "examples" / "traces" / "interrupt_resume.otlp.json")
    done = tracegraph("phoenix", "diagnose", "--project", "healthy")
    assert done.code == 0, done.err
    assert "no run failed of the 2 newest traces; trace 13741594" in done.err
    assert "2 steps, 0 failing: no incident\n" in done.out


def test_the_artifact_holds_no_text_and_reads_back_the_same(
    connected: Calls, tracegraph: Tracegraph, folder: Path
) -> None:
    done = tracegraph(
        *("phoenix", "diagnose", FATAL, "--project", "agents"),
        *("--save-artifact", "safe.json", "--json-out", "report.json"),
    )
    assert done.code == 0, done.err
    saved = (folder / "safe.json").read_bytes()
    written = saved + (folder / "report.json").read_bytes() + done.out.encode()
    for text in (b"timed out", b"example.test", b"CANARY", b"Traceback", b"in correct"):
        assert text not in written
    report = _report(folder / "report.json")
    assert report["trace"]["artifact_digest"] == hashlib.sha256(saved).hexdigest()
    (evaluation,) = report["metrics"]["evaluations"]
    assert (evaluation["name"], evaluation["score"]) == ("correctness", 0.25)
    alias = hashlib.sha256(b"in correct").hexdigest()
    assert evaluation["label"] == f"redacted:{alias}"
    again = tracegraph("ingest", "safe.json", "-o", "again.json", "--keep", "structure")
    assert again.code == 0, again.err
    assert (folder / "again.json").read_bytes() == saved
    # The raw answer was written nowhere.
    left = {path.name for path in folder.rglob("*") if path.is_file() and ".cache" not in str(path)}
    assert left == {"safe.json", "report.json", "again.json"}


def test_where_the_list_may_be_cut_the_chosen_trace_is_asked_for_whole(
    connected: Calls, tracegraph: Tracegraph, fill: Callable[..., None], tmp_path: Path
) -> None:
    path = tmp_path / "crowd.json"
    path.write_text(json.dumps({"resourceSpans": [_crowd(21, 10)]}), encoding="utf-8")
    fill("crowded", path)
    done = tracegraph("phoenix", "diagnose", "--project", "crowded")
    assert done.code == 0, done.err
    verbs = [call[:2] for call in connected()]
    assert verbs == [["--version"], ["trace", "list"], ["trace", "get"]]
    assert "10 steps, 0 failing" in done.out


def _crowd(traces: int, spans: int) -> Any:
    """Return many small runs that end well."""
    begin = 1_780_000_000_000_000_000
    made = []
    for trace in range(traces):
        for span in range(spans):
            start = begin + trace * 1_000_000_000 + span * 1_000_000
            made.append(
                {
                    "traceId": f"{0xC0 + trace:032x}",
                    "spanId": f"{0xC000 + trace * spans + span:016x}",
                    "parentSpanId": f"{0xC000 + trace * spans:016x}" if span else "",
                    "name": f"step {span}",
                    "startTimeUnixNano": str(start),
                    "endTimeUnixNano": str(start + 500_000_000),
                    "status": {"code": 1},
                }
            )
    return {"scopeSpans": [{"spans": made}]}
