"""The fields of steps and traces, their types, and the other fixed words of the language."""

from collections.abc import Iterable
from typing import Literal

from tracegraph.model import codes as model_codes

FieldType = Literal[
    "text",  # a string
    "kind",  # one of KINDS, always known
    "status",  # ok, error or unset; always known
    "number",  # a count or an amount
    "duration",  # a length of time; also the difference of two times
    "time",  # a point in time, compared with other times only
    "bool",
    "digest",  # equal or not, nothing else
    "signals",  # a set of codes, always known
]

KINDS = ("ANY", *model_codes.KINDS)
STATUSES = model_codes.STATUSES
SIGNALS = model_codes.SIGNALS
WORDS = (*STATUSES, "true", "false")

STEP_FIELDS: dict[str, FieldType] = {
    "name": "text",
    "kind": "kind",
    "status": "status",
    "status_source": "text",
    "agent": "text",
    "model": "text",
    "start": "time",
    "end": "time",
    "duration": "duration",
    "gap": "duration",
    "seq": "number",
    "depth": "number",
    "children": "number",
    "cost": "number",
    "tokens.prompt": "number",
    "tokens.completion": "number",
    "tokens.total": "number",
    "args": "digest",
    "result": "digest",
    "error.type": "text",
    "error.message": "text",
    "tool_call_id": "text",
    "docs": "number",
    "lossy": "bool",
    "signals": "signals",
    "id": "text",
    "input": "text",
    "output": "text",
}
"""Type of each field of a step. All but ``kind``, ``status`` and ``signals`` may be unknown."""

TRACE_FIELDS: dict[str, FieldType] = {
    "source": "text",
    "status": "status",
    "fidelity": "text",
    "agent": "text",
    "session_id": "text",
    "run_id": "text",
}
"""Type of each field after ``trace.``."""

FEATURES = (
    "args",
    "results",
    "tokens",
    "docs",
    "tool-call-ids",
    "agents",
    "times",
    "errors",
    "content",
    "models",
)
"""What ``needs`` may ask a trace to carry."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the known word most like this one, else nothing."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{found[0]}'?" if found else ""
