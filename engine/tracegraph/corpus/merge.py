"""Put columns together and take them apart, trace by trace.

Whole traces move, so rows only shift; text codes are translated into one vocabulary.
"""

import dataclasses
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from tracegraph.corpus.texts import Texts
from tracegraph.model.columns import (
    Array,
    CauseColumns,
    Columns,
    Content,
    Ints,
    StepColumns,
    TraceColumns,
    dtype,
    expand,
    is_row,
    is_text,
    names,
)

_Table = TypeVar("_Table", StepColumns, TraceColumns, CauseColumns)


def concat(parts: Sequence[Columns]) -> Columns:
    """Return the traces of all parts, in order, over one vocabulary without repeats.

    Raises:
        ValueError: there are no parts.
    """
    if len(parts) == 1:
        return _compacted_ids(parts[0])
    vocabulary, codes = _unite(parts)
    words = np.cumsum([0, *(len(part.vocabulary) for part in parts)])
    rows = np.cumsum([0, *(part.step_count for part in parts)])
    return Columns(
        offsets=np.concatenate(
            [[0], *(part.offsets[1:] + base for part, base in zip(parts, rows, strict=False))]
        ).astype(np.int64),
        trace_id=Texts.concat([Texts.of(part.trace_id) for part in parts]),
        step_id=Texts.concat([Texts.of(part.step_id) for part in parts]),
        vocabulary=vocabulary,
        traces=_join(TraceColumns, [part.traces for part in parts], words, codes, rows),
        steps=_join(StepColumns, [part.steps for part in parts], words, codes, rows),
        causes=_join(CauseColumns, [part.causes for part in parts], words, codes, rows),
        content=_join_content(parts),
    )


def take(columns: Columns, traces: Ints) -> Columns:
    """Return some traces, in the order given, with the vocabulary that they use."""
    low, high = columns.offsets[traces], columns.offsets[np.asarray(traces) + 1]
    offsets = np.r_[0, np.cumsum(high - low)].astype(np.int64)
    rows = expand(low, high - low)
    shift = np.repeat(offsets[:-1] - low, high - low)

    first, last = np.searchsorted(columns.causes.effect, [low, high])
    edges = expand(first, last - first)
    edge_shift = np.repeat(offsets[:-1] - low, last - first)

    content = columns.content
    taken = Columns(
        offsets=offsets,
        trace_id=Texts.of(columns.trace_id).take(traces),
        step_id=Texts.of(columns.step_id).take(rows),
        vocabulary=columns.vocabulary,
        traces=_map(columns.traces, lambda _, values: values[traces]),
        steps=_map(
            columns.steps, lambda name, values: _moved(StepColumns, name, values[rows], shift)
        ),
        causes=_map(
            columns.causes,
            lambda name, values: _moved(CauseColumns, name, values[edges], edge_shift),
        ),
        content=content and Content(*(_pick(part, rows) for part in _parts(content))),
    )
    return compact(taken)


def rearrange(parts: Sequence[Columns], traces: Ints) -> Columns:
    """Return the traces of all parts in another order, numbered over the parts in theirs.

    Raises:
        ValueError: there are no parts.
    """
    return take(concat(parts), traces)


def compact(columns: Columns) -> Columns:
    """Return the columns over the texts that they use, in the order in which they use them.

    So the same traces have the same vocabulary, whatever they were put together from.
    """
    unused = np.iinfo(np.int64).max
    used = np.full(len(columns.vocabulary) + 1, unused)  # the last one stands for unknown
    base = 0
    for table in (columns.traces, columns.steps):
        for name in names(type(table)):
            if is_text(type(table), name):
                found = getattr(table, name)[::-1]
                places = np.arange(base + len(found) - 1, base - 1, -1)
                first = np.full_like(used, unused)
                first[found] = places  # the first use is written last
                np.minimum(used, first, out=used)
                base += len(found)
    used[-1] = unused
    order = np.argsort(used, kind="stable")[: np.count_nonzero(used != unused)]
    if np.array_equal(order, np.arange(len(columns.vocabulary))):
        return columns
    codes = np.full(len(used), -1, dtype=np.int32)
    codes[order] = np.arange(len(order))
    return dataclasses.replace(
        columns,
        vocabulary=Texts.of(columns.vocabulary).take(order),
        traces=_map(columns.traces, lambda n, v: codes[v] if is_text(TraceColumns, n) else v),
        steps=_map(columns.steps, lambda n, v: codes[v] if is_text(StepColumns, n) else v),
    )


def _compacted_ids(columns: Columns) -> Columns:
    return dataclasses.replace(
        columns,
        trace_id=Texts.of(columns.trace_id),
        step_id=Texts.of(columns.step_id),
        vocabulary=Texts.of(columns.vocabulary),
    )


def _unite(parts: Sequence[Columns]) -> tuple[Texts, Array]:
    """Return one vocabulary and, for the concatenated vocabularies of the parts, its codes.

    The codes end with -1, so that code -1 (unknown) stays unknown.
    """
    known: dict[str, int] = {}
    every = chain.from_iterable(part.vocabulary for part in parts)
    codes = [known.setdefault(text, len(known)) for text in every]
    return Texts.of(list(known)), np.array([*codes, -1], dtype=np.int32)


def _join(
    table: type[_Table], parts: Sequence[_Table], words: Ints, codes: Array, rows: Ints
) -> _Table:
    values: dict[str, Array] = {}
    sizes = [len(getattr(part, names(table)[0])) for part in parts]
    for name in names(table):
        whole = np.concatenate([getattr(part, name) for part in parts])
        if is_text(table, name):
            base = np.repeat(words[:-1], sizes)
            whole = codes[np.where(whole < 0, -1, whole + base)]
        elif is_row(table, name):
            whole = np.where(whole < 0, -1, whole + np.repeat(rows[:-1], sizes))
        values[name] = whole.astype(dtype(table, name), copy=False)
    return table(**values)


def _join_content(parts: Sequence[Columns]) -> Content | None:
    if all(part.content is None for part in parts):
        return None
    joined: tuple[list[str | None], ...] = ([], [], [])
    for part in parts:
        held = _parts(part.content) if part.content else ([None] * part.step_count,) * 3
        for target, values in zip(joined, held, strict=True):
            target.extend(values)
    return Content(*joined)


def _parts(content: Content) -> tuple[Sequence[str | None], ...]:
    return content.input, content.output, content.attributes


def _pick(values: Sequence[str | None], rows: Ints) -> list[str | None]:
    held = list(values)
    return [held[row] for row in rows.tolist()]


def _map(table: _Table, change: Callable[[str, Array], Any]) -> _Table:
    kind = type(table)
    return kind(**{name: change(name, getattr(table, name)) for name in names(kind)})


def _moved(table: type, name: str, values: Array, shift: Ints) -> Array:
    if not is_row(table, name):
        return values
    return np.where(values < 0, -1, values + shift).astype(dtype(table, name))
