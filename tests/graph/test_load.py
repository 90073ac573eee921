"""What is in a built graph, against the columns that it was built from."""

import os
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parity.traces import random_columns
from tracegraph.errors import CorpusError
from tracegraph.graph.filling import GraphCounts
from tracegraph.graph.load import append_graph, build_graph, remove_graph, texts_path
from tracegraph.graph.session import GraphSession
from tracegraph.model.codes import EVIDENCE, KIND_CODE, ORIGINS, SIGNAL_BIT
from tracegraph.model.columns import Columns
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace

Segments = Sequence[tuple[int, Columns]]

_TEXTS = {
    "name": "name",
    "status_source": "status_source",
    "agent": "agent",
    "model": "model",
    "error_type": "error_type",
    "error_message": "error_message",
    "tool_call_id": "tool_call_id",
    "args": "args_digest",
    "result": "result_digest",
}
_NUMBERS = (
    "kind status start duration tokens_prompt tokens_completion tokens_total docs cost signals "
    "depth children lossy o0 o1"
).split()
_KEYS = ("pre", "last", "scope", "parent")


def answer(session: GraphSession, text: str) -> list[tuple[Any, ...]]:
    return list(session.run(text))


def counts_of(segments: Segments) -> GraphCounts:
    return GraphCounts(
        sum(c.trace_count for _, c in segments),
        sum(c.step_count for _, c in segments),
        sum(len(c.causes.effect) for _, c in segments),
    )


