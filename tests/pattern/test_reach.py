"""Walks, against a plain search over the edges."""

import random

import numpy as np
import pytest

from tracegraph.model.columns import Columns
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.pattern import reach
from tracegraph.pattern.ground import CausalEdges, Ground
from tracegraph.pattern.reach import Keys, Sources, Walks


def graph(seed: int, *, cyclic: bool) -> Columns:
    """Make three traces of random edges."""
    draw = random.Random(seed)
    draft = Draft()
    for trace in range(3):
        draft.begin(f"t{trace}", source="test", file="f")
        rows = [draft.step(f"s{i}") for i in range(draw.randint(1, 9))]
        for place, row in enumerate(rows):
            for _ in range(draw.randint(0, 2)):
                causes = rows if cyclic else rows[:place]
                if causes:
                    draft.link(row, draw.choice(causes), draw.choice(["edge", "order"]))
    return seal(draft)


def walked(
    edges: CausalEdges, size: int, low: int, high: int | None, passable: list[bool]
) -> set[tuple[int, int]]:
    """Search step by step: every pair that a walk joins."""
    links = list(zip(edges.cause.tolist(), edges.effect.tolist(), strict=True))
    pairs = set()
    for source in range(size):
        here = {source}
        for length in range(1, (high or low + 2 * size) + 1):
            inside = here if length == 1 else {row for row in here if passable[row]}
            here = {effect for cause, effect in links if cause in inside}
            if length >= low:
                pairs |= {(source, row) for row in here}
    return pairs


@pytest.mark.parametrize("words", [1 << 22, 2])
@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize(("low", "high"), [(1, None), (2, None), (4, None), (1, 3), (2, 2), (2, 5)])
def test_walks_are_those_of_a_plain_search(
    low: int, high: int | None, cyclic: bool, words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "_WORDS", words)  # the memory that decides how much moves at once
    for seed in range(20):
        columns = graph(seed, cyclic=cyclic)
        edges = Ground(columns).all_edges
        size = columns.step_count
        draw = random.Random(seed)
        passable = [draw.random() < 0.7 for _ in range(size)]
        walks = Walks(edges, columns.offsets, low, high, np.array(passable))
        expected = walked(edges, size, low, high, passable)
        rows = np.arange(size)
        found = [
            pair
            for sources, targets in walks.pairs(rows, rows)
            for pair in zip(sources.tolist(), targets.tolist(), strict=True)
        ]
        assert sorted(found) == sorted(expected)
        left, right = np.divmod(np.arange(size * size), size)
        joined = walks.connect(left, right)
        assert set(zip(left[joined].tolist(), right[joined].tolist(), strict=True)) == expected
        back = walks.backward().connect(size - 1 - right, size - 1 - left)
        assert np.array_equal(back, joined)


def test_more_sources_than_a_word_has_bits() -> None:
    draft = Draft()
    draft.begin("t", source="test", file="f")
    for number in range(200):
        draft.step(f"s{number}")
        if number:
            draft.link(number, number - 1, "edge")
    columns = seal(draft)
    walks = Walks(Ground(columns).all_edges, columns.offsets, 1, None)
    rows = np.arange(200)
    assert sum(len(sources) for sources, _ in walks.pairs(rows, rows)) == 200 * 199 // 2
    # Far fewer targets than sources: the sets hold the targets instead.
    few = np.array([3, 150, 199])
    found = [pair for s, t in walks.pairs(rows, few) for pair in zip(s, t, strict=True)]
    assert sorted(found) == [(s, t) for s in range(200) for t in range(3) if s < few[t]]
    keys = Keys(rows % 2, np.array([1, 0, -1]))
    found = [pair for s, t in walks.pairs(rows, few, keys) for pair in zip(s, t, strict=True)]
    wanted = {0: {1, 3}, 1: set(range(0, 150, 2)), 2: set(range(199))}
    assert sorted(found) == [
        (s, t) for s in range(200) for t in range(3) if s < few[t] and s in wanted[t]
    ]
    left = np.tile(rows, 3)
    right = np.repeat(few, 200)
    assert np.array_equal(walks.connect(left, right), left < right)


def test_pairs_that_share_a_key() -> None:
    columns = graph(3, cyclic=False)
    rows = np.arange(columns.step_count)
    walks = Walks(Ground(columns).all_edges, columns.offsets, 1, None)
    draw = random.Random(1)
    key = np.array([draw.choice([-1, 0, 1]) for _ in rows])
    every = {pair for s, t in walks.pairs(rows, rows) for pair in zip(s, t, strict=True)}
    shared = {
        pair for s, t in walks.pairs(rows, rows, Keys(key, key)) for pair in zip(s, t, strict=True)
    }
    assert shared == {(s, t) for s, t in every if key[s] < 0 or key[t] < 0 or key[s] == key[t]}
    assert shared < every


def test_sources_that_need_not_be_told_apart() -> None:
    columns = graph(5, cyclic=False)
    rows = np.arange(columns.step_count)
    walks = Walks(Ground(columns).all_edges, columns.offsets, 1, None)
    trace = columns.trace_of(rows)
    led = walks.led(Sources(rows, trace), rows, trace)
    _, right = np.divmod(np.arange(len(rows) ** 2), len(rows))
    left = np.arange(len(rows) ** 2) // len(rows)
    joined = walks.connect(left, right).reshape(len(rows), len(rows))
    assert np.array_equal(led, joined.any(axis=0))
    assert led.any() and not led.all()
