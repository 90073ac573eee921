"""The records of the portable trace artifact as they are decoded; see the published contract.

``contracts/trace-artifact.v1.schema.json`` says what each field means. Fields that are derived from
the others (``seq``, ``lossy``, ``parent``, ``cyclic``, ...) are for other readers: they are decoded
and set aside, and derived anew.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

KIND: Final = "tracegraph.trace"
SCHEMA_VERSION: Final = 1

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Id = Annotated[str, Meta(min_length=1)]


class GapRecord(Struct, forbid_unknown_fields=True, gc=False):
    """A disclosed loss."""

    code: Id
    count: Annotated[int, Meta(ge=1, le=2**63 - 1)] = 1


class HeaderRecord(Struct, forbid_unknown_fields=True):
    """The trace as a whole."""

    trace_id: Id
    source: Id | None = None
    run_id: str | None = None
    session_id: str | None = None
    agent: str | None = None
    status: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    fidelity: str | None = None
    cyclic: bool | None = None
    contained: bool | None = None
    gaps: list[GapRecord] = []
    attributes: dict[str, Any] | None = None
    file: str | None = None
    file_digest: str | None = None


class StepRecord(Struct, forbid_unknown_fields=True):
    """One step."""

    step_id: Id
    seq: Count | None = None
    kind: str | None = None
    name: str | None = None
    status: str | None = None
    status_source: str | None = None
    agent: str | None = None
    model: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    duration_ms: float | None = None
    error_type: str | None = None
    error_message: str | None = None
    tokens_prompt: Count | None = None
    tokens_completion: Count | None = None
    tokens_total: Count | None = None
    cost: str | float | None = None
    tool_call_id: str | None = None
    args_digest: str | None = None
    result_digest: str | None = None
    args_size: Count | None = None
    result_size: Count | None = None
    docs: Count | None = None
    signals: list[str] | None = None
    wrapper: bool | None = None
    orphan: bool | None = None
    lossy: bool | None = None
    unknown_fields: list[str] | None = None
    parent: str | None = None
    input: str | None = None
    output: str | None = None
    attributes: dict[str, Any] | None = None


class CauseRecord(Struct, forbid_unknown_fields=True, gc=False):
    """``effect`` was caused by ``cause``; both are step ids."""

    effect: Id
    cause: Id
    origin: str | None = None
    evidence: str | None = None


class ArtifactRecord(Struct, forbid_unknown_fields=True):
    """A whole artifact."""

    kind: Literal["tracegraph.trace"]
    schema_version: Literal[1]
    trace: HeaderRecord
    steps: list[StepRecord] = []
    causes: list[CauseRecord] = []


decode = msgspec.json.Decoder(ArtifactRecord).decode
"""Decode an artifact that holds its contract in form; msgspec.MsgspecError otherwise."""