def check_steps(session: GraphSession, number: int, columns: Columns) -> None:
    """Compare every column of every step of a segment."""
    low, high = number << 32, (number + 1) << 32
    table = session.run(
        f"MATCH (s:Step) WHERE s._key >= {low} AND s._key < {high} RETURN s.* ORDER BY s._key"
    ).arrow()
    got = {name.removeprefix("s."): table[name].to_pylist() for name in table.column_names}
    steps = [Step(columns, row) for row in range(columns.step_count)]
    assert got["_key"] == [low + step.row for step in steps]
    for name in ("step_id", "seq", "kind", "status", "wrapper", "orphan", "lossy", "depth"):
        assert got[name] == [getattr(step, name) for step in steps], name
    for name in ("tokens_prompt", "tokens_completion", "tokens_total", "docs", "children"):
        assert got[name] == [getattr(step, name) for step in steps], name
    for column, name in _TEXTS.items():
        texts = [getattr(step, name) for step in steps]
        assert got[name] == texts, name
        codes = [-1 if text is None else session.texts.code_of(text) for text in texts]
        assert got[f"_{column}"] == codes, name
    assert got["signals"] == [list(step.signals) for step in steps]
    assert got["unknown_fields"] == [",".join(step.unknown_fields) or None for step in steps]
    assert got["cost"] == [None if step.cost is None else float(step.cost) for step in steps]
    for name, exact in (("started_at", "start"), ("ended_at", "end")):
        times = table[f"s.{name}"].cast("int64").to_pylist()
        recorded = [getattr(step, exact) for step in steps]
        assert times == [None if t is None else t // 1000 for t in recorded], name
    possible = [s.end if s.end is not None and s.end >= (s.start or 0) else -1 for s in steps]
    assert got["_end"] == possible
    for name in _NUMBERS:
        assert got[f"_{name}"] == getattr(columns.steps, name).tolist(), name
    for name in _KEYS:
        rows = getattr(columns.steps, name).tolist()
        assert got[f"_{name}"] == [low + row if row >= 0 else -1 for row in rows], name
    trace = columns.trace_of(np.arange(columns.step_count)).tolist()
    assert got["trace_id"] == [columns.trace_id[t] for t in trace]
    assert got["_trace"] == [low + t for t in trace]


def check_edges(session: GraphSession, segments: Segments) -> None:
    causes, tree, inside = [], [], []
    for number, columns in segments:
        base = number << 32
        c = columns.causes
        causes += [
            (base + int(e), base + int(k), ORIGINS[o], EVIDENCE[v], int(v))
            for e, k, o, v in zip(c.effect, c.cause, c.origin, c.evidence, strict=True)
        ]
        s = columns.steps
        tree += [
            (base + row, base + int(s.parent[row]), EVIDENCE[s.parent_evidence[row]])
            for row in np.flatnonzero(s.parent >= 0).tolist()
        ]
        trace = columns.trace_of(np.arange(columns.step_count)).tolist()
        inside += [(base + row, base + t) for row, t in enumerate(trace)]
    found = "MATCH (a:Step)-[e:{}]->(b) RETURN a._key, b._key{}"
    assert sorted(
        answer(session, found.format("CAUSED_BY", ", e.origin, e.evidence, e._evidence"))
    ) == sorted(causes)
    assert sorted(answer(session, found.format("TREE_PARENT", ", e.evidence"))) == sorted(tree)
    assert sorted(answer(session, found.format("IN_TRACE", ""))) == sorted(inside)


def check_traces(session: GraphSession, segments: Segments) -> None:
    names = "trace_id source file run_id session_id agent status fidelity cyclic".split()
    columns = ", ".join(f"t.{name}" for name in names)
    got = answer(
        session,
        f"MATCH (t:Trace) RETURN t._key, {columns}, t.step_count, t.error_count, t._status, "
        "t._fidelity, t._source, t._session_id ORDER BY t._key",
    )
    wanted = []
    for number, segment in segments:
        for index in range(segment.trace_count):
            trace = Trace(segment, index)
            wanted.append(
                (
                    (number << 32) + index,
                    *(getattr(trace, name) for name in names),
                    len(trace),
                    sum(step.status == "error" for step in trace.steps),
                    int(segment.traces.status[index]),
                    int(segment.traces.fidelity[index]),
                    session.texts.code_of(trace.source),
                    -1 if trace.session_id is None else session.texts.code_of(trace.session_id),
                )
            )
    assert got == wanted


def check(path: Path, counts: GraphCounts, segments: Segments) -> None:
    assert counts == counts_of(segments)
    with GraphSession.open(path, counts) as session:
        for number, columns in segments:
            check_steps(session, number, columns)
        check_edges(session, segments)
        check_traces(session, segments)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32), sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_graph_holds_what_the_columns_hold(tmp_path: Path, seed: int, sizes: list[int]) -> None:
    random = Random(seed)
    segments = [
        (3 * place + 1, random_columns(random, size, cycles=True, long_chain=place == 0))
        for place, size in enumerate(sizes)
    ]
    path = tmp_path / "graph.kuzu"
    check(path, build_graph(path, segments), segments)


