"""Write a synthetic corpus: ``python benchmarks/generate.py OUT --traces 100 --steps 1000``.

``--format artifact`` writes one file a trace as agent-tracegraph writes its artifacts, which both
tools read; ``--format otlp`` writes OTLP/JSON Lines with OpenInference attributes of realistic size
(about 6 kB a span), 50 spans a line, as an OpenTelemetry Collector does.
"""

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from synthetic import Run, Step, runs

_SCHEMA_VERSION = 7
_SPANS_A_LINE = 50
_TRACES_A_FILE = 25
_HISTORY = 8
_BODY = (
    "The requested records were read and compared with the previous state of the workspace; "
    "three of them differ in their owner, one is missing, and the rest are the same as before. "
)


def main() -> None:
    """Write the corpus that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--traces", type=int, default=100)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=("artifact", "otlp"), default="artifact")
    args = parser.parse_args()
    write_corpus(args.out, args.traces, args.steps, args.seed, args.format)


def write_corpus(out: Path, traces: int, steps: int, seed: int, form: str) -> None:
    """Write a corpus of one format into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    if form == "artifact":
        for index, run in enumerate(runs(traces, steps, seed)):
            (out / f"{index:06d}.json").write_bytes(artifact(run))
        return
    made = runs(traces, steps, seed)
    for index in range(-(-traces // _TRACES_A_FILE)):
        with (out / f"{index:06d}.jsonl").open("wb") as file:
            for run in islice(made, _TRACES_A_FILE):
                file.writelines(otlp_lines(run))


def artifact(run: Run) -> bytes:
    """Return a run as an artifact of agent-tracegraph in its canonical order."""
    header: dict[str, Any] = {
        "trace_id": run.trace_id,
        "source_kind": "otlp",
        "run_id": None,
        "thread_id": run.trace_id,
        "status": "error" if any(step.error for step in run.steps) else "ok",
        "causal_fidelity": "declared_dag",
        "links_preserved": True,
        "decision_evidence": [],
        "capture": {"gaps": []},
    }
    steps = [_artifact_step(run, seq) for seq in range(len(run.steps))]
    body = {"trace": header, "steps": steps, "edges": list(_artifact_edges(run))}
    return orjson.dumps(
        {"schema_version": _SCHEMA_VERSION, "trace": body},
        option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS,
    )


def _artifact_step(run: Run, seq: int) -> dict[str, Any]:
    step = run.steps[seq]
    prompt, completion = step.tokens or (None, None)
    return {
        "step_id": step.step_id,
        "trace_id": run.trace_id,
        "seq": seq,
        "ts": _iso(step.start_us),
        "kind": step.kind,
        "source": "loop",
        "name": step.name,
        "status": "error" if step.error else "ok",
        "error_msg": f"{step.error[0]}: {step.error[1]}" if step.error else None,
        "evidence": {
            "end_ts": _iso(step.end_us),
            "duration_ms": round((step.end_us - step.start_us) / 1000, 6),
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": sum(step.tokens) if step.tokens else None,
            "prompt_cost": None,
            "completion_cost": None,
            "total_cost": step.cost,
            "cost_currency": "USD" if step.cost else None,
            "artifact_digest": None,
            "evaluations": [],
        },
        "projection_lossy": len(_causes(step)) > 1,
    }


def _causes(step: Step) -> list[tuple[int, str]]:
    """Return (cause, origin) in order of the cause; the parent is never linked as well."""
    parent = [] if step.parent is None else [(step.parent, "span_parent_fallback")]
    return sorted(parent + [(link, "span_link") for link in step.links])


def _artifact_edges(run: Run) -> Iterator[dict[str, Any]]:
    for step in run.steps:
        for cause, origin in _causes(step):
            yield _edge("CAUSED_BY", step.step_id, run.steps[cause].step_id, origin)
    for step in run.steps:
        yield _edge("BELONGS_TO", step.step_id, run.trace_id, None)
        if step.parent is not None:
            yield _edge("TREE_PARENT", step.step_id, run.steps[step.parent].step_id, None)


def _edge(kind: str, source: str, target: str, origin: str | None) -> dict[str, Any]:
    return {"type": kind, "src": source, "dst": target, "origin": origin}


def _iso(us: int) -> str:
    return datetime.fromtimestamp(us / 1_000_000, UTC).isoformat()


def otlp_lines(run: Run) -> Iterator[bytes]:
    """Yield export requests of a run's spans in the order in which they ended."""
    history: list[dict[str, Any]] = [{"role": "user", "content": _BODY}]
    spans: list[tuple[int, dict[str, Any]]] = []
    for step in run.steps:
        spans.append((step.end_us, _span(run, step, history)))
    ended = [span for _, span in sorted(spans, key=lambda item: item[0])]
    for low in range(0, len(ended), _SPANS_A_LINE):
        scope = {"name": "openinference.instrumentation.langchain", "version": "0.1.80"}
        resource = {"attributes": [_attribute("service.name", "bench")]}
        spans_of_scope = [{"scope": scope, "spans": ended[low : low + _SPANS_A_LINE]}]
        request = {"resourceSpans": [{"resource": resource, "scopeSpans": spans_of_scope}]}
        yield orjson.dumps(request, option=orjson.OPT_APPEND_NEWLINE)


def _span(run: Run, step: Step, history: list[dict[str, Any]]) -> dict[str, Any]:
    span: dict[str, Any] = {
        "traceId": run.trace_id,
        "spanId": step.step_id,
        "name": step.name,
        "kind": 1,
        "startTimeUnixNano": str(step.start_us * 1000),
        "endTimeUnixNano": str(step.end_us * 1000),
        "attributes": [_attribute(*item) for item in _attributes(run, step, history)],
        "status": {"code": 1},
    }
    if step.parent is not None:
        span["parentSpanId"] = run.steps[step.parent].step_id
    if step.links:
        span["links"] = [
            {"traceId": run.trace_id, "spanId": run.steps[link].step_id} for link in step.links
        ]
    if step.error:
        kind, message = step.error
        span["status"] = {"code": 2, "message": f"{kind}: {message}"}
        details = {"exception.type": kind, "exception.message": message}
        span["events"] = [
            {
                "name": "exception",
                "timeUnixNano": str(step.end_us * 1000),
                "attributes": [_attribute(*item) for item in details.items()],
            }
        ]
    return span


def _attributes(
    run: Run, step: Step, history: list[dict[str, Any]]
) -> Iterator[tuple[str, str | int]]:
    yield "openinference.span.kind", step.kind
    yield "session.id", run.session_id
    if step.kind == "LLM":
        yield from _model_attributes(run, step, history)
    elif step.kind == "TOOL":
        yield "tool.name", step.name
        yield "input.value", step.arguments or ""
        message = {"content": _BODY * 2, "tool_call_id": step.call_id, "status": "success"}
        yield "output.value", json.dumps({"type": "tool", "data": message})
        answer = {"role": "tool", "content": _BODY * 2, "tool_call_id": step.call_id}
        history.append({**answer, "name": step.name})
    else:
        messages = [{"type": "human", "data": message} for message in history[-_HISTORY:]]
        yield "input.value", json.dumps({"messages": messages})
        yield "output.value", json.dumps({"messages": messages[-2:]})
    yield "metadata", json.dumps({"thread_id": run.session_id, "run": run.trace_id})


def _model_attributes(
    run: Run, step: Step, history: list[dict[str, Any]]
) -> Iterator[tuple[str, str | int]]:
    calls = [run.steps[tool] for tool in step.asked]
    seen = history[-_HISTORY:]
    answer = {
        "role": "assistant",
        "content": _BODY,
        "tool_calls": [
            {"id": c.call_id, "function": {"name": c.name, "arguments": c.arguments}} for c in calls
        ],
    }
    history.append(answer)
    yield "llm.model_name", "made-up-1"
    prompt, completion = step.tokens or (0, 0)
    yield "llm.token_count.prompt", prompt
    yield "llm.token_count.completion", completion
    yield "llm.token_count.total", prompt + completion
    yield "input.value", json.dumps({"messages": [seen]})
    yield "output.value", json.dumps({"generations": [[{"message": answer}]]})
    for at, message in enumerate(seen):
        yield from _message(f"llm.input_messages.{at}.message", message)
    yield from _message("llm.output_messages.0.message", answer)


def _message(prefix: str, message: dict[str, Any]) -> Iterator[tuple[str, str | int]]:
    for key, value in message.items():
        if key != "tool_calls":
            yield f"{prefix}.{key}", value
    for at, call in enumerate(message.get("tool_calls", ())):
        place = f"{prefix}.tool_calls.{at}.tool_call"
        yield f"{place}.id", call["id"]
        yield f"{place}.function.name", call["function"]["name"]
        yield f"{place}.function.arguments", call["function"]["arguments"]


def _attribute(key: str, value: str | int) -> dict[str, Any]:
    return {"key": key, "value": _any_value(value)}


def _any_value(value: str | int) -> dict[str, str]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


if __name__ == "__main__":
    main()
