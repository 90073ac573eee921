"""Causes from LangGraph's superstep metadata and from graph.node ids, on small made traces."""

import json
from typing import Any

import pytest

from otlp_data import START, edges, exception, only, span
from trace_view import gaps

GRAPH = span(1, "LangGraph", "CHAIN")


def node(
    number: int, name: str, step: int, *triggers: str, task: str = "", **fields: Any
) -> dict[str, Any]:
    """Return the wrapper of a graph node's run."""
    metadata = {
        "langgraph_step": step,
        "langgraph_node": name,
        "langgraph_triggers": triggers or (f"branch:to:{name}",),
        "langgraph_checkpoint_ns": f"{name}:{task or number}",
    }
    attributes = {"metadata": json.dumps(metadata)}
    return span(number, name, "CHAIN", attributes=attributes, **{"parent": 1} | fields)


def graph_steps(*spans: dict[str, Any]) -> set[tuple[int, int]]:
    return {(effect, cause) for effect, cause, _, _ in edges(only(GRAPH, *spans), "graph_step")}


def test_steps_follow_each_other_and_evidence_is_derived() -> None:
    trace = only(GRAPH, node(2, "a", 1), node(3, "b", 2), node(4, "a", 3))
    assert edges(trace, "graph_step") == {
        (3, 2, "graph_step", "derived"),
        (4, 3, "graph_step", "derived"),
    }
    assert all(step.wrapper for step in trace.steps if step.name != "LangGraph")


def test_fan_out_of_one_node_joins() -> None:
    found = graph_steps(
        node(2, "plan", 1),
        node(3, "work", 2, "__pregel_push"),
        node(4, "work", 2, "__pregel_push"),
        node(5, "reduce", 3),
    )
    assert found == {(3, 2), (4, 2), (5, 3), (5, 4)}


def test_two_possible_writers_are_left_open_and_told() -> None:
    runs = (node(2, "a", 1), node(3, "b", 1), node(4, "c", 2), node(5, "d", 2, "__pregel_push"))
    trace = only(GRAPH, *runs)
    assert edges(trace, "graph_step") == set()
    assert gaps(trace) == {"otlp.ambiguous_graph_step": 2}


def test_recorded_edges_of_the_graph_decide_between_writers() -> None:
    recorded = {"gen_ai.workflow.edges": ["a -> c", "b -> d"]}
    graph = span(1, "LangGraph", "CHAIN", attributes=recorded)
    trace = only(graph, node(2, "a", 1), node(3, "b", 1), node(4, "c", 2))
    assert {(e, c) for e, c, _, _ in edges(trace, "graph_step")} == {(4, 2)}


def test_recorded_edges_hold_for_their_own_graph_only() -> None:
    """The inner graph names its nodes as the outer one does, and only the inner has edges."""
    recorded = {"gen_ai.workflow.edges": ["a -> c"]}
    inner = span(5, "LangGraph", "CHAIN", parent=4, attributes=recorded)
    runs = [node(2, "a", 1), node(3, "b", 1), node(4, "c", 2), inner]
    runs += [node(n, name, step, parent=5) for n, name, step in ((6, "a", 1), (7, "b", 1))]
    trace = only(GRAPH, *runs, node(8, "c", 2, parent=5))
    assert {(e, c) for e, c, _, _ in edges(trace, "graph_step")} == {(8, 6)}
    assert gaps(trace) == {"otlp.ambiguous_graph_step": 1}
    outer = span(1, "LangGraph", "CHAIN", attributes=recorded)
    plain = span(5, "LangGraph", "CHAIN", parent=4)
    trace = only(
        outer, *[plain if run is inner else run for run in runs], node(8, "c", 2, parent=5)
    )
    assert {(e, c) for e, c, _, _ in edges(trace, "graph_step")} == {(4, 2)}
    assert gaps(trace) == {"otlp.ambiguous_graph_step": 1}


def test_join_waits_for_writers_of_earlier_steps() -> None:
    found = graph_steps(
        node(2, "a", 1),
        node(3, "b", 1),
        node(4, "b2", 2, "branch:b:x:b2"),
        node(5, "join", 3, "join:a+b2:join"),
        node(6, "a", 4, "join"),
        node(7, "b2", 5, "a"),
        node(8, "join", 6, "join:a+b2:join"),
        node(9, "b2", 7, "join"),
        node(10, "join", 8, "join:a+b2:join"),
    )
    joined = {(e, c) for e, c in found if e in (5, 8, 10)}
    # The last join has no run of "a" of its own in the record: nothing is claimed for it.
    assert joined == {(5, 2), (5, 4), (8, 6), (8, 7), (10, 9)}


