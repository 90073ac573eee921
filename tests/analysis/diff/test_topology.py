"""Isomorphism against NetworkX, and trees of every extreme shape."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.diff.runs import Made, made_runs, run
from tracegraph.analysis.diff.compare import Diff, compare
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace


def _forest(trace: Trace, *, labelled: bool) -> Any:
    """Return the derived tree under one root, as an oracle that shares nothing with ours."""
    graph = nx.DiGraph()
    graph.add_node("", label="root")
    for step in trace.steps:
        graph.add_node(step.step_id, label=(step.kind, step.name) if labelled else "")
        graph.add_edge(step.parent.step_id if step.parent else "", step.step_id)
    return graph


def _is_isomorphic(a: Trace, b: Trace, *, labelled: bool) -> bool:
    forests = [_forest(trace, labelled=labelled) for trace in (a, b)]
    same: Callable[[Any, Any], bool] = lambda x, y: x["label"] == y["label"]  # noqa: E731
    return bool(nx.is_isomorphic(*forests, node_match=same))


@settings(max_examples=100, deadline=None)
@given(made_runs(size=6, names="x"), made_runs(size=6, names="x"), st.booleans())
def test_verdict_is_isomorphism(a: list[Made], b: list[Made], structure: bool) -> None:
    runs = run(a), run(b)
    topology = compare(*runs, structure=structure).topology
    assert topology.identical is _is_isomorphic(*runs, labelled=not structure)
    assert topology.identical is (len(topology.differences) == 0)


@settings(max_examples=100, deadline=None)
@given(made_runs(size=7, names="xy"), st.randoms(use_true_random=False), st.booleans())
def test_order_of_siblings_is_no_difference(a: list[Made], random: Any, structure: bool) -> None:
    """The same forest, its steps numbered and timed in any order that keeps causes first."""
    place: dict[int, int] = {}
    while len(place) < len(a):
        ready = [
            at
            for at, step in enumerate(a)
            if at not in place
            and (step.parent is None or step.parent in place)
            and all(cause in place for cause, _ in step.causes)
        ]
        place[random.choice(ready)] = len(place)
    b = [a[at] for at in place]
    b = [
        replace(
            step,
            parent=None if step.parent is None else place[step.parent],
            causes=tuple((place[cause], origin) for cause, origin in step.causes),
        )
        for step in b
    ]
    runs = run(a), run(b)
    # Of two equal causes the earlier is the parent, so that order may decide between two trees.
    expected = _is_isomorphic(*runs, labelled=not structure)
    assert compare(*runs, structure=structure).topology.identical is expected
    has_links = any(step.causes for step in a)
    assert expected or has_links


@settings(max_examples=100, deadline=None)
@given(made_runs(), made_runs(), st.booleans())
def test_what_is_left_without_the_listed_subtrees_is_equally_large(
    a: list[Made], b: list[Made], structure: bool
) -> None:
    diff = compare(run(a), run(b), structure=structure)
    listed = diff.topology.differences
    only_a = sum(int(diff.a.size[row]) for row, other, _ in listed if other < 0)
    only_b = sum(int(diff.b.size[row]) for other, row, _ in listed if other < 0)
    assert len(a) - only_a == len(b) - only_b
    for row_a, row_b, fields in listed:
        if row_a >= 0 and row_b >= 0:
            assert fields
            assert diff.a.label[row_a] != diff.b.label[row_b]


def test_shape_does_not_read_labels() -> None:
    a = run([Made("r"), Made("x", parent=0), Made("y", parent=1), Made("z", parent=0)])
    b = run([Made("q"), Made("x", "LLM", 0), Made("z", "LLM", 0), Made("y", parent=2)])
    assert compare(a, b, structure=True).topology.identical
    labelled = compare(a, b)
    assert not labelled.topology.identical
    assert not labelled.identical
    assert not compare(a, b, structure=True).identical, "behaviour still names the labels"


def _large(parents: list[int], name: str = "n", failing: int = -1) -> Trace:
    draft = Draft()
    draft.begin("t", source="made", file="f")
    for row, parent in enumerate(parents):
        draft.step(str(row), kind=2, name=name, status=2 if row == failing else 1, start=row)
        if parent >= 0:
            draft.link(row, parent, "span_parent")
    return Trace(seal(draft), 0)


_N = 40_000


@pytest.mark.parametrize(
    "parents",
    [
        pytest.param([row - 1 for row in range(_N)], id="chain"),
        pytest.param([-1, *[0] * (_N - 1)], id="wide"),
        pytest.param([-1] * _N, id="roots"),
        pytest.param([max(row - 1 - row % 300, -1) for row in range(_N)], id="combs"),
    ],
)
def test_size_and_shape_are_no_limit(parents: list[int]) -> None:
    """Anything quadratic, or recursive, would not come back from this."""
    whole = _large(parents)
    less = compare(whole, _large(parents[:-10], failing=7))
    assert not less.topology.identical
    assert int((less.steps.to_b >= 0).sum()) == _N - 10
    assert len(less.behaviour.differences) == 11
    renamed: Diff = compare(whole, _large(parents, name="m"))
    assert renamed.causal_edges.identical
    assert len(renamed.topology.differences) == _N
    assert compare(whole, _large(parents, name="m"), structure=True).topology.identical
