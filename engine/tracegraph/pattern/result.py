"""The answer to a pattern over one Columns: what export and the command line read.

A :class:`MatchSet` holds arrays; :class:`Match` objects are made only for those that someone looks
at.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tracegraph.model.codes import EVIDENCE, KINDS, STATUSES, signal_words
from tracegraph.model.columns import Columns, Ints, Mask
from tracegraph.pattern.fields import FieldType
from tracegraph.pattern.operands import Values

Value = str | int | float | bool | tuple[str, ...] | None
"""A returned value. Kinds and statuses are words, digests hex text, signals a tuple of words, times
ns since the epoch, durations ns, unknown is None; :attr:`MatchSet.types` tells which is which."""


class Position(NamedTuple):
    """One step of a match.

    Attributes:
        var: name of its position in the pattern, None if it has none.
        run_index: place in its run from 0, None where the position holds one step.
        row: row of the step in :attr:`MatchSet.columns`.
    """

    var: str | None
    run_index: int | None
    row: int


@dataclass(frozen=True, slots=True)
class Match:
    """One match, or one row of ``having``.

    Attributes:
        trace: index of the trace under which it is listed.
        certainty: ``confirmed`` or ``possible``.
        evidence: weakest evidence of its ``match`` edges, None without edges.
        steps: its steps in textual order, runs member by member; empty for a row of ``having``.
        members: for a row of ``having``, the steps of each match in it; else None.
        values: returned values by label.
    """

    trace: int
    certainty: Literal["confirmed", "possible"]
    evidence: str | None
    steps: tuple[Position, ...]
    members: tuple[tuple[Position, ...], ...] | None
    values: dict[str, Value]


@dataclass(frozen=True, slots=True)
class MatchSet:
    """All matches in one Columns, ordered by trace, then by the steps of their positions.

    Attributes:
        columns: where the rows point.
        trace: trace index of each match, ascending but in session scope.
        certain: whether each match is confirmed; else it is possible.
        evidence: code of EVIDENCE of each match, 0 for none.
        not_evaluable: traces that lack what the pattern needs, with what they lack.
        types: type of each returned value by label.
    """

    columns: Columns
    trace: Ints
    certain: Mask
    evidence: Ints
    not_evaluable: tuple[tuple[int, tuple[str, ...]], ...]
    types: Mapping[str, FieldType]
    _steps: Callable[[int], tuple[Position, ...]]
    _members: Callable[[int], tuple[tuple[Position, ...], ...]] | None
    _values: Callable[[int], dict[str, Value]]

    def __len__(self) -> int:
        return len(self.trace)

    @property
    def confirmed(self) -> int:
        """Number of confirmed matches."""
        return int(self.certain.sum())

    @property
    def possible(self) -> int:
        """Number of possible matches."""
        return len(self) - self.confirmed

    @property
    def traces(self) -> Ints:
        """Traces with a confirmed match, ascending."""
        return np.unique(self.trace[self.certain])

    def __getitem__(self, index: int) -> Match:
        number = range(len(self))[index]
        evidence = int(self.evidence[number])
        return Match(
            trace=int(self.trace[number]),
            certainty="confirmed" if self.certain[number] else "possible",
            evidence=EVIDENCE[evidence] if evidence else None,
            steps=() if self._members else self._steps(number),
            members=self._members(number) if self._members else None,
            values=self._values(number),
        )

    def __iter__(self) -> Iterator[Match]:
        return (self[index] for index in range(len(self)))


def decode(values: Values, number: int, columns: Columns) -> Value:  # noqa: PLR0911 - one per type
    """Return one value as a Python object."""
    if not values.known[number]:
        return None
    value = values.data[number]
    if not values.coded:
        return value if isinstance(value, str | int | float) else json.dumps(value, sort_keys=True)
    match values.type:
        case "text" | "digest":
            return columns.text(int(value))
        case "kind":
            return KINDS[value]
        case "status":
            return STATUSES[value]
        case "signals":
            return signal_words(value)
        case _:
            plain: int | float | bool = value.item()
            return plain
