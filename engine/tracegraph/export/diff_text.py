"""What changed between two runs, as text for people: plain or Markdown."""

from collections.abc import Iterable, Iterator
from itertools import islice

from tracegraph.analysis.diff.compare import Diff
from tracegraph.analysis.diff.limitations import MEANING, Limitation
from tracegraph.analysis.diff.metrics import Metric
from tracegraph.analysis.diff.sides import Side
from tracegraph.analysis.diff.topology import FIELDS
from tracegraph.analysis.metrics import Measure
from tracegraph.export.aliases import alias
from tracegraph.export.diff import correspondence, metric_name, metric_value, step_of
from tracegraph.export.text import counted, markdown, visible
from tracegraph.model.codes import EVIDENCE, ORIGINS
from tracegraph.model.columns import Ints

LONGEST_PATH = 8
"""Ancestors that a path names; how many more there are above them is said."""
LARGEST_SUBTREE = 12
"""Steps that a subtree spells out; how many more it has is said."""

_Line = tuple[int, str]
"""Level (0: verdict, 1: heading, 2: item) and text."""


def diff_lines(diff: Diff, limit: int | None) -> Iterator[str]:
    """Yield the lines for a terminal or a pipe."""
    opening = ("", "", "  • ")
    return (f"{opening[level]}{visible(text)}\n" for level, text in _lines(diff, limit))


def diff_markdown(diff: Diff, limit: int | None) -> Iterator[str]:
    """Yield the same as Markdown."""
    for level, text in _lines(diff, limit):
        shown = markdown(visible(text))
        yield (f"**{shown}**\n\n", f"- {shown}\n", f"  - {shown}\n")[level]


def _lines(diff: Diff, limit: int | None) -> Iterator[_Line]:
    yield 0, "IDENTICAL" if diff.identical else "NOT IDENTICAL"
    topology, edges, behaviour = diff.topology, diff.causal_edges, diff.behaviour
    yield from _section(
        f"topology ({topology.mode})", len(topology.differences), _topology(diff), limit
    )
    if topology.reordered:
        steps = counted(topology.reordered, "step")
        yield 2, f"{steps} with children in another order, which is no difference"
    yield from _section("causal edges", len(edges.a), _edges(diff), limit)
    yield from _section("behaviour", len(behaviour.differences), _behaviour(diff), limit)
    yield from _metrics(diff)
    yield 1, _correspondence(diff)
    if diff.limitations:
        yield 1, "not seen, or less certain"
        yield from ((2, _limitation(limitation)) for limitation in diff.limitations)


def _section(name: str, total: int, items: Iterable[str], limit: int | None) -> Iterator[_Line]:
    if not total:
        yield 1, f"{name}: identical"
        return
    shown = "" if limit is None or limit >= total else f", {limit} listed"
    yield 1, f"{name}: {counted(total, 'difference')}{shown}"
    yield from ((2, text) for text in islice(items, limit))


def _topology(diff: Diff) -> Iterator[str]:
    paths = _Paths(diff.a), _Paths(diff.b)
    for a, b, _ in diff.topology.differences:
        if a >= 0 and b >= 0:
            labels = f"{_label(diff.a, a)} in A, {_label(diff.b, b)} in B"
            yield f"diverges {paths[0].above(a)}: {labels}"
            continue
        letter, side, row, path = (
            ("A", diff.a, a, paths[0]) if a >= 0 else ("B", diff.b, b, paths[1])
        )
        yield f"only in {letter} {path.above(row)}: subtree {_subtree(side, row)}"


def _edges(diff: Diff) -> Iterator[str]:
    edges_a, edges_b = diff.a.edges, diff.b.edges
    for at_a, at_b in zip(diff.causal_edges.a.tolist(), diff.causal_edges.b.tolist(), strict=True):
        side, edges, at = (diff.a, edges_a, at_a) if at_a >= 0 else (diff.b, edges_b, at_b)
        ends = f"{_at(side, int(edges[1][at]))} -> {_at(side, int(edges[0][at]))}"
        if at_a >= 0 and at_b >= 0:
            yield f"known otherwise: {ends}: {_way(edges_a, at_a)} in A, {_way(edges_b, at_b)} in B"
        else:
            yield f"only in {'A' if at_a >= 0 else 'B'}: {ends} {_way(edges, at)}"


