"""Inspect logs read by plain JSON and by the reader, for the tests of both forms."""

import io
import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from shared_data import fixture
from trace_view import view
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.inspect_ai.adapter import InspectAiAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.columns import Columns
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Row = dict[str, Any]
ZSTD = 93
HERE = sorted(fixture("inspect_ai").iterdir())
POOL = "message_pool.eval"


def columns_of(data: bytes, *, keep: bool = False, strict: bool = False) -> Columns:
    source = Source("x.log", data)
    assert InspectAiAdapter().sniff(source)
    (draft,) = InspectAiAdapter().read([source], ReadOptions(keep_content=keep, strict=strict))
    return seal(draft)


def read_all(data: bytes, *, keep: bool = False, strict: bool = False) -> list[Trace]:
    return list(iterate(columns_of(data, keep=keep, strict=strict)))


def read(path: Path, *, keep: bool = False, strict: bool = False) -> list[Trace]:
    return read_all(path.read_bytes(), keep=keep, strict=strict)


def read_one(log: Row, *, keep: bool = False, strict: bool = False) -> Trace:
    (trace,) = read_all(json.dumps(log).encode(), keep=keep, strict=strict)
    return trace


def read_samples(log: Row) -> tuple[list[str], Counter[str]]:
    """Return the trace ids, and the gaps of the file."""
    source = Source("x.json", json.dumps(log).encode())
    (draft,) = InspectAiAdapter().read([source], ReadOptions())
    return draft.traces.trace_id, draft.file_gaps


def members(path: Path) -> dict[str, bytes]:
    """Unpack a ZIP file with the standard library, which does not know zstd: that by PyArrow."""
    data = path.read_bytes()
    found = {}
    with zipfile.ZipFile(path) as file:
        for info in file.infolist():
            if info.compress_type != ZSTD:
                found[info.filename] = file.read(info)
                continue
            at = info.header_offset
            named = int.from_bytes(data[at + 26 : at + 28], "little")
            more = int.from_bytes(data[at + 28 : at + 30], "little")
            packed = data[at + 30 + named + more :][: info.compress_size]
            unpacked = pa.input_stream(io.BytesIO(packed), compression="zstd").read()
            found[info.filename] = unpacked
    return found


def log_of(path: Path) -> Row:
    """Return a log as one document, whichever of the two forms it has."""
    if path.suffix == ".json":
        log: Row = json.loads(path.read_text())
        return log
    parts = members(path)
    samples = [json.loads(parts[name]) for name in parts if name.startswith("samples/")]
    return {**json.loads(parts["header.json"]), "samples": samples}


def load(name: str) -> Row:
    return log_of(fixture(f"inspect_ai/{name}"))


def zipped(parts: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return made.getvalue()


def events(sample: Row, *kinds: str) -> list[Row]:
    found = sample.get("events") or sample.get("transcript", {}).get("events", [])
    return [event for event in found if event["event"] in kinds]


def given_to(sample: Row, event: Row) -> list[Row]:
    """Return all that a model was given."""
    pool = sample.get("events_data", {}).get("messages") or sample.get("message_pool", [])
    refs = [message for start, end in event.get("input_refs") or [] for message in pool[start:end]]
    return [*event["input"], *refs]


def calls_in(event: Row) -> list[Row]:
    choices = event["output"].get("choices", [])
    return choices[0]["message"].get("tool_calls") or [] if choices else []


def edges(trace: Trace, *origins: str) -> set[tuple[str, str]]:
    return {(c.effect, c.cause) for c in trace.causes if c.origin in origins}


def gaps(trace: Trace) -> dict[str, int]:
    return {gap.code: gap.count for gap in trace.gaps if not gap.code.startswith("clock.")}


def anonymous(trace: Trace) -> Row:
    """Return what a trace says, without the digest of its file."""
    return {**view(trace), "file_digest": None}
