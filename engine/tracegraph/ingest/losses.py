"""What a file lost while it was read: counted by code, or refused at once under ``--strict``."""

from collections import Counter

from tracegraph.errors import StrictError

_KEPT = (
    "agentdelta.open_pairing",
    "agentdelta.return_without_call",
    "causes.",
    "clock.",
    "otlp.ambiguous_",
    "otlp.dropped_",
    "otlp.duplicate_identical",
    "otlp.foreign_trace_link",
    "otlp.graph_parent_",
    "otlp.missing_parent",
    "otlp.self_",
    "otlp.status_contradicts_",
    "otlp.unqualified_control_flow",
    "otlp.unresolved_span_link",
    "text.unicode_form",
)
"""Codes, or how they start, of what was recorded so: doubtful, contradictory or never exported."""


def is_loss(code: str) -> bool:
    """Tell whether a gap means that reading lost something, which ``--strict`` refuses."""
    return not code.startswith(_KEPT)


class Losses:
    """Losses of one trace, or of a file outside its traces.

    Attributes:
        counts: how often each gap code happened.
    """

    def __init__(self, file: str, strict: bool) -> None:
        self.counts: Counter[str] = Counter()
        self._file = file
        self._strict = strict

    def add(self, code: str, what: str, count: int = 1) -> None:
        """Disclose a loss or a doubt; ``what`` says in words what is the matter and where.

        Raises:
            StrictError: losses are to be refused.
        """
        if self._strict and is_loss(code):
            raise StrictError(f"{self._file}: {what} ({code})")
        self.counts[code] += count
