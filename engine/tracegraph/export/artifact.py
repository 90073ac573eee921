"""The portable trace artifact: one trace with everything that is known of it, as JSON.

Contract: ``contracts/trace-artifact.v1.schema.json``. What is unknown is left out. Same trace, same
bytes; read again (:mod:`tracegraph.ingest.artifact.adapter`) and written again, the same bytes too.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracegraph.corpus.policy import Keep
from tracegraph.export.document import document
from tracegraph.model.codes import EVIDENCE, KINDS, ORIGINS, STATUSES, signal_words
from tracegraph.model.columns import Array, Columns
from tracegraph.model.trace import Trace

SCHEMA_VERSION = 1

_TEXTS = {
    "name": "name",
    "status_source": "status_source",
    "agent": "agent",
    "model": "model",
    "error_type": "error_type",
    "error_message": "error_message",
    "cost": "cost_text",
    "tool_call_id": "tool_call_id",
    "args_digest": "args",
    "result_digest": "result",
}
_COUNTS = (
    "tokens_prompt",
    "tokens_completion",
    "tokens_total",
    "args_size",
    "result_size",
    "docs",
)
_TIMES = {"started_at": "start", "ended_at": "end"}
_FLAGS = ("wrapper", "orphan", "lossy")
_ORDER = (
    "step_id seq kind name status status_source agent model started_at ended_at duration_ms "
    "error_type error_message tokens_prompt tokens_completion tokens_total cost tool_call_id "
    "args_digest result_digest args_size result_size docs signals wrapper orphan lossy "
    "unknown_fields parent input output attributes"
).split()


def write_artifact(trace: Trace, keep: Keep = "errors") -> bytes:
    """Return the artifact of a trace, as much of it as the content policy keeps."""
    members = {"trace": _header(trace), "steps": _steps(trace, keep), "causes": _causes(trace)}
    return "".join(document("trace", SCHEMA_VERSION, members)).encode()


def artifact_digest(artifact: bytes) -> str:
    """Return the SHA-256 of the canonical bytes of an artifact, by which every output names a run.

    They are what :func:`write_artifact` writes under the default policy: a copy in another layout,
    or with bodies, and the export that the artifact was made of have the same digest.
    """
    return hashlib.sha256(artifact).hexdigest()


def _header(trace: Trace) -> dict[str, Any]:
    columns, index = trace.columns, trace.index
    started, ended = _times(
        np.array([columns.traces.started[index], columns.traces.ended[index]], dtype=np.int64)
    )
    header = {
        "trace_id": trace.trace_id,
        "source": trace.source or None,
        "run_id": trace.run_id,
        "session_id": trace.session_id,
        "agent": trace.agent,
        "status": trace.status,
        "started_at": started,
        "ended_at": ended,
        "fidelity": trace.fidelity,
        "cyclic": trace.cyclic,
        "contained": bool(columns.traces.contained[index]),
        "gaps": [{"code": gap.code, "count": gap.count} for gap in trace.gaps],
        "attributes": _plain(columns.text(columns.traces.attributes[index])),
        # Without the folders, which depend on what was named: one trace has one digest.
        "file": trace.file and trace.file.rpartition("/")[2],
        "file_digest": trace.file_digest,
    }
    return {key: value for key, value in header.items() if value is not None}


def _steps(trace: Trace, keep: Keep) -> Iterator[dict[str, Any]]:
    """Yield the steps in seq order, each with its known fields in the order of the contract."""
    columns, rows = trace.columns, trace.rows
    whole = slice(rows.start, rows.stop)
    steps = columns.steps
    fields: dict[str, Sequence[Any]] = {
        "step_id": columns.step_id[whole],
        "seq": range(len(rows)),
        "kind": [KINDS[code] for code in steps.kind[whole]],
        "status": [STATUSES[code] for code in steps.status[whole]],
        "duration_ms": [_milliseconds(ns) for ns in steps.duration[whole].tolist()],
        "signals": [_signals(mask) for mask in steps.signals[whole].tolist()],
        "unknown_fields": [
            text.split(",") if text else None
            for text in _text(columns, steps.unknown_fields[whole])
        ],
        "parent": [None if r < 0 else columns.step_id[r] for r in steps.parent[whole].tolist()],
    }
    for field, column in _TEXTS.items():
        if field != "error_message" or keep != "structure":
            fields[field] = _text(columns, getattr(steps, column)[whole])
    for field in _COUNTS:
        fields[field] = [None if n < 0 else n for n in getattr(steps, field)[whole].tolist()]
    for field, column in _TIMES.items():
        fields[field] = _times(getattr(steps, column)[whole])
    for field in _FLAGS:
        fields[field] = [flag or None for flag in getattr(steps, field)[whole].tolist()]
    if keep == "content" and columns.content is not None:
        fields["input"] = columns.content.input[whole]
        fields["output"] = columns.content.output[whole]
        fields["attributes"] = [_plain(text) for text in columns.content.attributes[whole]]
    present = [name for name in _ORDER if name in fields]
    for values in zip(*(fields[name] for name in present), strict=True):
        yield {n: v for n, v in zip(present, values, strict=True) if v is not None}


def _causes(trace: Trace) -> Iterator[dict[str, str]]:
    columns, rows = trace.columns, trace.rows
    causes, ids = columns.causes, columns.step_id
    low, high = np.searchsorted(causes.effect, [rows.start, rows.stop])
    table = (causes.effect, causes.cause, causes.origin, causes.evidence)
    for effect, cause, origin, evidence in zip(
        *(column[low:high].tolist() for column in table), strict=True
    ):
        yield {
            "effect": ids[effect],
            "cause": ids[cause],
            "origin": ORIGINS[origin],
            "evidence": EVIDENCE[evidence],
        }


def _text(columns: Columns, codes: Array) -> list[str | None]:
    words = columns.vocabulary
    return [None if code < 0 else words[code] for code in codes.tolist()]


def _times(ns: Array) -> list[str | None]:
    """Write times in UTC with all nine decimals; None for unknown."""
    texts = np.datetime_as_string(ns.astype("datetime64[ns]")).tolist()
    return [f"{t}Z" if n >= 0 else None for t, n in zip(texts, ns.tolist(), strict=True)]


def _milliseconds(ns: int) -> float | None:
    """Write a duration as the double nearest to its milliseconds, a whole one as an integer."""
    if ns < 0:
        return None
    ms = ns / 1_000_000
    return int(ms) if ms.is_integer() else ms


def _signals(mask: int) -> list[str] | None:
    return list(signal_words(mask)) or None


def _plain(text: str | None) -> dict[str, Any] | None:
    """Decode attributes; numbers that JSON cannot hold become text."""
    if text is None:
        return None
    value = json.loads(text, parse_constant=str, parse_float=_finite)
    return dict(sorted(value.items()))


def _finite(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text
