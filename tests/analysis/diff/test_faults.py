"""Differences that agent-tracegraph calls IDENTICAL (its weakness W5), and what limits ours."""

from dataclasses import replace

from analysis.diff.runs import Made, different, run
from tracegraph.analysis.diff.compare import Diff, compare

_ROOT = Made("graph", "CHAIN")


def test_a_lost_join_is_a_difference_of_causal_edges_alone() -> None:
    a = [
        _ROOT,
        Made("a", parent=0),
        Made("b", parent=0),
        Made("merge", parent=0, causes=((1, "span_link"), (2, "span_link"))),
    ]
    one = [*a[:3], replace(a[3], causes=((1, "span_link"),))]
    none = [*a[:3], replace(a[3], causes=())]
    assert different(a, one) == {"causal_edges"}
    assert different(a, none) == {"causal_edges"}
    edges = compare(run(a), run(none)).causal_edges
    assert (edges.count_a, edges.count_b, len(edges.a)) == (5, 3, 2)
    assert edges.b.tolist() == [-1, -1]


def test_a_tool_that_becomes_a_model_is_a_difference() -> None:
    a = [_ROOT, Made("x", "TOOL", 0), Made("y", parent=1)]
    b = [_ROOT, Made("x", "LLM", 0), Made("y", parent=1)]
    diff = compare(run(a), run(b))
    assert not diff.topology.identical
    assert list(diff.behaviour.differences) == [(1, 1, 0b1)], "the step, not its subtree"
    assert diff.causal_edges.identical


def test_two_steps_of_one_name_that_trade_their_status_are_a_difference() -> None:
    twins = [Made("search", parent=0, status="error", error_type="E"), Made("search", parent=0)]
    assert different([_ROOT, *twins], [_ROOT, *reversed(twins)]) == {"behaviour"}
    apart = [Made("p", "CHAIN", 0), Made("p", "CHAIN", 0)]
    below = [replace(twins[0], parent=1), replace(twins[1], parent=2)]
    traded = [replace(twins[1], parent=1), replace(twins[0], parent=2)]
    assert different([_ROOT, *apart, *below], [_ROOT, *apart, *traded]) == {"behaviour"}


def test_a_status_alone_is_a_difference() -> None:
    a = [_ROOT, Made("x", parent=0)]
    for status in ("error", "unset"):
        assert "behaviour" in different(a, [_ROOT, Made("x", parent=0, status=status)])
    failing = [_ROOT, Made("x", parent=0, status="error", error_type="A")]
    other = [_ROOT, Made("x", parent=0, status="error", error_type="B")]
    assert different(failing, other) == {"behaviour"}


def test_another_order_of_siblings_is_disclosed() -> None:
    x, y = Made("x", parent=0), Made("y", parent=0)
    diff = compare(run([_ROOT, x, y]), run([_ROOT, y, x]))
    assert diff.identical
    assert diff.topology.reordered == 1
    assert compare(run([x, y]), run([x, y])).topology.reordered == 0


def test_twins_are_told_apart_by_their_arguments_whoever_comes_first() -> None:
    oslo = Made("weather", parent=0, args="oslo", status="error")
    rome = Made("weather", parent=0, args="rome")
    assert compare(run([_ROOT, oslo, rome]), run([_ROOT, rome, oslo])).identical
    healed = replace(oslo, status="ok"), replace(rome, status="error")
    assert different([_ROOT, oslo, rome], [_ROOT, *healed]) == {"behaviour"}


def test_an_edge_that_is_known_otherwise_is_one_difference() -> None:
    steps = [_ROOT, Made("x", parent=0), Made("y", parent=0, causes=((1, "edge"),))]
    derived = run(steps, evidence="derived")
    edges = compare(run(steps), derived).causal_edges
    assert not edges.identical
    assert (edges.a.tolist(), edges.b.tolist()) == ([2], [2])


def _codes(diff: Diff) -> dict[tuple[str, str | None], int | None]:
    return {(item.code, item.side): item.count for item in diff.limitations}


def test_limitations_say_what_is_not_seen() -> None:
    a = [Made("x"), Made("y", parent=0, causes=((0, "order"),)), Made(None, parent=0)]
    b = [
        Made("x", status="unset"),
        Made("z", parent=0, status="unset", status_source="control_flow"),
    ]
    diff = compare(run(a, gaps={"otlp.dropped_links": 2}), run(b, source="another"), unowned=(0, 3))
    assert _codes(diff) == {
        ("other_source", None): None,
        ("gaps", "a"): 2,
        ("heuristic_edges", "a"): 1,
        ("unnamed_steps", "a"): 1,
        ("input_gaps", "b"): 3,
        ("unknown_status", "b"): 1,
        ("guessed_pairs", None): 1,
    }
    assert _codes(compare(run([Made("x")]), run([Made("x")]))) == {}


def test_a_lossy_step_is_a_limitation() -> None:
    a = [Made("x"), Made("y"), Made("z", causes=((0, "span_link"), (1, "span_link")))]
    assert _codes(compare(run(a), run(a)))[("lossy_projection", "a")] == 1
