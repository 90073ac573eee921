"""The shared database of 29 threads, against SQL and the scenarios' own labels."""

import json
from collections import Counter
from functools import cache
from itertools import pairwise

import ormsgpack
import pytest

from langgraph_files import by_name, causes, gaps, read, rows
from shared_data import shared
from trace_view import view
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.model.trace import Trace

_FILE = "traces/langgraph_sqlite/gen_langgraph1.2_all_scenarios.sqlite"


@cache
def _traces() -> dict[str, Trace]:
    path = shared(_FILE)
    before = path.read_bytes()
    found = {trace.trace_id: trace for trace in read(path)}
    assert path.read_bytes() == before
    return found


def _plain(kind: str, value: bytes) -> object:
    """Decode a value without the reader: objects are lists of their parts."""
    if kind != "msgpack":
        return None

    def inner(code: int, data: bytes) -> object:
        return ormsgpack.unpackb(data, ext_hook=inner, option=ormsgpack.OPT_NON_STR_KEYS)

    return ormsgpack.unpackb(value, ext_hook=inner, option=ormsgpack.OPT_NON_STR_KEYS)


def _messages(value: object) -> list[dict[str, object]]:
    """Return the fields of the messages in a list of a write."""
    found = []
    for item in value if isinstance(value, list) else []:
        if isinstance(item, list) and len(item) > 2 and isinstance(item[2], dict):
            found.append(item[2])
    return found


def test_it_is_recognised() -> None:
    path = shared(_FILE)
    assert detect(Source.open(path, path.name)).name == "langgraph"


def test_every_thread_is_a_trace_and_every_task_a_step() -> None:
    path = shared(_FILE)
    threads = [thread for (thread,) in rows(path, "SELECT DISTINCT thread_id FROM checkpoints")]
    assert sorted(_traces()) == sorted(threads)
    query = "SELECT thread_id, task_id, task_path FROM writes GROUP BY 1, checkpoint_ns, 2"
    tasks = {
        (thread, task): path_.partition(", ")[2]
        for thread, task, path_ in rows(path, query)
        if task != "00000000-0000-0000-0000-000000000000"
    }
    steps = {(t.trace_id, s.step_id): s for t in _traces().values() for s in t.steps}
    assert tasks.keys() <= steps.keys()
    rest = {key: step for key, step in steps.items() if key not in tasks}
    assert {step.kind for (_, key), step in rest.items() if "/" in key} == {"TOOL"}
    # What is neither a task nor under one is the one write from outside.
    assert [thread for thread, key in rest if "/" not in key] == ["fork_time_travel"]
    for key, name in tasks.items():
        if steps[key].kind != "TOOL" and not name.startswith("0000"):
            assert steps[key].name == name


def test_every_tool_message_is_one_step() -> None:
    path = shared(_FILE)
    query = (
        "SELECT thread_id, type, value FROM writes WHERE task_path NOT LIKE '%, __start__' "
        "ORDER BY rowid"
    )
    wanted: Counter[tuple[str, str, str, str]] = Counter()
    seen: set[tuple[str, object]] = set()
    for thread, kind, value in rows(path, query):
        for fields in _messages(_plain(kind, value)):
            if fields.get("type") != "tool" or "__is_handoff_back" in str(fields):
                continue
            known = (str(thread), (fields.get("tool_call_id"), fields["content"]))
            if known not in seen:  # a graph above writes the same message again
                seen.add(known)
                state = {"success": "ok", "error": "error"}[str(fields["status"])]
                wanted[thread, str(fields["name"]), str(fields["tool_call_id"]), state] += 1
    found = Counter(
        (trace.trace_id, step.name, step.tool_call_id, step.status)
        for trace in _traces().values()
        for step in trace.steps
        if step.kind == "TOOL" and "/" in step.step_id
    )
    assert found == wanted
    assert found.total() == 47


def test_tool_calls_and_errors_are_those_of_the_labels() -> None:
    labels = json.loads(shared("traces/labels/openinference_labels.json").read_bytes())
    traces = _traces()
    for scenario, label in labels.items():
        steps = list(traces[scenario].steps)
        tools = [step for step in steps if step.kind == "TOOL"]
        if "tool_calls" in label:
            assert len(tools) == label["tool_calls"], scenario
        assert sum(step.status == "error" for step in tools) == label.get("tool_errors", 0) or (
            scenario == "regression_v2"  # which does not label its two failures
        ), scenario


def test_only_the_failures_that_a_checkpoint_records_fail_a_run() -> None:
    states = {name: trace.status for name, trace in _traces().items()}
    assert {name for name, state in states.items() if state == "error"} == {"tool_error_fatal"}
    # Two runs ended at the recursion limit and one was cancelled: no checkpoint says so, only that
    # tasks were left to run.
    left = {"async_cancel", "loop_until_limit", "regression_v2"}
    assert {name for name, state in states.items() if state == "unset"} == left
    assert {name for name, trace in _traces().items() if "unfinished_run" in gaps(trace)} == left


def test_nothing_is_lost_and_little_in_doubt() -> None:
    found: Counter[str] = Counter()
    for trace in _traces().values():
        found.update(gaps(trace))
    assert found == {"unfinished_run": 3, "failed_call_by_task": 1, "unnamed_update": 1}
    assert [t.trace_id for t in _traces().values() if t.cyclic] == []


def test_every_step_but_the_first_has_a_declared_cause() -> None:
    for trace in _traces().values():
        declared = {e.effect for e in trace.causes if e.evidence == "declared"}
        without = [s.name for s in trace.steps if s.step_id not in declared]
        assert without == ["__start__"], trace.trace_id