def test_parallel_graphs_with_equal_nodes_and_steps_do_not_cross() -> None:
    graphs = [span(n, "LangGraph", "CHAIN", parent=1) for n in (2, 3)]
    runs = [
        node(10 * graph + step, name, step, parent=graph, task="t")
        for step, name in ((1, "a"), (2, "b"), (3, "a"))
        for graph in (2, 3)
    ]
    assert graph_steps(*graphs, *runs) == {(22, 21), (23, 22), (32, 31), (33, 32)}


def test_node_runs_that_nothing_contains_are_of_no_known_graph() -> None:
    assert graph_steps(node(2, "a", 1, parent=None), node(3, "b", 2, parent=None)) == set()


def test_older_triggers_name_their_writers() -> None:
    found = graph_steps(
        node(2, "a", 1, "start:a"),
        node(3, "b", 1, "start:b"),
        node(4, "c", 2, "branch:a:route:c"),
        node(5, "d", 2, "join:a+b:d"),
        node(6, "e", 2, "b"),
    )
    assert found == {(4, 2), (5, 2), (5, 3), (6, 3)}


def test_attempts_of_one_task_are_a_retry() -> None:
    failed = {"status": {"code": 2}, "events": [exception("ConnectionError", "503")]}
    found = graph_steps(
        node(2, "plan", 1),
        node(3, "flaky", 2, task="t", **failed),
        node(4, "flaky", 2, task="t", **failed),
        node(5, "flaky", 2, task="t"),
        node(6, "next", 3),
    )
    assert found == {(3, 2), (4, 3), (5, 4), (6, 5)}


def test_graphs_are_not_mixed() -> None:
    inner = span(3, "LangGraph", "CHAIN", parent=2)
    found = graph_steps(
        node(2, "outer", 1), inner, node(4, "x", 2, parent=3), node(5, "y", 3, parent=3)
    )
    assert found == {(5, 4)}


def test_only_the_wrapper_of_a_node_is_a_node() -> None:
    other = node(3, "a", 1)
    other["name"] = "tools_condition"
    trace = only(GRAPH, node(2, "a", 1), other, node(4, "b", 2))
    assert {(e, c) for e, c, _, _ in edges(trace, "graph_step")} == {(4, 2)}
    assert [s.name for s in trace.steps if s.wrapper] == ["a", "b"]


def graph_node(number: int, own: str | None, above: str | None, **fields: Any) -> dict[str, Any]:
    told = {"graph.node.id": own, "graph.node.parent_id": above}
    attributes = {key: value for key, value in told.items() if value is not None}
    return span(number, f"n{number}", "AGENT", attributes=attributes, **fields)


def test_graph_parent_is_declared_where_one_span_has_the_id() -> None:
    trace = only(graph_node(1, "main", None), graph_node(2, "sub", "main", parent=1))
    assert edges(trace) == {
        (2, 1, "graph_parent", "declared"),
        (2, 1, "span_parent", "containment"),
    }
    assert gaps(trace) == {}


def test_span_of_the_same_node_as_its_parent_has_the_other_as_its_cause() -> None:
    trace = only(graph_node(1, "main", None), graph_node(2, "main", "main"))
    assert edges(trace) == {(2, 1, "graph_parent", "declared")}
    alone = only(graph_node(1, "main", "main"))
    assert (edges(alone), gaps(alone)) == (set(), {"otlp.graph_parent_fallback": 1})


def test_graph_parent_by_timing_is_a_guess() -> None:
    trace = only(
        graph_node(1, "main", None), graph_node(2, "main", None), graph_node(3, "sub", "main")
    )
    assert edges(trace) == {(3, 2, "graph_parent", "heuristic")}
    assert gaps(trace) == {"otlp.graph_parent_by_timing": 1}


@pytest.mark.parametrize("start", ["0", str(START)])
def test_graph_parent_that_nothing_tells_is_left_open(start: str) -> None:
    effect = graph_node(3, "sub", "main", startTimeUnixNano=start)
    trace = only(graph_node(1, "main", None), graph_node(2, "main", None), effect)
    assert edges(trace) == set()
    assert gaps(trace) == {"otlp.graph_parent_fallback": 1}
    missing = only(graph_node(1, "sub", "nobody"))
    assert gaps(missing) == {"otlp.graph_parent_fallback": 1}


def test_links() -> None:
    def link(trace_id: str, number: int) -> dict[str, str]:
        return {"traceId": trace_id, "spanId": f"{number:016x}"}

    here = "4F" * 16
    made = span(
        2,
        "x",
        "CHAIN",
        links=[link(here, 1), link(here, 2), link(here, 9), link("aa" * 16, 1), {}],
    )
    trace = only(span(1, "a", "CHAIN"), made)
    assert edges(trace) == {(2, 1, "span_link", "declared")}
    assert gaps(trace) == {
        "otlp.foreign_trace_link": 1,
        "otlp.self_link": 1,
        "otlp.unresolved_span_link": 2,
    }
