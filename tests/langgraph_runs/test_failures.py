"""What failed is an error, once; what was torn down, held or handed over is not."""

import pytest

from langgraph_runs.recorded import (
    MODERN,
    VERSIONS,
    Recordings,
    Run,
    causes,
    gaps,
    named,
    one,
    read_traces,
    task_steps,
)
from langgraph_runs.tables import Task, Thread, told_names
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace


def errors(trace: Trace) -> list[Step]:
    return [step for step in trace.steps if step.status == "error"]


def inside(thread: Thread, task: Task) -> list[Task]:
    """Return the tasks of the graphs that a task ran, one level down.

    The second graph that one task runs has its number as one more part of its namespace.
    """
    return [
        other
        for other in thread.tasks
        if [part for part in other.namespace.split("|") if not part.isdigit()][-1].endswith(
            f":{task.task_id}"
        )
    ]


def ended(run: Run) -> str:
    """Return how the last call of the graph ended; 0.2.76 fails with a task that was called."""
    return "ok" if run.journal["runs"][-1]["outcome"] == "ok" else "error"


def provable(version: str, name: str, run: Run) -> str | None:
    """Return a node's name, None where the release is one that may not tell it, and does not."""
    told = told_names(run.threads.values()) if version == "0.2.76" else name
    return name if name in told else None


