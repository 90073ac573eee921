import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_data import fixture
from trace_view import gaps, the
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.crewai.adapter import CrewaiAdapter
from tracegraph.ingest.crewai.context import parts_of
from tracegraph.ingest.crewai.react import react_turn
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Row = dict[str, Any]
FOLDER = fixture("crewai")
RESULTS = sorted(FOLDER.glob("result_*.json"))
EVENTS = sorted(FOLDER.glob("events_*.jsonl"))
OBSERVED = re.compile(r"Action: (.*?)\nAction Input: (.*?)\nObservation: ?(.*)", re.DOTALL)


def name_of(path: Path) -> str:
    return path.name


def read_all(data: bytes, *, strict: bool = False) -> list[Trace]:
    source = Source("crew.json", data)
    assert detect(source).name == "crewai"
    drafts = list(CrewaiAdapter().read([source], ReadOptions(True, strict)))
    return [trace for draft in drafts for trace in iterate(seal(draft))]


def read(value: Any, *, strict: bool = False) -> Trace:
    data = value.read_bytes() if isinstance(value, Path) else json.dumps(value).encode()
    (trace,) = read_all(data, strict=strict)
    return trace


def edges(trace: Trace, *origins: str) -> set[tuple[str, str]]:
    return {(c.cause, c.effect) for c in trace.causes if c.origin in origins}


def chain(trace: Trace) -> list[tuple[str, str]]:
    """Return the kinds at both ends of what calls tell, in the order of the steps."""
    kinds = {step.step_id: step.kind for step in trace.steps}
    found = [c for c in trace.causes if c.origin in ("tool_call_id", "protocol")]
    return [(kinds[c.cause], kinds[c.effect]) for c in found]


def task(**fields: Any) -> Row:
    made = {"description": "d", "expected_output": "e", "raw": "r", "agent": "A", "messages": []}
    return {**made, **fields}


def crew(*tasks: Row) -> Row:
    return {"raw": "r", "tasks_output": list(tasks), "token_usage": {}}


def call(call_id: str, name: str, **arguments: Any) -> Row:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": call_id, "type": "function", "function": function}


def failure(name: str, arguments: Row, **fields: Any) -> Row:
    what = {"message": "it broke", "reason": "exception", "code": "KeyError", **fields}
    return {"tool_name": name, "tool_args": arguments, "failure": what}


@pytest.mark.parametrize("path", RESULTS, ids=name_of)
def test_a_result_gives_the_steps_that_plain_json_counts(path: Path) -> None:
    tasks = json.loads(path.read_text())["tasks_output"]
    trace = read(path, strict=True)
    messages = [m for t in tasks for m in t["messages"]]
    said = [m for m in messages if m["role"] == "assistant"]
    observed = [m for m in said if OBSERVED.search(m["content"] or "")]
    unsaid = [t for t in tasks if t["messages"][-1]["role"] != "assistant" or observed]
    unsaid = [t for t in unsaid if t["messages"][-1]["content"] != t["raw"]]
    kinds = Counter(step.kind for step in trace.steps)
    assert kinds["AGENT"] == len(tasks)
    assert kinds["TOOL"] == sum(m["role"] == "tool" for m in messages) + len(observed)
    assert kinds["LLM"] == len(said) + len(unsaid)
    assert [s.agent for s in trace.steps if s.kind == "AGENT"] == [t["agent"] for t in tasks]
    failed = [f["failure"]["message"] for t in tasks for f in t["tool_failures"]]
    assert [s.error_message for s in trace.steps if s.status == "error"] == failed
    assert trace.status == "ok"
    answers = [s.output for s in trace.steps if s.kind == "AGENT"]
    assert answers == [t["raw"] for t in tasks]


def test_calls_of_functions_are_paired_by_id() -> None:
    trace = read(FOLDER / "result_native_parallel.json")
    assert edges(trace, "tool_call_id") == {
        ("task-1.3", "task-1.4"),
        ("task-1.3", "task-1.5"),
        ("task-1.4", "task-1.6"),
        ("task-1.5", "task-1.6"),
    }
    failed = the(trace, "task-1.5")
    assert (failed.status_source, failed.error_type) == ("recorded", "ValueError")
    assert the(trace, "task-1.4").status == "unset"


