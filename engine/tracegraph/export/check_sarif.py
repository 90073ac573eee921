"""A check as SARIF 2.1.0 (OASIS standard): what fails, with the causes behind it as code flows.

Agents have no source lines, so places are logical locations (section 3.33): the names of the steps
from the root down. A rule that cannot know is a result of kind ``open`` (section 3.27.9), and one
that passes has none. Fingerprints (section 3.27.17) are made of rules, kinds and names alone, so
that the same failure has the same one in every run.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from tracegraph.analysis.causes import nearest_causes
from tracegraph.analysis.check.check import Judged
from tracegraph.analysis.check.counts import Increase
from tracegraph.analysis.check.topology import TreeChange
from tracegraph.export.aliases import PROFILE, alias
from tracegraph.export.check import Checked, Item, evidence_items, rule_item
from tracegraph.export.check_words import evidence_text, note_text, rule_text
from tracegraph.export.document import to_json
from tracegraph.model.codes import EVIDENCE, KINDS, ORIGINS
from tracegraph.model.columns import Columns

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT: Final = "tracegraphCheck/v1"
_FLOWS = 5
"""Occurrences of one failure whose causes are spelled out; how many more there are is said."""
_LEVELS = 16
"""Innermost steps that a qualified name spells out; above them stands ``...``."""


def check_sarif(told: Checked) -> Iterator[str]:
    """Yield the log, which has one run."""
    check = told.check
    items = [rule_item(judged, told) for judged in check.rules]
    results = [
        {"ruleId": rule_text(item), "ruleIndex": index, **result}
        for index, (judged, item) in enumerate(zip(check.rules, items, strict=True))
        for result in _results(judged, item, told)
    ]
    run = {
        "tool": {"driver": {"name": "tracegraph", "rules": list(map(_rule, items))}},
        "results": list(_apart(results)),
        "properties": {
            "verdict": check.verdict,
            "privacyProfile": PROFILE,
            **{
                f"{each.which}{name}": value
                for each, digest in zip(check.pair.runs, told.digests, strict=True)
                for name, value in (("TraceId", each.trace.trace_id), ("ArtifactDigest", digest))
            },
        },
    }
    yield to_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _rule(item: Item) -> Item:
    return {
        "id": rule_text(item),
        "shortDescription": {"text": f"tracegraph check {item['rule']}, version {item['version']}"},
        "defaultConfiguration": {"level": "error"},
        "properties": {
            "params": item["params"],
            "outcome": item["outcome"],
            "limitations": list(map(note_text, item["limitations"])),
        },
    }


def _results(judged: Judged, item: Item, told: Checked) -> Iterator[Item]:
    if item["outcome"] == "INSUFFICIENT_EVIDENCE":
        codes = sorted({note["code"] for note in item["reasons"]})
        text = "; ".join(map(note_text, item["reasons"]))
        yield {**_result(item, text, ["open", *codes]), "kind": "open", "level": "none"}
    elif item["outcome"] == "FAIL":
        yield from _failures(judged, item, told)


def _failures(judged: Judged, item: Item, told: Checked) -> Iterator[Item]:
    found = judged.evidence
    items = evidence_items(judged, told)
    if isinstance(found, TreeChange):
        for each in items:
            yield {**_result(item, evidence_text(each), _of_tree(each)), "level": "error"}
        return
    if not isinstance(found, tuple):
        for each in items:
            named = [each["type"], each["measure"]]
            yield {**_result(item, evidence_text(each), named), "level": "error"}
        return
    columns = told.check.pair.current.columns
    only_total = all(increase.signature is None for increase in found)
    for increase, each in zip(found, items, strict=True):
        if increase.signature is not None or only_total:
            result = _result(item, evidence_text(each), [each["type"], each["signature"]])
            yield {**result, "level": "error", **_where(columns, increase)}


def _result(item: Item, text: str, named: list[Any]) -> Item:
    """Return a result; ``named`` tells it from others of its rule and holds no id of this run."""
    key = to_json([item["rule"], item["version"], item["params"].get("pattern"), named])
    return {
        "message": {"text": text},
        "partialFingerprints": {FINGERPRINT: hashlib.sha256(key.encode()).hexdigest()},
    }


def _apart(results: list[Item]) -> Iterator[Item]:
    """Number results that are named alike, so that none stands for another."""
    seen: Counter[str] = Counter()
    for result in results:
        prints = result["partialFingerprints"]
        seen[prints[FINGERPRINT]] += 1
        if seen[prints[FINGERPRINT]] > 1:
            number = seen[prints[FINGERPRINT]]
            prints = {FINGERPRINT: f"{prints[FINGERPRINT]}:{number}"}
        yield {**result, "partialFingerprints": prints}


def _of_tree(item: Item) -> list[Any]:
    """Name a place by the kinds and names of its steps."""
    if item["type"] == "join":
        return ["join", item["cause"], item["effect"]]
    sides = (item["baseline"], item["current"])
    return ["place", item["change"], [s and (s["kind"], s["name"]) for s in sides]]


def _where(columns: Columns, increase: Increase) -> Item:
    """Return where a failure is, and what led to it, for the first of its occurrences."""
    if not increase.occurrences:
        return {}
    shown = [rows[-1] for rows in increase.occurrences[:_FLOWS]]
    return {
        "locations": [_location(columns, shown[0], None)],
        "codeFlows": [_flow(columns, row) for row in shown],
        "properties": {
            "baseline": increase.baseline,
            "current": increase.current,
            "codeFlowsLeftOut": len(increase.occurrences) - len(shown),
        },
    }


def _flow(columns: Columns, row: int) -> Item:
    """Return the nearest causes of a step in the order of the run, and the step itself."""
    causes = nearest_causes(columns, row, ())
    leads: dict[int, list[str]] = {}
    for cause in causes.listed:
        how = f"({EVIDENCE[cause.evidence]}, {ORIGINS[cause.origin]})"
        text = f"leads to {_label(columns, cause.effect)} {how}"
        leads.setdefault(cause.cause, []).append(text)
    steps = sorted({row, *leads})
    texts = [", ".join(leads.get(step, [])) or "failed" for step in steps]
    more = f"; {causes.more} more causes are not listed" if causes.more else ""
    return {
        "message": {"text": f"causes of {_label(columns, row)} @{columns.step_id[row]}{more}"},
        "threadFlows": [
            {
                "locations": [
                    {"executionOrder": number, "location": _location(columns, step, text)}
                    for number, (step, text) in enumerate(zip(steps, texts, strict=True), 1)
                ]
            }
        ],
    }


def _location(columns: Columns, row: int, text: str | None) -> Item:
    place = {
        "name": _name(columns, row),
        "fullyQualifiedName": _path(columns, row),
        "kind": KINDS[columns.steps.kind[row]].lower(),
    }
    message = {} if text is None else {"message": {"text": text}}
    return {"logicalLocations": [place], **message}


def _path(columns: Columns, row: int) -> str:
    """Return the names of a step and of those above it in the tree, from the root down."""
    names: list[str] = []
    at = row
    while at >= 0 and len(names) < _LEVELS:
        names.append(_name(columns, at))
        at = int(columns.steps.parent[at])
    return "/".join(["..."] * (at >= 0) + names[::-1])


def _label(columns: Columns, row: int) -> str:
    return f"{KINDS[columns.steps.kind[row]]} {_name(columns, row)}"


def _name(columns: Columns, row: int) -> str:
    return alias(columns.text(columns.steps.name[row])) or "(no name)"
