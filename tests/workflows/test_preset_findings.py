"""What presets find in recorded runs of which it is written down what happens in them."""

import json
from pathlib import Path

import pytest

from shared_data import ROOT, fixture, shared
from tracegraph.pattern.backend import Backend, Request
from tracegraph.workflows.load import load
from tracegraph.workflows.patterns import load_pattern
from tracegraph.workflows.query import run_query

OWN = (
    *(ROOT / "examples" / "traces").glob("*.json"),
    *fixture("otlp").glob("openinference_*.json"),
)
LOOPS = [("loop_bounded", 6)]
"""Scenarios in which a call is repeated with the same result, and how often by their labels."""


def _found(preset: str, *paths: Path, backend: Request = "auto") -> list[tuple[str, int]]:
    """Return scenario, which is the session of a trace, and number of steps of each match."""
    with load(paths, cache=False) as corpus:
        sessions = {trace.trace_id: str(trace.session_id) for trace in corpus.traces()}
        result = run_query(corpus, load_pattern(preset), backend=backend)
        return sorted((sessions[match.trace_id], len(match.steps)) for match in result)


def _example(name: str) -> Path:
    return ROOT / "presets" / "tool-loop.examples" / f"{name}.json"


def test_the_numbers_are_those_of_the_labels() -> None:
    for name in ("openinference", "openllmetry"):
        labels = json.loads(fixture(f"labelled/{name}_labels.json").read_bytes())
        for scenario, calls in LOOPS:
            assert labels[scenario]["pattern"] == f"same_call_x{calls}_then_answer"
            assert labels[scenario]["tool_calls"] == calls


@pytest.mark.parametrize("backend", ["matcher", "cypher"])
def test_loops_of_the_projects_own_runs(backend: Backend) -> None:
    """The tool that fails three times with the same arguments is in none."""
    assert _found("tool-loop", *OWN, backend=backend) == LOOPS
    assert ("tool_retry_same_args", 1) in _found("tool-failure", *OWN)


@pytest.mark.parametrize("source", ["openinference", "openllmetry"])
def test_loops_and_interrupts_of_the_shared_runs(source: str) -> None:
    runs = shared(f"traces/otlp_json_{source}/langgraph_gen")
    assert _found("tool-loop", runs) == LOOPS
    assert _found("interrupt", runs) == [("interrupt_resume", 1)]
    assert _found("soft-tool-error", runs) == []


def test_a_loop_of_a_message_log_and_of_a_database_is_found_once() -> None:
    """No span contains their calls; parallel branches that call alike are no loop."""
    database = shared("traces/langgraph_sqlite/gen_langgraph1.2_all_scenarios.sqlite")
    log = _example("match-in-a-message-log")
    other = _example("no-match-message-log-two-agents")
    for backend in ("matcher", "cypher"):
        with load([database, log, other], cache=False) as corpus:
            result = run_query(corpus, load_pattern("tool-loop"), backend=backend)
            found = sorted((match.trace_id, len(match.steps)) for match in result)
        assert found == [
            ("loop_bounded", 6),
            ("loop_until_limit", 6),
            ("tool-loop-match-in-a-message-log", 3),
        ]
