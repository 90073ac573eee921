"""What a record says of how a run ended, where that is a word of the source and no status.

A limit on cost or messages, or somebody who stopped it, is neither success nor failure: the status
stays unset, and what was recorded is told all the same.
"""

from tracegraph.model.trace import Trace

ATTRIBUTE = "ended_by"
"""The attribute of a trace that holds it: an object of recorded names and their values."""
_MOST = 4
"""Facts that are told; no source has more."""


def ended_by(trace: Trace) -> tuple[tuple[str, str], ...]:
    """Return names and values as recorded; none where nothing is."""
    held = trace.attributes.get(ATTRIBUTE)
    if not isinstance(held, dict):
        return ()
    facts = ((name, value) for name, value in held.items() if isinstance(value, str | int | float))
    return tuple((name, str(value)) for name, value in facts)[:_MOST]
