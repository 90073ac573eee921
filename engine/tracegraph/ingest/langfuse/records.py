"""Langfuse's observations and traces as they are decoded, out of whatever holds them.

A download of a trace is ``{"trace": ..., "observations": [...]}``, the API gives the trace with its
``observations``, and pages of either under ``data``. Bodies and metadata are values, or JSON in a
string.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from tracegraph.ingest.losses import Losses
from tracegraph.ingest.salvage import Id, read_record
from tracegraph.model.digest import parse_text

AREA = "langfuse"
_LEVELS = 3
"""A page holds traces, they hold observations; nothing is nested deeper."""


class Observation(Struct, rename="camel"):
    """One observation. Usage and cost have had several spellings; zeros there are unknown."""

    id: Id
    trace_id: str | None = None
    parent_observation_id: str | None = None
    type: str | None = None
    name: str | None = None
    start_time: str | None = None
    end_time: str | None = None
    level: Any = None
    status_message: str | None = None
    input: Any = None
    output: Any = None
    metadata: Any = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    usage_details: dict[str, Any] | None = None
    cost_details: dict[str, Any] | None = None
    total_cost: Any = None
    calculated_total_cost: Any = None


class TraceRecord(Struct, rename="camel"):
    """What is said of a trace as a whole."""

    id: str | None = None
    name: str | None = None
    session_id: str | None = None
    environment: str | None = None
    release: str | None = None
    version: str | None = None
    tags: list[str] | None = None
    scores: list[Any] | None = None


class Found(Struct):
    """An observation where it was found, and the trace around it, both as decoded."""

    value: Any
    trace: dict[str, Any] | None = None


def observations_in(
    value: Any, trace: dict[str, Any] | None = None, level: int = 0
) -> Iterator[Found]:
    """Yield the observations of a decoded document."""
    held = value.get("observations", value.get("data")) if isinstance(value, dict) else None
    if not isinstance(held, list) or level == _LEVELS:
        yield Found(value, trace)
        return
    if "observations" in value:
        own = value.get("trace")
        trace = own if isinstance(own, dict) else value
    if all(isinstance(item, str) for item in held):  # a list of traces names their observations
        return
    for item in held:
        yield from observations_in(item, trace, level + 1)


def read_observation(value: Any, shown: str, losses: Losses) -> Observation | None:
    """Make an observation of a decoded object; None where it has no id.

    Gap code: ``langfuse.unreadable_field``.
    """
    return read_record(Observation, value, shown, AREA, losses)


def read_trace(value: dict[str, Any], losses: Losses) -> TraceRecord:
    """Make a trace of a decoded object, as far as its members can be used.

    Gap code: ``langfuse.unreadable_field``.
    """
    return read_record(TraceRecord, value, "the trace", AREA, losses) or TraceRecord()


def body(value: Any) -> Any:
    """Return what a body holds: JSON in a string is undone where it is an object or an array."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            return parse_text(value)
        except ValueError:
            return value
    return value
