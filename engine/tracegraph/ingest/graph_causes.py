"""Causes that graph frameworks record: LangGraph's step and trigger metadata, ``graph.node`` ids.

LangGraph runs in supersteps. A node that runs at step n was triggered by what the nodes of step
n - 1 of the same graph instance wrote; the trigger says into which channel. That is a cause where
the metadata leave one reading:

- ``branch:to:X`` and ``__pregel_push`` do not name the writer: it is known where all runs of step
  n - 1 are of one node (a fan-out of one node joins in all of them) or, for a push, where there is
  one run, or where the recorded edges of the graph leave one node;
- ``branch:A:condition:X`` and a plain ``A`` (older releases) name the writers;
- ``join:A+B:X`` does too, and waits for them all: a writer may have run several steps earlier;
- two runs of one task (same checkpoint namespace) of which the first failed are a retry.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from tracegraph.ingest.span_gaps import GRAPH_PARENT_BY_TIMING, GRAPH_PARENT_FALLBACK
from tracegraph.model.codes import HEURISTIC


class NodeRun(Struct, gc=False):
    """One run of a graph node.

    Attributes:
        row: its step.
        instance: what identifies the graph instance: the container's span id.
        step: the superstep.
        node: the node's name.
        triggers: channels that triggered it.
        task: the checkpoint namespace, the same for attempts of one task.
        failed: the run failed, so it wrote nothing.
        when: comparable time.
    """

    row: int
    instance: str
    step: int
    node: str
    triggers: tuple[str, ...]
    task: str | None
    failed: bool
    when: tuple[int, int]


@dataclass(slots=True)
class GraphCauses:
    """What follows from the node runs of one trace.

    Attributes:
        edges: (effect row, cause row).
        ambiguous: runs that more than one reading of the record explains.
    """

    edges: list[tuple[int, int]] = field(default_factory=list)
    ambiguous: int = 0


Edges = frozenset[tuple[str, str]]
"""(from node, to node) of a graph."""
_NO_EDGES: Edges = frozenset()


def step_causes(runs: Sequence[NodeRun], recorded: Mapping[str, Edges]) -> GraphCauses:
    """Derive causes between the node runs of one trace.

    Args:
        runs: the node runs in any order.
        recorded: the graph's edges by instance, where the trace records them.
    """
    found = GraphCauses()
    steps: dict[tuple[str, int], list[NodeRun]] = {}
    for run in sorted(runs, key=lambda run: run.when):
        steps.setdefault((run.instance, run.step), []).append(run)
    by_node: dict[tuple[str, str], list[NodeRun]] = {}
    for run in sorted(runs, key=lambda run: run.step):
        if not run.failed:
            by_node.setdefault((run.instance, run.node), []).append(run)
    for (instance, step), now in steps.items():
        before = [r for r in steps.get((instance, step - 1), ()) if not r.failed]
        attempts: dict[tuple[str, str], NodeRun] = {}
        for run in now:
            previous = attempts.get((run.node, run.task or ""))
            if run.task:
                attempts[run.node, run.task] = run
            if previous is not None and previous.failed:
                found.edges.append((run.row, previous.row))
                continue
            writers = _writers(run, before, recorded.get(instance, _NO_EDGES))
            found.ambiguous += writers is None
            found.edges.extend((run.row, writer.row) for writer in writers or ())
            waited = _waited_for(run, {r.node for r in before}, by_node)
            found.edges.extend((run.row, writer.row) for writer in waited)
    return found


def _waited_for(
    run: NodeRun, before: set[str], by_node: Mapping[tuple[str, str], list[NodeRun]]
) -> list[NodeRun]:
    """Return the runs for which a join waited that were over before the superstep before it.

    A join starts anew once it ran, so only runs since its own last one count.
    """
    joins = [trigger for trigger in run.triggers if trigger.startswith("join:")]
    names = {name for trigger in joins for name in _named_writers(trigger)} - before
    found: list[NodeRun] = []
    for name in sorted(names):
        own, runs = (by_node.get((run.instance, n), []) for n in (run.node, name))
        ran = bisect_left(own, run.step, key=_step)
        since = own[ran - 1].step if ran else -1
        end = bisect_left(runs, run.step, key=_step)
        if end and runs[end - 1].step >= since:
            found += runs[bisect_left(runs, runs[end - 1].step, key=_step) : end]
    return found


def _step(run: NodeRun) -> int:
    return run.step


def _writers(run: NodeRun, before: list[NodeRun], recorded: Edges) -> list[NodeRun] | None:
    """Return the runs that triggered a run, None where the record leaves more than one reading."""
    if not before:
        return []
    nodes = {r.node for r in before}
    named: set[str] = set()
    for trigger in run.triggers:
        if trigger.startswith("branch:to:") or trigger == "__pregel_push":
            if trigger == "__pregel_push" and len(before) > 1:
                return None
            candidates = nodes
            if len(nodes) > 1:
                candidates = {n for n in nodes if (n, run.node) in recorded}
            if len(candidates) != 1:
                return None
            named |= candidates
        else:
            named |= _named_writers(trigger) & nodes
    return [r for r in before if r.node in named]


def _named_writers(trigger: str) -> set[str]:
    parts = trigger.split(":")
    if parts[0] == "branch" and len(parts) >= 4:
        return {parts[1]}
    if parts[0] == "join" and len(parts) == 3:
        return set(parts[1].split("+"))
    return {trigger} if len(parts) == 1 else set()


class GraphSpan(Struct, gc=False):
    """A span with ``graph.node`` attributes."""

    row: int
    start: int
    node: str | None
    parent: str | None


@dataclass(slots=True)
class GraphParents:
    """Edges as (effect row, cause row, evidence or None for the origin's own), and gap counts."""

    edges: list[tuple[int, int, int | None]] = field(default_factory=list)
    gaps: dict[str, int] = field(default_factory=dict)


def parent_causes(spans: Iterable[GraphSpan]) -> GraphParents:
    """Resolve ``graph.node.parent_id``.

    One span with that node id: declared. Several (a node that ran more than once): the one that
    started last before the effect, a guess by timing. None, or times that do not tell: no edge.
    """
    spans = list(spans)
    by_node: dict[str, list[GraphSpan]] = {}
    for span in sorted(spans, key=lambda span: (span.start, span.row)):
        if span.node is not None:
            by_node.setdefault(span.node, []).append(span)
    found = GraphParents()
    for span in spans:
        if span.parent is None:
            continue
        runs = by_node.get(span.parent, [])
        if len(runs) == 1 and runs[0] is not span:
            found.edges.append((span.row, runs[0].row, None))
            continue
        if len(runs) == 2 and span in runs:
            other = runs[0] if runs[1] is span else runs[1]
            found.edges.append((span.row, other.row, None))
            continue
        earlier = _last_before(runs, span)
        code = GRAPH_PARENT_FALLBACK if earlier is None else GRAPH_PARENT_BY_TIMING
        found.gaps[code] = found.gaps.get(code, 0) + 1
        if earlier is not None:
            found.edges.append((span.row, earlier.row, HEURISTIC))
    return found


def _last_before(runs: list[GraphSpan], span: GraphSpan) -> GraphSpan | None:
    """Return the run that started last before a span; runs are in order of start."""
    if not runs or span.start < 0 or runs[0].start < 0:
        return None
    index = bisect_right(runs, span.start, key=lambda run: run.start) - 1
    while index >= 0 and runs[index] is span:
        index -= 1
    return runs[index] if index >= 0 else None


def static_edges(recorded: Iterable[object]) -> Edges:
    """Read a graph's edges as OpenLLMetry records them: ``"agent -> tools"``."""
    pairs = (str(item).split(" -> ") for item in recorded)
    return frozenset((pair[0], pair[1]) for pair in pairs if len(pair) == 2)
