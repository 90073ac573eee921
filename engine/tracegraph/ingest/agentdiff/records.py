"""AgentDiff's records as they are decoded: a trace and its steps (AgentTrace 1.0.0).

Every field may be absent or null: its documentation calls many of them nullable, its own models
refuse null, and a field that is missing costs that field. ``schema_version`` has never been checked
by anybody, so it is kept and not judged.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from tracegraph.errors import InputError
from tracegraph.ingest.attributes import dump
from tracegraph.ingest.losses import Losses
from tracegraph.ingest.nesting import is_too_deep
from tracegraph.ingest.salvage import salvage, salvage_all
from tracegraph.ingest.tolerant_json import decode_tolerant

AREA = "agentdiff"
ENVELOPE = "agentdiff_baseline_envelope"

Number = int | float | str | None


class Usage(Struct, gc=False):
    """Tokens and cost as recorded; what they mean is read in ``usage.py``."""

    prompt_tokens: Number = None
    completion_tokens: Number = None
    total_tokens: Number = None
    estimated_cost_usd: Number = None


class StepRecord(Struct):
    """One step. An absent ``status`` is not the same as null: the format's default is success.

    Status and error are taken whatever their type is: one that cannot be read must not be mistaken
    for one that is absent.
    """

    step_id: str | int | None = None
    parent_id: str | int | None = None
    step_index: int | float | None = None
    step_type: str | None = None
    name: str | None = None
    input_payload: Any = None
    output_payload: Any = None
    status: Any = msgspec.UNSET
    error_message: Any = None
    latency_ms: float | None = None
    tokens: Usage | None = None
    metadata: dict[str, Any] | None = None


class HeaderRecord(Struct):
    """A run without its steps."""

    schema_version: str | None = None
    trace_id: str | int | None = None
    agent_name: str | None = None
    agent_version: str | None = None
    task_input: Any = None
    final_output: Any = None
    total_latency_ms: float | None = None
    total_tokens: Usage | None = None
    metadata: dict[str, Any] | None = None


class RunRecord(HeaderRecord):
    """A run."""

    steps: list[StepRecord] | None = None


class Envelope(Struct):
    """A baseline: several runs of one scenario."""

    kind: str
    scenario: str | None = None
    mode: str | None = None
    recorded_at: str | None = None
    generator_version: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A decoded document.

    Attributes:
        runs: to be read with :func:`read_run`; one where there is no envelope.
        envelope: what is around several.
    """

    runs: list[Any]
    envelope: Envelope | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A run, the envelope that it came in, and what reading it lost."""

    record: RunRecord
    envelope: Envelope | None
    losses: Losses


_decode_run = msgspec.json.Decoder(RunRecord).decode


def decode(data: bytes, place: str, losses: Losses) -> Document:
    """Decode a document.

    Raises:
        InputError: it is no JSON, or neither a run nor an envelope of runs.
    """
    if ENVELOPE.encode() not in data:
        try:
            return Document([_decode_run(data)])
        except (msgspec.MsgspecError, RecursionError):
            pass  # to be read field by field
    value = decode_tolerant(data, place, losses)
    if not isinstance(value, dict):
        raise InputError(f"{place}: neither an AgentDiff trace nor an envelope of them")
    if value.get("kind") != ENVELOPE:
        return Document([value])
    runs = value.pop("runs", None)
    if not isinstance(runs, list):
        raise InputError(f"{place}: an AgentDiff envelope without a list of runs")
    return Document(runs, salvage(Envelope, value, "the envelope", AREA, losses))


def read_run(value: Any, shown: str, losses: Losses) -> RunRecord:
    """Make a run of a decoded object: of the fields and the steps that can be used."""
    if isinstance(value, RunRecord):
        return value
    if not is_too_deep(value):
        try:
            return msgspec.convert(value, RunRecord)
        except msgspec.ValidationError:
            pass  # to be read field by field
    rest = dict(value)
    steps = rest.pop("steps", None)
    header = salvage(HeaderRecord, rest, shown, AREA, losses) or HeaderRecord()
    records = [] if steps is None else salvage_all(StepRecord, steps, "step", AREA, losses)
    held = {name: getattr(header, name) for name in HeaderRecord.__struct_fields__}
    return RunRecord(**held, steps=records)


def body_text(value: Any, shown: str, losses: Losses) -> str | None:
    """Return a decoded body as JSON text, None for null.

    Gap code: ``agentdiff.unreadable_field``.
    """
    if value is None:
        return None
    try:
        return dump(value)
    except RecursionError:
        losses.add("agentdiff.unreadable_field", f"{shown}: nested too deeply to be read")
        return None
