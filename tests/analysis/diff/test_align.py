"""How steps come to correspond."""

from dataclasses import replace

from hypothesis import given, settings

from analysis.diff.runs import Made, made_runs, run
from tracegraph.analysis.diff.align import HOW
from tracegraph.analysis.diff.compare import compare

_ROOT = Made("graph", "CHAIN")


def _how(a: list[Made], b: list[Made]) -> dict[int, tuple[int, str]]:
    steps = compare(run(a), run(b)).steps
    return {
        row: (int(other), HOW[how])
        for row, (other, how) in enumerate(zip(steps.to_b, steps.how_a, strict=True))
    }


def test_subtrees_first_then_labels_then_names_then_kinds() -> None:
    a = [
        _ROOT,
        Made("p", "CHAIN", 0),
        Made("x", parent=1),
        Made("p", "CHAIN", 0),
        Made("y", parent=3),
        Made("q", "AGENT", 0),
        Made("old", "LLM", 0),
        Made("gone", "RETRIEVER", 0),
    ]
    b = [
        _ROOT,
        Made("p", "CHAIN", 0),
        Made("y", parent=1),
        Made("p", "CHAIN", 0),
        Made("new", "LLM", 0),
        Made("q", "CHAIN", 0),
    ]
    assert _how(a, b) == {
        0: (0, "label"),
        1: (3, "label"),
        2: (-1, "none"),
        3: (1, "subtree"),
        4: (2, "subtree"),
        5: (5, "name"),
        6: (4, "kind"),
        7: (-1, "none"),
    }


def test_a_run_that_gains_a_step_around_it_keeps_its_steps() -> None:
    inner = [Made("graph", "CHAIN"), Made("x", parent=0), Made("y", parent=0)]
    outer = [Made("service", "CHAIN")] + [
        replace(step, parent=0 if step.parent is None else step.parent + 1) for step in inner
    ]
    assert _how(inner, outer) == {row: (row + 1, "moved") for row in range(3)}
    diff = compare(run(inner), run(outer))
    topology = [(a, b) for a, b, _ in diff.topology.differences]
    assert topology == [(0, -1), (-1, 0)]
    assert [(a, b) for a, b, _ in diff.behaviour.differences] == [(-1, 0)]
    assert len(diff.causal_edges.a) == 1, "the new containment; those inside are the same"


@settings(max_examples=80, deadline=None)
@given(made_runs(), made_runs())
def test_steps_correspond_one_to_one_and_under_corresponding_parents(
    a: list[Made], b: list[Made]
) -> None:
    diff = compare(run(a), run(b))
    steps, (placed, _) = diff.steps, diff.steps.in_place
    for row, other in enumerate(steps.to_b):
        if other >= 0:
            assert steps.to_a[other] == row
            assert steps.how_a[row] == steps.how_b[other]
        if other >= 0:
            above, other_above = diff.a.parent[row], diff.b.parent[other]
            there = steps.to_b[above] if above >= 0 else -1
            assert placed[row] == (other_above == there and (above < 0 or placed[above]))
    assert (steps.to_a >= 0).sum() == (steps.to_b >= 0).sum()
