"""What changed between two runs, as a report (contract ``diff``).

A report, so names go through the profile safe-v1 and error text stays home. What corresponds and
what differs was decided before, on the names as recorded.
"""

from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np

from tracegraph.analysis.diff.align import HOW
from tracegraph.analysis.diff.compare import Diff
from tracegraph.analysis.diff.limitations import MEANING, Limitation
from tracegraph.analysis.diff.metrics import Metric, Number
from tracegraph.analysis.diff.sides import Side
from tracegraph.analysis.diff.topology import FIELDS, StepDifferences
from tracegraph.analysis.metrics import Measure
from tracegraph.export.aliases import PROFILE, alias
from tracegraph.export.document import milliseconds
from tracegraph.export.table import Report, Table
from tracegraph.export.traces import gap_items
from tracegraph.model.codes import EVIDENCE, ORIGINS, STATUS_CODE
from tracegraph.model.columns import Ints
from tracegraph.model.step import Step

Item = dict[str, Any]


def diff_report(diff: Diff, digests: tuple[str, str], limit: int | None) -> Report:
    """Report a comparison.

    Args:
        diff: the comparison.
        digests: SHA-256 of the artifacts of both runs.
        limit: bounds each list; None for no bound. Counts stay totals.
    """

    def members() -> Item:
        return {
            "privacy_profile": PROFILE,
            "identical": diff.identical,
            "a": _run(diff.a, digests[0]),
            "b": _run(diff.b, digests[1]),
            "topology": {
                "identical": diff.topology.identical,
                "mode": diff.topology.mode,
                **counts(diff.topology.differences.a, diff.topology.differences.b),
                "reordered": diff.topology.reordered,
                "differences": list(islice(topology_items(diff), limit)),
            },
            "causal_edges": {
                "identical": diff.causal_edges.identical,
                "count_a": diff.causal_edges.count_a,
                "count_b": diff.causal_edges.count_b,
                **counts(diff.causal_edges.a, diff.causal_edges.b),
                "differences": list(islice(edge_items(diff), limit)),
            },
            "behaviour": {
                "identical": diff.behaviour.identical,
                **counts(diff.behaviour.differences.a, diff.behaviour.differences.b),
                "differences": list(islice(behaviour_items(diff), limit)),
            },
            "metrics": {
                "identical": diff.metrics.identical,
                "measures": list(map(_metric, diff.metrics.metrics)),
            },
            "correspondence": correspondence(diff),
            "steps": islice(_step_items(diff), limit),
            "limit": limit,
            "limitations": list(map(_limitation, diff.limitations)),
        }

    def table() -> Table:
        columns = ("verdict", "type", "a", "b", "detail")
        return Table(columns, (_row(item) for item in _verdict_items(diff, limit)))

    return Report("diff", 1, members, lambda: _verdict_items(diff, limit), table)


def counts(a: Ints, b: Ints) -> Item:
    """Count differences given by what A and B have, -1 for nothing."""
    return {
        "changed": int(((a >= 0) & (b >= 0)).sum()),
        "only_in_a": int((b < 0).sum()),
        "only_in_b": int((a < 0).sum()),
    }


def correspondence(diff: Diff) -> Item:
    """Count the steps that correspond, by how, and those that are alone."""
    how = np.bincount(diff.steps.how_a, minlength=len(HOW)).tolist()
    words = [word for word in HOW if word not in {"none", "place"}]
    return {
        "matched": len(diff.a) - how[0],
        "only_in_a": how[0],
        "only_in_b": int((diff.steps.to_a < 0).sum()),
        "by": {word: how[HOW.index(word)] for word in words},
    }


def topology_items(diff: Diff) -> Iterator[Item]:
    """Yield where the derived trees differ."""
    for item, row_a, row_b in _differing(diff, diff.topology.differences):
        side, row = (diff.a, row_a) if row_a >= 0 else (diff.b, row_b)
        yield {
            **item,
            "under_a": _above(diff.a, row_a),
            "under_b": _above(diff.b, row_b),
            "size": int(side.size[row]),
        }


def behaviour_items(diff: Diff) -> Iterator[Item]:
    """Yield the steps that did something else."""
    return (item for item, _, _ in _differing(diff, diff.behaviour.differences))


def edge_items(diff: Diff) -> Iterator[Item]:
    """Yield the causal edges that differ."""
    edges_a, edges_b = diff.a.edges, diff.b.edges
    for at_a, at_b in zip(diff.causal_edges.a.tolist(), diff.causal_edges.b.tolist(), strict=True):
        yield {
            "type": _type(at_a, at_b),
            "a": _edge(diff.a, edges_a, at_a),
            "b": _edge(diff.b, edges_b, at_b),
        }


def step_of(side: Side, row: int) -> Step:
    """Return a step of one side."""
    return Step(side.trace.columns, row)


