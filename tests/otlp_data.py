"""Builders and readers that the OTLP tests share."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from trace_view import gaps
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.otlp.adapter import OtlpAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.columns import Columns
from tracegraph.model.seal import seal
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace, iterate

TRACE = "4f" * 16
SECOND = 1_000_000_000
START = 1_764_000_000 * SECOND


def span(number: int, name: str, kind: str | None, **fields: Any) -> dict[str, Any]:
    """Return a span that starts ``number`` seconds after START and lasts one.

    ``parent`` is the number of the parent, ``attributes`` a plain dict; everything else is put in
    as it is.
    """
    attributes = dict(fields.pop("attributes", {}))
    if kind is not None:
        attributes["openinference.span.kind"] = kind
    parent = fields.pop("parent", None)
    made: dict[str, Any] = {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(START + number * SECOND),
        "endTimeUnixNano": str(START + (number + 1) * SECOND),
        "attributes": [{"key": key, "value": any_value(v)} for key, v in attributes.items()],
        "status": {},
    }
    if parent is not None:
        made["parentSpanId"] = f"{parent:016x}"
    return made | fields


def any_value(value: Any) -> dict[str, Any]:
    """Return a Python value as OTLP writes it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    return {"stringValue": value}


def exception(kind: str | None = None, message: str | None = None) -> dict[str, Any]:
    """Return an exception event."""
    named = {"exception.type": kind, "exception.message": message}
    attributes = [{"key": k, "value": any_value(v)} for k, v in named.items() if v is not None]
    return {"name": "exception", "attributes": attributes}


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    """Return an export request."""
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def chat(
    number: int,
    *,
    asks: Sequence[tuple[str | None, str, str]] | None = None,
    reads: list[str] | None = None,
    says: str | None = None,
    tools: list[str] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Return an OpenInference model span: (id, tool, arguments) asked for, result ids read."""
    attributes: dict[str, Any] = {"llm.input_messages.0.message.role": "user"}
    for i, call_id in enumerate(reads or [], 1):
        attributes[f"llm.input_messages.{i}.message.tool_call_id"] = call_id
    for i, (asked, tool, arguments) in enumerate(asks or []):
        call = f"llm.output_messages.0.message.tool_calls.{i}.tool_call"
        if asked is not None:
            attributes[f"{call}.id"] = asked
        attributes[f"{call}.function.name"] = tool
        attributes[f"{call}.function.arguments"] = arguments
    if says is not None:
        attributes["llm.output_messages.0.message.content"] = says
    for i, name in enumerate(tools or []):
        attributes[f"llm.tools.{i}.tool.json_schema"] = json.dumps({"name": name})
    attributes |= fields.pop("attributes", {})
    return span(number, "chat", "LLM", attributes=attributes, **fields)


def tool(number: int, name: str, args: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return an OpenInference tool span; ``call_id`` is the id that it ran."""
    attributes: dict[str, Any] = {"tool.name": name}
    if args is not None:
        attributes["input.value"] = args
    call_id = fields.pop("call_id", None)
    if call_id is not None:
        attributes["tool_call.id"] = call_id
    attributes |= fields.pop("attributes", {})
    return span(number, name, "TOOL", attributes=attributes, **fields)


def source(data: Any, name: str = "input.json", limit: int = 0) -> Source:
    """Return a source of bytes, text, or a value written as JSON."""
    if not isinstance(data, bytes | str):
        data = json.dumps(data)
    return Source(name, data.encode() if isinstance(data, str) else data, limit)


def read(*sources: Source, **options: Any) -> Columns:
    """Read sources into the columns of their one draft."""
    drafts = list(OtlpAdapter().read(sources, ReadOptions(**options)))
    assert len(drafts) == 1
    return seal(drafts[0])


def traces(data: Any, **options: Any) -> list[Trace]:
    """Return the traces of one input."""
    return list(iterate(read(source(data), **options)))


def only(*spans: dict[str, Any], **options: Any) -> Trace:
    """Return the one trace that spans make."""
    (trace,) = traces(export(*spans), **options)
    return trace


def of_file(path: Path) -> Iterator[Trace]:
    """Yield the traces of a file."""
    for draft in OtlpAdapter().read([Source.open(path, path.name)], ReadOptions()):
        yield from iterate(seal(draft))


def by_number(trace: Trace) -> dict[int, Step]:
    """Return the steps by the number that their span was made with."""
    return {int(step.step_id, 16): step for step in trace.steps}


def edges(trace: Trace, *origins: str) -> set[tuple[int, int, str, str]]:
    """Return (effect, cause, origin, evidence) of the edges, steps as numbers."""
    return {
        (int(e.effect, 16), int(e.cause, 16), e.origin, e.evidence)
        for e in trace.causes
        if not origins or e.origin in origins
    }


def listing(trace: Trace) -> str:
    """Return a trace as text for people: a line a step, with its causes."""
    number = {step.step_id: step.seq for step in trace.steps}
    causes: dict[str, list[str]] = {}
    for edge in trace.causes:
        cause = f"{number[edge.cause]} {edge.origin} ({edge.evidence})"
        causes.setdefault(edge.effect, []).append(cause)
    lines = [
        f"trace {trace.trace_id} session={trace.session_id} agent={trace.agent} "
        f"status={trace.status} gaps={gaps(trace)}"
    ]
    for step in trace.steps:
        told = {
            "status": f"{step.status}/{step.status_source}",
            "wrapper": step.wrapper or None,
            "model": step.model,
            "tokens": step.tokens_total,
            "call": step.tool_call_id,
            "args": step.args_digest,
            "result": step.result_digest,
            "error": step.error_type,
            "signals": ",".join(step.signals) or None,
            "lossy": step.lossy or None,
        }
        words = " ".join(f"{key}={value}" for key, value in told.items() if value is not None)
        lines.append(f"{step.seq:>3} {'  ' * (step.depth or 0)}{step.kind} {step.name} {words}")
        lines += [f"        <- {cause}" for cause in causes.get(step.step_id, [])]
    return "\n".join(lines) + "\n"
