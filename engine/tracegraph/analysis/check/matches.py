"""``pattern-not-increased``: confirmed matches of a pattern, by the labels of their steps."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from tracegraph.analysis.check.counts import Counted, Increase, Rows, Signature, increases
from tracegraph.analysis.check.evidence import (
    Judgement,
    Note,
    Unknown,
    decide,
    harmless,
    hidden,
    incomparable,
    uncertain_causes,
)
from tracegraph.analysis.check.gaps import Hides
from tracegraph.analysis.check.runs import Label, Pair, Run
from tracegraph.analysis.check.uncertain import uncertain
from tracegraph.analysis.patterns import match_all
from tracegraph.model.columns import Columns
from tracegraph.model.session_run import is_session_run
from tracegraph.pattern.ast import (
    Between,
    Compare,
    Edge,
    Field,
    In,
    Item,
    Node,
    Not,
    Of,
    OfEnd,
    Pattern,
    Word,
)
from tracegraph.pattern.ast import Run as Repeated
from tracegraph.pattern.ground import Ground
from tracegraph.pattern.needs import lacking
from tracegraph.pattern.result import Match, Position
from tracegraph.pattern.walk import asked_fields, nodes

_STRUCTURAL = frozenset({"depth", "children", "lossy", "seq", "gap"})
"""Fields that are made of causes, or of the order that causes make."""
_TESTED = (Field, Of, OfEnd)


@dataclass(frozen=True, slots=True)
class _Found:
    """Matches of one run, and what is not known of them."""

    matches: Counted
    unknown: tuple[Note, ...]


def judge_matches(pair: Pair, pattern: Pattern) -> tuple[Judgement, tuple[Increase, ...]]:
    """Judge whether the matches of a pattern have become more."""
    reads = Hides.STEPS | Hides.FAILURES
    both = Hides.FAILURES if _counts_on_success(pattern) else Hides.NOTHING
    if _is_structural(pattern):
        reads |= Hides.CAUSES
        both |= Hides.CAUSES
    current, baseline = (_found(run, pattern, reads, both) for run in pair.runs)
    found = increases(current.matches, baseline.matches)
    blocking = [*incomparable(pair)]
    for run in pair.runs:
        aside = [note.subject for note in hidden(run, reads, both)]
        blocking += (note for note in hidden(run, reads) if note.subject not in aside)
    blocking += uncertain_causes(pair) if Hides.CAUSES in both else ()
    unknown = Unknown(blocking, current.unknown, baseline.unknown)
    is_whole = all(is_session_run(run.trace) for run in pair.runs)
    limits = [Note("one_trace")] if pattern.scope == "session" and not is_whole else []
    limits += [note for run in pair.runs for note in harmless(run, reads)]
    reason = Note("increased", "current", sum(each.signature is not None for each in found) or None)
    return decide(bool(found), unknown, reason, [*limits, Note("not_aligned")]), found


def _found(run: Run, pattern: Pattern, reads: Hides, both: Hides) -> _Found:
    columns = run.columns
    ground = Ground(columns)
    unknown = [*hidden(run, reads, both)]
    lacks, _ = lacking(pattern.needs, ground)
    unknown += (
        Note("not_evaluable", run.which, None, need) for needs in lacks.values() for need in needs
    )
    found = match_all(uncertain(pattern), columns, ground)
    if found is None:
        return _Found({}, (*unknown, Note("too_many_matches", run.which)))
    possible = found.possible + _loose(pattern, columns, ground)
    if possible:
        unknown.append(Note("possible_matches", run.which, possible))
    matches: dict[Signature, list[Rows]] = {}
    for number in found.certain.nonzero()[0].tolist():
        signature, rows = _signature(run, found[number])
        matches.setdefault(signature, []).append(rows)
    unknown += _unknown_labels(run, matches)
    return _Found(matches, tuple(unknown))


def _loose(pattern: Pattern, columns: Columns, ground: Ground) -> int:
    """Count the matches that ``having`` puts into no row, since what it counts by is unknown.

    The language forms rows of known values alone. Here matches of which nobody recorded that may
    have been enough for one more.
    """
    body = pattern.body
    if body.having is None:
        return 0
    by = tuple(Item(operand, str(number)) for number, operand in enumerate(body.having.by))
    single = replace(pattern, body=replace(body, having=None, within=None, returns=by))
    found = match_all(uncertain(single), columns, ground)
    if found is None or len(found) < body.having.minimum:
        return 0
    return sum(None in match.values.values() for match in found)


def _signature(run: Run, match: Match) -> tuple[Signature, Rows]:
    """Return the labels of the steps, of like neighbours of one run once, however long it is."""
    steps: Iterable[Position] = match.steps
    if match.members is not None:
        steps = [position for member in match.members for position in member]
    rows = tuple(dict.fromkeys(position.row for position in steps))
    if match.members is not None:
        return tuple(sorted({run.label(row) for row in rows}, key=str)), rows
    labels: list[Label] = []
    for position in steps:
        label = run.label(position.row)
        if not position.run_index or label != labels[-1]:
            labels.append(label)
    return tuple(labels), rows


def _unknown_labels(run: Run, matches: Counted) -> Iterator[Note]:
    """Yield the matches that cannot be told by the kinds and names of their steps."""
    unnamed = {s for s in matches if any(label.name is None for label in s)}
    unlabelled = {s for s in matches if s not in unnamed and any(each.kind is None for each in s)}
    for code, signatures in (("unnamed_steps", unnamed), ("unknown_kind", unlabelled)):
        count = sum(len(matches[signature]) for signature in signatures)
        if count:
            yield Note(code, run.which, count)


def _is_structural(pattern: Pattern) -> bool:
    """Tell whether a pattern reads causes, the tree, or the order of steps."""
    joined = any(
        isinstance(node, Edge) or (isinstance(node, Repeated) and node.per is not None)
        for node in nodes(pattern.body)
    )
    return joined or bool(asked_fields(pattern) & _STRUCTURAL)


def _counts_on_success(pattern: Pattern) -> bool:
    """Tell whether a hidden failure could make a match one less: any test but one for errors."""
    body = pattern.body
    denied = [node for node in nodes(body) if isinstance(node, Not | Between)]
    if any(_tests_status(node) for outer in (*denied, *body.unless) for node in nodes(outer)):
        return True
    return any(_tests_status(node) and not _asks_for_errors(node) for node in nodes(body))


def _asks_for_errors(node: Node) -> bool:
    return (
        isinstance(node, Compare) and node.op == "==" and Word("error") in {node.left, node.right}
    )


def _tests_status(node: Node) -> bool:
    match node:
        case Compare(left, _, right):
            sides: tuple[object, ...] = (left, right)
        case In(operand):
            sides = (operand,)
        case _:
            return False
    return any(isinstance(side, _TESTED) and side.field == "status" for side in sides)