def metric_name(metric: Metric) -> str:
    """Return what reports call a quantity."""
    return "wall_ms" if metric.name == "wall" else metric.name


def metric_value(metric: Metric, value: Number | None) -> int | float | str | None:
    """Return a quantity as reports write it: times in ms, money as text of its exact decimal."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    return milliseconds(value) if metric.name == "wall" else value


def _differing(diff: Diff, differences: StepDifferences) -> Iterator[tuple[Item, int, int]]:
    for row_a, row_b, mask in differences:
        item = {
            "type": _type(row_a, row_b),
            "fields": [name for bit, name in enumerate(FIELDS) if mask >> bit & 1],
            "a": _reference(diff.a, row_a),
            "b": _reference(diff.b, row_b),
        }
        yield item, row_a, row_b


def _type(a: int, b: int) -> str:
    if a < 0:
        return "only_in_b"
    return "only_in_a" if b < 0 else "changed"


def _reference(side: Side, row: int) -> Item | None:
    if row < 0:
        return None
    step = step_of(side, row)
    return {
        "step_id": step.step_id,
        "seq": row,
        "kind": step.kind,
        "name": alias(step.name),
        "status": step.status,
        "error_type": alias(step.error_type),
    }


def _above(side: Side, row: int) -> str | None:
    parent = int(side.parent[row]) if row >= 0 else -1
    return None if parent < 0 else step_of(side, parent).step_id


def _edge(side: Side, edges: tuple[Ints, Ints, Ints, Ints], at: int) -> Item | None:
    if at < 0:
        return None
    effect, cause, origin, evidence = (int(part[at]) for part in edges)
    return {
        "effect": step_of(side, effect).step_id,
        "cause": step_of(side, cause).step_id,
        "origin": ORIGINS[origin],
        "evidence": EVIDENCE[evidence],
    }


def _step_items(diff: Diff) -> Iterator[Item]:
    """Yield every step of A with its counterpart, then the steps that only B has."""
    steps, ids_a, ids_b = diff.steps, _ids(diff.a), _ids(diff.b)
    for row, (other, how) in enumerate(zip(steps.to_b.tolist(), steps.how_a.tolist(), strict=True)):
        yield {"a": ids_a[row], "b": ids_b[other] if other >= 0 else None, "how": HOW[how]}
    for row in np.flatnonzero(steps.to_a < 0).tolist():
        yield {"a": None, "b": ids_b[row], "how": HOW[0]}


def _ids(side: Side) -> list[str]:
    return list(side.trace.columns.step_id)


def _run(side: Side, digest: str) -> Item:
    trace = side.trace
    return {
        "trace_id": trace.trace_id,
        "source": trace.source,
        "status": trace.status,
        "fidelity": trace.fidelity,
        "step_count": len(side),
        "error_count": int((side.status == STATUS_CODE["error"]).sum()),
        "cyclic": trace.cyclic,
        "artifact_digest": digest,
        "gaps": gap_items({gap.code: gap.count for gap in trace.gaps}),
    }


def _metric(metric: Metric) -> Item:
    return {
        "name": metric_name(metric),
        "a": _measure(metric, metric.a),
        "b": _measure(metric, metric.b),
        "delta": metric_value(metric, metric.delta),
    }


def _measure(metric: Metric, measure: Measure) -> Item:
    value = metric_value(metric, measure.value)
    return {"value": value, "covered": measure.covered, "of": measure.of}


def _limitation(limitation: Limitation) -> Item:
    return {
        "code": limitation.code,
        "side": limitation.side,
        "count": limitation.count,
        "meaning": MEANING[limitation.code],
    }


def _verdict_items(diff: Diff, limit: int | None) -> Iterator[Item]:
    """Yield all differences with the verdict that they belong to."""
    verdicts = {
        "topology": topology_items(diff),
        "causal_edges": edge_items(diff),
        "behaviour": behaviour_items(diff),
        "metrics": (_metric(m) for m in diff.metrics.metrics if m.a.value != m.b.value),
    }
    for verdict, items in verdicts.items():
        yield from ({"verdict": verdict, **item} for item in islice(items, limit))


def _row(item: Item) -> tuple[Any, ...]:
    if item["verdict"] == "metrics":
        return "metrics", "changed", item["a"]["value"], item["b"]["value"], item["name"]
    detail: Any = item.get("fields")
    if item["verdict"] == "causal_edges":
        ends = [item[side] for side in "ab"]
        return item["verdict"], item["type"], *(end and _spelled(end) for end in ends), None
    ids = [item[side] and item[side]["step_id"] for side in "ab"]
    return item["verdict"], item["type"], *ids, detail or None


def _spelled(edge: Item) -> str:
    return f"{edge['cause']} -> {edge['effect']} [{edge['evidence']}, {edge['origin']}]"
