"""Every cause that the record proves and none that it does not, against the nodes' own triggers."""

from itertools import combinations

import pytest

from langgraph_runs.ancestry import is_update, writers
from langgraph_runs.recorded import (
    MODERN,
    Recordings,
    Run,
    causes,
    named,
    one,
    task_steps,
)
from langgraph_runs.tables import Thread

WROTE = "checkpoint_write"
JOINS = ("0.2.3", *MODERN)


def proven(run: Run, thread: Thread) -> dict[tuple[str, str], set[str]]:
    """Return the step ids of the tasks that wrote what triggered each task, by that task's key."""
    entries = [e for e in run.journal["nodes"] if e["thread"] == thread.thread_id and e["task"]]
    names = {entry["task"]: entry["node"] for entry in entries}
    triggers = {entry["task"]: entry["triggers"] for entry in entries}
    found = {}
    steps = task_steps(run.traces[thread.thread_id], thread)
    for task in thread.tasks:
        if task.task_id not in triggers or is_update(task):
            continue
        wrote = writers(thread, task, triggers[task.task_id], names)
        if wrote is not None:
            found[task.checkpoint_id, task.task_id] = {
                step.step_id for (_, task_id), step in steps.items() if task_id in wrote
            }
    return found


@pytest.mark.parametrize("version", MODERN)
def test_tasks_are_caused_by_those_who_wrote_their_triggers(
    recorded: Recordings, version: str
) -> None:
    wrong = {}
    compared = 0
    for run in recorded.of(version).values():
        for thread in run.threads.values():
            trace = run.traces[thread.thread_id]
            steps = task_steps(trace, thread)
            names = {step.step_id: step.name for step in trace.steps}
            for key, wanted in proven(run, thread).items():
                step = steps[key].step_id
                if names[step] is None or "error_handler" in str(names[step]):
                    continue  # its triggers are not proven, or no channel's write is its trigger
                found = {e.cause for e in trace.causes if (e.effect, e.origin) == (step, WROTE)}
                compared += 1
                if found != wanted:
                    told = [sorted(str(names[i]) for i in ids) for ids in (found, wanted)]
                    wrong[thread.thread_id, names[step]] = told
    assert not wrong
    assert compared > 150


