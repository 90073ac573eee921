"""An exception that was written down as text: what LangChain's tracer makes of one, and its like.

The tracer writes ``repr(exception)`` followed by the traceback with its entries two blank lines
apart, the last of which is ``module.Type: message`` (langchain_core.tracers.core,
``_get_stacktrace``); notes on the exception come behind as entries of their own. Other SDKs write a
message or a stack of their own, which is taken as a message.
"""

import re

from tracegraph.ingest.status import RaisedException

_TRACEBACK = "Traceback (most recent call last):"
_BETWEEN = "\n\n\n"
_REPR = re.compile(r"([A-Za-z_]\w*)\(")


def raised_by(error: str) -> RaisedException:
    """Return the exception that an error stands for; its type is unknown where it is not sure."""
    shown, has_traceback, entries = error.partition(_TRACEBACK)
    named = _REPR.match(shown)
    if named is None or not (has_traceback or shown.rstrip().endswith(")")):
        return RaisedException(None, error)
    bare = named[1]
    line = re.compile(rf"((?:\w+\.)*{bare})(?::\s|\s*\Z)")
    for entry in reversed(entries.split(_BETWEEN)):
        found = line.match(entry)
        if found is not None:
            return RaisedException(found[1], entry[found.end() :].strip() or None)
    return RaisedException(bare, shown)
