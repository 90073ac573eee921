"""The shared database of 29 threads: steps, errors and calls as SQL counts them."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from langgraph_runs.ancestry import silent_updates
from langgraph_runs.recorded import gaps, read_traces, task_steps
from langgraph_runs.tables import Thread, answers, requests, threads
from langgraph_runs.test_failures import first_failures
from shared_data import shared
from tracegraph.model.trace import Trace

DATABASE = "traces/langgraph_sqlite/gen_langgraph1.2_all_scenarios.sqlite"


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Thread, Trace]]:
    path: Path = shared(DATABASE)
    traces = {trace.trace_id: trace for trace in read_traces(path)}
    found = threads(path)
    assert sorted(traces) == sorted(found)
    assert len(found) == 29
    assert sum(len(thread.checkpoints) for thread in found.values()) == 213
    return [(thread, traces[thread_id]) for thread_id, thread in found.items()]


def test_steps_are_tasks_and_answered_calls(pairs: list[tuple[Thread, Trace]]) -> None:
    counted = {
        thread.thread_id: len(thread.tasks) + len(answers(thread)) + len(silent_updates(thread))
        for thread, _ in pairs
    }
    assert {thread.thread_id: len(trace) for thread, trace in pairs} == counted
    for thread, trace in pairs:
        assert len(task_steps(trace, thread)) == len(thread.tasks)


def test_error_steps_are_the_tasks_that_failed(pairs: list[tuple[Thread, Trace]]) -> None:
    failing = []
    for thread, trace in pairs:
        steps = task_steps(trace, thread)
        found = {key for key, step in steps.items() if step.status == "error"}
        assert found == first_failures(thread), thread.thread_id
        failing += [(thread.thread_id, steps[key].kind, steps[key].error_type) for key in found]
    assert failing == [("tool_error_fatal", "TOOL", "TimeoutError")]


def test_calls_are_the_messages_of_tools(pairs: list[tuple[Thread, Trace]]) -> None:
    for thread, trace in pairs:
        names = requests(thread)
        wanted: Counter[Any] = Counter(
            (names[m["tool_call_id"]], m["tool_call_id"], m.get("status")) for m in answers(thread)
        )
        found: Counter[Any] = Counter(
            (step.name, step.tool_call_id, "error" if step.status == "error" else "success")
            for step in trace.steps
            if step.kind == "TOOL"
        )
        blamed = gaps(trace).get("langgraph.failed_call_by_task", 0)
        assert (found - wanted).total() == blamed, thread.thread_id
        assert not wanted - found, thread.thread_id


def test_every_call_has_its_model_step(pairs: list[tuple[Thread, Trace]]) -> None:
    for thread, trace in pairs:
        kinds = {step.step_id: step.kind for step in trace.steps}
        for step in trace.steps:
            if step.kind == "TOOL" and step.status_source != "control_flow":
                causes = {
                    (kinds[edge.cause], edge.origin)
                    for edge in trace.causes
                    if edge.effect == step.step_id
                }
                assert causes & {("LLM", "tool_call_id"), ("LLM", "protocol")}, (
                    thread.thread_id,
                    step.name,
                )


def test_no_task_is_unnamed_and_no_blob_unread(pairs: list[tuple[Thread, Trace]]) -> None:
    for _, trace in pairs:
        assert not {"langgraph.unnamed_task", "langgraph.undecodable_blob"} & set(gaps(trace))


def test_an_interrupted_thread_that_was_resumed(pairs: list[tuple[Thread, Trace]]) -> None:
    statuses = {thread.thread_id: trace.status for thread, trace in pairs}
    assert statuses["interrupt_resume"] == "ok"
    assert statuses["tool_error_fatal"] == "error"
    assert statuses["tool_error_recover"] == "ok"
