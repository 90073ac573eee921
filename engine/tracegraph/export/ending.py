"""How a run is recorded to have ended, in its own words."""

from collections.abc import Callable

from tracegraph.analysis.ending import ended_by
from tracegraph.export.text import shortened
from tracegraph.model.trace import Trace

_LONGEST = 200
"""Characters that are shown."""


def ending(trace: Trace, shown: Callable[[str], str | None] = str) -> str:
    """Return what a trace records of its end; an empty text where it records nothing.

    Args:
        trace: the trace.
        shown: how words stand; reports show aliases of what may be text.
    """
    facts = (f"{shown(name)} {shown(value)}" for name, value in ended_by(trace))
    return shortened(", ".join(facts), _LONGEST)
