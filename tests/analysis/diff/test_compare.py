"""The four verdicts: what each sees, and that nothing escapes all of them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.diff.runs import Made, different, made_runs, run, verdicts
from tracegraph.analysis.diff.align import HOW
from tracegraph.analysis.diff.compare import Diff, compare
from tracegraph.model.trace import Trace


@settings(max_examples=80, deadline=None)
@given(made_runs(), st.randoms(use_true_random=False))
def test_a_run_is_identical_to_itself_in_any_order_of_its_records(
    steps: list[Made], random: Any
) -> None:
    order = list(range(len(steps)))
    random.shuffle(order)
    diff = compare(run(steps), run(steps, order=order, prefix="other"))
    assert verdicts(diff) == dict.fromkeys(verdicts(diff), True)
    assert diff.steps.to_b.tolist() == list(range(len(steps)))
    assert {HOW[how] for how in diff.steps.how_a} == {"subtree"}


def _drop_edge(steps: list[Made], at: int) -> list[Made] | None:
    if not steps[at].causes:
        return None
    return _with(steps, at, causes=steps[at].causes[1:])


def _remove(steps: list[Made], at: int) -> list[Made]:
    """Take a step out; what hung on it hangs on its parent."""

    def moved(place: int) -> int:
        return place - (place > at)

    return [
        replace(
            step,
            parent=_moved_parent(steps, step, at),
            causes=tuple((moved(cause), origin) for cause, origin in step.causes if cause != at),
        )
        for place, step in enumerate(steps)
        if place != at
    ]


def _moved_parent(steps: list[Made], step: Made, at: int) -> int | None:
    parent = steps[at].parent if step.parent == at else step.parent
    return None if parent is None else parent - (parent > at)


def _with(steps: list[Made], at: int, **changes: Any) -> list[Made]:
    return [replace(step, **changes) if place == at else step for place, step in enumerate(steps)]


def _other_status(steps: list[Made], at: int) -> list[Made]:
    return _with(steps, at, status="ok" if steps[at].status == "error" else "error")


def _other_kind(steps: list[Made], at: int) -> list[Made]:
    return _with(steps, at, kind="LLM" if steps[at].kind == "TOOL" else "TOOL")


def _other_name(steps: list[Made], at: int) -> list[Made]:
    return _with(steps, at, name="renamed")


def _traded(steps: list[Made], at: int) -> list[Made] | None:
    """Let a step and the next of its kind and name trade status."""
    label = (steps[at].kind, steps[at].name)
    for other in range(at + 1, len(steps)):
        if (steps[other].kind, steps[other].name) == label:
            if steps[other].status != steps[at].status:
                mine, theirs = steps[at], steps[other]
                first = _with(steps, at, status=theirs.status, error_type=theirs.error_type)
                return _with(first, other, status=mine.status, error_type=mine.error_type)
            return None
    return None


_Mutation = Callable[[list[Made], int], "list[Made] | None"]


@pytest.mark.parametrize(
    ("mutation", "seen", "untouched"),
    [
        (_drop_edge, {"causal_edges"}, set()),
        (_other_status, {"behaviour", "metrics"}, {"topology", "causal_edges"}),
        (_traded, {"behaviour"}, {"topology", "causal_edges", "metrics"}),
        (_other_kind, {"topology", "behaviour"}, {"metrics"}),
        (_other_name, {"topology", "behaviour"}, {"metrics"}),
        (_remove, {"topology", "behaviour", "metrics"}, set()),
    ],
)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_one_change_is_seen_by_the_right_verdict(
    mutation: _Mutation, seen: set[str], untouched: set[str], data: st.DataObject
) -> None:
    steps = data.draw(made_runs(names="x"))
    first = data.draw(st.integers(0, len(steps) - 1))
    tried = (mutation(steps, at) for at in [*range(first, len(steps)), *range(first)])
    changed = next((each for each in tried if each is not None), None)
    assume(changed is not None)
    assert changed is not None
    for before, after in ((steps, changed), (changed, steps)):
        found = different(before, after)
        assert seen <= found
        assert not found & untouched


@pytest.mark.parametrize(("mutation", "how"), [(_other_kind, "name"), (_other_name, "kind")])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_another_label_leaves_what_stands_below_in_its_place(
    mutation: _Mutation, how: str, data: st.DataObject
) -> None:
    steps = data.draw(made_runs(names="x", size=12))
    changed = mutation(steps, data.draw(st.integers(0, len(steps) - 1)))
    assert changed is not None
    diff = compare(run(steps), run(changed))
    assert len(diff.topology.differences) == 1
    assert Counter(HOW[code] for code in diff.steps.how_a)[how] == 1


def _edge_oracle(diff: Diff) -> Counter[tuple[Any, ...]]:
    """Count the edges of both runs in words, a step of A named by its counterpart."""
    total: Counter[tuple[Any, ...]] = Counter()
    names_b = {step.step_id: ("b", step.seq) for step in diff.b.trace.steps}
    names_a = {
        step.step_id: ("b", int(diff.steps.to_b[step.seq]))
        if diff.steps.to_b[step.seq] >= 0
        else ("a", step.seq)
        for step in diff.a.trace.steps
    }
    sides: list[tuple[Trace, dict[str, Any], int]] = [
        (diff.a.trace, names_a, 1),
        (diff.b.trace, names_b, -1),
    ]
    for trace, names, sign in sides:
        for edge in trace.causes:
            total[names[edge.effect], names[edge.cause], edge.origin, edge.evidence] += sign
    return total


@settings(max_examples=80, deadline=None)
@given(made_runs(), made_runs(), st.sampled_from([None, "derived"]))
def test_causal_edges_differ_as_multisets(
    a: list[Made], b: list[Made], evidence: str | None
) -> None:
    diff = compare(run(a), run(b, evidence=evidence))
    total = _edge_oracle(diff)
    edges = diff.causal_edges
    assert edges.identical is not any(total.values())
    only_a = sum(n for n in total.values() if n > 0)
    only_b = -sum(n for n in total.values() if n < 0)
    assert (edges.a >= 0).sum() == only_a
    assert (edges.b >= 0).sum() == only_b
    both = (edges.a >= 0) & (edges.b >= 0)
    for at_a, at_b in zip(edges.a[both], edges.b[both], strict=True):
        ends = [
            (diff.steps.to_b[diff.a.edges[part][at_a]], diff.b.edges[part][at_b]) for part in (0, 1)
        ]
        assert all(mine == theirs for mine, theirs in ends)
