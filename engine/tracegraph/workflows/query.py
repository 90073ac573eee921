"""Where does a pattern match in a corpus? Chooses the backend and joins the segments' answers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.labels import Labels
from tracegraph.errors import CorpusError, QueryError
from tracegraph.export.document import timestamp
from tracegraph.export.query_result import Match, MatchedStep, QueryResult
from tracegraph.model.columns import Array
from tracegraph.model.step import Step
from tracegraph.pattern import result as pattern_result
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.backend import Choice, Request, choose
from tracegraph.pattern.backend import explain as explain_choice
from tracegraph.pattern.facts import ABSENT_CODE, CorpusFacts, facts_of
from tracegraph.pattern.fields import FieldType
from tracegraph.pattern.finish import finish
from tracegraph.pattern.matcher import match_rows
from tracegraph.pattern.plan import PatternPlan, plan
from tracegraph.pattern.printer import digest
from tracegraph.pattern.rows import Rows
from tracegraph.workflows.parts import Part, parts_of

if TYPE_CHECKING:
    from tracegraph.graph.session import GraphSession
    from tracegraph.pattern.compiler import Compiled


def run_query(
    corpus: Corpus,
    pattern: Pattern,
    *,
    backend: Request = "auto",
    limit: int | None = None,
    exists: bool = False,
) -> QueryResult:
    """Find where a pattern matches.

    Args:
        corpus: the traces to ask; it must stay open while the result's matches are read.
        pattern: a loaded pattern whose parameters are bound.
        backend: what answers; ``auto`` takes Cypher where a graph is built and Cypher is exact,
            complete and fast, else the matcher.
        limit: how many matches are listed; counts stay totals.
        exists: stop at the first confirmed match and count nothing.

    Raises:
        UnsupportedPatternError: ``cypher`` was asked for and cannot answer exactly.
    """
    planned = plan(pattern)
    with ExitStack() as stack:
        choice, graph = _choose(corpus, planned, backend, stack)
        gaps = Counter(corpus.gaps)
        answers = list(_answers(corpus, planned, choice, graph, exists, gaps))
    return _result(corpus, pattern, choice, answers, limit, exists, gaps)


def explain(corpus: Corpus, pattern: Pattern, backend: Request = "auto") -> str:
    """Return what would run and why.

    Raises:
        UnsupportedPatternError: ``cypher`` was asked for and cannot answer exactly.
    """
    planned = plan(pattern)
    with ExitStack() as stack:
        choice, _ = _choose(corpus, planned, backend, stack)
    return explain_choice(choice, planned)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The matches in one part of the corpus."""

    part: Part
    matches: pattern_result.MatchSet


def _choose(
    corpus: Corpus, planned: PatternPlan, backend: Request, stack: ExitStack
) -> "tuple[Choice, GraphSession | None]":
    """Choose the backend; the graph is opened, and built where Cypher is asked for by name."""
    if backend == "matcher" or (backend == "auto" and corpus.graph_path is None):
        return choose(planned, backend, _NO_GRAPH), None
    from tracegraph.workflows.graphs import open_graph

    try:
        graph = stack.enter_context(open_graph(corpus, repair=backend != "auto"))

        def code(text: str) -> int:
            known = graph.texts.code_of(text)
            return known if known >= 0 else ABSENT_CODE

        facts = facts_of((columns for _, columns in corpus.segments), code, graph_built=True)
        return choose(planned, backend, facts), graph
    except (CorpusError, QueryError) as error:
        if backend != "auto":
            raise
        return Choice("matcher", f"the graph cannot be used: {error}"), None


_NO_GRAPH = CorpusFacts(False, 0, 0, 0, False, lambda _: ABSENT_CODE)


def _answers(
    corpus: Corpus,
    planned: PatternPlan,
    choice: Choice,
    graph: "GraphSession | None",
    exists: bool,
    gaps: Counter[str],
) -> Iterator[_Answer]:
    """Yield the answer of each part of the corpus; the first confirmed match ends ``exists``.

    What reading several traces as one has to disclose is added to ``gaps``.
    """
    from_graph: dict[int, list[Rows]] = {}
    if choice.compiled is not None and graph is not None:
        from_graph = _ask(corpus, choice.compiled, graph)
    for part in parts_of(corpus, planned.pattern.scope, gaps):
        rows = from_graph.get(part.segment) or match_rows(planned, part.columns, part.units)
        matches = finish(
            planned, rows, part.columns, part.units, confirmed_runs_only=part.segment in from_graph
        )
        if len(matches) or matches.not_evaluable:
            yield _Answer(part, matches)
        if exists and matches.confirmed:
            return


