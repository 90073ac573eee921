"""A trace as a NetworkX graph, for whoever has NetworkX."""

from typing import TYPE_CHECKING, Any

from tracegraph.errors import UsageError
from tracegraph.model.trace import Trace

if TYPE_CHECKING:
    import networkx as nx


def to_networkx(trace: Trace) -> "nx.MultiDiGraph[str]":
    """Return the causal graph of a trace; edges point from cause to effect.

    Nodes are step ids, in seq order, with the fields of the step that are known. Edges carry
    ``origin`` and ``evidence``; two steps may be joined by several.

    Raises:
        UsageError: NetworkX is not installed.
    """
    try:
        import networkx as nx
    except ImportError:
        raise UsageError(
            'to_networkx needs NetworkX: pip install "tracegraph-engine[networkx]"'
        ) from None
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(trace_id=trace.trace_id, source=trace.source)
    for step in trace.steps:
        values: dict[str, Any] = {name: getattr(step, name) for name in _FIELDS}
        graph.add_node(step.step_id, **{k: v for k, v in values.items() if v is not None})
    for edge in trace.causes:
        graph.add_edge(edge.cause, edge.effect, origin=edge.origin, evidence=edge.evidence)
    return graph


_FIELDS = (
    "seq kind name status status_source agent model start end duration_ns error_type error_message "
    "tokens_prompt tokens_completion tokens_total cost tool_call_id args_digest result_digest "
    "args_size result_size docs signals wrapper orphan lossy depth children"
).split()
