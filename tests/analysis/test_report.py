"""The report: its contract, its privacy, its words."""

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from made_runs import LONG, Run, failed
from shared_data import ROOT
from tracegraph.analysis.evaluations import ATTRIBUTE
from tracegraph.export.analysis import analysis_report
from tracegraph.export.analysis_text import analysis_lines
from tracegraph.export.artifact import write_artifact
from tracegraph.export.safe_artifact import safe_trace
from tracegraph.export.table import Format, render
from tracegraph.model.trace import Trace
from tracegraph.workflows.analyze import analyze, run_of
from tracegraph.workflows.from_bytes import read_bytes

CANARY = "CANARY me@example.org sk-123"
VALIDATOR = Draft202012Validator(
    json.loads((ROOT / "contracts" / "analysis.v1.schema.json").read_text(encoding="utf-8"))
)


def _rich() -> Run:
    """A run in which there is something of everything."""
    evaluations = [
        {"name": "correct", "label": "no", "score": 0.5, "step_id": "t1"},
        {"name": CANARY, "label": CANARY, "explanation": CANARY},
    ]
    run = Run(
        session_id=CANARY,
        attributes=json.dumps({ATTRIBUTE: evaluations, "notes": [CANARY]}),
        gaps=Counter({"made.lost": 2}),
    )
    run.step("root", "CHAIN", at=LONG, **failed("disk full " + CANARY))
    run.step("m1", "LLM", inside="root", tokens_prompt=25, cost="0.1", model="gpt " + CANARY)
    asked = [("m1", "tool_call_id")]
    run.step("t1", name="search", inside="root", after=asked, **failed("busy"))
    run.step("m2", "LLM", inside="root", after=[("t1", "tool_call_id")])
    run.step("t2", name="search", inside="root", after=[("m2", "tool_call_id")])
    run.step("t3", name="write the file", inside="root", **failed("disk full " + CANARY, CANARY))
    return run


def _document(limit: int | None = None) -> Any:
    baseline = run_of(Run().step("t3", name="write the file", **failed("other")).trace())
    told = analyze(run_of(_rich().trace()), baseline, limit)
    return json.loads("".join(render(analysis_report(told), Format.JSON)))


def _objects(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        yield path
        for key, item in value.items():
            yield from _objects(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _objects(item, (*path, index))


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def test_the_report_holds_its_contract() -> None:
    document = _document()
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []
    states = {incident["state"] for incident in document["incidents"]}
    assert states == {"fatal", "recovered"}
    assert document["incident_counts"] == {"fatal": 1, "unresolved": 0, "recovered": 1}
    assert _document(limit=1)["incidents"] == document["incidents"][:1]
    assert _document(limit=1)["incident_counts"] == document["incident_counts"]


def test_a_mutated_report_does_not() -> None:
    document = _document()
    for path in _objects(document):
        for key, value in _at(document, path).items():
            less = copy.deepcopy(document)
            del _at(less, path)[key]
            assert not VALIDATOR.is_valid(less), f"{path} without {key}"
            odd = copy.deepcopy(document)
            _at(odd, path)[key] = {"of": "another type"} if not isinstance(value, dict) else 1
            assert not VALIDATOR.is_valid(odd), f"{path} with another {key}"
        more = copy.deepcopy(document)
        _at(more, path)["unheard_of"] = 1
        assert not VALIDATOR.is_valid(more), f"{path} with one more"


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["incidents"][0]["origin"].update(name="free text"),
        lambda d: d["incidents"][0].update(recovered_by=d["incidents"][1]["recovered_by"]),
        lambda d: d["incidents"][1].update(recovered_by=None),
        lambda d: d["trace"].update(artifact_digest="00"),
        lambda d: d["metrics"]["cost"].update(value=0.1),
    ],
)
def test_what_a_report_must_not_say_breaks_the_contract(change: Any) -> None:
    document = _document()
    change(document)
    assert not VALIDATOR.is_valid(document)


def test_no_free_text_reaches_a_report() -> None:
    told = analyze(run_of(_rich().trace()))
    report = analysis_report(told)
    forms = ["".join(render(report, form)) for form in Format]
    forms.append("".join(analysis_lines(told, None)))
    for text in forms:
        for secret in ("CANARY", "example.org", "disk full", "write the file"):
            assert secret not in text
    document = json.loads(forms[list(Format).index(Format.JSON)])
    alias = "redacted:" + hashlib.sha256(b"write the file").hexdigest()
    assert document["incidents"][0]["origin"]["name"] == alias
    assert "names.aliased" in {each["code"] for each in document["disclosures"]}


