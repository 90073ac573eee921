"""The spans of the same execution, as OTLP/JSON, where the environment has the instrumentation."""

import base64
import json
from pathlib import Path
from typing import Any

try:
    from google.protobuf.json_format import MessageToDict
    from openinference.instrumentation.langchain import LangChainInstrumentor
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
except ImportError:
    LangChainInstrumentor = None


class Recorder:
    """Collects the spans of one scenario after the other."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        LangChainInstrumentor().instrument(tracer_provider=provider)

    def write(self, path: Path) -> None:
        """Write what was collected since the last time."""
        request = MessageToDict(encode_spans(self.exporter.get_finished_spans()))
        self.exporter.clear()
        path.write_text(json.dumps(_with_hex_ids(request)), encoding="utf-8")


def recorder() -> Recorder | None:
    """Return a recorder that instruments langchain from now on, None where that is impossible."""
    return Recorder() if LangChainInstrumentor is not None else None


def _with_hex_ids(value: Any) -> Any:
    """OTLP/JSON writes ids in hex, protobuf's own JSON in base64 (OTLP 1.x, "JSON encoding")."""
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64decode(item).hex()
        if key in {"traceId", "spanId", "parentSpanId"}
        else _with_hex_ids(item)
        for key, item in value.items()
    }
