"""``tracegraph validate``: what is wrong with an artifact, with the field that is."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.test_contract import JSON
from cli_runner import Invoke
from cli_runner import run as run_process
from shared_data import ROOT, SHARED, fixture
from tracegraph.analysis.artifact_check import check
from tracegraph.export.artifact import write_artifact
from tracegraph.ingest.source import Source
from tracegraph.workflows.load import load

RECOVERED = "examples/traces/tool_error_recover.otlp.json"


@pytest.fixture
def artifact(invoke: Invoke) -> Any:
    invoke("ingest", RECOVERED, "-o", "A.json")
    return json.loads(Path("A.json").read_text(encoding="utf-8"))


def _first(invoke: Invoke, document: Any) -> tuple[str, str]:
    Path("B.json").write_text(json.dumps(document), encoding="utf-8")
    ran = invoke("validate", "B.json", "--format", "json")
    assert ran.code == 1
    problem = json.loads(ran.out)["files"][0]["problems"][0]
    return problem["path"], problem["text"]


def test_what_tracegraph_writes_is_valid(invoke: Invoke) -> None:
    for keep in ("structure", "errors", "content"):
        invoke("ingest", RECOVERED, "-o", f"{keep}.json", "--keep", keep)
    ran = invoke("validate", "structure.json", "errors.json", "content.json", "examples/made")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "valid    content.json: 1 trace (artifact)",
        "valid    errors.json: 1 trace (artifact)",
        "valid    retry_marker.json: 1 trace (artifact)",
        "valid    structure.json: 1 trace (artifact)",
    ]


@pytest.mark.parametrize("root", ["traces", "cases", "fixtures"])
def test_the_artifact_of_every_real_trace_is_valid(root: str) -> None:
    path = ROOT / "tests" / "fixtures" if root == "fixtures" else SHARED / root
    if not path.exists():
        pytest.skip(f"shared input {root} is not on this machine")
    with load([path], cache=False) as corpus:
        for trace in corpus.traces():
            written = write_artifact(trace)
            assert list(check(written, Source("x", written), is_peer=False)) == [], trace


def test_presets_examples_and_peer_artifacts_are_valid(invoke: Invoke) -> None:
    ran = invoke("validate", str(ROOT / "presets"), str(fixture("peer_artifact")))
    assert ran.code == 0
    assert ran.out.count("valid  ") == len(ran.out.splitlines()) > 20


Change = Callable[[Any], Any]


def _turn_round(artifact: Any) -> None:
    artifact["steps"].reverse()
    for seq, step in enumerate(artifact["steps"]):
        step["seq"] = seq


def _deep(start: bytes) -> bytes:
    return start + b"[" * 5000 + b"]" * 5000 + b"}"


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        (lambda a: a["steps"][3].update(kind="DATA"), "steps[3].kind", '"DATA" is none of UNKNOWN'),
        (lambda a: a["steps"][3].update(seq="3"), "steps[3].seq", '"3" is no integer'),
        (lambda a: a["steps"][3].update(docs=-1), "steps[3].docs", "-1 is below 0"),
        (lambda a: a["steps"][3].update({"a b": 1}), 'steps[3]["a b"]', "no field of the contract"),
        (lambda a: a["steps"][3].pop("step_id"), "steps[3].step_id", "is missing"),
        (lambda a: a["trace"].pop("trace_id"), "trace.trace_id", "is missing"),
        (lambda a: a.update(schema_version=2), "schema_version", "2 is not 1"),
        (lambda a: a.update(schema_version=True), "schema_version", "true is not 1"),
        (lambda a: a["steps"][3].update(started_at="noon"), "steps[3].started_at", "ISO 8601"),
        (
            lambda a: a["steps"][0].update(step_id=a["steps"][1]["step_id"]),
            "steps[1]",
            "is that of",
        ),
        (lambda a: a["causes"][2].update(cause="gone"), "causes[2].cause", "no step of the trace"),
        (lambda a: a["causes"][2].update(cause=a["causes"][2]["effect"]), "causes[2].cause", "own"),
        (
            lambda a: a["causes"][0].update(origin="span_parent", evidence="declared"),
            "causes[0].evidence",
            "declared is more than span_parent can prove",
        ),
        (lambda a: a["steps"][3].update(seq=4), "steps[3].seq", "4, but the steps and causes make"),
        (_turn_round, "steps[0].seq", "0, but the steps"),
        (lambda a: a["steps"][3].update(parent=a["steps"][0]["step_id"]), "steps[3].parent", "but"),
        (lambda a: a["steps"][3].pop("parent"), "steps[3].parent", "is missing; the steps and"),
        (lambda a: a["steps"][0].update(lossy=True), "steps[0].lossy", "true, but the steps and"),
        (lambda a: a["trace"].update(cyclic=True), "trace.cyclic", "true, but the steps and"),
        (lambda a: a["trace"].update(started_at="2020-01-01T00:00:00Z"), "trace.started_at", "but"),
        (lambda a: a["steps"][0].update(status="error"), "trace.status", '"ok", but the steps'),
        (
            lambda a: a["trace"]["gaps"].append({"code": "causes.cycle", "count": 3}),
            "trace.gaps[0].count",
            "3, but the steps and causes make it 0",
        ),
        (lambda a: a["steps"][3].update(docs=2**70), "steps[3].docs", "int"),
        (lambda a: a["steps"][3].update(started_at="2026-99-01T00:00:00Z"), "", "started_at"),
    ],
)
def test_a_line_names_the_field_that_is_wrong(
    change: Change, path: str, said: str, artifact: Any, invoke: Invoke
) -> None:
    change(artifact)
    at, text = _first(invoke, artifact)
    assert at.startswith(path)
    assert said in text
    line = invoke("validate", "B.json").out
    assert line.startswith(f"INVALID  B.json: {f'{at}: ' if at else ''}{text}")
    assert line.count("\n") == 1


def test_what_is_left_out_is_unknown_and_no_contradiction(artifact: Any, invoke: Invoke) -> None:
    for step in artifact["steps"]:
        for derived in ("seq", "parent", "lossy"):
            step.pop(derived, None)
    artifact["steps"].reverse()
    for derived in ("status", "started_at", "ended_at", "cyclic", "gaps"):
        artifact["trace"].pop(derived, None)
    Path("B.json").write_text(json.dumps(artifact), encoding="utf-8")
    assert invoke("validate", "B.json").code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"kind": "tracegraph.trace", "schema_version": 1, "trace": {"trace_id', "not JSON"),
        (b'{"kind": "tracegraph.trace", "schema_version": NaN}', "NaN is no JSON number"),
        (b'{"kind": "tracegraph.trace", "trace": {"trace_id": "\xff"}}', "no UTF-8"),
        (
            b'{"kind": "tracegraph.trace", "trace": {"run_id": "a", "run_id": "b"}}',
            "trace.run_id: is there twice",
        ),
        (_deep(b'{"kind": "tracegraph.trace", "trace": {}, "schema_version": '), "trace.trace_id"),
        (_deep(b'{"kind": "tracegraph.trace", "schema_version": 1, "trace": '), "no object"),
        (
            _deep(b'{"kind": "tracegraph.trace", "schema_version": 1, "trace": {"agent": ') + b"}",
            "trace.trace_id: is missing (and 1 more problem)",
        ),
        (
            _deep(
                b'{"kind": "tracegraph.trace", "schema_version": 1, "trace": {"trace_id": "t", '
                b'"attributes": {"a": '
            )
            + b"}}",
            "nested too deeply",
        ),
        (b'{"schema_version": 7, "trace": {"edges": [], "steps": [{"step_id": 1}]}}', "trace"),
        (b"", "the file is empty"),
        (b"\x00\x01", "no artifact"),
        (b"[]", "no artifact"),
        (b'{"resourceSpans": []}', "no artifact: holds otlp"),
    ],
)
def test_what_is_no_artifact_is_invalid_where_it_is_named(
    text: bytes, said: str, invoke: Invoke
) -> None:
    Path("B.json").write_bytes(text)
    ran = invoke("validate", "B.json")
    assert ran.code == 1
    assert ran.out.startswith("INVALID  B.json: ")
    assert said in ran.out
    assert ran.out.count("\n") == 1


def test_a_peer_artifact_is_checked_as_far_as_it_is_read(invoke: Invoke) -> None:
    document = json.loads(fixture("peer_artifact/otlp_span_links.v7.json").read_bytes())
    body = document["trace"]
    edges = [n for n, edge in enumerate(body["edges"]) if edge["type"] == "CAUSED_BY"]
    changes: list[tuple[Callable[[], object], str]] = [
        (lambda: body["edges"][edges[0]].update(dst="gone"), f"trace.edges[{edges[0]}].dst"),
        (lambda: body["edges"].append(body["edges"][edges[1]]), "trace.edges["),
        (lambda: body["steps"].append(body["steps"][0]), "trace.steps["),
        (lambda: body["steps"][0].update(kind="FOO"), "trace.steps[0].kind"),
        (lambda: document.update(schema_version=99), "schema_version"),
    ]
    whole = json.dumps(document)
    for change, path in changes:
        document = json.loads(whole)
        body = document["trace"]
        change()
        at, text = _first(invoke, document)
        assert at.startswith(path), text


def test_several_artifacts_in_a_file_are_told_apart(artifact: Any, invoke: Invoke) -> None:
    whole = json.dumps(artifact)
    artifact["steps"][0]["kind"] = "FOO"
    damaged = json.dumps(artifact)
    Path("many.jsonl").write_text(f"{whole}\n{damaged}\n", encoding="utf-8")
    Path("many.json").write_text(f"[{damaged},{whole}]", encoding="utf-8")
    ran = invoke("validate", "many.jsonl", "many.json")
    assert ran.code == 1
    first, second = ran.out.splitlines()
    assert first.startswith("INVALID  many.json: item 1: steps[0].kind: ")
    assert second.startswith("INVALID  many.jsonl: line 2: steps[0].kind: ")


def test_folders_are_searched_and_other_files_passed_over(invoke: Invoke) -> None:
    ran = invoke("validate", "examples", "--format", "json")
    assert ran.code == 0
    found = json.loads(ran.out)
    assert [file["file"] for file in found["files"]] == ["made/retry_marker.json"]
    assert "README.md" in {passed["file"] for passed in found["passed"]}
    assert "passed over README.md: no artifact" in ran.err


@pytest.mark.parametrize("paths", [[], ["nowhere.json"], ["examples/traces"]])
def test_without_an_artifact_there_is_nothing_to_say(paths: list[str], invoke: Invoke) -> None:
    ran = invoke("validate", *paths)
    assert ran.code == 2
    assert ran.out == ""


def test_standard_input_is_validated(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "made" / "retry_marker.json").read_text(encoding="utf-8")
    assert run_process("validate", "-", cwd=tmp_path, stdin=text).code == 0
    assert run_process("validate", "-", cwd=tmp_path, stdin=text[:-9]).code == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(JSON, st.sampled_from(["document", "trace", "steps", "causes"]))
def test_no_json_breaks_the_check(value: Any, place: str) -> None:
    document: Any = {
        "kind": "tracegraph.trace",
        "schema_version": 1,
        "trace": {"trace_id": "t"},
        "steps": [{"step_id": "a"}, {"step_id": "b"}],
        "causes": [{"effect": "b", "cause": "a"}],
    }
    document = value if place == "document" else {**document, place: value}
    for is_peer in (False, True):
        data = json.dumps(document).encode()
        list(check(data, Source("x", data), is_peer=is_peer))
