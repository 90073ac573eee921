"""May a run ship, as a report (contract ``check``).

A report, so names go through the profile safe-v1 and error text stays home. What was compared was
compared before, on the names as recorded.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any, Final

from tracegraph.analysis.check.budgets import Budget, Number, Spent
from tracegraph.analysis.check.check import Check, Judged
from tracegraph.analysis.check.counts import Increase
from tracegraph.analysis.check.evidence import MEANING, Note
from tracegraph.analysis.check.rules import VERSION, Rule
from tracegraph.analysis.check.runs import Label, Run
from tracegraph.analysis.check.topology import TreeChange
from tracegraph.export.aliases import PROFILE, alias
from tracegraph.export.check_words import evidence_text, rule_text, signature_text
from tracegraph.export.diff import topology_items
from tracegraph.export.document import milliseconds
from tracegraph.export.table import Report, Table
from tracegraph.export.traces import gap_items
from tracegraph.model.codes import KINDS, STATUS_CODE
from tracegraph.pattern.ast import Pattern
from tracegraph.pattern.printer import digest

Item = dict[str, Any]
MEASURES: Final = {
    "max-tokens": "tokens_total",
    "max-cost": "cost",
    "max-duration": "wall_ms",
    "max-steps": "steps",
}
"""What reports call the quantity of a budget."""
_CHANGES: Final = {"only_in_a": "only_in_baseline", "only_in_b": "only_in_current"}
_COLUMNS = ("outcome", "rule", "what", "baseline", "current", "steps")


@dataclass(frozen=True, slots=True)
class Checked:
    """What a report tells.

    Attributes:
        check: the answer.
        digests: SHA-256 of the artifacts of the current run and of the baseline.
        limit: steps, or places, that are listed of each thing at most; None for all.
    """

    check: Check
    digests: tuple[str, str]
    limit: int | None = None


def check_report(told: Checked) -> Report:
    """Report a check."""
    check = told.check

    def members() -> Item:
        return {
            "privacy_profile": PROFILE,
            "verdict": check.verdict,
            "current": run_item(check.pair.current, told.digests[0]),
            "baseline": run_item(check.pair.baseline, told.digests[1]),
            "limit": told.limit,
            "rules": (rule_item(judged, told) for judged in check.rules),
        }

    def table() -> Table:
        return Table(_COLUMNS, _rows(told))

    return Report(
        "check", 1, members, lambda: (rule_item(judged, told) for judged in check.rules), table
    )


def run_item(run: Run, artifact_digest: str) -> Item:
    """Return what a report says of one of the runs."""
    trace = run.trace
    return {
        "trace_id": trace.trace_id,
        "source": trace.source,
        "status": trace.status,
        "fidelity": trace.fidelity,
        "step_count": len(run.side),
        "error_count": int((run.side.status == STATUS_CODE["error"]).sum()),
        "artifact_digest": artifact_digest,
        "gaps": gap_items(run.gaps),
    }


def rule_item(judged: Judged, told: Checked) -> Item:
    """Return what a report says of one rule."""
    judgement = judged.judgement
    return {
        "rule": judged.rule.id,
        "version": VERSION,
        "params": _params(judged.rule),
        "outcome": judgement.outcome,
        "reasons": list(map(note_item, judgement.reasons)),
        "limitations": list(map(note_item, judgement.limitations)),
        "evidence": list(evidence_items(judged, told)),
    }


def note_item(note: Note) -> Item:
    """Return a reason or a limitation."""
    return {
        "code": note.code,
        "run": note.which,
        "count": note.count,
        "subject": alias(note.subject),
        "meaning": MEANING[note.code],
    }


def evidence_items(judged: Judged, told: Checked) -> Iterator[Item]:
    """Yield what a rule found."""
    found = judged.evidence
    if isinstance(found, TreeChange):
        yield from _places(found, told.limit)
        yield from _joins(found, told.limit)
    elif isinstance(found, Spent):
        assert isinstance(judged.rule.subject, Budget)
        yield _spent(found, judged.rule.subject)
    else:
        yield from (_increase(each, told) for each in found)


def label_item(label: Label) -> Item:
    """Return kind and name as a report shows them."""
    return {"kind": label.kind or KINDS[0], "name": alias(label.name)}


def _increase(increase: Increase, told: Checked) -> Item:
    ids = told.check.pair.current.columns.step_id
    signature = increase.signature
    return {
        "type": "count",
        "signature": None if signature is None else list(map(label_item, signature)),
        "baseline": increase.baseline,
        "current": increase.current,
        "steps": [[ids[row] for row in rows] for rows in islice(increase.occurrences, told.limit)],
    }


def _places(change: TreeChange, limit: int | None) -> Iterator[Item]:
    for item in islice(topology_items(change.diff), limit):
        yield {
            "type": "place",
            "change": _CHANGES.get(item["type"], item["type"]),
            "fields": item["fields"],
            "baseline": item["a"],
            "current": item["b"],
            "size": item["size"],
        }


def _joins(change: TreeChange, limit: int | None) -> Iterator[Item]:
    for each in islice(change.joins, limit):
        ends = (None, None) if each.join is None else tuple(map(label_item, each.join))
        yield {
            "type": "join",
            "cause": ends[0],
            "effect": ends[1],
            "baseline": each.baseline,
            "current": each.current,
        }


def _spent(spent: Spent, budget: Budget) -> Item:
    before = spent.baseline
    return {
        "type": "measure",
        "measure": MEASURES[budget.what],
        "current": _value(budget, spent.current.value),
        "current_covered": spent.current.covered,
        "current_of": spent.current.of,
        "baseline": None if before is None else _value(budget, before.value),
        "baseline_covered": None if before is None else before.covered,
        "baseline_of": None if before is None else before.of,
        "limit": _value(budget, spent.limit),
    }


def _params(rule: Rule) -> Item:
    subject = rule.subject
    if isinstance(subject, Pattern):
        return {
            "pattern": subject.id,
            "pattern_version": subject.version,
            "pattern_digest": digest(subject),
            "confidence": subject.confidence,
        }
    if isinstance(subject, Budget):
        percent = None if subject.most is not None else f"{subject.more_percent:f}"
        return {"most": _value(subject, subject.most), "more_percent": percent}
    return {} if subject is None else {"mode": subject}


def _value(budget: Budget, value: Number | None) -> int | float | str | None:
    """Return a quantity as reports write it: times in ms, money as text of its exact decimal."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    return milliseconds(value) if budget.what == "max-duration" else value


def _rows(told: Checked) -> Iterator[tuple[Any, ...]]:
    """Yield a row for every finding, and one for a rule that found nothing."""
    for judged in told.check.rules:
        item = rule_item(judged, told)
        head = (item["outcome"], rule_text(item))
        for found in item["evidence"]:
            yield (*head, *_row(found))
        if not item["evidence"]:
            yield (*head, None, None, None, None)


def _row(found: Item) -> tuple[Any, ...]:
    match found["type"]:
        case "count":
            what, steps = signature_text(found["signature"]), found["steps"] or None
        case "place":
            ids = [found[side] and found[side]["step_id"] for side in ("baseline", "current")]
            return (found["change"], *ids, None)
        case "join":
            what, steps = evidence_text(found).rpartition(": ")[0], None
        case _:
            what, steps = found["measure"], None
    return what, found["baseline"], found["current"], steps
