"""Threads that were held, resumed, forked, written to from outside, or went on for more turns."""

import sqlite3
from contextlib import closing

import pytest

from langgraph_runs.recorded import (
    MODERN,
    Recordings,
    causes,
    count,
    gaps,
    named,
    one,
    task_steps,
)
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace

WROTE = "checkpoint_write"
OLD_AND_NEW = ("0.2.3", *MODERN)


def reached(trace: Trace, step: Step) -> set[str]:
    """Return the ids of everything that a step goes back to."""
    causes_of: dict[str, set[str]] = {}
    for edge in trace.causes:
        causes_of.setdefault(edge.effect, set()).add(edge.cause)
    found: set[str] = set()
    waiting = [step.step_id]
    while waiting:
        for cause in causes_of.get(waiting.pop(), ()):
            if cause not in found:
                found.add(cause)
                waiting.append(cause)
    return found


@pytest.mark.parametrize("version", MODERN)
@pytest.mark.parametrize(
    ("scenario", "waiting"),
    [("interrupted_left", "ask"), ("interrupt_in_tool_left", "tools"), ("node_interrupt", "two")],
)
def test_an_interrupted_run_is_not_a_failed_one(
    recorded: Recordings, version: str, scenario: str, waiting: str
) -> None:
    trace = recorded.of(version)[scenario].trace
    # NodeInterrupt has no namespace, and 0.2.76 no task_path: there nothing names the node.
    unnamed = (version, scenario) == ("0.2.76", "node_interrupt")
    (step,) = named(trace, waiting) or [step for step in trace.steps if step.name is None]
    assert (step.name is None) == unnamed
    assert (step.status, step.status_source) == ("unset", "control_flow")
    assert "interrupt" in step.signals
    assert trace.status == "unset"
    assert count(trace, status="error") == 0


@pytest.mark.parametrize("version", MODERN)
@pytest.mark.parametrize(
    ("scenario", "asked"),
    [
        ("interrupt_resume", ("ask",)),
        ("interrupt_twice", ("ask",)),
        ("interrupt_parallel", ("asks",)),
        ("interrupt_in_subgraph", ("inner_ask", "sub")),
        ("interrupt_in_tool", ("tools",)),
    ],
)
def test_a_resumed_task_that_answered_is_ok_and_one_step(
    recorded: Recordings, version: str, scenario: str, asked: tuple[str, ...]
) -> None:
    trace = recorded.of(version)[scenario].trace
    for name in asked:
        assert one(trace, name).status == "ok"
    assert trace.status == "ok"
    assert count(trace, status="error") == 0


@pytest.mark.parametrize("version", MODERN)
def test_a_failure_after_an_interrupt_is_a_failure(recorded: Recordings, version: str) -> None:
    """Each call of the graph replaces these rows, so the later row is of the later call."""
    trace = recorded.of(version)["interrupt_then_raises"].trace
    *_, step = trace.steps
    assert (step.status, step.status_source, step.error_type) == ("error", "recorded", "ValueError")
    assert trace.status == "error"
    assert not gaps(trace).keys() & {"langgraph.undecided_interrupt"}


