"""What the report of a check says, as text: the same in every form."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracegraph.pattern.literals import print_duration


def rule_text(item: Mapping[str, Any]) -> str:
    """Return a rule of a report as people write it."""
    params, rule = item["params"], str(item["rule"])
    if "pattern" in params:
        return f"{rule}:{params['pattern']}@{params['pattern_version']}"
    if params.get("mode") == "shape":
        return f"{rule}:shape"
    if "most" in params:
        return f"{rule}:{_asked(rule, params)}"
    return rule


def signature_text(signature: Sequence[Mapping[str, Any]] | None) -> str:
    """Return the labels of a count as text: ``TOOL search -> LLM chat``."""
    if signature is None:
        return "in total"
    return " -> ".join(f"{label['kind']} {label['name'] or '(no name)'}" for label in signature)


def evidence_text(item: Mapping[str, Any]) -> str:
    """Return one finding of a report as text."""
    match item["type"]:
        case "count":
            listed = ", ".join("@" + "+".join(steps) for steps in item["steps"])
            more = item["current"] - len(item["steps"]) if item["signature"] is not None else 0
            rest = f" and {more} more" if listed and more else ""
            where = f" ({listed}{rest})" if listed else ""
            what = signature_text(item["signature"])
            return f"{what}: {item['baseline']} -> {item['current']}{where}"
        case "place":
            sides = [item[side] for side in ("baseline", "current")]
            shown = " -> ".join(
                f"{s['kind']} {s['name'] or '(no name)'} @{s['step_id']}" for s in sides if s
            )
            below = f", {item['size'] - 1} below it" if item["size"] > 1 else ""
            return f"{item['change'].replace('_', ' ')}: {shown}{below}"
        case "join":
            ends = "causes beside the tree"
            if item["cause"] is not None:
                ends = f"{signature_text([item['cause'], item['effect']])}, beside the tree"
            return f"{ends}: {item['baseline']} -> {item['current']}"
    return _spent_text(item)


def note_text(item: Mapping[str, Any]) -> str:
    """Return a reason or a limitation of a report as text."""
    run = f"{item['run']}: " if item["run"] else ""
    subject = f" {item['subject']}" if item["subject"] else ""
    count = "" if item["count"] is None else f" {item['count']}"
    return f"{run}{item['code']}{subject}{count}: {item['meaning']}"


def _spent_text(item: Mapping[str, Any]) -> str:
    def shown(side: str) -> str:
        if item[side] is None:
            return "unknown"
        covered, of = item[f"{side}_covered"], item[f"{side}_of"]
        return f"{item[side]}" + ("" if covered == of else f" (of {covered} of {of} steps)")

    before = "" if item["baseline_of"] is None else f", baseline {shown('baseline')}"
    limit = "unknown" if item["limit"] is None else item["limit"]
    return f"{item['measure']}: {shown('current')}{before}, limit {limit}"


def _asked(rule: str, params: Mapping[str, Any]) -> str:
    if params["most"] is None:
        return f"+{params['more_percent']}%"
    if rule == "max-duration":
        return print_duration(round(params["most"] * 1e6))
    return str(params["most"])