@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32))
def test_appended_graph_equals_one_built_from_all(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    segments = [
        (number, random_columns(random, 2, cycles=True, long_chain=False)) for number in range(3)
    ]
    first, second, whole = (tmp_path / f"graph.{n}.kuzu" for n in range(3))
    build_graph(first, segments[:1])
    before = first.read_bytes()
    check(second, append_graph(first, second, segments[1:]), segments)
    build_graph(whole, segments)
    assert texts_path(second).read_bytes() == texts_path(whole).read_bytes()
    assert first.read_bytes() == before


def exact() -> Columns:
    """Steps with what random drafts lack: real times, content, odd text, an impossible end."""
    draft = Draft(keep_content=True)
    draft.begin("t'1\"", source="otlp", file="a b.json", attributes='{"k": 1}', gaps={"x": 2})
    now = 1_764_403_200_123_456_789
    draft.step(
        "s\n1",
        kind=KIND_CODE["TOOL"],
        name="naïve 🙂 'tool'",
        start=now,
        end=now + 1_500_001,
        unknown_fields="args,result",
        signals=SIGNAL_BIT["tool_error"] | SIGNAL_BIT["truncated"],
        cost="0.000125",
        input="{}",
        attributes='{"a": null}',
    )
    draft.step("s2", start=now + 5, end=now, name="\0")
    draft.begin("empty", source="otlp", file="a b.json")
    return seal(draft)


def test_times_are_exact_in_engine_columns_and_content_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "graph.kuzu"
    segments = [(7, exact())]
    counts = build_graph(path, segments)
    assert counts == GraphCounts(traces=2, steps=2, causes=0)
    with GraphSession.open(path, counts) as session:
        table = session.run(
            "MATCH (s:Step) RETURN s.started_at, s._start, s._end, s.duration_ms, s.input, "
            "s.output, s.attributes, s.name, s.unknown_fields, s.signals ORDER BY s.seq"
        ).arrow()
        now = 1_764_403_200_123_456_789
        assert table[0].cast("int64").to_pylist() == [now // 1000, (now + 5) // 1000]
        assert table[1].to_pylist() == [now, now + 5]
        assert table[2].to_pylist() == [now + 1_500_001, -1]
        assert table[3].to_pylist() == [1.500001, None]
        assert table[4].to_pylist() == ["{}", None]
        assert table[5].to_pylist() == [None, None]
        assert table[6].to_pylist() == ['{"a": null}', None]
        assert table[7].to_pylist() == ["naïve 🙂 'tool'", "\0"]
        assert table[8].to_pylist() == ["args,result", None]
        assert table[9].to_pylist() == [["tool_error", "truncated"], []]
        assert answer(session, "MATCH (t:Trace) RETURN t.trace_id, t.step_count, t.attributes") == [
            ("t'1\"", 2, '{"k": 1}'),
            ("empty", 0, None),
        ]


def test_graph_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "graph.kuzu"
    counts = build_graph(path, [])
    assert counts == GraphCounts(0, 0, 0)
    with GraphSession.open(path, counts) as session:
        assert answer(session, "MATCH (s:Step) RETURN count(*)") == [(0,)]
        assert session.texts.code_of("a") == -1


def test_folder_names_are_no_wildcards(tmp_path: Path) -> None:
    path = tmp_path / "we[i]rd 'x' *?{a,b}" / "graph.1.kuzu"
    segments = [(0, exact())]
    build_graph(path, segments)
    with GraphSession.open(path, counts_of(segments)) as session:
        assert answer(session, "MATCH (s:Step) RETURN count(*)") == [(2,)]
    assert sorted(os.listdir(path.parent)) == ["graph.1.kuzu", "graph.1.kuzu.texts"]


def test_failed_build_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "graph.kuzu"
    build_graph(path, [(0, exact())])
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    with pytest.raises(CorpusError, match=r"graph\.kuzu: the graph cannot be built: .*duplicate"):
        build_graph(path, [(0, exact()), (0, exact())])
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before


def test_appending_a_held_segment_is_refused(tmp_path: Path) -> None:
    first, second = tmp_path / "graph.1.kuzu", tmp_path / "graph.2.kuzu"
    build_graph(first, [(0, exact())])
    with pytest.raises(CorpusError, match="duplicate"):
        append_graph(first, second, [(0, exact())])
    assert sorted(os.listdir(tmp_path)) == ["graph.1.kuzu", "graph.1.kuzu.texts"]


def test_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CorpusError, match=r"file.graph\.kuzu: the graph cannot be built"):
        build_graph(tmp_path / "file" / "graph.kuzu", [])


def test_remove_graph_takes_all_that_belongs_to_it_and_nothing_else(tmp_path: Path) -> None:
    one, eleven = tmp_path / "graph.1.kuzu", tmp_path / "graph.11.kuzu"
    for path in (one, eleven):
        build_graph(path, [])
    remove_graph(one)
    assert sorted(os.listdir(tmp_path)) == ["graph.11.kuzu", "graph.11.kuzu.texts"]
    remove_graph(one)
