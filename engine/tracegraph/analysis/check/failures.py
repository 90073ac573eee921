"""``failures-not-increased``: recorded failures by kind and name of the step, and in total."""

from collections.abc import Iterator

import numpy as np

from tracegraph.analysis.check.counts import Counted, Increase, Rows, Signature, increases
from tracegraph.analysis.check.evidence import (
    Judgement,
    Note,
    Unknown,
    decide,
    harmless,
    hidden,
    incomparable,
    unknown_failures,
)
from tracegraph.analysis.check.gaps import Hides
from tracegraph.analysis.check.runs import Label, Pair, Run
from tracegraph.model.codes import STATUS_CODE

_HIDES = Hides.STEPS | Hides.FAILURES


def judge_failures(
    pair: Pair, later: frozenset[Label] = frozenset()
) -> tuple[Judgement, tuple[Increase, ...]]:
    """Judge whether failures have become more.

    Args:
        pair: the runs.
        later: kinds and names of successes in later traces of the current run's session.
    """
    found = increases(_failures(pair.current), _failures(pair.baseline))
    unknown = Unknown(tuple(incomparable(pair)), *(tuple(_unknown(run)) for run in pair.runs))
    limits = [*_retried(pair.current, found, later)]
    limits += [note for run in pair.runs for note in harmless(run, _HIDES)]
    reason = Note("increased", "current", sum(each.signature is not None for each in found) or None)
    return decide(bool(found), unknown, reason, [*limits, Note("not_aligned")]), found


def _failures(run: Run) -> Counted:
    found: dict[Signature, list[Rows]] = {}
    for row in np.flatnonzero(run.side.status == STATUS_CODE["error"]).tolist():
        found.setdefault((run.label(row),), []).append((row,))
    return found


def _unknown(run: Run) -> Iterator[Note]:
    yield from hidden(run, _HIDES)
    yield from unknown_failures(run)


def _retried(run: Run, found: tuple[Increase, ...], later: frozenset[Label]) -> Iterator[Note]:
    """Yield how many of the new kinds of failing steps a success of their kind and name follows."""
    side, here, elsewhere = run.side, 0, 0
    ok = np.flatnonzero(side.status == STATUS_CODE["ok"])
    last = dict(zip(side.label[ok].tolist(), ok.tolist(), strict=True))
    for increase in found:
        rows = [row for (row,) in increase.occurrences]
        followed = sum(row < last.get(int(side.label[row]), -1) for row in rows)
        here += followed
        if increase.signature is not None and increase.signature[0] in later:
            elsewhere += len(rows) - followed
    if here:
        yield Note("followed_by_success", run.which, here)
    if elsewhere:
        yield Note("followed_in_session", run.which, elsewhere)
