"""The tokens of a model step, as the APIs of model providers name them."""

from collections.abc import Mapping
from typing import Any

from tracegraph.ingest import span_gaps
from tracegraph.ingest.attributes import total_of, whole_number
from tracegraph.ingest.step_fields import StepFields
from tracegraph.model.codes import UNKNOWN

_PROMPT = ("input_tokens", "prompt_tokens")
_COMPLETION = ("output_tokens", "completion_tokens")


def read_usage(usage: Mapping[str, Any], fields: StepFields, codes: list[str]) -> None:
    """Fill in the tokens; a total that is not recorded is the sum of the two.

    Args:
        usage: as recorded.
        fields: where to.
        codes: where what is no count is noted, as codes of :mod:`tracegraph.ingest.span_gaps`.
    """
    fields.tokens_prompt = _count(usage, _PROMPT, codes)
    fields.tokens_completion = _count(usage, _COMPLETION, codes)
    fields.tokens_total = _count(usage, ("total_tokens",), codes)
    if fields.tokens_total < 0:
        fields.tokens_total = total_of((fields.tokens_prompt, fields.tokens_completion))


def _count(usage: Mapping[str, Any], keys: tuple[str, ...], codes: list[str]) -> int:
    return read_count(next((usage[key] for key in keys if usage.get(key) is not None), None), codes)


def read_count(recorded: Any, codes: list[str]) -> int:
    """Return a number of tokens, -1 where there is none; what is no count is noted in codes."""
    if recorded is None:
        return UNKNOWN
    number = whole_number(recorded)
    if number is None:
        codes.append(span_gaps.UNREADABLE_TOKEN_COUNT)
        return UNKNOWN
    return number
