"""LLM -> TOOL -> LLM edges of every real OTLP trace against a reading of the raw JSON.

The oracle shares no code with the reader and works the plain way: every pair of steps, no state.
"""

import ast
import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from otlp_data import of_file
from shared_data import SHARED, shared

TRACES = SHARED / "traces"
FILES = sorted(
    str(path.relative_to(SHARED))
    for pattern in (
        "otlp_json_*/**/*.json",
        "otlp_jsonl_collector/*.jsonl",
        "otlp_variants/*snake_case.jsonl",
    )
    for path in TRACES.glob(pattern)
) or ["traces"]
MESSAGES = ("tool_call_id", "protocol")
Edge = tuple[str, str, str]


@dataclass
class Raw:
    """A span, its attributes as Python values."""

    trace: str
    id: str
    name: str
    start: int
    attributes: dict[str, Any]


def raw_spans(path: Path) -> Iterator[Raw]:
    text, at, decoder = path.read_text(encoding="utf-8").strip(), 0, json.JSONDecoder()
    while at < len(text):
        document, at = decoder.raw_decode(text, at)
        while text[at : at + 1].isspace():
            at += 1
        for request in document if isinstance(document, list) else [document]:
            yield from _spans_in(request)


def _spans_in(value: Any) -> Iterator[Raw]:
    """Find spans wherever they are: whatever has an id and a start is one."""
    if isinstance(value, list):
        for item in value:
            yield from _spans_in(item)
    elif isinstance(value, dict):
        plain = {key.replace("_", "").lower(): item for key, item in value.items()}
        if "spanid" in plain and "starttimeunixnano" in plain:
            attributes = {item["key"]: _value(item["value"]) for item in plain["attributes"]}
            start = int(plain["starttimeunixnano"])
            yield Raw(_id(plain["traceid"]), _id(plain["spanid"]), plain["name"], start, attributes)
        else:
            yield from _spans_in(list(value.values()))


def _value(value: dict[str, Any]) -> Any:
    for key, item in value.items():
        if key.startswith("array"):
            return [_value(one) for one in item.get("values", [])]
        if item is not None:
            return item
    return None


def _id(text: str) -> str:
    is_hex = re.fullmatch("(?:[0-9a-fA-F]{16}){1,2}", text) is not None
    return text.lower() if is_hex else base64.b64decode(text).hex()


def kind(span: Raw) -> str | None:
    told = span.attributes
    if "openinference.span.kind" in told:
        return str(told["openinference.span.kind"])
    if told.get("traceloop.span.kind") == "tool" or "execute_tool" in span.name:
        return "TOOL"
    return "LLM" if told.get("gen_ai.operation.name") == "chat" else None


def json_or_text(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def asked(span: Raw) -> list[tuple[str, str, Any]]:
    """Return (id, tool, arguments) of the calls in the output."""
    flat: dict[str, dict[str, Any]] = defaultdict(dict)
    for key, value in span.attributes.items():
        match = re.fullmatch(r"(llm\.output_messages\..*\.tool_calls\.\d+)\.tool_call\.(.*)", key)
        if match:
            flat[match[1]][match[2]] = value
    calls = [
        (call["id"], call["function.name"], json_or_text(call.get("function.arguments")))
        for call in flat.values()
    ]
    for message in json_or_text(span.attributes.get("gen_ai.output.messages")) or []:
        for part in message.get("parts", []):
            if part["type"] == "tool_call":
                calls.append((part["id"], part["name"], json_or_text(part.get("arguments"))))
    return calls


def read(span: Raw) -> set[str]:
    """Return the ids of the results in the input."""
    pattern = r"llm\.input_messages\.\d+\.message\.tool_call_id"
    ids = {str(v) for key, v in span.attributes.items() if re.fullmatch(pattern, key)}
    for message in json_or_text(span.attributes.get("gen_ai.input.messages")) or []:
        for part in message.get("parts", []):
            if part["type"] == "tool_call_response":
                ids.add(part["id"])
    return ids


def ran(span: Raw) -> tuple[str, str | None, Any]:
    """Return (tool, id, arguments) of a tool span; the id wherever the span says it."""
    told = span.attributes
    name = next(
        str(told[key])
        for key in ("tool.name", "gen_ai.tool.name", "traceloop.entity.name")
        if key in told
    )
    text = " ".join(str(v) for v in told.values()).replace("\\", "").replace("'", '"')
    ids = {str(told.get("gen_ai.tool.call.id"))} - {"None"}
    ids |= set(re.findall(r'"tool_call_id": ?"([^"]+)"', text))
    arguments = json_or_text(
        next((told[k] for k in ("input.value", "gen_ai.tool.call.arguments") if k in told), None)
    )
    if isinstance(arguments, dict) and "inputs" in arguments:
        arguments = arguments["inputs"]
        if isinstance(arguments, str) and arguments[:1] == "{":
            arguments = ast.literal_eval(arguments)
    assert len(ids) < 2, (span.name, ids)
    return name, ids.pop() if ids else None, arguments


def fits(call: tuple[str, str, Any], name: str, arguments: Any) -> bool:
    """Tell whether a tool span without an id may have run a call; one argument may be bare."""
    _, tool, wanted = call
    bare = list(wanted.values()) if isinstance(wanted, dict) and len(wanted) == 1 else []
    return tool == name and (wanted == arguments or str(arguments) in map(str, bare))


def expected_edges(path: Path) -> set[Edge]:
    """Return (trace, cause, effect) of every edge that the record proves."""
    traces: dict[str, dict[str, Raw]] = defaultdict(dict)
    for span in raw_spans(path):
        traces[span.trace].setdefault(span.id, span)
    edges: set[Edge] = set()
    for trace, spans in traces.items():
        models = sorted((s for s in spans.values() if kind(s) == "LLM"), key=lambda s: s.start)
        tools = sorted((s for s in spans.values() if kind(s) == "TOOL"), key=lambda s: s.start)
        run_by = {ran(tool)[1] for tool in tools}
        calls = [(model, call) for model in models for call in asked(model)]
        for tool in tools:
            name, call_id, arguments = ran(tool)
            before = [(m, c) for m, c in calls if m.start <= tool.start]
            if call_id is None:
                closed = {i for m in models if m.start <= tool.start for i in read(m)} | run_by
                fitting = [
                    c[0] for _, c in before if c[0] not in closed and fits(c, name, arguments)
                ]
                assert len(fitting) == 1, (path.name, name)
                (call_id,) = fitting
                run_by.add(call_id)
            askers = [m for m, c in before if c[0] == call_id]
            readers = [m for m in models if m.start >= tool.start and call_id in read(m)]
            edges |= {(trace, m.id, tool.id) for m in askers[-1:]}
            edges |= {(trace, tool.id, m.id) for m in readers[:1]}
    return edges


@pytest.mark.parametrize("name", FILES)
def test_edges_are_those_that_the_record_proves(name: str) -> None:
    path = shared(name)
    found = {
        (trace.trace_id, edge.cause, edge.effect)
        for trace in of_file(path)
        for edge in trace.causes
        if edge.origin in MESSAGES
    }
    assert found == expected_edges(path)


def test_the_oracle_finds_what_is_there_to_find() -> None:
    shared("traces")
    counts = [len(expected_edges(SHARED / name)) for name in FILES]
    assert len(FILES) == 39
    assert sum(counts) == 201