def test_actions_as_text_are_turns_too() -> None:
    path = FOLDER / "result_react_error.json"
    first = json.loads(path.read_text())["tasks_output"][0]
    trace = read(path)
    said = [m["content"] for m in first["messages"] if m["role"] == "assistant"]
    turns = [found.groups() for text in said if (found := OBSERVED.search(text))]
    tools = [s for s in trace.steps if s.kind == "TOOL"]
    assert [(s.name, s.input, s.output) for s in tools] == turns
    assert chain(trace) == [("LLM", "TOOL"), ("TOOL", "LLM")] * 3
    assert [s.status for s in tools] == ["error", "error", "unset"]
    assert tools[0].args_digest == tools[1].args_digest != tools[2].args_digest


def test_a_context_joins_tasks() -> None:
    assert edges(read(FOLDER / "result_react_ok.json"), "data_flow") == {("task-1", "task-2")}
    parts = "one part\n\n----------\n\nanother part"
    prompt = f"Write.\n\nThis is the context you're working with:\n{parts}\n\nBegin! Now."
    given = task(messages=[{"role": "user", "content": prompt}])
    made = [task(raw="another part"), task(raw="no part"), task(raw="one part\n")]
    trace = read(crew(*made, given))
    assert edges(trace, "data_flow") == {("task-1", "task-4"), ("task-3", "task-4")}
    twice = read(crew(task(raw="one part"), task(raw="one part"), given))
    assert edges(twice, "data_flow") == set()


def test_without_messages_a_task_is_one_step() -> None:
    trace = read(FOLDER / "made_result_without_messages.json")
    assert [(s.kind, s.name, s.status) for s in trace.steps] == [
        ("AGENT", "Researcher", "ok"),
        ("AGENT", "Writer", "ok"),
    ]
    assert trace.attributes == {
        "token_usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "successful_requests": 3,
        }
    }
    assert trace.fidelity == "order_only"
    assert list(trace.causes) == []


def test_of_equal_calls_which_one_failed_is_not_known() -> None:
    asked = [call("c1", "look", q=1), call("c2", "look", q=1)]
    messages: list[Row] = [
        {"role": "assistant", "content": None, "tool_calls": asked},
        {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "x"},
        {"role": "tool", "tool_call_id": "c2", "name": "look", "content": "y"},
    ]
    one = task(messages=messages, tool_failures=[failure("Look", {"q": 1})])
    trace = read(crew(one))
    assert [s.status for s in trace.steps if s.kind == "TOOL"] == ["unset", "unset"]
    assert gaps(trace) == {"crewai.ambiguous_tool_failure": 1}
    both = task(messages=messages, tool_failures=[failure("look", {"q": 1})] * 2)
    trace = read(crew(both))
    assert [s.error_type for s in trace.steps if s.kind == "TOOL"] == ["KeyError", "KeyError"]
    assert gaps(trace) == {}
    other = task(messages=messages, tool_failures=[failure("look", {"q": 2}, reason="mcp_error")])
    assert gaps(read(crew(other))) == {"crewai.unmatched_tool_failure": 1}


def test_a_tools_own_result_may_be_the_answer() -> None:
    messages: list[Row] = [
        {"role": "assistant", "content": "", "tool_calls": [call("c1", "look")]},
        {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "found"},
    ]
    kinds = [s.kind for s in read(crew(task(messages=messages, raw="found"))).steps]
    assert kinds == ["AGENT", "LLM", "TOOL"]
    kinds = [s.kind for s in read(crew(task(messages=messages, raw="told"))).steps]
    assert kinds == ["AGENT", "LLM", "TOOL", "LLM"]


def test_what_cannot_be_read_costs_itself() -> None:
    trace = read({"tasks_output": [7, task(raw=5, agent="A")], "raw": "r"})
    assert [s.step_id for s in trace.steps] == ["task-2"]
    assert gaps(trace) == {"crewai.unreadable_task": 1, "crewai.unreadable_field": 1}
    with pytest.raises(StrictError, match=r"^crew\.json: task 1 cannot be used"):
        read({"tasks_output": [7, task()], "raw": "r"}, strict=True)
    with pytest.raises(InputError, match=r"^x: a result of a crew without a list of tasks"):
        list(CrewaiAdapter().read([Source("x", b'{"tasks_output": 5}')], ReadOptions()))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("log_[of]*.json")), ids=name_of)
