"""From draft to columns: order the steps, derive the tree, apply the rules of the model once."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracegraph.model.codes import CONTAINMENT, UNKNOWN
from tracegraph.model.columns import (
    Array,
    CauseColumns,
    Columns,
    Content,
    Ints,
    StepColumns,
    TraceColumns,
    dtype,
    is_text,
    names,
)
from tracegraph.model.draft import Draft
from tracegraph.model.order import total_order
from tracegraph.model.run_status import run_status
from tracegraph.model.tree import Tree, derive_tree

_DRAFTED = (
    "kind name status status_source agent model start end error_type error_message tokens_prompt "
    "tokens_completion tokens_total tool_call_id args result args_size result_size docs "
    "signals wrapper orphan unknown_fields"
).split()

SEALED_GAPS = frozenset({"causes.cycle", "clock.end_before_start", "clock.child_before_parent"})
"""Gaps that sealing counts: a reader of stored traces drops them, they are found again."""


class Vocabulary:
    """Text and its codes, in order of first appearance."""

    def __init__(self) -> None:
        self._code: dict[str | None, int] = {None: UNKNOWN}

    def codes(self, texts: Sequence[str | None]) -> Array:
        """Return the codes of many texts."""
        if texts.count(None) == len(texts):  # most columns of most formats
            return np.full(len(texts), UNKNOWN, dtype=np.int32)
        known = self._code
        return np.array(
            [known[t] if t in known else known.setdefault(t, len(known) - 1) for t in texts],
            dtype=np.int32,
        )

    def texts(self) -> list[str]:
        """Return the texts in the order of their codes."""
        return [text for text in self._code if text is not None]


def seal(draft: Draft) -> Columns:
    """Turn a draft into columns. The draft must not be used afterwards.

    Discloses in the trace's gaps: ``causes.self`` (a step as its own cause, dropped),
    ``causes.cycle`` (edges against ``seq``, kept), ``clock.end_before_start``,
    ``clock.child_before_parent``.
    """
    count, traces = len(draft.steps.step_id), len(draft.traces.first)
    offsets = np.array([*draft.traces.first, count], dtype=np.int64)
    trace = np.repeat(np.arange(traces, dtype=np.int64), np.diff(offsets))
    gaps = draft.traces.gaps
    effect, cause, origin, evidence = _edges(draft, trace, gaps)

    start = np.array(draft.steps.start, dtype=np.int64)
    order, cyclic = total_order(trace, start, effect, cause, traces)
    rank = np.empty_like(order)
    rank[order] = np.arange(count)
    effect, cause = rank[effect], rank[cause]
    by_effect = np.lexsort((evidence, origin, cause, effect))
    effect, cause = effect[by_effect], cause[by_effect]
    origin, evidence = origin[by_effect], evidence[by_effect]
    _count_gaps(gaps, "causes.cycle", trace[effect[cause > effect]])

    vocabulary = Vocabulary()
    values = _step_values(draft, order, vocabulary)
    tree = derive_tree(
        offsets, effect, cause, origin, evidence, values["orphan"], values["wrapper"]
    )
    _add_tree(values, tree, effect, cause, count)
    timed = _add_times(values, trace, traces, offsets, gaps)
    held = evidence == CONTAINMENT
    early = (values["start"][effect] >= 0) & (values["start"][effect] < values["start"][cause])
    _count_gaps(gaps, "clock.child_before_parent", trace[effect[held & early]])

    steps = StepColumns(**{n: values[n].astype(dtype(StepColumns, n)) for n in names(StepColumns)})
    causes = CauseColumns(
        effect.astype(np.int32),
        cause.astype(np.int32),
        origin.astype(np.int8),
        evidence.astype(np.int8),
    )
    permuted = order.tolist()
    return Columns(
        offsets=offsets,
        trace_id=draft.traces.trace_id,
        step_id=[draft.steps.step_id[i] for i in permuted],
        traces=_trace_columns(draft, steps, causes, offsets, cyclic, timed, vocabulary),
        steps=steps,
        causes=causes,
        content=_content(draft, permuted),
        vocabulary=vocabulary.texts(),
    )


def _edges(
    draft: Draft, trace: Ints, gaps: list[Counter[str]]
) -> tuple[Array, Array, Array, Array]:
    """Return the draft's edges without self-causes and without repeats of the same origin."""
    edges = np.array(
        [draft.effect, draft.cause, draft.origin, draft.evidence], dtype=np.int64
    ).reshape(4, -1)
    loops = edges[0] == edges[1]
    if loops.any():
        _count_gaps(gaps, "causes.self", trace[edges[0][loops]])
        edges = edges[:, ~loops]
    if edges.shape[1]:
        edges = edges[:, np.lexsort((edges[3], edges[2], edges[1], edges[0]))]
        same = (edges[:3, 1:] == edges[:3, :-1]).all(axis=0)
        edges = edges[:, np.r_[True, ~same]]
    return edges[0], edges[1], edges[2], edges[3]


