"""From the keys that the database returns to bindings over each segment's columns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tracegraph.model.columns import Array, Ints, Mask
from tracegraph.pattern.compiler import Compiled, CompiledBranch
from tracegraph.pattern.rows import NO_RUNS, Rows, RunColumn, Runs

Execute = Callable[[str, Mapping[str, Any]], Sequence[Array]]
"""Runs one statement; returns its columns as int64 arrays."""

_ROW_BITS = 32
_ROW_MASK = (1 << _ROW_BITS) - 1


def rows_from(
    compiled: Compiled, execute: Execute, segments: Iterable[int]
) -> dict[int, list[Rows]]:
    """Run the statements of a compiled pattern once, over all segments.

    Args:
        compiled: the pattern.
        execute: the connection; where :attr:`Compiled.setup` asks for it, it has been told.
        segments: numbers of the segments to answer for.

    Returns:
        For each segment its bindings, one entry per branch. Of a run they are the confirmed ones:
        finish with ``confirmed_runs_only``.
    """
    found = [(branch, _branch(branch, execute)) for branch in compiled.branches]
    return {
        number: [rows.get(number) or _none(branch) for branch, rows in found] for number in segments
    }


def _branch(branch: CompiledBranch, execute: Execute) -> dict[int, Rows]:
    confirmed = _columns(execute(branch.confirmed.text, branch.confirmed.parameters))
    if branch.run:
        return _runs(*confirmed)
    keys, certain = confirmed, np.ones(len(confirmed[0]), dtype=bool)
    if branch.candidates is not None:
        candidates = _columns(execute(branch.candidates.text, branch.candidates.parameters))
        # Candidates hold the confirmed, and finishing keeps the better of two equal bindings.
        if len(candidates[0]) != len(certain):
            keys = [np.concatenate(pair) for pair in zip(confirmed, candidates, strict=True)]
            certain = np.arange(len(keys[0])) < len(certain)
    return {
        segment: Rows(tuple(key[chosen] & _ROW_MASK for key in keys), certain[chosen])
        for segment, chosen in _segments(keys[0])
    }


def _runs(first: Ints, member: Ints) -> dict[int, Rows]:
    order = np.lexsort((member, first))
    first, member = first[order], member[order]
    result = {}
    for segment, chosen in _segments(first):
        starts = np.flatnonzero(np.r_[True, first[chosen][1:] != first[chosen][:-1]])
        offsets = np.r_[starts, chosen.sum()].astype(np.int64)
        result[segment] = _confirmed(Runs(offsets, member[chosen] & _ROW_MASK))
    return result


def _confirmed(pool: Runs) -> Rows:
    return Rows((RunColumn(np.arange(len(pool)), pool),), np.ones(len(pool), dtype=bool))


def _columns(found: Sequence[Array]) -> list[Ints]:
    return [np.asarray(column, dtype=np.int64) for column in found]


def _segments(keys: Ints) -> list[tuple[int, Mask]]:
    numbers = keys >> _ROW_BITS
    return [(segment, numbers == segment) for segment in np.unique(numbers).tolist()]


def _none(branch: CompiledBranch) -> Rows:
    none = np.zeros(0, dtype=np.int64)
    if branch.run:
        return _confirmed(NO_RUNS)
    return Rows((none,) * branch.positions, np.zeros(0, dtype=bool))