def test_a_log_gives_a_step_for_each_task_that_started(path: Path) -> None:
    entries = json.loads(path.read_text())
    trace = read(path, strict=True)
    started = [e for e in entries if e["status"] == "started"]
    ended = {e["task_name"]: e for e in entries if e["status"] == "completed"}
    steps = list(trace.steps)
    assert [(s.kind, s.name) for s in steps] == [("AGENT", e["agent"]) for e in started]
    for step, entry in zip(steps, started, strict=True):
        end = ended.get(entry["task_name"])
        assert step.status == ("ok" if end else "unset")
        assert step.output == (end["output"] if end else None)
        assert step.start is not None
        assert (step.end is None) == (end is None)
    assert gaps(trace) == {"crewai.local_time": 1}


def test_a_log_of_two_runs_is_two_traces() -> None:
    traces = read_all((FOLDER / "log_two_runs.json").read_bytes())
    assert [(t.trace_id, len(t), t.status) for t in traces] == [
        ("crew", 2, "ok"),
        ("crew~2", 2, "unset"),
    ]


def test_an_entry_that_ends_what_never_started() -> None:
    entry = {"timestamp": "2026-11-30 03:00:00", "task": "t", "agent": "A", "status": "completed"}
    trace = read([entry])
    assert [(s.status, s.start) for s in trace.steps] == [("ok", None)]
    assert gaps(trace)["crewai.end_without_start"] == 1


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("path", EVENTS, ids=name_of)
def test_what_started_on_the_bus_is_a_step(path: Path) -> None:
    rows = rows_of(path)
    started = {
        row["event_id"]: row
        for row in rows
        if row["type"].endswith("_started") and row["type"] != "agent_logs_started"
    }
    trace = read(path)
    assert {s.step_id for s in trace.steps} == started.keys()
    assert edges(trace, "span_parent") == {
        (row["parent_event_id"], row["event_id"])
        for row in started.values()
        if row["parent_event_id"]
    }
    ends = {
        row["started_event_id"]: row
        for row in reversed(rows)
        if row["started_event_id"] in started
        and row["type"].rpartition("_")[0]
        == started[row["started_event_id"]]["type"].removesuffix("_started")
    }
    for step in trace.steps:
        end = ends[step.step_id]
        failed = end["type"].endswith(("_failed", "_error"))
        assert step.status == ("error" if failed else "ok")
        assert step.error_message == (end["error"] if failed else None)
        if step.kind == "LLM" and end.get("usage"):
            assert step.tokens_total == end["usage"]["total_tokens"]
            assert step.model == end["model"]
    assert trace.attributes == {"crew": rows[0]["crew_name"]}


def test_events_tell_the_chain_of_calls() -> None:
    trace = read(FOLDER / "events_native_parallel.jsonl")
    asker, reader, last = (s.step_id for s in trace.steps if s.kind == "LLM")
    tools = [s.step_id for s in trace.steps if s.kind == "TOOL"]
    assert edges(trace, "protocol", "tool_call_id") == {(asker, t) for t in tools} | {
        (t, reader) for t in tools
    }
    assert all(last not in edge for edge in edges(trace, "protocol", "tool_call_id"))
    tasks = [s.step_id for s in trace.steps if s.name in ("research", "write")]
    assert edges(trace, "data_flow") == {(tasks[0], tasks[1])}
    names = {s.step_id: s.agent for s in trace.steps}
    assert [names[t] for t in tools] == ["Researcher", "Researcher"]


def test_a_tool_holds_the_agent_that_it_delegates_to() -> None:
    trace = read(FOLDER / "events_hierarchical.jsonl")
    (tool,) = (s for s in trace.steps if s.kind == "TOOL")
    agents = {s.step_id: s.name for s in trace.steps if s.kind == "AGENT"}
    held = {c for p, c in edges(trace, "span_parent") if p == tool.step_id}
    assert [agents[step_id] for step_id in held] == ["Researcher"]
    assert tool.name == "delegate_work_to_coworker"
    assert chain(trace) == [("LLM", "TOOL"), ("TOOL", "LLM")]


def test_a_failing_crew() -> None:
    trace = read(FOLDER / "events_failing.jsonl")
    assert trace.status == "error"
    (write,) = (s for s in trace.steps if s.name == "write")
    assert write.error_type == "ConnectionError"


def test_a_method_of_a_flow_is_caused_by_what_triggered_it() -> None:
    traces = read_all((FOLDER / "made_events.jsonl").read_bytes())
    flow, other = traces
    assert edges(flow, "span_link") == {("f-2", "f-4")}
    assert [(s.name, s.kind, s.status) for s in flow.steps] == [
        ("Made", "CHAIN", "error"),
        ("plan", "CHAIN", "ok"),
        ("act", "CHAIN", "error"),
        ("memory_query", "RETRIEVER", "ok"),
        ("llm_guardrail", "GUARDRAIL", "ok"),
    ]
    assert the(flow, "f-1").error_type == "ValueError"
    assert [(s.kind, s.start, s.tokens_total) for s in other.steps] == [("LLM", None, 5)]


