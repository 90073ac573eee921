"""Traces of 10,000 children and of 5,000 levels, and files of many traces, in every format.

Formats whose own tests hold such traces in a form of theirs (turns, batches, nested runs) are not
repeated here for the shape; for memory all formats of documents are here.
"""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from every_format import ADAPTERS, Document, Place, files_of, options_of
from otlp_data import export, span
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Parents = list[int | None]
WIDE: Parents = [None, *([0] * 10_000)]
DEEP: Parents = [None, *range(4_999)]


def artifact(parents: Parents) -> bytes:
    edges = [
        {"effect": f"s{n}", "cause": f"s{parent}", "origin": "edge", "evidence": "declared"}
        for n, parent in enumerate(parents)
        if parent is not None
    ]
    steps = [{"step_id": f"s{n}", "kind": "CHAIN"} for n in range(len(parents))]
    trace = {"trace_id": "t"}
    whole = {"kind": "tracegraph.trace", "schema_version": 1, "trace": trace, "steps": steps}
    return json.dumps(whole | {"causes": edges}).encode()


def peer_artifact(parents: Parents) -> bytes:
    whole = Document.load(_file("peer_artifact", "otlp_unknown_kinds.v7.json")).values[0]
    step = whole["trace"]["steps"][0]
    whole["trace"]["steps"] = [step | {"step_id": f"s{n}", "seq": n} for n in range(len(parents))]
    whole["trace"]["edges"] = [
        {"src": f"s{n}", "dst": f"s{parent}", "type": "CAUSED_BY", "origin": "span_parent_fallback"}
        for n, parent in enumerate(parents)
        if parent is not None
    ]
    return json.dumps(whole).encode()


def agentdelta(parents: Parents) -> bytes:
    rows: list[dict[str, Any]] = [{"type": "trace_meta", "run_id": "r"}]
    rows += [
        {"type": "node", "id": f"{n:016x}", "step": n + 1, "node_type": "llm", "content": ""}
        for n in range(len(parents))
    ]
    rows += [
        {"type": "edge", "source_step": parent + 1, "target_step": n + 1, "edge_type": "sequence"}
        for n, parent in enumerate(parents)
        if parent is not None
    ]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def otlp(parents: Parents) -> bytes:
    spans = [
        span(n + 1, "s", "CHAIN", parent=None if parent is None else parent + 1)
        for n, parent in enumerate(parents)
    ]
    return json.dumps(export(*spans)).encode()


BUILDERS: dict[str, Callable[[Parents], bytes]] = {
    "artifact": artifact,
    "peer_artifact": peer_artifact,
    "agentdelta": agentdelta,
    "otlp": otlp,
}


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("parents", [WIDE, DEEP], ids=["wide", "deep"])
def test_all_steps_and_all_edges_are_there(name: str, parents: Parents) -> None:
    (trace,) = _traces(name, BUILDERS[name](parents))
    assert len(trace) == len(parents)
    order = {step.step_id: step.seq for step in trace.steps}
    found = {(order[edge.effect], order[edge.cause]) for edge in trace.causes}
    assert found == {(n, parent) for n, parent in enumerate(parents) if parent is not None}


def _file(name: str, file: str) -> Any:
    return next(path for path in files_of(name) if path.name == file)


def _traces(name: str, data: bytes) -> list[Trace]:
    drafts = ADAPTERS[name].read([Source("x", data)], ReadOptions())
    return [trace for draft in drafts for trace in iterate(seal(draft))]


# Of each format of documents whose traces hold bodies: a file, the place of a body, and what to
# replace, and by what with a number in it, so that copies are traces of their own.
MANY: dict[str, tuple[str, Place, dict[str, str]]] = {
    "agent_lattice": (
        "ok.jsonl",
        (1, "data", "message", "content"),
        {"-8000-00000000": "-8000-{:08d}"},
    ),
    "agentdiff": ("failing.json", (0, "steps", 0, "input_payload"), {"run-": "run-{}-"}),
    "artifact": ("retry_marker.json", (0, "steps", 0, "input"), {"made-retry-": "made-{}-"}),
    "langfuse": (
        "api_trace.json",
        (0, "observations", 0, "output"),
        {'"lf1"': '"lf-{}"', '"o1"': '"o1-{}"', '"o2"': '"o2-{}"'},
    ),
    "langgraph_state": (
        "snapshot.json",
        (0, "values", "messages", 0, "content"),
        {"weather-1": "weather-1-{}"},
    ),
    "langsmith": (
        "nested_without_status.json",
        (0, "outputs"),
        {'"t0"': '"t0-{}"', '"r0"': '"r0-{}"', '"r1"': '"r1-{}"', '"r2"': '"r2-{}"'},
    ),
    "mapped": ("made_all.jsonl", (0, "note"), {'"t1"': '"t1-{}"', '"t2"': '"t2-{}"'}),
    "otlp": (
        "made_measures.json",
        (0, "resourceSpans", 0, "scopeSpans", 0, "spans", 0, "attributes", 0, "body"),
        {"0" * 29 + "a01": "{:029d}a01"},
    ),
    "phoenix": (
        "made_spans.jsonl",
        (0, "attributes", "output.value"),
        {"5b8efff798038103d269b633813fc601": "{:032x}"},
    ),
}
BODY = 100_000
# Runs may lie on lines of their own, and only the whole file tells which belong together.
HELD_WHOLE = {"langfuse", "langsmith"}


@pytest.mark.parametrize("name", MANY)
def test_memory_is_that_of_the_largest_trace(name: str) -> None:
    """What is added by more traces is what is kept of them, which is nothing of their bodies."""
    few, many = _many(name, 10), _many(name, 40)
    (few_traces, few_peak), (many_traces, many_peak) = _peak(name, few), _peak(name, many)
    assert many_traces == 4 * few_traces
    if name in HELD_WHOLE:
        assert many_peak < 2 * len(many)
        return
    assert many_peak - few_peak < (len(many) - len(few)) / 5
    assert few_peak < 5 * BODY


def _many(name: str, count: int) -> bytes:
    file, place, ids = MANY[name]
    document = Document.load(_file(name, file))
    lines: list[str] = []
    for number in range(count):
        filled = document.changed(place, f"{number} " + "x" * BODY)
        text = "\n".join(map(json.dumps, filled.values))
        for own, other in ids.items():
            text = text.replace(own, other.format(number + 1))
        lines.append(text)
    return "\n".join(lines).encode()


def _peak(name: str, data: bytes) -> tuple[int, int]:
    """Return how many traces there are, and the peak of the memory that reading them took."""
    count, options = 0, options_of(name)
    tracemalloc.start()
    try:
        for draft in ADAPTERS[name].read([Source("x", data)], options):
            count += len(draft.traces.trace_id)
        return count, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
