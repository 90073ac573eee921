"""The rules of the model, each against a definition written out plainly in the test."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracegraph.model.codes import ORIGINS, evidence_of
from tracegraph.model.columns import Columns
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate


@st.composite
def drafts(draw: st.DrawFn, acyclic: bool = False) -> Draft:
    """A draft of a few small traces with joins, unknown times and (unless acyclic) cycles."""
    draft = Draft()
    for t in range(draw(st.integers(1, 3))):
        first = draft.begin(f"t{t}", source="test", file="f", contained=draw(st.booleans()))
        count = draw(st.integers(0, 9))
        for i in range(count):
            start = draw(st.integers(-1, 6))
            draft.step(
                f"s{i}",
                kind=draw(st.integers(0, 4)),
                status=draw(st.integers(0, 2)),
                start=start,
                end=draw(st.integers(-1, 8)),
                wrapper=draw(st.booleans()),
                orphan=draw(st.integers(0, 5)) == 0,
            )
        for _ in range(draw(st.integers(0, 14)) if count > 1 else 0):
            a, b = draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1))
            if acyclic:
                a, b = max(a, b), min(a, b)
            draft.link(first + a, first + b, draw(st.sampled_from(ORIGINS)))
    return draft


def numbered(trace: Trace) -> dict[str, int]:
    return {step.step_id: step.seq for step in trace.steps}


def recorded(draft: Draft, t: int) -> tuple[list[int], list[tuple[int, int]]]:
    """Starts of trace ``t`` by source position, and its edges (cause, effect) without loops."""
    bounds = [*draft.traces.first, len(draft.steps.step_id)]
    low, high = bounds[t], bounds[t + 1]
    edges = {
        (c - low, e - low)
        for e, c in zip(draft.effect, draft.cause, strict=True)
        if low <= e < high and e != c
    }
    return draft.steps.start[low:high], sorted(edges)


def reachable(count: int, edges: list[tuple[int, int]]) -> list[set[int]]:
    reach: list[set[int]] = [set() for _ in range(count)]
    for _ in range(count):
        for c, e in edges:
            reach[c] |= {e} | reach[e]
    return reach


def order_by_definition(starts: list[int], edges: list[tuple[int, int]]) -> list[int]:
    """Repeatedly take the component with the smallest key that waits for no other component."""
    count = len(starts)
    reach = reachable(count, edges)
    component = [
        min([i, *(j for j in range(count) if j in reach[i] and i in reach[j])])
        for i in range(count)
    ]
    key = [(start < 0, start, i) for i, start in enumerate(starts)]
    left, result = set(component), list[int]()
    while left:
        free = [
            c
            for c in left
            if not any(
                component[a] in left and component[a] != c and component[b] == c for a, b in edges
            )
        ]
        best = min(free, key=lambda c: min(key[i] for i in range(count) if component[i] == c))
        result += sorted((i for i in range(count) if component[i] == best), key=lambda i: key[i])
        left.remove(best)
    return result


@given(drafts())
@settings(max_examples=300)
def test_seq_is_the_order_of_the_condensation(draft: Draft) -> None:
    expected = [order_by_definition(*recorded(draft, t)) for t in range(len(draft.traces.first))]
    for trace, order in zip(iterate(seal(draft)), expected, strict=True):
        assert [step.step_id for step in trace.steps] == [f"s{i}" for i in order]


@given(drafts(acyclic=True))
def test_without_a_cycle_every_cause_comes_first(draft: Draft) -> None:
    for trace in iterate(seal(draft)):
        seq = numbered(trace)
        assert not trace.cyclic
        assert all(seq[edge.cause] < seq[edge.effect] for edge in trace.causes)


@given(drafts())
def test_cycles_are_kept_and_counted(draft: Draft) -> None:
    graphs = [recorded(draft, t) for t in range(len(draft.traces.first))]
    loops = sum(e == c for e, c in zip(draft.effect, draft.cause, strict=True))
    distinct = {
        (e, c, o) for e, c, o in zip(draft.effect, draft.cause, draft.origin, strict=True) if e != c
    }
    columns = seal(draft)
    assert len(columns.causes.effect) == len(distinct)
    disclosed = 0
    for trace, (starts, edges) in zip(iterate(columns), graphs, strict=True):
        seq = numbered(trace)
        reach = reachable(len(starts), edges)
        assert trace.cyclic == any(i in reach[i] for i in range(len(starts)))
        gaps = {gap.code: gap.count for gap in trace.gaps}
        against = [e for e in trace.causes if seq[e.cause] > seq[e.effect]]
        assert gaps.get("causes.cycle", 0) == len(against)
        disclosed += gaps.get("causes.self", 0)
    assert disclosed == loops


def rank(origin: str, evidence: str) -> int:
    if evidence == "heuristic":
        return 4
    if evidence == "derived":
        return 3
    if origin in {"graph_parent", "checkpoint_parent", "subgraph_return"}:
        return 0
    return 1 if origin == "span_parent" else 2


@given(drafts())
def test_tree_parent_is_the_best_cause_that_comes_first(draft: Draft) -> None:
    for trace in iterate(seal(draft)):
        seq = numbered(trace)
        causes = list(trace.causes)
        for step in trace.steps:
            mine = [e for e in causes if e.effect == step.step_id]
            forward = [e for e in mine if seq[e.cause] < step.seq]
            best = min(
                (e for e in forward),
                key=lambda e: (rank(e.origin, e.evidence), seq[e.cause]),
                default=None,
            )
            assert (step.parent.step_id if step.parent else None) == (best and best.cause)
            assert step.lossy == (len({e.cause for e in mine}) > 1)


def preorder(columns: Columns, parent: list[int], rows: range) -> Iterator[int]:
    def walk(row: int) -> Iterator[int]:
        yield row
        for child in rows:
            if parent[child] == row:
                yield from walk(child)

    for row in rows:
        if parent[row] < 0:
            yield from walk(row)


@given(drafts())
def test_tree_numbers_follow_from_the_parents(draft: Draft) -> None:
    columns = seal(draft)
    s = columns.steps
    parent = s.parent.tolist()

    def ancestors(row: int) -> list[int]:
        return [] if parent[row] < 0 else [parent[row], *ancestors(parent[row])]

    for trace in iterate(columns):
        order = list(preorder(columns, parent, trace.rows))
        assert [s.pre[row] for row in order] == list(trace.rows)
        for row in trace.rows:
            up = ancestors(row)
            below = [r for r in trace.rows if row in ancestors(r)]
            assert s.last[row] == s.pre[row] + len(below)
            assert s.children[row] == parent.count(row)
            end = up[-1] if up else row
            assert s.depth[row] == (-1 if s.orphan[row] or s.orphan[end] else len(up))
            assert s.scope[row] == next((r for r in up if not s.wrapper[r]), -1)


@given(drafts())
def test_times_are_kept_and_impossible_ends_do_not_order(draft: Draft) -> None:
    columns = seal(draft)
    s = columns.steps
    for trace in iterate(columns):
        possible = [
            s.end[r] >= 0 and (s.start[r] < 0 or s.end[r] >= s.start[r]) for r in trace.rows
        ]
        usable = any(possible) or any(s.start[r] >= 0 for r in trace.rows)
        assert bool(columns.traces.timed[trace.index]) == usable
        for r, good in zip(trace.rows, possible, strict=True):
            seq = r - trace.rows.start
            assert s.o0[r] == (s.start[r] if usable else seq)
            assert s.o1[r] == ((s.end[r] if good else -1) if usable else seq)
            known = good and s.start[r] >= 0
            assert s.duration[r] == (s.end[r] - s.start[r] if known else -1)


MESSAGES = ("tool_call_id", "protocol")
BESIDE = (*MESSAGES, "span_link", "graph_step")


@given(drafts())
def test_status_of_the_run(draft: Draft) -> None:
    contained = list(draft.traces.contained)
    for trace, held in zip(iterate(seal(draft)), contained, strict=True):
        steps = list(trace.steps)
        seq = numbered(trace)
        inside = {e.effect for e in trace.causes if e.origin not in BESIDE}
        roots = [s for s in steps if not s.orphan and (s.parent is None or s.step_id not in inside)]
        ids = {s.step_id for s in roots}
        went_on = {
            e.cause
            for e in trace.causes
            if e.origin in MESSAGES and {e.cause, e.effect} <= ids and seq[e.cause] < seq[e.effect]
        }
        speaking = [s for s in roots if s.step_id not in went_on] if held else steps[-1:]
        found = {s.status for s in speaking}
        expected = (
            "error" if "error" in found else "ok" if found and "unset" not in found else "unset"
        )
        assert trace.status == expected


def test_a_recorded_status_of_the_run_stays() -> None:
    draft = Draft()
    draft.begin("t", source="test", file="f", status=2)
    draft.step("a", status=1)
    assert next(iterate(seal(draft))).status == "error"


def test_evidence_follows_from_the_origin() -> None:
    known: dict[str, Any] = {o: evidence_of(o) for o in ORIGINS}
    assert {o for o, e in known.items() if e == 2} == {"span_parent"}
    assert {o for o, e in known.items() if e == 3} == {"protocol", "graph_step", "data_flow"}
    assert {o for o, e in known.items() if e == 4} == {"order", "legacy_unknown"}


def test_a_long_chain_and_a_deep_tree_stay_linear() -> None:
    draft = Draft()
    draft.begin("t", source="test", file="f")
    for i in range(20_000):
        draft.step(f"s{i}", start=20_000 - i)  # against the causes: the slow path of ordering
        if i:
            draft.link(i, i - 1, "span_parent")
    columns = seal(draft)
    assert columns.step_id[-1] == "s19999"
    assert columns.steps.depth[-1] == 19_999
    assert np.array_equal(columns.steps.pre, np.arange(20_000))
