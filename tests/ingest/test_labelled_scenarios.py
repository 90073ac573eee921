"""Scenarios of which it is written down what happens in them, as several tools recorded them.

The labels were written when the scenarios were run: how each ends, how many tools are called, how
many of the calls fail. OpenInference, its copies in a Collector's file, in Phoenix and in the
checkpoints are one execution; OpenLLMetry's and LangSmith's are executions of their own of the
same program. They give the same calls and failures however many error spans they record.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from shared_data import ROOT, fixture, shared
from tracegraph.analysis.analysis import analyse
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace
from tracegraph.workflows.load import load

LABELS = ("openinference", "openllmetry", "langsmith")
OTLP = "traces/otlp_json_{}/langgraph_gen"
SHARED = {
    "openinference": OTLP.format("openinference"),
    "openllmetry": OTLP.format("openllmetry"),
    "langsmith": "traces/langsmith/nested_by_trace",
    "langsmith page": "traces/langsmith/runs_list_response.json",
    "collector": "traces/otlp_jsonl_collector/openinference_batch.jsonl",
    "phoenix": "traces/phoenix_export/h3_spans.jsonl",
    "checkpoints": "traces/langgraph_sqlite/gen_langgraph1.2_all_scenarios.sqlite",
}
OWN = {
    "openinference": (
        *sorted((ROOT / "examples" / "traces").glob("*.json")),
        *sorted(fixture("otlp").glob("openinference_*.json")),
    ),
    "openllmetry": (
        *sorted(fixture("labelled/openllmetry").glob("*.json")),
        fixture("otlp/openllmetry_tool_error_recover.json"),
    ),
    "langsmith": tuple(
        fixture(f"langsmith/nested_{name}.json") for name in ("tool_error_recover", "unknown_tool")
    ),
    "phoenix": (fixture("phoenix/agents_spans_page.json"),),
}
HELD = {
    "own": {"openinference": 10, "openllmetry": 7, "langsmith": 2, "phoenix": 2},
    "shared": {**dict.fromkeys(SHARED, 16), "langsmith": 5, "langsmith page": 4},
}
"""How many labelled scenarios each holds."""
UNSEEN: dict[str, dict[str, dict[tuple[str | None, str], int]]] = {
    "checkpoints": {
        # What a later attempt replaced, and what fails outside every task, writes nothing.
        "node_retry_policy": {("flaky", "recovered"): 2},
        "regression_v2": {("LangGraph", "fatal"): 1},
    }
}
"""Failures that a source does not record; ingest/test_same_execution.py holds why."""


@dataclass
class Told:
    """What a source tells of a scenario.

    Attributes:
        traces: how many there are.
        status: of the last one.
        calls: tool calls in order: name, digest of the arguments, status.
        refused: tools that were asked for and that nobody offered, where no step shows it.
        failures: what failed first, and how it ended, in order.
        errors: failing steps, those that only pass a failure on included.
    """

    traces: int
    status: str
    calls: list[tuple[str | None, str | None, str]]
    refused: int
    failures: list[tuple[str | None, str]]
    errors: int


def told(traces: list[Trace]) -> Told:
    traces = sorted(traces, key=lambda trace: trace.started or 0)
    steps = [step for trace in traces for step in trace.steps]
    failing = [step for step in steps if step.status == "error"]
    unknown = [step for step in steps if "unknown_tool" in step.signals and step.kind == "LLM"]
    failures = []
    for trace in traces:
        analysis = analyse(trace, ask_presets=False)
        for incident in analysis.incidents:
            origin = Step(analysis.columns, incident.origin)
            failures.append((origin.seq, origin.name, incident.state))
    return Told(
        len(traces),
        traces[-1].status,
        [(s.name, s.args_digest, s.status) for s in steps if s.kind == "TOOL"],
        len(unknown),
        [(name, state) for _, name, state in sorted(failures, key=lambda each: each[0])],
        len(failing),
    )


@cache
def executions(*paths: Path) -> Mapping[str, Told]:
    """Return what some files tell of each scenario, which is the session of its traces."""
    found: dict[str, list[Trace]] = {}
    with load(paths, cache=False) as corpus:
        for trace in corpus.traces():
            found.setdefault(str(trace.session_id), []).append(trace)
        return {name: told(traces) for name, traces in found.items()}


def labels(source: str) -> dict[str, dict[str, Any]]:
    """Return the labels of a source; spans of one execution share those of OpenInference."""
    name = source.partition(" ")[0]
    path = fixture(f"labelled/{name if name in LABELS else LABELS[0]}_labels.json")
    held = json.loads(path.read_bytes())
    assert isinstance(held, dict)
    return held


def of(source: str, place: str) -> Mapping[str, Told]:
    """Return what a source tells, of the shared files or of the project's own."""
    if place == "own":
        return executions(*OWN[source])
    return executions(shared(SHARED[source]))