def _step_values(draft: Draft, order: Ints, vocabulary: Vocabulary) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in _DRAFTED:
        raw = getattr(draft.steps, name)
        whole = (
            vocabulary.codes(raw)
            if is_text(StepColumns, name)
            else np.array(raw, dtype=dtype(StepColumns, name))
        )
        values[name] = whole[order]
    values["cost"] = np.array(
        [UNKNOWN if c is None else float(c) for c in draft.steps.cost], dtype=np.float64
    )[order]
    values["cost_text"] = vocabulary.codes(draft.steps.cost)[order]
    values["duration"] = np.array(draft.steps.duration, dtype=np.int64)[order]
    return values


def _add_tree(values: dict[str, Any], tree: Tree, effect: Array, cause: Array, count: int) -> None:
    for name in ("parent", "parent_evidence", "depth", "children", "pre", "last", "scope"):
        values[name] = getattr(tree, name)
    distinct = np.r_[True, (effect[1:] != effect[:-1]) | (cause[1:] != cause[:-1])]
    values["lossy"] = np.bincount(effect[distinct[: len(effect)]], minlength=count) > 1


def _add_times(
    values: dict[str, Any], trace: Ints, traces: int, offsets: Ints, gaps: list[Counter[str]]
) -> Array:
    """Add duration and order bounds. Return which traces have a usable time."""
    start, end = values["start"], values["end"]
    possible = (end >= 0) & ((start < 0) | (end >= start))
    _count_gaps(gaps, "clock.end_before_start", trace[(end >= 0) & ~possible])
    measured = (values["duration"] < 0) & possible & (start >= 0)
    values["duration"] = np.where(measured, end - start, values["duration"])
    timed = np.zeros(traces, dtype=bool)
    timed[trace[(start >= 0) | possible]] = True
    seq = np.arange(len(trace)) - offsets[trace]
    values["o0"] = np.where(timed[trace], start, seq)
    values["o1"] = np.where(timed[trace], np.where(possible, end, UNKNOWN), seq)
    return timed


def _count_gaps(gaps: list[Counter[str]], code: str, traces: Array) -> None:
    for t, n in zip(*np.unique(traces, return_counts=True), strict=True):
        gaps[int(t)][code] += int(n)


def _trace_columns(
    draft: Draft,
    steps: StepColumns,
    causes: CauseColumns,
    offsets: Ints,
    cyclic: list[int],
    timed: Array,
    vocabulary: Vocabulary,
) -> TraceColumns:
    t = draft.traces
    count = len(t.first)
    contained = np.array(t.contained, dtype=bool)
    recorded = np.array(t.status, dtype=np.int8)
    is_cyclic = np.zeros(count, dtype=bool)
    is_cyclic[cyclic] = True
    gaps = [json.dumps(dict(sorted(g.items()))) if g else None for g in t.gaps]
    return TraceColumns(
        source=vocabulary.codes(t.source),
        file=vocabulary.codes(t.file),
        file_digest=vocabulary.codes(t.file_digest),
        run_id=vocabulary.codes(t.run_id),
        session_id=vocabulary.codes(t.session_id),
        agent=vocabulary.codes(t.agent),
        status=np.where(
            recorded >= 0, recorded, run_status(steps, causes, offsets, contained)
        ).astype(np.int8),
        fidelity=np.array(t.fidelity, dtype=np.int8),
        contained=contained,
        cyclic=is_cyclic,
        timed=timed,
        started=_per_trace(np.minimum, steps.start, offsets, steps.start >= 0),
        ended=_per_trace(np.maximum, steps.end, offsets, steps.end >= np.maximum(steps.start, 0)),
        gaps=vocabulary.codes(gaps),
        attributes=vocabulary.codes(t.attributes),
    )


def _per_trace(reduce: np.ufunc, values: Array, offsets: Ints, usable: Array) -> Array:
    """Reduce the usable values of each trace, -1 where there are none."""
    result = np.full(len(offsets) - 1, UNKNOWN, dtype=np.int64)
    trace = np.repeat(np.arange(len(result)), np.diff(offsets))[usable]
    if len(trace):
        starts = np.flatnonzero(np.r_[True, trace[1:] != trace[:-1]])
        result[trace[starts]] = reduce.reduceat(values[usable], starts)
    return result


def _content(draft: Draft, order: list[int]) -> Content | None:
    if not draft.keep_content:
        return None
    s = draft.steps
    return Content(
        [s.input[i] for i in order],
        [s.output[i] for i in order],
        [s.attributes[i] for i in order],
    )