def test_a_fan_out_and_its_join() -> None:
    trace = _traces()["map_reduce_send"]
    found = [(e.effect, e.cause) for e in trace.causes if e.origin == "checkpoint_write"]
    names = {step.step_id: step.name for step in trace.steps}
    assert Counter((names[a], names[b]) for a, b in found) == {
        ("plan", "__start__"): 1,
        ("work", "plan"): 4,
        ("reduce", "work"): 4,
    }


def test_parallel_tools_have_one_asker_one_reader_and_nothing_between() -> None:
    trace = _traces()["parallel_tools"]
    ids = {step.step_id: step for step in trace.steps}
    tools = [step.step_id for step in trace.steps if step.kind == "TOOL"]
    asked = [(e.effect, ids[e.cause].kind) for e in trace.causes if e.effect in tools]
    assert sorted(asked) == sorted([(tool, kind) for tool in tools for kind in ("CHAIN", "LLM")])
    assert Counter(e.cause for e in trace.causes if ids[e.effect].kind == "LLM") >= Counter(tools)


def test_a_react_loop_is_one_chain() -> None:
    trace = _traces()["loop_bounded"]
    spine = [step for step in trace.steps if step.kind in ("LLM", "TOOL")]
    assert [step.kind for step in spine] == ["LLM", "TOOL"] * 6 + ["LLM"]
    edges = {(e.cause, e.effect) for e in trace.causes if e.origin == "tool_call_id"}
    assert edges == {(a.step_id, b.step_id) for a, b in pairwise(spine)}
    assert spine[-1].signals == ("final_answer",)


def test_the_call_that_failed_with_its_task() -> None:
    trace = _traces()["tool_error_fatal"]
    step = by_name(trace)["fetch_page"]
    assert (step.kind, step.status, step.error_type) == ("TOOL", "error", "TimeoutError")
    assert step.error_message == "timed out after 30s: http://example.test/a"
    assert step.args_digest is not None
    assert ("fetch_page", "agent", "protocol", "derived") in causes(trace)


def test_a_failing_tool_that_the_model_recovered_from() -> None:
    trace = _traces()["tool_error_recover"]
    tools = [step for step in trace.steps if step.kind == "TOOL"]
    assert [step.status for step in tools] == ["error", "ok"]
    assert tools[0].args_digest != tools[1].args_digest
    same = [s for s in _traces()["tool_retry_same_args"].steps if s.kind == "TOOL"]
    assert len({step.args_digest for step in same}) == 1


def test_an_interrupt_that_was_answered_is_no_failure() -> None:
    trace = _traces()["interrupt_resume"]
    assert [(s.name, s.status) for s in trace.steps] == [
        ("__start__", "ok"),
        ("draft", "ok"),
        ("ask", "ok"),
    ]


def test_a_fork_is_a_branch_and_nothing_crosses() -> None:
    trace = _traces()["fork_time_travel"]
    steps = list(trace.steps)
    tools = [step for step in steps if step.kind == "TOOL"]
    readers = {e.cause: e.effect for e in trace.causes if e.evidence == "derived"}
    assert len(tools) == 2
    assert tools[0].args_digest != tools[1].args_digest  # the write from outside changed the city
    assert readers[tools[0].step_id] != readers[tools[1].step_id]
    update = next(step for step in steps if step.name is None)
    assert (update.kind, update.unknown_fields) == ("CHAIN", ("name",))
    agent = next(step for step in steps if step.name == "agent")
    edges = {(e.effect, e.cause, e.origin) for e in trace.causes}
    assert (update.step_id, agent.step_id, "checkpoint_parent") in edges


def test_subgraphs_hang_under_their_task_and_return() -> None:
    trace = _traces()["nested_subgraphs"]
    wrappers = [step.name for step in trace.steps if step.kind == "AGENT"]
    assert wrappers == ["level1", "level2", "level3"]
    assert [step.name for step in trace.steps if step.kind == "TOOL"] == ["search"]
    trace = _traces()["supervisor_prebuilt"]
    assert {
        ("math_expert", "agent", "subgraph_return", "declared"),
        ("math_expert", "supervisor", "checkpoint_write", "declared"),
        ("model", "transfer_to_math_expert", "tool_call_id", "derived"),
    } <= causes(trace)


def test_tokens_and_models() -> None:
    for trace in _traces().values():
        for step in trace.steps:
            if step.kind == "LLM":
                assert step.tokens_total == step.tokens_prompt + step.tokens_completion  # type: ignore[operator]
            else:
                assert step.tokens_total is None


@pytest.mark.parametrize("keep_content", [False, True])
def test_reading_twice_gives_the_same(keep_content: bool) -> None:
    path = shared(_FILE)
    first, second = (read(path, keep_content=keep_content) for _ in range(2))
    assert [view(trace) for trace in first] == [view(trace) for trace in second]


def test_content_is_kept_on_purpose_only() -> None:
    path = shared(_FILE)
    (kept,) = read(path, keep_content=True, only=frozenset({"react_ok"}))
    tool = by_name(kept)["get_weather"]
    assert tool.input == '{"city":"Oslo"}'
    assert tool.output == '{"city": "Oslo", "temp_c": 21, "sky": "clear"}'
    bare = by_name(_traces()["react_ok"])["get_weather"]
    assert (bare.input, bare.output) == (None, None)
    assert bare.result_digest == tool.result_digest
    assert "Oslo" not in str(view(_traces()["react_ok"]))


def test_threads_are_read_by_name() -> None:
    path = shared(_FILE)
    assert [t.trace_id for t in read(path, only=frozenset({"react_ok", "none such"}))] == [
        "react_ok"
    ]