def _ask(corpus: Corpus, compiled: "Compiled", graph: "GraphSession") -> dict[int, list[Rows]]:
    """Return the bindings of every segment, asked of the graph all at once."""
    from tracegraph.pattern.cypher_rows import rows_from

    if compiled.setup is not None:
        graph.max_depth(compiled.depth)

    def execute(statement: str, parameters: Mapping[str, Any]) -> list[Array]:
        table = graph.run(statement, parameters).arrow()
        return [column.to_numpy() for column in table.columns]

    return rows_from(compiled, execute, [number for number, _ in corpus.segments])


def _result(
    corpus: Corpus,
    pattern: Pattern,
    choice: Choice,
    answers: Sequence[_Answer],
    limit: int | None,
    exists: bool,
    gaps: Mapping[str, int],
) -> QueryResult:
    labels = Labels(corpus)
    not_evaluable = [
        (answer.part.rank(trace), answer.part.label(labels, trace), needs)
        for answer in answers
        for trace, needs in answer.matches.not_evaluable
    ]
    confirmed = sum(answer.matches.confirmed for answer in answers)
    return QueryResult(
        pattern_id=pattern.id,
        pattern_version=pattern.version,
        pattern_digest=digest(pattern),
        confidence=pattern.confidence,
        labels=tuple(item.label for item in pattern.body.returns),
        backend=choice.backend,
        reason=choice.reason,
        traces_scanned=corpus.trace_count,
        steps_scanned=corpus.step_count,
        trace_count=None if exists else sum(len(a.matches.traces) for a in answers),
        match_count=None if exists else confirmed,
        possible_count=None if exists else sum(a.matches.possible for a in answers),
        limit=limit,
        matches=_Listing(corpus, answers, labels, limit, exists),
        found=confirmed > 0,
        not_evaluable={label: needs for _, label, needs in sorted(not_evaluable)},
        gaps=dict(sorted(gaps.items())),
    )


@dataclass(frozen=True, slots=True)
class _Listing:
    """The listed matches, in the order of the corpus; made anew each time they are read."""

    corpus: Corpus
    answers: Sequence[_Answer]
    labels: Labels
    limit: int | None
    exists: bool

    def __iter__(self) -> Iterator[Match]:
        matches = self._matches()
        if self.exists:
            matches = islice((m for m in matches if m.certainty == "confirmed"), 1)
        return islice(matches, self.limit)

    def _matches(self) -> Iterator[Match]:
        """Yield all matches by the rank of their trace; those of one trace stand in order."""
        ranks = [answer.part.ranks[answer.matches.trace] for answer in self.answers]
        answer = np.repeat(np.arange(len(ranks)), [len(rank) for rank in ranks])
        place = np.concatenate([np.arange(0), *(np.arange(len(rank)) for rank in ranks)])
        order = np.lexsort((place, np.concatenate([np.arange(0), *ranks])))
        for index in order.tolist():
            chosen = self.answers[answer[index]]
            yield self._match(chosen, chosen.matches[int(place[index])])

    def _match(self, answer: _Answer, match: pattern_result.Match) -> Match:
        types = answer.matches.types
        values = {label: _shown(value, types[label]) for label, value in match.values.items()}
        members = match.members
        return Match(
            trace_id=answer.part.label(self.labels, match.trace),
            certainty=match.certainty,
            evidence=match.evidence,
            steps=self._steps(answer, match.steps),
            members=None if members is None else tuple(self._steps(answer, m) for m in members),
            values=values,
        )

    def _steps(
        self, answer: _Answer, positions: Sequence[pattern_result.Position]
    ) -> tuple[MatchedStep, ...]:
        columns = answer.part.columns
        return tuple(
            MatchedStep(
                position.var,
                position.run_index,
                answer.part.label(self.labels, columns.trace_at(position.row)),
                Step(columns, position.row),
            )
            for position in positions
        )


def _shown(value: pattern_result.Value, kind: FieldType) -> Any:
    """Return a value as people read it: times in ISO 8601, durations in milliseconds."""
    if value is None or isinstance(value, bool):
        return value
    if kind == "time" and isinstance(value, int):
        return timestamp(value)
    if kind == "duration" and isinstance(value, int | float):
        return value / 1e6
    return list(value) if isinstance(value, tuple) else value
