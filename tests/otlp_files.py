"""Small OTLP/JSON files, a span a line."""

import json
from collections.abc import Iterable
from pathlib import Path


def span(trace: int, step: int, parent: int | None = None, **fields: object) -> dict[str, object]:
    """Return one span; numbers stand for ids, and order in time is order of numbers."""
    return {
        "traceId": f"{trace + 1:032x}",
        "spanId": f"{step + 1:016x}",
        **({} if parent is None else {"parentSpanId": f"{parent + 1:016x}"}),
        "name": f"step {step}",
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + step * 1000),
        "endTimeUnixNano": str(1_700_000_000_000_000_500 + step * 1000),
        **fields,
    }


def write_spans(path: Path, spans: Iterable[dict[str, object]]) -> Path:
    """Write spans as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in spans), encoding="utf-8")
    return path