@pytest.mark.parametrize("version", JOINS)
def test_a_join_has_three_causes(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["fan_out"].trace
    assert causes(trace, one(trace, "join")) == [("a", WROTE), ("b", WROTE), ("c", WROTE)]
    for branch in "abc":
        assert causes(trace, one(trace, branch)) == [("plan", WROTE)]
    assert one(trace, "join").lossy


@pytest.mark.parametrize("version", MODERN)
def test_a_join_of_plain_edges_has_three_causes(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["fan_out_separate_edges"].trace
    assert causes(trace, one(trace, "join")) == [("a", WROTE), ("b", WROTE), ("c", WROTE)]


@pytest.mark.parametrize("version", JOINS)
def test_a_join_reaches_back_over_super_steps(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["fan_out_uneven"].trace
    assert causes(trace, one(trace, "join")) == [("a", WROTE), ("b", WROTE), ("slower", WROTE)]


def test_a_deferred_join_reaches_back_over_super_steps(recorded: Recordings) -> None:
    trace = recorded.of("1.2.24")["deferred"].trace
    assert causes(trace, one(trace, "join")) == [("a", WROTE), ("b_two", WROTE)]


def test_a_deferred_node_that_ran_before_has_later_causes_only(recorded: Recordings) -> None:
    trace = recorded.of("1.2.24")["deferred_twice"].trace
    before, after = named(trace, "last")
    assert causes(trace, before) == [("a", WROTE)]
    assert causes(trace, after) == [("first", WROTE)]


@pytest.mark.parametrize("version", JOINS)
def test_packets_come_from_who_sent_them(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["map_reduce"].trace
    workers = named(trace, "work")
    assert len(workers) == 4
    for worker in workers:
        assert causes(trace, worker) == [("plan", WROTE)]
    assert causes(trace, one(trace, "reduce")) == [("work", WROTE)] * 4


@pytest.mark.parametrize("version", MODERN)
def test_a_command_goes_to_packets_and_nodes(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["command_goto_send"].trace
    assert [step.name for step in trace.steps if step.name in {"work", "side"}].count("work") == 2
    for name in ("work", "side"):
        for step in named(trace, name):
            assert causes(trace, step) == [("route", WROTE)]


@pytest.mark.parametrize("version", MODERN)
@pytest.mark.parametrize(
    ("scenario", "parallel"),
    [
        ("fan_out", ("a", "b", "c")),
        ("react_parallel", ("weather", "add")),
        ("prebuilt_parallel", ("weather", "add")),
        ("parallel_subgraphs", ("left", "left_one", "left_two", "right", "right_one", "right_two")),
        ("map_reduce", ("work",)),
    ],
)
def test_parallel_steps_do_not_cause_each_other(
    recorded: Recordings, version: str, scenario: str, parallel: tuple[str, ...]
) -> None:
    trace = recorded.of(version)[scenario].trace
    edges = {(edge.effect, edge.cause) for edge in trace.causes}
    side_of = {step.step_id: (step.name or "").split("_")[0] for step in trace.steps}
    for one_step, other in combinations(
        [step.step_id for step in trace.steps if step.name in parallel], 2
    ):
        if scenario == "parallel_subgraphs" and side_of[one_step] == side_of[other]:
            continue
        assert (one_step, other) not in edges
        assert (other, one_step) not in edges


@pytest.mark.parametrize("version", MODERN)
@pytest.mark.parametrize("scenario", ["react_parallel", "prebuilt_parallel", "tool_command"])
def test_calls_hang_between_who_asked_and_who_read_first(
    recorded: Recordings, version: str, scenario: str
) -> None:
    trace = recorded.of(version)[scenario].trace
    asked, read = named(trace, "agent")
    tools = [step for step in trace.steps if step.kind == "TOOL"]
    assert len(tools) == (2 if scenario == "tool_command" else 3)
    for tool in tools:
        by_call = [
            e for e in trace.causes if e.effect == tool.step_id and e.origin == "tool_call_id"
        ]
        assert [(e.cause, e.evidence) for e in by_call] == [(asked.step_id, "declared")]
        readers = [e for e in trace.causes if e.cause == tool.step_id]
        assert [(e.effect, e.origin, e.evidence) for e in readers] == [
            (read.step_id, "tool_call_id", "derived")
        ]


@pytest.mark.parametrize("version", MODERN)
def test_later_readers_of_a_result_have_no_edge(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["react_chain"].trace
    first, second, third = named(trace, "agent")
    weather, add = one(trace, "weather"), one(trace, "add")
    by_call = {(edge.effect, edge.cause) for edge in trace.causes if edge.origin == "tool_call_id"}
    assert by_call == {
        (weather.step_id, first.step_id),
        (second.step_id, weather.step_id),
        (add.step_id, second.step_id),
        (third.step_id, add.step_id),
    }


@pytest.mark.parametrize("version", ("0.1.19", "0.2.3", *MODERN))
def test_a_call_id_that_repeats_pairs_with_its_own_turn(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["repeated_call_ids"].trace
    agents = [step.step_id for step in named(trace, "agent")]
    calls = [step.step_id for step in named(trace, "weather")]
    assert len(calls) == 2
    by_call = {(e.effect, e.cause) for e in trace.causes if e.origin == "tool_call_id"}
    assert by_call == {
        (calls[0], agents[0]),
        (agents[1], calls[0]),
        (calls[1], agents[2]),
        (agents[3], calls[1]),
    }


@pytest.mark.parametrize("version", MODERN)
def test_a_subgraph_hangs_under_its_task_and_returns_to_the_next(
    recorded: Recordings, version: str
) -> None:
    trace = recorded.of(version)["subgraph_ok"].trace
    sub, after = one(trace, "sub"), one(trace, "after")
    outer, inner = named(trace, "__start__")
    assert causes(trace, inner) == [("sub", "checkpoint_parent")]
    assert causes(trace, outer) == []
    assert causes(trace, one(trace, "inner_one")) == [("__start__", WROTE)]
    assert causes(trace, one(trace, "inner_two")) == [("inner_one", WROTE)]
    assert causes(trace, after) == [("inner_two", "subgraph_return"), ("sub", WROTE)]
    assert sub.wrapper
    assert [step.name for step in trace.steps] == [
        *("__start__", "before", "sub", "__start__", "inner_one", "inner_two", "after")
    ]


@pytest.mark.parametrize("version", MODERN)
def test_two_subgraphs_of_one_super_step_both_return(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["parallel_subgraphs"].trace
    assert causes(trace, one(trace, "join")) == [
        ("left", WROTE),
        ("left_two", "subgraph_return"),
        ("right", WROTE),
        ("right_two", "subgraph_return"),
    ]


@pytest.mark.parametrize("version", MODERN)
def test_three_levels_return_through_each(recorded: Recordings, version: str) -> None:
    trace = recorded.of(version)["nested_three"].trace
    after = one(trace, "after")
    assert ("level_one", WROTE) in causes(trace, after)
    # Inside, nothing runs after the subgraph's task, so the task itself is each level's last step.
    assert ("level_two", "subgraph_return") in causes(trace, after)
    for name in ("level_one", "level_two", "level_three"):
        assert one(trace, name).wrapper


@pytest.mark.parametrize("version", MODERN)
def test_a_hand_over_to_the_parent_graph(recorded: Recordings, version: str) -> None:
    """The node of the subgraph that went to the parent's node is no failure."""
    trace = recorded.of(version)["command_parent"].trace
    assert trace.status == "ok"
    assert not [step for step in trace.steps if step.status == "error"]
    assert ("sub", WROTE) in causes(trace, one(trace, "other"))
