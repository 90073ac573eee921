"""Each task is one step, each answered call one more under it, with the names that nodes saw."""

from collections import Counter
from typing import Any

import pytest

from langgraph_runs.ancestry import is_update, silent_updates
from langgraph_runs.recorded import (
    COMPLETE,
    MODERN,
    VERSIONS,
    Recordings,
    Run,
    count,
    gaps,
    one,
    task_steps,
)
from langgraph_runs.tables import Thread, answers, requests, told_names
from tracegraph.model.trace import Trace


def executed(run: Run, thread: Thread) -> list[dict[str, Any]]:
    """Return the journal's entries of a thread."""
    entries: list[dict[str, Any]] = run.journal["nodes"]
    return [entry for entry in entries if entry["thread"] == thread.thread_id]


def failed_calls(trace: Trace) -> int:
    """Count the tasks that are themselves the step of a call that never answered."""
    return gaps(trace).get("langgraph.failed_call_by_task", 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_thread_is_a_trace(recorded: Recordings, version: str) -> None:
    runs = recorded.of(version)
    assert len(runs) > 45
    for run in runs.values():
        assert sorted(run.traces) == sorted(run.threads), run.name
        for trace in run.traces.values():
            assert (trace.source, trace.session_id) == ("langgraph", trace.trace_id)


@pytest.mark.parametrize("version", COMPLETE)
def test_every_task_is_one_step_and_every_answer_one_more(
    recorded: Recordings, version: str
) -> None:
    wrong = {}
    for thread, trace in recorded.each(version):
        wanted = len(thread.tasks) + len(answers(thread)) + len(silent_updates(thread))
        tasks = sum(not is_update(task) for task in thread.tasks)
        missing = tasks - len(task_steps(trace, thread))
        if (len(trace), missing) != (wanted, 0):
            wrong[thread.thread_id] = (len(trace), wanted, missing)
    assert not wrong


@pytest.mark.parametrize("version", VERSIONS)
def test_answered_calls_are_the_messages_of_tools(recorded: Recordings, version: str) -> None:
    wrong = {}
    for thread, trace in recorded.each(version):
        names = requests(thread)
        wanted: Counter[Any] = Counter(
            (m.get("name") or names[call_id], call_id, m.get("status") == "error")
            for m in answers(thread)
            for call_id in (m["tool_call_id"],)
        )
        found: Counter[Any] = Counter(
            (step.name, step.tool_call_id, step.status == "error")
            for step in trace.steps
            if step.kind == "TOOL"
        )
        unanswered = found - wanted
        if wanted - found or unanswered.total() != failed_calls(trace):
            wrong[thread.thread_id] = (found, wanted)
        assert all(failed for _, _, failed in unanswered), thread.thread_id
    assert not wrong


@pytest.mark.parametrize("version", MODERN)
def test_steps_have_the_names_that_the_nodes_saw(recorded: Recordings, version: str) -> None:
    """A task that is a failed call's own step bears the tool's name instead.

    Without a name is only what nothing names, and it is disclosed.
    """
    wrong: list[object] = []
    for run in recorded.of(version).values():
        told = told_names(run.threads.values())
        for thread in run.threads.values():
            trace = run.traces[thread.thread_id]
            names = {entry["task"]: entry["node"] for entry in executed(run, thread)}
            unnamed = 0
            for (_, task), step in task_steps(trace, thread).items():
                unnamed += step.name is None
                may_be_unnamed = task not in names or names[task] not in told
                named = step.kind == "TOOL" or step.name == names.get(task, step.name)
                if not named and not (step.name is None and may_be_unnamed):
                    wrong.append((thread.thread_id, names[task], step.name))
            if gaps(trace).get("langgraph.unnamed_task", 0) != unnamed:
                wrong.append((thread.thread_id, unnamed, gaps(trace)))
    assert not wrong


def test_every_node_has_a_name_where_task_paths_are_saved(recorded: Recordings) -> None:
    """Of the functional API's tasks nothing but a digest of their names is saved."""
    unnamed = {
        thread.thread_id
        for thread, trace in recorded.each("1.2.24")
        if any(step.name is None for step in task_steps(trace, thread).values())
    }
    assert unnamed == {
        "functional",
        "functional_caught",
        "functional_fails",
        "functional_fails_later",
        "node_calls_tasks",
    }


@pytest.mark.parametrize("version", ("0.1.19", "0.2.3"))
def test_old_steps_have_the_names_that_the_nodes_saw(recorded: Recordings, version: str) -> None:
    """Task ids are not told to the nodes of 2024, so a super-step's names are compared."""
    wrong: dict[str, Any] = {}
    for run in recorded.of(version).values():
        for thread in run.threads.values():
            ran = Counter(e["node"] for e in executed(run, thread) if e["outcome"] == "ok")
            trace = run.traces[thread.thread_id]
            top = Counter(step.name for step in task_steps(trace, thread).values())
            recorded_nodes = Counter({name: n for name, n in top.items() if name in ran})
            if recorded_nodes - ran:
                wrong[thread.thread_id] = (recorded_nodes, ran)
            if (None in top) != ("langgraph.unnamed_task" in gaps(trace)):
                wrong[thread.thread_id] = "unnamed and undisclosed"
    assert not wrong


def test_tasks_whose_writes_were_not_saved_are_recovered(recorded: Recordings) -> None:
    """0.2.20 saves no writes for the last task of a super-step; its child checkpoint names it."""
    wrong = {}
    for thread, trace in recorded.each("0.2.20"):
        told: Counter[str | None] = Counter()
        for checkpoint in thread.checkpoints.values():
            if checkpoint.metadata.get("source") == "input":
                continue
            for node, written in (checkpoint.metadata.get("writes") or {}).items():
                told[node] += len(written) if isinstance(written, list) else 1
        found = Counter(step.name for step in trace.steps)
        # Of a super-step that ran again under its old ids one execution is left, disclosed.
        repeated = gaps(trace).get("langgraph.repeated_superstep", 0)
        if (told - found).total() != repeated:
            wrong[thread.thread_id] = told - found
    assert not wrong


@pytest.mark.parametrize("version", MODERN)
def test_kinds_and_tokens_of_an_agent(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["react_parallel"].trace
    assert [(step.kind, step.name) for step in trace.steps if step.kind != "TOOL"] == [
        ("CHAIN", "__start__"),
        ("LLM", "agent"),
        ("CHAIN", "tools"),
        ("LLM", "agent"),
    ]
    first, last = (step for step in trace.steps if step.kind == "LLM")
    # The script reports 10 tokens a message read, and 7 for the answer.
    assert (first.tokens_prompt, first.tokens_completion, first.tokens_total) == (10, 7, 17)
    assert (last.tokens_prompt, last.tokens_total) == (50, 57)
    assert first.model == last.model == "scripted-1"
    assert "final_answer" in last.signals
    assert "final_answer" not in first.signals


@pytest.mark.parametrize("version", MODERN)
def test_a_whole_agent_in_one_node(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["agent_in_one_node"].trace
    whole = one(trace, "whole")
    assert (whole.kind, whole.tokens_total) == ("AGENT", (10 + 7) + (30 + 7))
    assert count(trace, kind="TOOL", name="weather", status="ok") == 1


@pytest.mark.parametrize("version", MODERN)
def test_a_failing_task_is_named_and_times_are_not_invented(
    recorded: Recordings, version: str
) -> None:
    trace = recorded.of(version)["fan_out_failing"].trace
    (failing,) = (step for step in trace.steps if step.status == "error")
    assert (failing.name, failing.error_type) == ("b", "TimeoutError")
    assert failing.error_message == "b took too long"
    assert trace.status == "error"
    for step in trace.steps:
        assert step.start is not None
        assert (step.end, step.duration_ns) == (None, None)


@pytest.mark.parametrize("version", MODERN)
def test_values_that_need_a_class_are_read_without_it(recorded: Recordings, version: str) -> None:
    run = recorded.of(version)["rich_values"]
    assert [step.name for step in run.trace.steps] == ["__start__", "fills", "silent"]
    assert "langgraph.undecodable_blob" not in gaps(run.trace)
    assert all(step.status == "ok" for step in run.trace.steps)


@pytest.mark.parametrize("version", MODERN)
def test_a_node_that_writes_nothing_ran(recorded: Recordings, version: str) -> None:
    quiet = one(recorded.of(version)["nothing_written"].trace, "quiet")
    assert quiet.status == "ok"


def test_the_oracle_knows_the_rows_of_an_update(recorded: Recordings) -> None:
    """What is_update and silent_updates stand on."""
    for version in MODERN:
        thread = recorded.of(version)["update_state"].thread
        assert (sum(map(is_update, thread.tasks)), len(silent_updates(thread))) == (2, 0)
    # The first update of a thread has no checkpoint to save its writes under.
    thread = recorded.of("1.2.24")["update_state_first"].thread
    assert (sum(map(is_update, thread.tasks)), len(silent_updates(thread))) == (0, 1)