def test_patterns_match_by_names_that_reports_do_not_show() -> None:
    run = Run().step("a", name="search the web").step("r", "CHAIN", name="retry: search the web")
    run._edges += [("r", "a", "span_link"), ("b", "r", "span_link")]
    run.step("b", name="search the web", **failed())
    told = analyze(run_of(run.trace()))
    found = {each.pattern.id: each.confirmed for each in told.analysis.patterns}
    assert found["tool-retry-failure"] == 1


def test_the_safe_artifact_holds_no_free_text_and_reads_back_the_same() -> None:
    trace = _rich().trace()
    safe = write_artifact(safe_trace(trace, "px"), "structure")
    for secret in (b"CANARY", b"example.org", b"disk full", b"busy", b"write the file"):
        assert secret not in safe
    header = json.loads(safe)["trace"]
    assert header["file"] == "px"
    assert "file_digest" not in header
    assert header["attributes"][ATTRIBUTE][0] == {
        "label": "no",
        "name": "correct",
        "score": 0.5,
        "step_id": "t1",
    }
    with read_bytes("safe.json", safe) as corpus:
        again = next(corpus.traces())
        assert write_artifact(again, "structure") == safe
        assert [(s.step_id, s.kind, s.status, s.start) for s in again.steps] == [
            (s.step_id, s.kind, s.status, s.start) for s in trace.steps
        ]


def test_an_alias_stays_an_alias() -> None:
    trace = _rich().trace()
    once = safe_trace(trace, "px")
    assert write_artifact(safe_trace(once, "px")) == write_artifact(once)
    assert safe_trace(trace, "px").columns is not trace.columns
    assert trace.session_id == CANARY


def _codes(run: Run) -> set[str]:
    told = analyze(run_of(run.trace()))
    document = json.loads("".join(render(analysis_report(told), Format.JSON)))
    assert VALIDATOR.is_valid(document)
    return {each["code"] for each in document["disclosures"]}


@pytest.mark.parametrize(
    ("run", "codes"),
    [
        (Run().step("a"), set()),
        (Run(fidelity=1).step("a"), {"fidelity.parent_only"}),
        (Run(fidelity=2).step("a"), {"fidelity.order_only"}),
        (Run().step("a", status="unset"), {"run.end_unknown", "outcomes.unknown"}),
        (Run(status=2).step("a"), {"run.failure_not_located"}),
        (Run().step("a").step("b", orphan=True), {"steps.orphaned"}),
        (Run().step("a", name="two words"), {"names.aliased"}),
        (
            Run()
            .step("a", "CHAIN")
            .step("b", "CHAIN", after=[("a", "edge"), ("c", "edge")])
            # The circle is closed by the last step.
            .step("c", "CHAIN", after=[("b", "edge")]),
            {"run.cyclic_causes"},
        ),
    ],
    ids=lambda value: "-".join(sorted(value)) if isinstance(value, set) else "",
)
def test_what_cannot_be_known_is_said(run: Run, codes: set[str]) -> None:
    assert codes <= _codes(run)
    if not codes:
        assert _codes(run) == set()


def test_the_words() -> None:
    baseline = run_of(Run().step("a", status="unset").trace())
    text = "".join(analysis_lines(analyze(run_of(_rich().trace()), baseline), 1))
    lines = text.splitlines()
    assert lines[0] == "run (made, error, full)"
    assert lines[1] == "6 steps, 3 failing: 2 incidents (1 fatal, 1 recovered)"
    assert lines[2].startswith("1. fatal: TOOL redacted:")
    assert lines[3] == "   passed on by CHAIN root @root"
    assert "1 more incident, not listed (--limit)" in lines
    assert "evaluation: correct no, 0.5 @t1" in lines
    assert "prompt tokens 25 (of 1 of 2 steps)" in text
    assert "gaps: made.lost 2" in lines
    assert any(line.startswith("not known: counts of incidents") for line in lines)
    healthy = "".join(analysis_lines(analyze(run_of(Run().step("a").trace())), 3))
    assert "1 step, 0 failing: no incident\n" in healthy
    unknown = "".join(analysis_lines(analyze(run_of(Run().step("a", status="unset").trace())), 3))
    assert "no incident is recorded\n" in unknown


def test_a_report_is_the_same_whatever_lies_beside_the_trace() -> None:
    first = analyze(run_of(_rich().trace()))
    second = analyze(run_of(Trace(_rich().columns(), 0)))
    one, two = ("".join(render(analysis_report(told), Format.JSON)) for told in (first, second))
    assert one == two
