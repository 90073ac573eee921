"""A trace without bodies and free text, for artifacts that leave the place where it was recorded.

Beside bodies and error text, which ``--keep structure`` drops too, it lacks whatever names could
say: a name that is no identifier becomes the alias that reports show, so that equal names stay
equal and patterns still match by them. Of the run's attributes only evaluations stay. In place of a
source file, which there is none of, it names what the trace was asked of.
"""

import dataclasses
import json
from collections.abc import Iterable

import numpy as np

from tracegraph.analysis.evaluations import ATTRIBUTE
from tracegraph.analysis.links import alone
from tracegraph.corpus.policy import restrict
from tracegraph.export.aliases import alias
from tracegraph.model.columns import Array, Columns
from tracegraph.model.trace import Trace

_STEP_NAMES = ("name", "agent", "model", "error_type")
_TRACE_NAMES = ("agent", "session_id", "run_id")
_EVALUATION = ("step_id", "document", "name", "label", "score", "annotator_kind")


def safe_trace(trace: Trace, origin: str) -> Trace:
    """Return a trace as far as its structure, measures and aliased names go.

    Args:
        trace: the trace.
        origin: what it was asked of. The digest of the answer is left out: with every change of an
            annotation's date it would be another one.
    """
    columns = restrict(alone(trace), "structure")
    words = _Words(columns.vocabulary)
    steps = {name: words.aliased(getattr(columns.steps, name)) for name in _STEP_NAMES}
    header = {name: words.aliased(getattr(columns.traces, name)) for name in _TRACE_NAMES}
    texts = {"attributes": _evaluations(trace), "file": origin, "file_digest": None}
    for name, text in texts.items():
        header[name] = words.code(text, getattr(columns.traces, name))
    return Trace(_with(columns, steps, header, words.texts), 0)


class _Words:
    """A vocabulary that grows by aliases."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = list(texts)

    def aliased(self, codes: Array) -> Array:
        """Return the codes of the aliases of texts."""
        used, place = np.unique(codes, return_inverse=True)
        aliases = [code if code < 0 else self._alias(code) for code in used.tolist()]
        return np.array(aliases, dtype=codes.dtype)[place.reshape(-1)]

    def code(self, text: str | None, like: Array) -> Array:
        """Return a column of one text."""
        if text is None:
            return np.full_like(like, -1)
        self.texts.append(text)
        return np.full_like(like, len(self.texts) - 1)

    def _alias(self, code: int) -> int:
        shown = alias(self.texts[code])
        if shown == self.texts[code]:
            return code
        self.texts.append(shown)
        return len(self.texts) - 1


def _evaluations(trace: Trace) -> str | None:
    held = trace.attributes.get(ATTRIBUTE)
    if not isinstance(held, list):
        return None
    kept = []
    for item in held:
        if isinstance(item, dict):
            fields = {key: item[key] for key in _EVALUATION if key in item}
            kept.append({k: alias(v) if isinstance(v, str) else v for k, v in fields.items()})
    return json.dumps({ATTRIBUTE: kept}, sort_keys=True, ensure_ascii=False) if kept else None


def _with(
    columns: Columns, steps: dict[str, Array], header: dict[str, Array], vocabulary: list[str]
) -> Columns:
    return dataclasses.replace(
        columns,
        steps=dataclasses.replace(columns.steps, **steps),
        traces=dataclasses.replace(columns.traces, **header),
        vocabulary=vocabulary,
    )
