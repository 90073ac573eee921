"""Asks the oracle, the matcher and the database for one pattern and compares whole answers."""

from dataclasses import dataclass, field, replace
from typing import Any

from pattern.graphs import Graph
from pattern.oracle_rows import Result, results
from tracegraph.corpus.merge import rearrange
from tracegraph.errors import UnsupportedPatternError
from tracegraph.model.codes import EVIDENCE_CODE
from tracegraph.model.columns import Columns
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.compiler import compile_pattern
from tracegraph.pattern.cypher_rows import rows_from
from tracegraph.pattern.finish import finish
from tracegraph.pattern.matcher import match_rows
from tracegraph.pattern.plan import PatternPlan, plan
from tracegraph.pattern.result import MatchSet
from tracegraph.pattern.session import Gathered, gather, sessions_of

Answer = tuple[list[Result], list[tuple[int, tuple[str, ...]]]]
Steps = tuple[tuple[str | None, int | None, int], ...]


@dataclass
class Tally:
    """How much was compared.

    Attributes:
        patterns: patterns that all backends were asked.
        compiled: those of them that Cypher answered too.
        results: results of the oracle.
        possible: those of them that were possible only.
        refused: how often Cypher gave each reason for a refusal.
    """

    patterns: int = 0
    compiled: int = 0
    results: int = 0
    possible: int = 0
    refused: dict[str, int] = field(default_factory=dict)


def check(pattern: Pattern, graph: Graph, tally: Tally) -> None:
    """Assert that all backends give the oracle's answer on every segment."""
    whole = plan(pattern)
    expected = [results(pattern, columns) for columns in graph.segments]
    tally.patterns += 1
    tally.results += sum(len(found) for found, _ in expected)
    tally.possible += sum(not r.certain for found, _ in expected for r in found)
    for columns, answer in zip(graph.segments, expected, strict=True):
        assert by_matcher(whole, columns) == answer
    try:
        answers = by_cypher(whole, graph)
    except UnsupportedPatternError as error:
        tally.refused[error.message] = tally.refused.get(error.message, 0) + 1
        return
    tally.compiled += 1
    assert answers == expected


def by_matcher(whole: PatternPlan, columns: Columns) -> Answer:
    if whole.pattern.scope == "trace":
        return plain_answer(finish(whole, match_rows(whole, columns), columns))
    gathered = gather([columns], rearrange, sessions_of([columns]))
    rows = match_rows(whole, gathered.columns, gathered.units)
    found, lacking = plain_answer(finish(whole, rows, gathered.columns, gathered.units))
    moved = _Moved(gathered, columns)
    traces = gathered.trace.tolist()
    return [moved.result(r) for r in found], [(traces[t], lacks) for t, lacks in lacking]


class _Moved:
    """Tells traces and steps of gathered columns by their numbers in the original ones."""

    def __init__(self, gathered: Gathered, columns: Columns) -> None:
        self._trace = gathered.trace.tolist()
        self._row = [
            row
            for trace in self._trace
            for row in range(int(columns.offsets[trace]), int(columns.offsets[trace + 1]))
        ]

    def result(self, result: Result) -> Result:
        members = result.members
        return replace(
            result,
            trace=self._trace[result.trace],
            steps=self._steps(result.steps),
            members=None if members is None else tuple(map(self._steps, members)),
        )

    def _steps(self, steps: Steps) -> Steps:
        return tuple((var, place, self._row[row]) for var, place, row in steps)


def by_cypher(whole: PatternPlan, graph: Graph) -> list[Answer]:
    compiled = compile_pattern(whole, graph.facts)
    found = rows_from(compiled, graph.execute, range(len(graph.segments)))
    return [
        plain_answer(finish(whole, found[number], columns, confirmed_runs_only=True))
        for number, columns in enumerate(graph.segments)
    ]


def plain_answer(found: MatchSet) -> Answer:
    """Turn a match set into what the oracle returns."""
    listed = [
        Result(
            match.trace,
            match.certainty == "confirmed",
            0 if match.evidence is None else EVIDENCE_CODE[match.evidence],
            _steps(match.steps),
            None if match.members is None else tuple(map(_steps, match.members)),
            match.values,
        )
        for match in found
    ]
    return listed, list(found.not_evaluable)


def _steps(positions: Any) -> Steps:
    return tuple((p.var, p.run_index, p.row) for p in positions)
