"""Where to look first: the steps that the structure of a run singles out, and why. Never a verdict.

Which step decided that a run failed, in the sense of the earliest one whose repair would change the
outcome, is a judgement of content that no structure contains. What structure has are reasons to
look. Their order is reasoned and fitted to no data, deeper and earlier first:

1. Behind a failure that nothing made up for: the model step that led to it, since what was asked
   for came before the failure and is what can be repaired. In the rank order of the incidents; then
   the failing steps that no model step is recorded to have led to, and failing model steps.
2. What left work undone or undone work unnoticed, the earliest first, since all that follows builds
   on it: a model that read such a failure and went on, a call of a tool that nobody offered or that
   nothing answers, an answer that was cut off, the same thing again with the same outcome, a result
   that no model is recorded to have read though one spoke later: what ends a run has no reader.
3. Behind a failure that was made up for, the earliest first: the run got over it, so it says less.
4. No sign at all, only a place: the first model step whose request was carried out, since a plan
   does harm when it is acted on; the first model step, on which all others build; the last one,
   which left the outcome. Without any model step, the first step.

Two agents that take turns are no sign by themselves: every supervisor does so with its workers. Two
that do the same over and over are found as repetitions, each of its own.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal, get_args

import numpy as np

from tracegraph.analysis.incidents import Incident
from tracegraph.analysis.links import Links, links_of
from tracegraph.model.codes import KIND_CODE, SIGNAL_BIT
from tracegraph.model.columns import Columns

Reason = Literal[
    "led_to_failure",
    "failed",
    "went_on",
    "unknown_tool",
    "unanswered_call",
    "truncated",
    "repeated",
    "unread_result",
    "led_to_recovered_failure",
    "first_action",
    "second_agent",
    "first_model_step",
    "last_model_step",
    "first_step",
]
REASONS: Final[tuple[Reason, ...]] = get_args(Reason)
PLACES: Final[frozenset[Reason]] = frozenset(REASONS[REASONS.index("first_action") :])
"""Reasons that are no sign of anything: where there is nothing else, one begins somewhere."""
LISTED = 10
"""Candidates that are found at most."""
_LLM, _TOOL = KIND_CODE["LLM"], KIND_CODE["TOOL"]
_SIGNALS: Final[tuple[Reason, ...]] = ("unknown_tool", "unanswered_call", "truncated")
_AGAIN = 2
"""From how many times in a row on something is a repetition: already the second one is no news."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A step to look at; steps are rows of the trace.

    Attributes:
        row: the step.
        reason: why.
        about: the step that the reason is about, where it is another one.
        times: how often in a row, of a repetition.
    """

    row: int
    reason: Reason
    about: int | None = None
    times: int | None = None


def find_candidates(columns: Columns, incidents: Sequence[Incident]) -> list[Candidate]:
    """Return where to look first, best first, each step once; a run with steps has at least one.

    Linear in the steps and edges of the trace.

    Args:
        columns: one trace.
        incidents: its incidents in rank order.
    """
    run = _Run(columns, links_of(columns))
    lasting = [each.origin for each in incidents if each.state != "recovered"]
    recovered = sorted(each.origin for each in incidents if each.state == "recovered")
    found: dict[int, Candidate] = {}
    for candidate in chain(
        run.behind(lasting, "led_to_failure"),
        run.alone(lasting),
        sorted(run.signs(lasting), key=lambda each: (each.row, REASONS.index(each.reason))),
        run.behind(recovered, "led_to_recovered_failure"),
        run.places(),
    ):
        found.setdefault(candidate.row, candidate)
        if len(found) == LISTED:
            break
    return list(found.values())


class _Run:
    """The steps of a trace as the rules look at them."""

    def __init__(self, columns: Columns, links: Links) -> None:
        steps = columns.steps
        self._links = links
        self._kind: list[int] = steps.kind.tolist()
        self._agent: list[int] = steps.agent.tolist()
        self._signals: list[int] = steps.signals.tolist()
        self._work = list(zip(self._kind, steps.name.tolist(), self._agent, strict=True))
        self._args: list[int] = steps.args.tolist()
        self._result: list[int] = steps.result.tolist()
        self._models: list[int] = np.flatnonzero(steps.kind == _LLM).tolist()
        self._tools: list[int] = np.flatnonzero(steps.kind == _TOOL).tolist()
        self._leading: list[int | None] = []
        """For each step the nearest model step on the way back, by the latest of its causes."""
        for row, causes in enumerate(links.causes):
            further = (self._leading[cause] for cause in reversed(causes))
            direct = self._asker(row)
            found = next((each for each in further if each is not None), None)
            self._leading.append(found if direct is None else direct)

    def behind(self, failing: Iterable[int], reason: Reason) -> Iterator[Candidate]:
        """Yield what led to steps that failed."""
        for row in failing:
            leading = self._leading[row]
            if leading is not None and not self._is_model(row):
                yield Candidate(leading, reason, row)

    def alone(self, failing: Iterable[int]) -> Iterator[Candidate]:
        """Yield the steps that failed and have no model step behind them to look at instead."""
        for row in failing:
            if self._leading[row] is None or self._is_model(row):
                yield Candidate(row, "failed")

    def signs(self, lasting: Iterable[int]) -> Iterator[Candidate]:
        """Yield what left work undone, or unnoticed, in no order."""
        yield from self._went_on(lasting)
        for row in self._models:
            for reason in _SIGNALS:
                if self._signals[row] & SIGNAL_BIT[reason]:
                    yield Candidate(row, reason)
        yield from self._repeated()
        yield from self._unread()

    def places(self) -> Iterator[Candidate]:
        """Yield where to begin when nothing points anywhere."""
        models = self._models
        acting = self._first(lambda row: any(map(self._is_tool, self._links.effects[row])))
        if acting is not None:
            yield Candidate(acting, "first_action")
        elif models:
            began = self._agent[models[0]]
            other = self._first(lambda row: self._agent[row] not in (-1, began))
            if other is not None and began >= 0:
                yield Candidate(other, "second_agent")
        if models:
            yield Candidate(models[0], "first_model_step")
            yield Candidate(models[-1], "last_model_step")
        elif self._kind:
            yield Candidate(0, "first_step")

    def _went_on(self, lasting: Iterable[int]) -> Iterator[Candidate]:
        for row in lasting:
            reader = self._reader(row)
            if reader is not None:
                yield Candidate(reader, "went_on", row)

    def _repeated(self) -> Iterator[Candidate]:
        """Yield the first of equal steps in a row, among those of one agent, kind and name.

        Of a tool, arguments and result are equal; of a model, what it said. Unknown equals nothing.
        """
        runs: dict[tuple[int, int, int], list[int]] = {}
        for row in sorted(self._models + self._tools):
            run = runs.get(self._work[row])
            if run is not None and self._is_same(run[0], row):
                run.append(row)
                continue
            if run is not None:
                yield from self._repetition(run)
            runs[self._work[row]] = [row]
        for run in runs.values():
            yield from self._repetition(run)

    def _repetition(self, run: Sequence[int]) -> Iterator[Candidate]:
        if len(run) >= _AGAIN:
            asker = self._asker(run[0]) if self._is_tool(run[0]) else None
            about = None if asker is None else run[0]
            yield Candidate(run[0] if asker is None else asker, "repeated", about, len(run))

    def _is_same(self, row: int, other: int) -> bool:
        if self._result[row] < 0 or self._result[row] != self._result[other]:
            return False
        return not self._is_tool(row) or 0 <= self._args[row] == self._args[other]

    def _unread(self) -> Iterator[Candidate]:
        """Yield what led to results that nobody read, where the record tells of readers.

        Behind the last model step there is nobody who could have read one.
        """
        unread = [row for row in self._tools if self._reader(row) is None]
        if len(unread) == len(self._tools):
            return
        for row in unread:
            asker = self._asker(row)
            if asker is not None and row < self._models[-1]:
                yield Candidate(asker, "unread_result", row)

    def _asker(self, row: int) -> int | None:
        return next((c for c in reversed(self._links.causes[row]) if self._is_model(c)), None)

    def _reader(self, row: int) -> int | None:
        return next((e for e in self._links.effects[row] if self._is_model(e)), None)

    def _first(self, holds: Callable[[int], bool]) -> int | None:
        return next((row for row in self._models if holds(row)), None)

    def _is_model(self, row: int) -> bool:
        return self._kind[row] == _LLM

    def _is_tool(self, row: int) -> bool:
        return self._kind[row] == _TOOL
