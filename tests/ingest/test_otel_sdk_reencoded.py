"""A run says the same as OTLP/JSON and as the SDK prints it: whole artifacts are compared.

OTLP runs are made the SDK's own spans again, which print themselves. What may differ is where the
trace was read from, and times, which the SDK rounds to microseconds.
"""

import base64
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import ConsoleSpanExporter
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from shared_data import SHARED, fixture
from tracegraph.export.artifact import write_artifact
from tracegraph.ingest.adapter import Adapter, ReadOptions
from tracegraph.ingest.otel_sdk.adapter import OtelSdkAdapter
from tracegraph.ingest.otlp.adapter import OtlpAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import iterate

RUNS = [
    *sorted(fixture("otlp").glob("[og]*_*.json")),
    *sorted((SHARED / "traces").glob("otlp_json_*/**/*.json")),
]
"""Of the fixtures and, where they are present, of the shared inputs."""
CODES = {None: 0, "STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}


def number(recorded: str, digits: int) -> int:
    """Return an id in hex, or in the base64 of protobuf's own mapping."""
    return int(recorded if len(recorded) == digits else base64.b64decode(recorded).hex(), 16)


def context(span: dict[str, Any], span_id: str) -> SpanContext:
    ids = number(span["traceId"], 32), number(span[span_id], 16)
    return SpanContext(*ids, is_remote=False, trace_flags=TraceFlags(1))


def value_of(value: dict[str, Any]) -> Any:
    ((kind, held),) = value.items()
    if kind == "arrayValue":
        return [value_of(item) for item in held.get("values", [])]
    return int(held) if kind == "intValue" else float(held) if kind == "doubleValue" else held


def attributes_of(holder: dict[str, Any]) -> dict[str, Any]:
    return {item["key"]: value_of(item["value"]) for item in holder.get("attributes", [])}


def printed_span(span: dict[str, Any], resource: dict[str, Any]) -> ReadableSpan:
    """Return the SDK's own span of one in OTLP/JSON."""
    status = span.get("status", {})
    code = StatusCode(CODES.get(status.get("code"), status.get("code")))
    return ReadableSpan(
        span["name"],
        context(span, "spanId"),
        context(span, "parentSpanId") if span.get("parentSpanId") else None,
        Resource(attributes_of(resource)),
        attributes_of(span),
        [
            Event(event["name"], attributes_of(event), int(event["timeUnixNano"]))
            for event in span.get("events", [])
        ],
        [Link(context(link, "spanId"), attributes_of(link)) for link in span.get("links", [])],
        SpanKind.INTERNAL,
        status=Status(code, status.get("message") if code is StatusCode.ERROR else None),
        start_time=int(span["startTimeUnixNano"]),
        end_time=int(span["endTimeUnixNano"]),
    )


def nanoseconds(text: str) -> str:
    since = datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)
    return str(since // timedelta(microseconds=1) * 1000)


def as_printed(span: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """Return a span of OTLP/JSON with its ids in hex, and the times that the SDK prints."""
    times = {"start_time": "startTimeUnixNano", "end_time": "endTimeUnixNano"}
    made = span | {theirs: nanoseconds(said[ours]) for ours, theirs in times.items()}
    for name in ("spanId", "parentSpanId"):
        if made.get(name):
            made[name] = f"{number(made[name], 16):016x}"
    return made | {"traceId": f"{number(span['traceId'], 32):032x}"}


def both(path: Path) -> tuple[dict[str, Any], list[ReadableSpan]]:
    """Return a run as OTLP/JSON, with printed times, and as spans of the SDK."""
    requests = json.loads(path.read_text(encoding="utf-8"))
    spans: list[ReadableSpan] = []
    groups = []
    for request in requests if isinstance(requests, list) else [requests]:
        for group in request["resourceSpans"]:
            resource, scopes = group.get("resource", {}), []
            for scope in group["scopeSpans"]:
                made = [printed_span(span, resource) for span in scope["spans"]]
                said = [json.loads(span.to_json()) for span in made]
                pairs = zip(scope["spans"], said, strict=True)
                scopes.append({"spans": [as_printed(*pair) for pair in pairs]})
                spans += made
            groups.append({"resource": resource, "scopeSpans": scopes})
    return {"resourceSpans": groups}, spans


def artifacts(adapter: Adapter, data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the artifact of each trace without what tells the source."""
    source = Source("run.json", data)
    assert adapter.sniff(source)
    for draft in adapter.read([source], ReadOptions(keep_content=True)):
        assert not draft.file_gaps
        for trace in iterate(seal(draft)):
            artifact = json.loads(write_artifact(trace, "content"))
            header = artifact["trace"]
            for name in ("source", "file", "file_digest"):
                del header[name]
            for gap in header["gaps"]:
                gap["code"] = gap["code"].removeprefix(f"{adapter.name}.")
            yield artifact


@pytest.mark.parametrize("path", RUNS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_printed_one_a_line_on_the_console_and_in_an_array(path: Path) -> None:
    request, spans = both(path)
    expected = list(artifacts(OtlpAdapter(), json.dumps(request).encode()))
    assert sum(len(artifact["steps"]) for artifact in expected) == len(spans)

    lines = "".join(span.to_json(indent=None) + "\n" for span in spans)
    console = io.StringIO()
    ConsoleSpanExporter(out=console).export(spans)
    array = json.dumps([json.loads(span.to_json()) for span in spans])
    for text in (lines, console.getvalue(), array):
        assert list(artifacts(OtelSdkAdapter(), text.encode())) == expected