PLACES = [*((source, "own") for source in OWN), *((source, "shared") for source in SHARED)]
EACH = pytest.mark.parametrize(("source", "place"), PLACES, ids=map(" ".join, PLACES))


def test_the_copies_of_the_labels_are_the_labels() -> None:
    for name in LABELS:
        copied = fixture(f"labelled/{name}_labels.json").read_bytes()
        assert copied == shared(f"traces/labels/{name}_labels.json").read_bytes()


@EACH
def test_calls_failures_and_ends_are_those_of_the_labels(source: str, place: str) -> None:
    found = of(source, place)
    compared = sorted(labels(source).keys() & found.keys())
    assert len(compared) == HELD[place][source]
    for name in compared:
        label, run = labels(source)[name], found[name]
        failing = [call for call in run.calls if call[2] == "error"]
        if "tool_calls" in label:
            assert len(run.calls) + run.refused == label["tool_calls"], name
            assert len(failing) + run.refused == label.get("tool_errors", 0), name
        if source == "checkpoints":  # a thread is one trace, and holds no end of a graph that fails
            assert run.status in (label["outcome"], "unset"), name
        else:
            assert (run.traces, run.status) == (label["traces"], label["outcome"]), name


@EACH
def test_every_source_tells_the_same_calls_and_failures(source: str, place: str) -> None:
    """Compared with the file of the scenario that OpenInference wrote, tool by tool."""
    expected = of("openinference", place)
    compared = 0
    for name, run in of(source, place).items():
        if name not in expected:
            continue
        compared += 1
        other = expected[name]
        if name == "unknown_tool" and source == "checkpoints":
            assert (len(run.calls), run.refused) == (other.refused, len(other.calls))
            continue
        assert run.calls == other.calls, name
        assert run.refused == other.refused, name
        unseen = Counter(UNSEEN.get(source, {}).get(name, {}))
        assert Counter(run.failures) + unseen == Counter(other.failures), name
    assert compared >= 2


@pytest.mark.parametrize("place", ["own", "shared"])
def test_one_failure_is_one_however_many_spans_report_it(place: str) -> None:
    for source in ("openinference", "openllmetry"):
        run = of(source, place)["tool_error_fatal"]
        assert run.errors == labels(source)["tool_error_fatal"]["observed"]["err_status"]
        assert run.failures == [("fetch_page", "fatal")]
    spans = [of(source, place)["tool_error_fatal"].errors for source in LABELS[:2]]
    assert spans == [3, 4]


@pytest.mark.parametrize("place", ["own", "shared"])
def test_control_flow_that_is_recorded_as_an_error_is_no_failure(place: str) -> None:
    """The label counts the spans that OpenLLMetry marked as failed when it ran."""
    observed = {name: label["observed"] for name, label in labels("openllmetry").items()}
    found = of("openllmetry", place)
    paused = {name: observed[name]["err_status"] - run.errors for name, run in found.items()}
    assert paused.pop("interrupt_resume") == 1
    assert set(paused.values()) == {0}
    assert found["interrupt_resume"].failures == []


def _flat(runs: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for run in runs:
        yield run
        yield from _flat(run.get("child_runs") or ())


@pytest.mark.parametrize("name", ["page_handoff", "page_interrupt"])
def test_handoffs_and_interrupts_that_langsmith_records_as_errors(name: str) -> None:
    path = fixture(f"langsmith/{name}.json")
    held = json.loads(path.read_bytes())
    runs = list(_flat(held["runs"] if isinstance(held, dict) and "runs" in held else held))
    assert [run for run in runs if run.get("error")]
    for run in executions(path).values():
        assert (run.errors, run.failures) == (0, [])


def test_the_page_and_the_nested_files_agree_where_both_hold_a_run() -> None:
    page, nested = of("langsmith page", "shared"), of("langsmith", "shared")
    both = page.keys() & nested.keys()
    assert both == {"react_ok", "tool_error_recover"}
    for name in both:
        assert page[name] == nested[name]
