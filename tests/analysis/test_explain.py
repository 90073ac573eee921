"""Everything that led to a step, against a walk over the plain list of edges."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otlp_data import of_file
from shared_data import fixture
from tracegraph.analysis.explain import CUT, NO_CAUSE, explain
from tracegraph.model.codes import EVIDENCE, ORIGINS
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace

Edge = tuple[int, int]


def trace_of(count: int, edges: list[Edge], origins: list[str] | None = None) -> Trace:
    draft = Draft()
    draft.begin("t", source="made", file="f")
    for number in range(count):
        draft.step(f"s{number}", kind=4, name=f"n{number}", status=1)
    for position, (effect, cause) in enumerate(edges):
        draft.link(effect, cause, origins[position] if origins else "edge")
    return Trace(seal(draft), 0)


def row_of(trace: Trace, step_id: str) -> int:
    return list(trace.columns.step_id).index(step_id)


def walked(trace: Trace, step_id: str) -> dict[str, int]:
    """Return the distance of every ancestor, over the edges as the trace lists them."""
    causes: dict[str, set[str]] = {}
    for edge in trace.causes:
        causes.setdefault(edge.effect, set()).add(edge.cause)
    distance, pending = {step_id: 0}, deque([step_id])
    while pending:
        at = pending.popleft()
        for cause in causes.get(at, ()):
            if cause not in distance:
                distance[cause] = distance[at] + 1
                pending.append(cause)
    return distance


@given(st.integers(1, 9), st.data())
def test_every_ancestor_once_at_its_distance(count: int, data: st.DataObject) -> None:
    places = st.integers(0, count - 1)
    edges = data.draw(st.lists(st.tuples(places, places), max_size=20, unique=True))
    trace = trace_of(count, edges)
    start = f"s{data.draw(places)}"
    found = explain(trace, row_of(trace, start))
    ids = trace.columns.step_id
    assert {ids[step.row]: step.distance for step in found.steps} == walked(trace, start)
    assert found.steps[0].row == row_of(trace, start)
    shown = {(ids[s.row], ids[link.cause]) for s in found.steps for link in s.links}
    reached = {ids[step.row] for step in found.steps}
    assert shown == {(e.effect, e.cause) for e in trace.causes if e.effect in reached}
    for step in found.steps:
        assert (step.end == NO_CAUSE) == (not step.links)


@given(st.integers(2, 9), st.integers(0, 4), st.data())
def test_depth_cuts_and_counts(count: int, depth: int, data: st.DataObject) -> None:
    places = st.integers(0, count - 1)
    edges = data.draw(st.lists(st.tuples(places, places), max_size=20, unique=True))
    trace = trace_of(count, edges)
    whole, cut = explain(trace, trace.rows[0]), explain(trace, trace.rows[0], depth=depth)
    near = {step.row for step in whole.steps if step.distance <= depth}
    assert {step.row for step in cut.steps} == near
    crossing = sum(s.row in near and x.cause not in near for s in whole.steps for x in s.links)
    assert cut.beyond_depth == crossing


def test_a_join_has_all_its_causes_and_a_branch_its_effects() -> None:
    trace = trace_of(5, [(1, 0), (2, 0), (3, 0), (4, 1), (4, 2), (4, 3)])
    found = explain(trace, row_of(trace, "s4"))
    assert len(found.steps[0].links) == 3
    assert found.effects[row_of(trace, "s0")] == 3


def test_weaker_evidence_is_left_out_and_counted() -> None:
    edges = [(2, 1), (2, 0), (1, 0)]
    trace = trace_of(3, edges, ["tool_call_id", "span_parent", "order"])
    found = explain(trace, row_of(trace, "s2"), weakest=EVIDENCE.index("declared"))
    assert [step.distance for step in found.steps] == [0, 1]
    assert found.too_weak == 2
    assert found.steps[1].end == CUT


def test_what_led_to_a_step_comes_before_what_it_ran_in() -> None:
    (trace,) = of_file(fixture("otlp/openinference_tool_error_recover.json"))
    tool = next(step for step in trace.steps if step.kind == "TOOL")
    origins = [ORIGINS[link.origin] for link in explain(trace, tool.row).steps[0].links]
    assert origins == ["protocol", "span_parent"]


@pytest.mark.parametrize("edges", [[(0, 1), (1, 0)], [(0, 1), (1, 2), (2, 0)]])
def test_a_cycle_is_walked_once(edges: list[Edge]) -> None:
    trace = trace_of(3, edges)
    found = explain(trace, row_of(trace, "s0"))
    assert len(found.steps) == len({row for edge in edges for row in edge})
    assert any(link.backward for step in found.steps for link in step.links)
