"""Facts about the real traces, counted here from the raw records and not by the reader."""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from otlp_data import edges, of_file, read, source
from shared_data import fixture, shared
from trace_view import gaps
from tracegraph.export.artifact import write_artifact
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace, iterate

MESSAGES = ("tool_call_id", "protocol")


def raw_spans(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield (span, attributes) of a file, without any code of the project."""
    text = path.read_text(encoding="utf-8")
    decoder, position = json.JSONDecoder(), 0
    while position < len(text.rstrip()):
        document, position = decoder.raw_decode(text, position)
        while text[position : position + 1].isspace():
            position += 1
        for resource in document["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    attributes = {
                        item["key"]: next(iter(item["value"].values()), None)
                        for item in span.get("attributes", [])
                    }
                    yield span, attributes


def files(folder: str) -> list[Path]:
    path = shared(f"traces/{folder}")
    return [path] if path.is_file() else sorted(path.glob("*.json"))


def read_all(folder: str) -> list[Trace]:
    return [trace for path in files(folder) for trace in of_file(path)]


def steps_of(found: list[Trace]) -> list[Step]:
    return [step for trace in found for step in trace.steps]


@pytest.mark.parametrize(
    ("folder", "counts", "errors", "failing"),
    [
        (
            "otlp_json_openinference/langgraph_gen",
            {"trace": 19, "LLM": 45, "CHAIN": 100, "AGENT": 36, "TOOL": 24},
            13,
            (8, 5),
        ),
        (
            "otlp_jsonl_collector/openinference_batch.jsonl",
            {"trace": 34, "LLM": 83, "CHAIN": 187, "AGENT": 71, "TOOL": 47},
            19,
            (10, 7),
        ),
    ],
)
def test_openinference_counts_are_those_of_the_raw_records(
    folder: str, counts: dict[str, int], errors: int, failing: tuple[int, int]
) -> None:
    raw = [item for path in files(folder) for item in raw_spans(path)]
    raw_kinds = Counter(attributes["openinference.span.kind"] for _, attributes in raw)
    raw_failing = [s for s, a in raw if a["openinference.span.kind"] == "TOOL" and _failed(s)]
    assert {"trace": len({s["traceId"] for s, _ in raw}), **raw_kinds} == counts
    assert sum(_failed(span) for span, _ in raw) == errors
    assert (len(raw_failing), len({s["traceId"] for s in raw_failing})) == failing

    found = read_all(folder)
    steps = steps_of(found)
    assert {"trace": len(found), **Counter(step.kind for step in steps)} == counts
    assert sum(step.status == "error" for step in steps) == errors
    assert _failing_tools(found) == failing
    assert {step.step_id for step in steps} == {span["spanId"] for span, _ in raw}


def test_openllmetry_counts_are_those_of_the_raw_records() -> None:
    folder = "otlp_json_openllmetry/langgraph_gen"
    raw = [item for path in files(folder) for item in raw_spans(path)]
    tools = [(s, a) for s, a in raw if a.get("traceloop.span.kind") == "tool"]
    failing = [s for s, _ in tools if _failed(s)]
    assert (len({s["traceId"] for s, _ in raw}), len(raw), len(tools)) == (19, 233, 24)
    assert (len(failing), len({s["traceId"] for s in failing})) == (8, 5)

    found = read_all(folder)
    steps = steps_of(found)
    assert (len(found), len(steps)) == (19, 233)
    assert sum(step.kind == "TOOL" for step in steps) == 24
    assert _failing_tools(found) == (8, 5)
    recorded = {a["gen_ai.tool.name"] for _, a in tools}
    assert {step.name for step in steps if step.kind == "TOOL"} == recorded


def test_same_arguments_have_the_same_digest_under_both_instrumentations() -> None:
    def digests(convention: str) -> dict[str, list[tuple[str | None, str | None, str | None]]]:
        found: dict[str, list[tuple[str | None, str | None, str | None]]] = {}
        for path in files(f"otlp_json_{convention}/langgraph_gen"):
            for step in steps_of(list(of_file(path))):
                if step.kind == "TOOL":
                    told = (step.name, step.args_digest, step.result_digest)
                    found.setdefault(path.name, []).append(told)
        return {name: sorted(told, key=str) for name, told in found.items()}

    assert digests("openinference") == digests("openllmetry")


def test_every_tool_call_of_the_batch_has_its_request_and_every_read_result_its_reader() -> None:
    path = shared("traces/otlp_jsonl_collector/openinference_batch.jsonl")
    raw = list(raw_spans(path))
    asked = {(s["traceId"], v) for s, a in raw for k, v in a.items() if _asks(k, a)}
    read = {(s["traceId"], v) for s, a in raw for k, v in a.items() if _reads(k, a)}
    assert len(asked) == 47
    ran = Counter[tuple[str, str]]()
    for trace in of_file(path):
        kinds = {step.step_id: step.kind for step in trace.steps}
        for edge in trace.causes:
            if edge.origin in MESSAGES:
                ran[kinds[edge.cause], kinds[edge.effect]] += 1
    # One call names a tool that does not exist. One tool step was forked into another trace than
    # its request, and its result is read there.
    assert ran == {("LLM", "TOOL"): len(asked) - 1, ("TOOL", "LLM"): 44}
    assert ran["TOOL", "LLM"] == len(read & asked) - 1 + 1


def test_loop_has_one_edge_a_call_and_one_a_result() -> None:
    (trace,) = of_file(fixture("otlp/openinference_loop_bounded.json"))
    chain = [step.step_id for step in trace.steps if step.kind in ("LLM", "TOOL")]
    found = [(e.cause, e.effect) for e in trace.causes if e.origin in MESSAGES]
    assert len(chain) == 13
    assert found == list(pairwise(chain))


@pytest.mark.parametrize(
    ("convention", "origin", "evidence"),
    [("openinference", "protocol", "derived"), ("openllmetry", "tool_call_id", "declared")],
)
def test_failing_call_is_recovered_through_the_model(
    convention: str, origin: str, evidence: str
) -> None:
    (trace,) = of_file(fixture(f"otlp/{convention}_tool_error_recover.json"))
    first, bad, second, good, last = (s for s in trace.steps if s.kind in ("LLM", "TOOL"))
    assert (bad.status, good.status, bad.name, good.name) == (
        "error",
        "ok",
        "get_weather",
        "get_weather",
    )
    found = {(e.cause, e.effect): (e.origin, e.evidence) for e in trace.causes}
    assert found[first.step_id, bad.step_id] == (origin, evidence)
    assert found[bad.step_id, second.step_id] == (origin, evidence)
    assert found[second.step_id, good.step_id] == ("tool_call_id", "declared")
    assert found[good.step_id, last.step_id] == ("tool_call_id", "declared")
    assert last.signals == ("final_answer",)


def test_retries_with_the_same_arguments_are_equal() -> None:
    (trace,) = of_file(fixture("otlp/openinference_tool_retry_same_args.json"))
    calls = [(s.name, s.args_digest, s.status) for s in trace.steps if s.kind == "TOOL"]
    assert len(calls) == 3
    assert len(set(calls)) == 1
    assert calls[0][1] is not None


def test_parallel_calls_share_a_cause_and_join_in_the_reader() -> None:
    (trace,) = of_file(fixture("otlp/openinference_parallel_tools.json"))
    tools = {s.step_id for s in trace.steps if s.kind == "TOOL"}
    asker, reader = (s.step_id for s in trace.steps if s.kind == "LLM")
    told = {(e.cause, e.effect) for e in trace.causes if e.origin in MESSAGES}
    assert len(tools) == 4
    assert told == {(asker, t) for t in tools} | {(t, reader) for t in tools}


def test_unknown_tool_gets_a_signal_and_no_step() -> None:
    (trace,) = of_file(fixture("otlp/openinference_unknown_tool.json"))
    assert not [step for step in trace.steps if step.kind == "TOOL"]
    signals = {step.seq: step.signals for step in trace.steps if step.signals}
    asker, answer = (step for step in trace.steps if step.kind == "LLM")
    assert signals == {asker.seq: ("unknown_tool",), answer.seq: ("final_answer",)}


def test_links_of_a_join_are_declared_causes() -> None:
    path = fixture("otlp/genai_wf_fan_out_in.json")
    raw = {(s["spanId"], link["spanId"]) for s, _ in raw_spans(path) for link in s.get("links", [])}
    _, trace = of_file(path)
    links = [e for e in trace.causes if e.origin == "span_link"]
    assert {(e.effect, e.cause) for e in links} == raw
    assert {e.evidence for e in links} == {"declared"}
    join = next(step for step in trace.steps if step.name == "join")
    assert sum(e.effect == join.step_id for e in links) == 3
    assert join.lossy


def test_fan_out_joins_in_the_node_of_the_next_superstep() -> None:
    path = shared("traces/otlp_json_openinference/langgraph_gen/map_reduce_send.otlp.json")
    (trace,) = of_file(path)
    names = {step.step_id: step.name for step in trace.steps}
    told = Counter(
        (names[e.cause], names[e.effect], e.evidence)
        for e in trace.causes
        if e.origin == "graph_step"
    )
    assert told == {("plan", "work", "derived"): 4, ("work", "reduce", "derived"): 4}


def test_sub_agent_reads_the_result_that_handed_over_to_it() -> None:
    path = shared("traces/otlp_jsonl_collector/openinference_batch.jsonl")
    trace = next(t for t in of_file(path) if t.session_id == "supervisor_prebuilt")
    transfer = next(s for s in trace.steps if s.kind == "TOOL")
    readers = [e.effect for e in trace.causes if e.cause == transfer.step_id]
    asker, expert, supervisor = (s.step_id for s in trace.steps if s.kind == "LLM")
    assert readers == [expert]
    assert supervisor not in {e.effect for e in trace.causes if e.origin in MESSAGES}
    assert (transfer.step_id, asker) in {(e.effect, e.cause) for e in trace.causes}


def test_graph_interrupt_is_control_flow() -> None:
    for convention, status in (("openinference", "ok"), ("openllmetry", "unset")):
        name = f"traces/otlp_json_{convention}/langgraph_gen/interrupt_resume.otlp.json"
        first, second = of_file(shared(name))
        (asked,) = (step for step in first.steps if step.name == "ask")
        assert (asked.status, asked.signals) == (status, ("interrupt",))
        assert first.session_id == second.session_id == "interrupt_resume"
        assert not [s for t in (first, second) for s in t.steps if s.status == "error"]


def test_protobuf_json_in_snake_case_reads_like_the_original() -> None:
    def shape(trace: Trace) -> list[tuple[Any, ...]]:
        return [
            (s.step_id, s.kind, s.name, s.status, s.start, s.args_digest, s.tokens_total)
            for s in trace.steps
        ]

    path = shared("traces/otlp_variants/openinference_protojson_snake_case.jsonl")
    batch = shared("traces/otlp_jsonl_collector/openinference_batch.jsonl")
    originals = {trace.trace_id: trace for trace in of_file(batch)}
    found = list(of_file(path))
    assert len(found) == 5
    whole = [trace for trace in found if len(trace) == len(originals[trace.trace_id])]
    assert len(whole) >= 4
    for trace in whole:
        assert shape(trace) == shape(originals[trace.trace_id])
        assert edges_by_id(trace) == edges_by_id(originals[trace.trace_id])
    assert sum(gaps(trace).get("otlp.missing_parent", 0) for trace in found) == 3
    united = list(iterate(read(*(source(p.read_bytes(), p.name) for p in (path, batch)))))
    assert len(united) == len(originals)
    assert sum(gaps(trace).get("otlp.duplicate_identical", 0) for trace in united) == 52
    assert not any("otlp.duplicate_conflict" in gaps(trace) for trace in united)


def edges_by_id(trace: Trace) -> list[tuple[str, str, str]]:
    return [(e.effect, e.cause, e.origin) for e in trace.causes]


def test_base64_ids_of_a_third_party_file_are_told() -> None:
    name = "traces/otlp_json_openinference/agentprism_smol_deep_research_agent.json"
    (trace,) = of_file(shared(name))
    assert trace.trace_id == "ba8ab01bf086833c989ce2a7a29eee31"
    assert gaps(trace) == {"otlp.nonstandard_id_encoding": 16}
    assert edges(trace, "span_parent") == edges(trace)
    assert [s.model for s in trace.steps if s.kind == "LLM"] == ["o1-2024-12-17"] * 6


def test_spans_of_several_scopes_and_without_a_kind_are_steps_of_one_trace() -> None:
    """A marker of the exporter's own (``quotient.end_of_trace``) is a span like any other."""
    name = "traces/otlp_json_openinference/agentprism_smol_deep_research_agent.json"
    requests = json.loads(shared(name).read_text(encoding="utf-8"))
    groups = [group for request in requests for group in request["resourceSpans"]]
    scopes = [scope for group in groups for scope in group["scopeSpans"]]
    assert {scope["scope"]["name"] for scope in scopes} == {
        "openinference.instrumentation.openai",
        "quotient.sdk.python",
    }
    (trace,) = of_file(shared(name))
    assert Counter(step.name for step in trace.steps) == Counter(
        span["name"] for scope in scopes for span in scope["spans"]
    )
    kinds = {step.name: step.kind for step in trace.steps}
    assert (kinds["quotient.end_of_trace"], kinds["main"]) == ("UNKNOWN", "UNKNOWN")


@pytest.mark.parametrize(
    "folder",
    [
        "otlp_json_openinference/langgraph_gen",
        "otlp_json_openllmetry/langgraph_gen",
        "otlp_json_genai_maf",
    ],
)
def test_the_order_of_the_spans_in_a_file_means_nothing(folder: str) -> None:
    """Children come before their parents in what SDKs export; turned round the trace is the same.

    Steps that begin at the same nanosecond have no order but that of the file: none of these do.
    """
    for path in files(folder):
        document = json.loads(path.read_text(encoding="utf-8"))
        turned = copy.deepcopy(document)
        for group in turned["resourceSpans"]:
            group["scopeSpans"].reverse()
            for scope in group["scopeSpans"]:
                scope["spans"].reverse()
        turned["resourceSpans"].reverse()
        first, second = (
            {trace.trace_id: _without_place(trace) for trace in iterate(read(source(each)))}
            for each in (document, turned)
        )
        assert first == second, path.name


def _without_place(trace: Trace) -> dict[str, Any]:
    artifact: dict[str, Any] = json.loads(write_artifact(trace))
    for key in ("file", "file_digest"):
        artifact["trace"].pop(key)
    return artifact


def _failed(span: dict[str, Any]) -> bool:
    return bool(span.get("status", {}).get("code") == 2)


def _failing_tools(found: list[Trace]) -> tuple[int, int]:
    failing = [
        trace.trace_id
        for trace in found
        for step in trace.steps
        if step.kind == "TOOL" and step.status == "error"
    ]
    return len(failing), len(set(failing))


def _asks(key: str, attributes: dict[str, Any]) -> bool:
    return (
        attributes["openinference.span.kind"] == "LLM"
        and key.startswith("llm.output_messages.")
        and key.endswith(".tool_call.id")
    )


def _reads(key: str, attributes: dict[str, Any]) -> bool:
    return attributes["openinference.span.kind"] == "LLM" and key.endswith(".tool_call_id")