@pytest.mark.parametrize("version", MODERN)
def test_an_interrupt_after_a_failure_is_an_interrupt(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["failed_then_asks"].trace
    *_, step = trace.steps
    assert (step.status, step.status_source) == ("unset", "control_flow")
    assert "interrupt" in step.signals
    assert trace.status == "unset"
    assert not gaps(trace).keys() & {"langgraph.undecided_interrupt"}


def test_input_written_from_outside_is_no_task(recorded: Recordings) -> None:
    """``update_state`` as ``__input__`` stores the input among the writes of the checkpoint."""
    run = recorded.of("1.2.24")["updated_as_input"]
    with closing(sqlite3.connect(f"file:{run.path}?immutable=1", uri=True)) as connection:
        rows = connection.execute("SELECT count(*) FROM writes WHERE channel = '__start__'")
        assert rows.fetchone() == (1,)
    assert [step.name for step in run.trace.steps] == [*("__start__", "one", "two", "three")] * 2
    assert not gaps(run.trace)
    _, second = named(run.trace, "__start__")
    assert causes(run.trace, second) == [("three", "checkpoint_parent")]


@pytest.mark.parametrize("version", MODERN)
@pytest.mark.parametrize("scenario", ["interrupt_half_resumed"])
def test_an_interrupt_beside_a_resume_without_a_result_is_undecided(
    recorded: Recordings, version: str, scenario: str
) -> None:
    """Asked again or answered in silence: the rows are the same."""
    trace = recorded.of(version)[scenario].trace
    *_, step = trace.steps
    assert (step.name, step.status) == ("ask", "unset")
    assert "interrupt" in step.signals
    assert gaps(trace)["langgraph.undecided_interrupt"] == 1
    assert trace.status == "unset"


@pytest.mark.parametrize("version", OLD_AND_NEW)
def test_a_breakpoint_leaves_no_step_and_a_resume_goes_on(
    recorded: Recordings, version: str
) -> None:
    left = recorded.of(version)["breakpoint_left"].trace
    assert [step.name for step in left.steps] == ["__start__", "one"]
    resumed = recorded.of(version)["breakpoint_resumed"].trace
    assert [step.name for step in resumed.steps] == ["__start__", "one", "two", "three"]
    assert causes(resumed, one(resumed, "two")) == [("one", WROTE)]


@pytest.mark.parametrize("version", MODERN)
def test_a_continued_task_that_failed_first_is_ok(recorded: Recordings, version: str) -> None:
    """The row of the failure stays beside the result; the graph went on from the result."""
    run = recorded.of(version)["raised_then_continued"]
    (task,) = (task for task in run.thread.tasks if task.errors)
    assert task.channel("said") == [["second"]]
    second = one(run.trace, "second")
    assert second.status == "ok"
    assert run.trace.status == "ok"


@pytest.mark.parametrize("version", MODERN)
@pytest.mark.parametrize("scenario", ["fork_invoke", "fork_update", "fork_after_failure"])
def test_branches_of_a_fork_do_not_cross(recorded: Recordings, version: str, scenario: str) -> None:
    """Whatever a step goes back to was written on the line of checkpoints that leads to it."""
    run = recorded.of(version)[scenario]
    thread, trace = run.thread, run.trace
    steps = task_steps(trace, thread)
    place_of = {step.step_id: checkpoint for (checkpoint, _), step in steps.items()}
    parents = {c.checkpoint_id: c.parent for c in thread.checkpoints.values()}
    compared = 0
    for (checkpoint, _), step in steps.items():
        line = {checkpoint}
        current = parents[checkpoint]
        while current is not None:
            line.add(current)
            current = parents[current]
        for cause in reached(trace, step):
            if cause in place_of:
                assert place_of[cause] in line
                compared += 1
    assert compared >= 5


@pytest.mark.parametrize("version", MODERN)
def test_both_branches_hang_on_the_same_cause(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["fork_invoke"].trace
    assert len(named(trace, "one")) == 1
    for step in named(trace, "two"):
        assert causes(trace, step) == [("one", WROTE)]
    # 0.2 runs `two` again under its old ids, and the table keeps one of the two.
    assert len(named(trace, "two")) == (1 if version == "0.2.76" else 2)
    assert len(named(trace, "three")) == 2
    for step in named(trace, "three"):
        assert causes(trace, step) == [("two", WROTE)]


def test_a_branch_after_an_update_hangs_on_the_update(recorded: Recordings) -> None:
    trace = recorded.of("1.2.24")["fork_update"].trace
    names = [step.name for step in trace.steps]
    assert (names.count("two"), names.count("three")) == (2, 2)
    by_update = [step for step in named(trace, "two") if causes(trace, step) != [("one", WROTE)]]
    assert len(by_update) == 1
    tasks = {
        step.step_id
        for step in task_steps(trace, recorded.of("1.2.24")["fork_update"].thread).values()
    }
    (edge,) = (edge for edge in trace.causes if edge.effect == by_update[0].step_id)
    assert edge.cause not in tasks
    (update,) = (step for step in trace.steps if step.step_id == edge.cause)
    assert (update.kind, update.status) == ("CHAIN", "ok")
    # The update stands on the state of `one`, beside the first branch.
    assert causes(trace, update) == [("one", "checkpoint_parent")]


@pytest.mark.parametrize("version", MODERN)
def test_the_failed_branch_stays_beside_the_one_that_worked(
    recorded: Recordings, version: str
) -> None:
    trace = recorded.of(version)["fork_after_failure"].trace
    assert sorted(step.status for step in named(trace, "two")) == ["error", "ok"]
    assert trace.status == "ok"


@pytest.mark.parametrize("version", OLD_AND_NEW)
def test_an_update_from_outside_is_a_step(recorded: Recordings, version: str) -> None:
    run = recorded.of(version)["update_state"]
    trace = run.trace
    # __start__, one, two, the two updates, three.
    assert len(trace) == 6
    # 1.x saves no name for who wrote an update; nothing else proves one.
    outside = [step for step in trace.steps if step.name is None or step.name == "two"]
    assert len(outside) == 3
    assert all(step.kind == "CHAIN" for step in outside)
    three = one(trace, "three")
    went_through = reached(trace, three)
    assert {step.step_id for step in trace.steps} - went_through == {three.step_id}


@pytest.mark.parametrize("version", MODERN)
def test_a_thread_may_begin_with_an_update(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["update_state_first"].trace
    assert len(trace) == 3
    first, two, three = trace.steps
    assert (two.name, three.name) == ("two", "three")
    assert first.step_id in reached(trace, three)


@pytest.mark.parametrize("version", OLD_AND_NEW)
@pytest.mark.parametrize(("scenario", "turns"), [("invoked_twice", 2), ("multi_turn", 3)])
def test_turns_follow_each_other(
    recorded: Recordings, version: str, scenario: str, turns: int
) -> None:
    trace = recorded.of(version)[scenario].trace
    starts = named(trace, "__start__")
    assert len(starts) == turns
    assert causes(trace, starts[0]) == []
    before = {"invoked_twice": "three", "multi_turn": "agent"}[scenario]
    for start in starts[1:]:
        assert causes(trace, start) == [(before, "checkpoint_parent")]
    order = [step.seq for step in starts]
    assert order == sorted(order)
    assert trace.status == "ok"


@pytest.mark.parametrize("version", MODERN)
def test_a_kept_subgraph_is_one_history_over_turns(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["kept_subgraph"].trace
    assert len(named(trace, "inner_two")) == 2
    for first, second in zip(named(trace, "inner_one"), named(trace, "inner_two"), strict=True):
        assert causes(trace, second) == [("inner_one", WROTE)]
        assert first.seq < second.seq
    # Which of the two calls a return belongs to must be proven or disclosed, never guessed.
    returns = [edge for edge in trace.causes if edge.origin == "subgraph_return"]
    assert len(returns) == 2 or gaps(trace).get("langgraph.ambiguous_subgraph_return")
    inner = {step.step_id: step.seq for step in named(trace, "inner_two")}
    after = {step.step_id: i for i, step in enumerate(named(trace, "after"))}
    order = sorted(inner, key=inner.__getitem__)
    assert all(order.index(edge.cause) == after[edge.effect] for edge in returns)


@pytest.mark.parametrize("version", MODERN)
def test_a_graph_called_twice_by_one_task(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["subgraph_called_twice"].trace
    assert len(named(trace, "inner_two")) == 2
    assert causes(trace, one(trace, "after"), WROTE) == [("sub", WROTE)]
    for start in named(trace, "__start__")[1:]:
        assert ("sub", "checkpoint_parent") in causes(trace, start)
    returns = [edge.cause for edge in trace.causes if edge.origin == "subgraph_return"]
    # 0.2 records the second call as the continuation of the first: its end is the end of both.
    last = named(trace, "inner_two")[-1].step_id
    assert returns == ([last] if version == "0.2.76" else [])
    disclosed = gaps(trace).get("langgraph.ambiguous_subgraph_return", 0)
    assert disclosed == (0 if version == "0.2.76" else 1)


def test_a_run_saved_only_at_its_end_shows_no_false_steps(recorded: Recordings) -> None:
    """durability="exit" saves one checkpoint and no task: its nodes left nothing to read."""
    run = recorded.of("1.2.24")["saved_at_exit"]
    assert not run.thread.tasks
    assert len(run.thread.checkpoints) == 1
    assert len(run.trace) == 0 or gaps(run.trace)
    assert not [step for step in run.trace.steps if step.status == "ok"]


@pytest.mark.parametrize("version", MODERN)
def test_a_command_as_input_moves_the_thread(recorded: Recordings, version: str) -> None:
    run = recorded.of(version)["command_input"]
    assert len(run.trace) == len(run.thread.tasks)
    assert [step.name for step in run.trace.steps].count("three") == 2
    assert run.trace.status == "ok"