def first_failures(thread: Thread) -> set[tuple[str, str]]:
    """Return the tasks that failed and did not only pass on what failed inside them."""
    return {
        (task.checkpoint_id, task.task_id)
        for task in thread.tasks
        if thread.failed(task) and not any(o.errors == task.errors for o in inside(thread, task))
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_error_steps_are_the_tasks_that_failed_first(recorded: Recordings, version: str) -> None:
    wrong = {}
    for thread, trace in recorded.each(version):
        if thread.thread_id in {"error_channel", "node_calls_tasks"} or (
            "functional" in thread.thread_id
        ):
            continue
        found = {key for key, step in task_steps(trace, thread).items() if step.status == "error"}
        if found != first_failures(thread):
            wrong[thread.thread_id] = (found, first_failures(thread))
    assert not wrong


@pytest.mark.parametrize("version", MODERN)
@pytest.mark.parametrize(
    ("scenario", "failing"),
    [
        ("node_raises", ("second", "ValueError", "no")),
        ("fan_out_failing", ("b", "TimeoutError", "b took too long")),
        ("map_reduce_failing", ("work", "KeyError", "y")),
        ("retry_exhausted", ("flaky", "ConnectionError", "attempt 2")),
        ("subgraph_fails", ("inner_two", "ValueError", "inside broke")),
        ("nested_three_fails", ("deep_two", "OSError", "no space left")),
        ("subgraph_caught", ("inner_two", "ValueError", "inside broke")),
        ("condition_raises", ("first", "LookupError", "no such way")),
        ("two_threads", ("second", "ValueError", "bad item")),
        ("fork_after_failure", ("two", "ValueError", "no good item")),
        ("cancelled_in_queue", ("a_fails", "ValueError", "broke")),
    ],
)
def test_one_error_step_with_its_name_and_words(
    recorded: Recordings, version: str, scenario: str, failing: tuple[str, str, str]
) -> None:
    run = recorded.of(version)[scenario]
    (step,) = (step for trace in run.traces.values() for step in errors(trace))
    name, kind, words = failing
    assert (step.name, step.error_type) == (provable(version, name, run), kind)
    assert step.error_message is not None
    assert step.error_message.strip("'") == words


@pytest.mark.parametrize("version", MODERN)
@pytest.mark.parametrize("scenario", ["subgraph_fails", "nested_three_fails"])
def test_what_contains_the_failing_task_is_not_at_fault(
    recorded: Recordings, version: str, scenario: str
) -> None:
    trace = recorded.of(version)[scenario].trace
    (failing,) = errors(trace)
    levels = ("sub",) if scenario == "subgraph_fails" else ("level_one", "level_two", "level_three")
    for step in (one(trace, name) for name in levels):
        assert step.wrapper
        assert (step.status, step.status_source) == ("unset", "subgraph")
        assert step.error_type == failing.error_type
    assert trace.status == "error"


@pytest.mark.parametrize("version", MODERN)
def test_another_error_outside_is_another_failure(recorded: Recordings, version: str) -> None:
    run = recorded.of(version)["subgraph_reraised"]
    trace = run.trace
    assert {(step.name, step.error_type) for step in errors(trace)} == {
        (provable(version, "inner_two", run), "ValueError"),
        ("sub", "RuntimeError"),
    }
    assert one(trace, "sub").wrapper


@pytest.mark.parametrize("version", MODERN)
def test_called_tasks_fail_though_their_caller_goes_on(recorded: Recordings, version: str) -> None:
    """Functional API: that a step was gone on from says nothing of what its task called."""
    run = recorded.of(version)["functional_caught"]
    trace = run.trace
    assert [step.error_type for step in errors(trace)] == ["ZeroDivisionError"] * 3
    flows = named(trace, "flow")
    assert [step.status for step in flows] == ["ok", "ok"]
    assert trace.status == ended(run)
    assert "langgraph.failed_attempt" not in gaps(trace)
    ids = {step.step_id for step in flows}
    for step in trace.steps:
        found = [edge for edge in trace.causes if edge.effect == step.step_id]
        # What a task called ended in it: the next turn begins after the task, not after those.
        assert {edge.cause for edge in found} <= ids
        if step.step_id not in ids:
            assert [edge.origin for edge in found] == ["span_parent"]


@pytest.mark.parametrize("version", MODERN)
def test_a_task_that_a_node_called_fails_though_the_node_goes_on(
    recorded: Recordings, version: str
) -> None:
    run = recorded.of(version)["node_calls_tasks"]
    (failing,) = errors(run.trace)
    assert (failing.name, failing.error_type) == (None, "ZeroDivisionError")
    assert one(run.trace, "node").status == "ok"
    assert run.trace.status == ended(run)
    assert "langgraph.failed_attempt" not in gaps(run.trace)
    for after in named(run.trace, "after"):
        assert causes(run.trace, after) == [("node", "checkpoint_write")]


@pytest.mark.parametrize("version", MODERN)
def test_a_called_task_that_ends_its_caller_is_one_failure(
    recorded: Recordings, version: str
) -> None:
    trace = recorded.of(version)["functional_fails_later"].trace
    (failing,) = errors(trace)
    assert (failing.name, failing.error_type) == (None, "ArithmeticError")
    flow = one(trace, "flow")
    assert (flow.status, flow.status_source) == ("unset", "subgraph")
    assert trace.status == "error"


@pytest.mark.parametrize("version", MODERN)
def test_a_failure_that_was_caught_leaves_the_run_ok(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["subgraph_caught"].trace
    assert trace.status == "ok"
    # The inner graph was ended by the failure, so it returned nothing.
    assert [origin for _, origin in causes(trace, one(trace, "after"))] == ["checkpoint_write"]
    assert (one(trace, "sub").status, one(trace, "after").status) == ("ok", "ok")


def test_a_failure_that_a_handler_answered(recorded: Recordings) -> None:
    """The handler runs because of the failure, and in the same super-step."""
    trace = recorded.of("1.2.24")["error_handler"].trace
    (failing,) = errors(trace)
    assert (failing.name, failing.error_type) == ("breaks", "ValueError")
    handler = one(trace, "__error_handler__breaks")
    assert handler.status == "ok"
    assert [name for name, _ in causes(trace, handler)] == ["breaks"]
    assert trace.status == "ok"


@pytest.mark.parametrize("version", MODERN)
def test_a_torn_down_sibling_is_not_at_fault(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["cancelled_in_queue"].trace
    torn = one(trace, "c_queued")
    assert (torn.status, torn.status_source) == ("unset", "cancelled")
    assert torn.error_message is None
    assert one(trace, "b_slow").status == "ok"
    assert trace.status == "error"


def test_a_called_task_and_its_caller_fail_once(recorded: Recordings) -> None:
    """The functional API: the path of a called task names its caller, which passes on the error."""
    trace = recorded.of("1.2.24")["functional_fails"].trace
    (failing,) = errors(trace)
    assert failing.error_type == "ArithmeticError"
    assert trace.status == "error"


@pytest.mark.parametrize("version", MODERN)
def test_attempts_that_were_retried_are_not_in_the_record(
    recorded: Recordings, version: str
) -> None:
    run = recorded.of(version)["retry_policy"]
    assert [e["outcome"] for e in run.journal["nodes"] if e["node"] == "flaky"] == [
        "ConnectionError",
        "ConnectionError",
        "ok",
    ]
    assert one(run.trace, "flaky").status == "ok"
    assert run.trace.status == "ok"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_run_stopped_by_the_recursion_limit_shows_what_ran(
    recorded: Recordings, version: str
) -> None:
    run = recorded.of(version)["recursion_limit"]
    assert [entry["outcome"] for entry in run.journal["runs"]] == ["GraphRecursionError"]
    assert [step.name for step in run.trace.steps] == ["__start__", *["again"] * 4]
    assert not errors(run.trace)


@pytest.mark.parametrize("version", ("0.1.19", "0.2.3", *MODERN))
def test_an_error_channel_fails_where_it_becomes_set(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["error_channel"].trace
    assert {step.name: step.status for step in trace.steps} == {
        "__start__": "ok",
        "fine": "ok",
        "sets": "error",
        "rewrites": "ok",
        "clears": "ok",
        "sets_again": "error",
    }
    sets = one(trace, "sets")
    assert (sets.status_source, sets.error_message) == ("error_channel", "disk full")
    assert "7" in (one(trace, "sets_again").error_message or "")
    assert gaps(trace).get("langgraph.rewritten_error_channel") == 1
    assert trace.status == "error"


def test_another_error_channel_can_be_named(recorded: Recordings) -> None:
    path = recorded.of("1.2.24")["error_channel"].path
    (trace,) = read_traces(path, error_channel="said")
    # `said` is a list with something in it from the first node on.
    assert [step.name for step in errors(trace)] == ["fine"]
    (trace,) = read_traces(path, error_channel="no_such_channel")
    assert not errors(trace)


@pytest.mark.parametrize("version", MODERN)
@pytest.mark.parametrize("scenario", ["react_raising", "tool_fails_then_continued"])
def test_the_task_of_the_one_open_call_is_that_call(
    recorded: Recordings, version: str, scenario: str
) -> None:
    trace = recorded.of(version)[scenario].trace
    (call,) = errors(trace)
    assert (call.kind, call.name, call.tool_call_id) == ("TOOL", "weather", "call_atlantis")
    assert (call.error_type, call.error_message) == ("ValueError", "unknown city: Atlantis")
    assert call.args_digest is not None
    assert call.result_digest is None
    asked = one(trace, "agent")
    assert (asked.step_id, "protocol", "derived") in [
        (edge.cause, edge.origin, edge.evidence)
        for edge in trace.causes
        if edge.effect == call.step_id
    ]
    assert gaps(trace)["langgraph.failed_call_by_task"] == 1


@pytest.mark.parametrize("version", MODERN)
def test_a_node_that_refuses_a_call_is_not_the_call(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["guard_raises"].trace
    (failing,) = errors(trace)
    assert (failing.kind, failing.error_type) == ("CHAIN", "PermissionError")
    found = gaps(trace)
    assert "langgraph.failed_call_by_task" not in found
    if version == "0.2.76":  # nothing there names a node that never returned, or its trigger
        assert (failing.name, found["langgraph.unnamed_task"]) == (None, 1)
    else:
        assert (failing.name, found["langgraph.unattributed_tool_failure"]) == ("guard", 1)


@pytest.mark.parametrize("version", MODERN)
def test_of_several_open_calls_none_is_blamed(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["react_parallel_raising"].trace
    (failing,) = errors(trace)
    assert (failing.kind, failing.name, failing.tool_call_id) == ("CHAIN", "tools", None)
    assert not [step for step in trace.steps if step.kind == "TOOL"]
    assert gaps(trace)["langgraph.unattributed_tool_failure"] == 1
    assert "unanswered_call" in one(trace, "agent").signals


@pytest.mark.parametrize("version", MODERN)
def test_a_call_with_a_task_of_its_own_is_blamed_by_its_packet(
    recorded: Recordings, version: str
) -> None:
    """The prebuilt agent sends each call to a task: which one failed is in the packet."""
    trace = recorded.of(version)["prebuilt_raising"].trace
    (call,) = errors(trace)
    assert (call.kind, call.name, call.tool_call_id) == ("TOOL", "weather", "call_atlantis")
    answered = [(step.name, step.status) for step in trace.steps if step.kind == "TOOL"]
    assert sorted(answered) == [("add", "ok"), ("weather", "error"), ("weather", "ok")]


@pytest.mark.parametrize("version", MODERN)
def test_a_failure_that_the_tool_node_answered(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["react_handled"].trace
    failed, worked = named(trace, "weather")
    assert (failed.status, worked.status) == ("error", "ok")
    assert "unknown city: Atlantis" in (failed.error_message or "")
    assert trace.status == "ok"
    assert [step.status for step in named(trace, "tools")] == ["ok", "ok"]


@pytest.mark.parametrize("version", MODERN)
def test_a_tool_that_nobody_knows(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["react_unknown"].trace
    call = one(trace, "teleport")
    assert (call.kind, call.status, call.tool_call_id) == ("TOOL", "error", "call_unknown")
    assert trace.status == "ok"