def test_a_record_of_events_holds_the_same() -> None:
    lines = read_all((FOLDER / "made_events.jsonl").read_bytes())
    record = read_all((FOLDER / "made_event_record.json").read_bytes())
    found = {t.trace_id: [(s.step_id, s.status) for s in t.steps] for t in record}
    assert {t.trace_id: found[t.trace_id] for t in lines} == {
        t.trace_id: [(s.step_id, s.status) for s in t.steps] for t in lines
    }


@given(st.text(), st.text(), st.text())
def test_any_turn_as_text_is_taken_apart(tool: str, arguments: str, result: str) -> None:
    said = f"Thought: x\nAction: {tool}\nAction Input: {arguments}"
    turn = react_turn(f"{said}\nObservation: {result}")
    plain = tool.strip().strip('*"').strip()
    if not plain or any(mark in tool + arguments for mark in ("Action", "Observation:")):
        return
    assert turn is not None
    assert (turn.tool, turn.given, turn.result) == (plain, arguments.strip(), result)


@given(st.lists(st.text(alphabet="ab \n", min_size=1)))
def test_a_context_is_split_as_it_was_put_together(outputs: list[str]) -> None:
    joined = "\n\n----------\n\n".join(outputs)
    assert parts_of(joined) == [text.strip() for text in outputs if text.strip()]


@pytest.mark.parametrize("content", [None, 7, [], "Action: x", "Action Input: y\nObservation: z"])
def test_what_is_no_turn_is_none(content: object) -> None:
    assert react_turn(content) is None


def event(number: int, kind: str, **fields: Any) -> Row:
    when = f"2026-01-01T00:00:{number:02d}+00:00"
    return {"event_id": f"e{number}", "type": kind, "emission_sequence": number} | {
        "timestamp": when,
        **fields,
    }


def lines_of(*events: Row) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in events).encode()


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("research_task", "research_task"),
        ("Find the weather of {city}.", "task"),
        ("x" * 201, "task"),
    ],
)
def test_a_description_that_stands_in_place_of_a_name_is_none(said: str, name: str) -> None:
    """CrewAI's events say ``task.name or task.description``: a prompt, of a task without a name."""
    (trace,) = read_all(lines_of(event(1, "task_started", task_name=said)))
    assert [step.name for step in trace.steps] == [name]
    result = read(crew(task(agent=None, name=said, description=said)))
    assert [step.name for step in result.steps if step.kind == "AGENT"] == [None]


def test_what_a_failure_says_is_no_type_of_it() -> None:
    says = {"reason": "the city Atlantis is unknown", "message": "no"}
    failed = failure("f", {}) | {"failure": says}
    asks = {"role": "assistant", "content": None, "tool_calls": [call("1", "f")]}
    messages = [asks, {"role": "tool", "tool_call_id": "1", "name": "f", "content": "x"}]
    result = read(crew(task(messages=messages, tool_failures=[failed])))
    start = event(1, "mcp_tool_execution_started")
    end = event(2, "mcp_tool_execution_failed", started_event_id="e1", error="no")
    (events,) = read_all(lines_of(start, end | {"error_type": "the city is unknown"}))
    for trace in (result, events):
        (step,) = (step for step in trace.steps if step.status == "error")
        assert (step.error_type, step.error_message) == (None, "no")


def test_a_model_of_which_no_messages_are_recorded_may_have_been_given_any_result() -> None:
    held = {"parent_event_id": "e1"}
    events = [
        event(1, "task_started"),
        event(2, "llm_call_started", **held),
        event(3, "llm_call_completed", started_event_id="e2", response="x"),
        event(4, "tool_usage_started", tool_name="f", **held),
        event(5, "tool_usage_finished", started_event_id="e4", output="y"),
        event(6, "llm_call_started", **held),
    ]
    (trace,) = read_all(lines_of(*events))
    assert edges(trace, "protocol") == {("e2", "e4"), ("e4", "e6")}
    told: list[Row] = [{"role": "user", "content": "anew"}]
    (other,) = read_all(lines_of(*events[:-1], events[-1] | {"messages": told}))
    assert edges(other, "protocol") == {("e2", "e4")}
