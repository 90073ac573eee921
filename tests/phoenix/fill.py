"""Send OTLP/JSON files to a Phoenix server; run by the Python of the server's environment.

``fill.py SERVER PROJECT FILE...``: Phoenix takes protobuf only, and in protobuf's JSON the ids are
base64 where OTLP/JSON has hexadecimal. Waits until the server shows every span, since it takes them
in by and by, then annotates the first failing span of each file.
"""

import base64
import json
import sys
import time
import urllib.request
from importlib import import_module
from pathlib import Path
from typing import Any

IDS = ("traceId", "spanId", "parentSpanId")
PROJECT = "openinference.project.name"
SECONDS = 60


def main(server: str, project: str, *files: str) -> None:
    """Send, wait, annotate."""
    # Here, since they are in the server's environment and not in the project's.
    parse = import_module("google.protobuf.json_format").ParseDict
    service = import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    failing, count = [], 0
    for file in files:
        request = json.loads(Path(file).read_text(encoding="utf-8"))
        spans = _prepare(request, project)
        count += len(spans)
        failing += [s["hex"] for s in spans if s.get("status", {}).get("code") == 2][:1]
        message = parse(request, service.ExportTraceServiceRequest(), ignore_unknown_fields=True)
        _call(f"{server}/v1/traces", message.SerializeToString(), "application/x-protobuf")
    _wait(server, project, count)
    for span_id in failing:
        _annotate(server, span_id)


def _prepare(request: dict[str, Any], project: str) -> list[dict[str, Any]]:
    """Name the project and rewrite the ids; return the spans."""
    spans = []
    for resource in request["resourceSpans"]:
        held = resource.setdefault("resource", {})
        others = [a for a in held.get("attributes", []) if a["key"] != PROJECT]
        held["attributes"] = [*others, {"key": PROJECT, "value": {"stringValue": project}}]
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                code = span.get("status", {}).get("code")
                if isinstance(code, str):
                    span["status"]["code"] = {"STATUS_CODE_ERROR": 2}.get(code, 1)
                span_id = span["spanId"]
                for key in IDS:
                    if span.get(key):
                        span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
                spans.append({**span, "hex": span_id})
    return spans


def _wait(server: str, project: str, count: int) -> None:
    deadline = time.monotonic() + SECONDS
    seen = -1
    while time.monotonic() < deadline:
        try:
            page = _call(f"{server}/v1/projects/{project}/spans?limit=1000")
            seen = len(page["data"])
        except OSError:
            seen = -1  # the project is not there yet
        if seen >= count:
            return
        time.sleep(0.2)
    sys.exit(f"{seen} of {count} spans arrived")


def _annotate(server: str, span_id: str) -> None:
    said = {
        "span_id": span_id,
        "name": "correctness",
        "annotator_kind": "HUMAN",
        "result": {"label": "in correct", "score": 0.25, "explanation": "CANARY explanation"},
    }
    body = json.dumps({"data": [said]}).encode()
    _call(f"{server}/v1/span_annotations?sync=true", body, "application/json")


def _call(url: str, body: bytes | None = None, content_type: str = "") -> Any:
    request = urllib.request.Request(url, body)
    if content_type:
        request.add_header("Content-Type", content_type)
    with urllib.request.urlopen(request, timeout=30) as answer:
        content = answer.read()
        return json.loads(content) if "json" in answer.headers.get("Content-Type", "") else None


if __name__ == "__main__":
    main(*sys.argv[1:])
