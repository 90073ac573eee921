"""``tracegraph analyze``: one report whatever form the trace lies in, its files and refusals."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli_runner import Invoke, environment
from cli_runner import run as run_process
from shared_data import shared

FATAL = "examples/traces/tool_error_fatal.otlp.json"
RECOVERED = "examples/traces/tool_error_recover.otlp.json"
LABELLED = ("openinference", "openllmetry")


def _report(invoke: Invoke, *arguments: str) -> Any:
    ran = invoke("analyze", *arguments, "--format", "json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


@pytest.mark.parametrize("source", LABELLED)
@pytest.mark.parametrize(
    ("scenario", "states"),
    [
        ("tool_error_fatal", ["fatal"]),
        ("tool_error_recover", ["recovered"]),
        ("parallel_tools", ["unresolved"]),
        ("interrupt_resume", []),
        ("supervisor_handoff", []),
    ],
)
def test_labelled_runs_have_the_incidents_that_happened(
    source: str, scenario: str, states: list[str], invoke: Invoke
) -> None:
    path = shared(f"traces/otlp_json_{source}/langgraph_gen/{scenario}.otlp.json")
    raw = path.read_text(encoding="utf-8")
    spans = [
        span
        for line in raw.splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    failing = [span["spanId"] for span in spans if span.get("status", {}).get("code") in (2, "2")]
    found, explained = [], 0
    for trace_id in sorted({span["traceId"] for span in spans}):
        report = _report(invoke, str(path), "--trace", trace_id)
        found += report["incidents"]
        explained += report["trace"]["error_count"]
    assert [incident["state"] for incident in found] == states
    assert explained == sum(incident["failing_steps"] for incident in found)
    if states:
        (incident,) = found
        members = [incident["origin"], *incident["propagation"]]
        assert {step["step_id"] for step in members} == set(failing)
        assert incident["origin"]["kind"] == "TOOL"
    if scenario == "tool_error_fatal":
        assert len(failing) == {"openinference": 3, "openllmetry": 4}[source]


def test_the_report_is_the_same_of_an_export_and_of_its_artifact(
    invoke: Invoke, folder: Path
) -> None:
    assert invoke("ingest", RECOVERED, "-o", "A.json").code == 0
    whole = json.loads(Path("A.json").read_text(encoding="utf-8"))
    Path("compact.json").write_text(json.dumps(whole, separators=(",", ":")), encoding="utf-8")
    nested = folder / "deep" / "er"
    nested.mkdir(parents=True)
    (nested / Path(RECOVERED).name).write_bytes(Path(RECOVERED).read_bytes())
    places = [RECOVERED, "A.json", "compact.json", "deep", f"examples/traces#{_id(whole)}"]
    for form in ("json", "md", "csv"):
        reports = {invoke("analyze", place, "--format", form).out for place in places}
        assert len(reports) == 1
    cached = invoke("analyze", "A.json", "--format", "json").out
    assert invoke("analyze", "A.json", "--format", "json", "--no-cache").out == cached


def _id(artifact: Any) -> str:
    return str(artifact["trace"]["trace_id"])


def test_an_export_on_standard_input_has_the_report_of_its_artifact(tmp_path: Path) -> None:
    artifact = tmp_path / "A.json"
    examples = Path(__file__).resolve().parents[2] / FATAL
    run_process("ingest", str(examples), "-o", str(artifact), cwd=tmp_path)
    piped = run_process(
        "analyze", "-", "--format", "json", cwd=tmp_path, stdin=artifact.read_text("utf-8")
    )
    assert piped.code == 0
    assert piped.out == run_process("analyze", str(artifact), "--format", "json", cwd=tmp_path).out


def test_failures_do_not_change_the_exit_code_and_the_next_command_works(invoke: Invoke) -> None:
    ran = invoke("analyze", FATAL)
    assert ran.code == 0
    *_, last = ran.out.splitlines()
    assert last == f"next: tracegraph explain {FATAL} 183f92407e2c3a38"
    assert invoke(*last.split()[2:]).code == 0
    healthy = invoke("analyze", "examples/traces/react_ok.otlp.json")
    assert healthy.code == 0
    assert "no incident" in healthy.out
    assert "next:" not in healthy.out


def test_a_saved_report_names_no_path(invoke: Invoke, folder: Path) -> None:
    path = str(folder / FATAL)
    assert invoke("analyze", path, "-o", "report.txt").code == 0
    assert str(folder) in invoke("analyze", path).out
    assert str(folder) not in Path("report.txt").read_text(encoding="utf-8")


def test_a_baseline_may_be_named_in_two_ways(invoke: Invoke) -> None:
    one = _report(invoke, FATAL, "--baseline", "examples/traces#6f3d")
    other = _report(
        invoke, FATAL, "--baseline", "examples/traces", "--baseline-trace", "6f3d4ceebcd24"
    )
    assert one == other
    assert one["comparison"]["baseline"]["trace_id"].startswith("6f3d")
    digest = invoke("digest", "examples/traces#6f3d").out.strip()
    assert one["comparison"]["baseline"]["artifact_digest"] == digest


def test_the_report_is_written_before_anything_is_shown(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    reading, writing = os.pipe()
    os.close(reading)  # nobody reads: what is shown cannot be
    try:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tracegraph", "analyze", str(root / FATAL)),
                *("--json-out", "report.json"),
            ],
            cwd=tmp_path,
            env=environment(tmp_path / ".cache"),
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert done.returncode == 141
    assert done.stderr == ""
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["incident_counts"]["fatal"] == 1


def test_people_see_three_incidents_and_json_all(invoke: Invoke) -> None:
    steps = [
        {"step_id": f"t{n}", "kind": "TOOL", "name": f"t{n}", "status": "error"} for n in range(5)
    ]
    artifact = {"kind": "tracegraph.trace", "schema_version": 1, "trace": {"trace_id": "x"}}
    Path("x.json").write_text(json.dumps({**artifact, "steps": steps}), encoding="utf-8")
    assert "2 more incidents, not listed (--limit)" in invoke("analyze", "x.json").out
    assert len(_report(invoke, "x.json")["incidents"]) == 5
    assert len(_report(invoke, "x.json", "--limit", "1")["incidents"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["examples/traces"], "holds 7 traces, name one as examples/traces#ID"),
        (["nowhere.json"], "nowhere.json"),
        ([FATAL, "--baseline", "examples/traces"], "holds 7 traces"),
        ([FATAL, "--baseline-trace", "6f3d"], "--baseline, which is missing"),
        ([f"{FATAL}#c510", "--trace", "29bc"], "give one"),
        (["-", "--baseline", "-"], "standard input can be read once"),
        ([FATAL, "--json-out", FATAL], "is an input"),
        ([FATAL, "--json-out", "a.json", "-o", "b.json"], "give one of them"),
        (["examples/README.md"], "no known trace format"),
    ],
)
def test_what_cannot_be_analysed_is_refused(
    arguments: list[str], said: str, invoke: Invoke
) -> None:
    before = Path(FATAL).read_bytes()
    ran = invoke("analyze", *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert Path(FATAL).read_bytes() == before


def test_a_hostile_artifact_brings_no_text_into_the_report(invoke: Invoke) -> None:
    canary = "CANARY me@example.org sk-123"
    artifact = {
        "kind": "tracegraph.trace",
        "schema_version": 1,
        "trace": {
            "trace_id": "x",
            "source": canary,
            "agent": canary,
            "session_id": canary,
            "gaps": [{"code": canary}],
            "attributes": {"notes": [canary]},
            "file": canary,
        },
        "steps": [
            {
                "step_id": "t",
                "kind": "TOOL",
                "status": "error",
                **dict.fromkeys(
                    ("name", "agent", "model", "error_type", "error_message", "status_source"),
                    canary,
                ),
            }
        ],
    }
    Path("x.json").write_text(json.dumps(artifact), encoding="utf-8")
    for form in ("json", "jsonl", "csv", "md", "table"):
        assert "CANARY" not in invoke("analyze", "x.json", "--format", form).out
        assert "CANARY" not in invoke("summarize", "error", "x.json", "--format", form).out
    assert invoke("export-incident-memo", "x.json", "-o", "x.md").code == 0
    assert "CANARY" not in Path("x.md").read_text(encoding="utf-8")
    assert "CANARY" in invoke("why", "x.json").out
