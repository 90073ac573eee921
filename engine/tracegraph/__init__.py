"""tracegraph: a local-first graph database and query engine for what AI agents did.

::

    import tracegraph

    traces = tracegraph.load("traces/")
    for match in traces.query("tool-failure"):
        print(match.trace_id, match.certainty, match.steps[0].step.name)

``import tracegraph`` loads nothing heavy; what is used is loaded when it is used first.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracegraph.errors import (
        CorpusError,
        InputError,
        PatternError,
        QueryError,
        TracegraphError,
        UsageError,
    )
    from tracegraph.export.query_result import Match, MatchedStep, QueryResult
    from tracegraph.model.step import Step
    from tracegraph.model.trace import CausalEdge, Gap, Trace
    from tracegraph.workflows.networkx import to_networkx
    from tracegraph.workflows.traceset import TraceSet, load

__version__ = "0.1.0"

__all__ = [
    "CausalEdge",
    "CorpusError",
    "Gap",
    "InputError",
    "Match",
    "MatchedStep",
    "PatternError",
    "QueryError",
    "QueryResult",
    "Step",
    "Trace",
    "TraceSet",
    "TracegraphError",
    "UsageError",
    "__version__",
    "load",
    "to_networkx",
]

_HOMES = {
    "CausalEdge": "tracegraph.model.trace",
    "CorpusError": "tracegraph.errors",
    "Gap": "tracegraph.model.trace",
    "InputError": "tracegraph.errors",
    "Match": "tracegraph.export.query_result",
    "MatchedStep": "tracegraph.export.query_result",
    "PatternError": "tracegraph.errors",
    "QueryError": "tracegraph.errors",
    "QueryResult": "tracegraph.export.query_result",
    "Step": "tracegraph.model.step",
    "Trace": "tracegraph.model.trace",
    "TraceSet": "tracegraph.workflows.traceset",
    "TracegraphError": "tracegraph.errors",
    "UsageError": "tracegraph.errors",
    "load": "tracegraph.workflows.traceset",
    "to_networkx": "tracegraph.workflows.networkx",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its home on first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
