"""Identity and order of matches: the tuple of steps of all positions, a run being one position."""

from collections.abc import Sequence

import numpy as np

from tracegraph.model.columns import Ints
from tracegraph.pattern.rows import Rows, RunColumn


def place_keys(rows: Sequence[Rows], position: int) -> Ints:
    """Return a number per binding: equal where the position holds the same steps, in their order.

    A branch that has no such position gets -1.
    """
    columns = [r.columns[position] if position < len(r.columns) else None for r in rows]
    numbers: dict[tuple[int, ...], int] = {}
    ranked = any(isinstance(column, RunColumn) for column in columns)
    if ranked:
        held = {steps for column in columns for steps in _distinct(column)}
        numbers = {steps: number for number, steps in enumerate(sorted(held))}
    keys = []
    for column, bindings in zip(columns, rows, strict=True):
        if column is None:
            keys.append(np.full(len(bindings), -1, dtype=np.int64))
        elif isinstance(column, RunColumn):
            pool = column.pool
            number = np.full(len(pool), -1, dtype=np.int64)
            used = np.unique(column.which)
            number[used] = [numbers[tuple(pool.of(run).tolist())] for run in used.tolist()]
            keys.append(number[column.which])
        elif ranked:
            steps, at = np.unique(column, return_inverse=True)
            number = np.array([numbers[(step,)] for step in steps.tolist()], dtype=np.int64)
            keys.append(number[at] if len(steps) else column)
        else:
            keys.append(column)
    return np.concatenate(keys)


def _distinct(column: Ints | RunColumn | None) -> list[tuple[int, ...]]:
    if column is None:
        return []
    if isinstance(column, RunColumn):
        return [tuple(column.pool.of(run).tolist()) for run in np.unique(column.which).tolist()]
    return [(step,) for step in np.unique(column).tolist()]