def _behaviour(diff: Diff) -> Iterator[str]:
    for a, b, mask in diff.behaviour.differences:
        if a >= 0 and b >= 0:
            fields = (name for bit, name in enumerate(FIELDS) if mask >> bit & 1)
            changes = ", ".join(_change(diff, name, a, b) for name in fields)
            yield f"{_label(diff.a, a)}: {changes} (A {_id(diff.a, a)}, B {_id(diff.b, b)})"
            continue
        letter, side, row = ("A", diff.a, a) if a >= 0 else ("B", diff.b, b)
        step = step_of(side, row)
        failure = f" <{alias(step.error_type)}>" if step.error_type else ""
        yield f"only in {letter}: {_label(side, row)} {step.status}{failure} {_id(side, row)}"


def _metrics(diff: Diff) -> Iterator[_Line]:
    yield 1, "metrics: identical" if diff.metrics.identical else "metrics"
    unknown = []
    for metric in diff.metrics.metrics:
        name = metric_name(metric)
        if metric.a.value is None and metric.b.value is None:
            unknown.append(name)
        elif metric.a != metric.b:
            change = f"{_measure(metric, metric.a)} -> {_measure(metric, metric.b)}"
            yield 2, f"{name}: {change}{_delta(metric)}"
    if unknown:
        yield 2, f"unknown in both: {', '.join(unknown)}"


def _measure(metric: Metric, measure: Measure) -> str:
    if measure.value is None:
        return "unknown"
    partial = "" if measure.is_whole else f" (of {measure.covered} of {measure.of} steps)"
    return f"{metric_value(metric, measure.value)}{partial}"


def _delta(metric: Metric) -> str:
    delta = metric.delta
    if delta is None:
        return ", difference withheld"
    return f" ({'+' if delta > 0 else ''}{metric_value(metric, delta)})" if delta else ""


def _correspondence(diff: Diff) -> str:
    found = correspondence(diff)
    how = [f"{count} by {word}" for word, count in found["by"].items() if count]
    return (
        f"steps: {found['matched']} correspond ({', '.join(how) or 'none'}), "
        f"{found['only_in_a']} only in A, {found['only_in_b']} only in B"
    )


def _limitation(limitation: Limitation) -> str:
    side = f"{limitation.side.upper()}: " if limitation.side else ""
    count = "" if limitation.count is None else f" {limitation.count}"
    return f"{side}{limitation.code}{count}: {MEANING[limitation.code]}"


def _change(diff: Diff, field: str, a: int, b: int) -> str:
    values = (getattr(step_of(side, row), field) for side, row in ((diff.a, a), (diff.b, b)))
    before, after = (alias(value) or "none" for value in values)
    return f"{field} {before} -> {after}"


def _way(edges: tuple[Ints, Ints, Ints, Ints], at: int) -> str:
    return f"[{EVIDENCE[int(edges[3][at])]}, {ORIGINS[int(edges[2][at])]}]"


def _at(side: Side, row: int) -> str:
    return f"{_name(side, row)}{_id(side, row)}"


def _id(side: Side, row: int) -> str:
    return f"@{step_of(side, row).step_id}"


def _label(side: Side, row: int) -> str:
    step = step_of(side, row)
    return f"{step.kind} {alias(step.name) or '(no name)'}"


def _name(side: Side, row: int) -> str:
    step = step_of(side, row)
    return alias(step.name) or step.kind


class _Paths:
    """Says where steps stand in the tree of one side."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._parent = side.parent.tolist()
        self._depth: list[int] = []
        for parent in self._parent:  # parents have smaller rows
            self._depth.append(self._depth[parent] + 1 if parent >= 0 else 0)

    def above(self, row: int) -> str:
        """Return the names of the step's ancestors, from the root down."""
        depth, names = self._depth[row], list[str]()
        above = self._parent[row]
        while above >= 0 and len(names) < LONGEST_PATH:
            names.append(_name(self._side, above))
            above = self._parent[above]
        if not names:
            return "at the root"
        if depth > len(names):
            names.append(f"({depth - len(names)} more)")
        return "under " + " > ".join(reversed(names))


def _subtree(side: Side, row: int) -> str:
    """Write a subtree as ``x(y, z(w))``."""
    text, before, shown, pending = "", -1, 0, [(row, 0)]
    while pending and shown < LARGEST_SUBTREE:
        here, depth = pending.pop()
        opening = "(" if depth > before else ")" * (before - depth) + ", "
        text += (opening if shown else "") + _name(side, here)
        before, shown = depth, shown + 1
        room = LARGEST_SUBTREE - shown
        pending += [(child, depth + 1) for child in reversed(side.children(here)[: room + 1])]
    more = int(side.size[row]) - shown
    return text + ")" * before + (f" and {counted(more, 'more step')} below" if more else "")
