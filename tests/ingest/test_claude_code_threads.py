"""Which causes a Claude Code session proves, and which it does not."""

import json

from hypothesis import given
from hypothesis import strategies as st

from claude_lines import causes, line, result, said, text, told, trace_of, traces_of, use
from trace_view import gaps, the


def test_agents_that_use_one_id_do_not_take_each_others_results() -> None:
    """Models behind a gateway number their calls anew in each answer."""
    lines = [
        told("p1", None, "one", agentId="g1"),
        told("p2", None, "two", agentId="g2"),
        said("a1", "p1", use("call_0", "Read"), agentId="g1"),
        said("a2", "p2", use("call_0", "Grep"), agentId="g2"),
        told("r1", "a1", [result("call_0")], agentId="g1"),
        told("r2", "a2", [result("call_0")], agentId="g2"),
        said("b1", "r1", text("."), agentId="g1"),
        said("b2", "r2", text("."), agentId="g2"),
    ]
    trace = trace_of(lines)
    assert causes(trace) == {
        ("call_0", "msg_a1", "tool_call_id"),
        ("call_0~2", "msg_a2", "tool_call_id"),
        ("msg_b1", "call_0", "tool_call_id"),
        ("msg_b2", "call_0~2", "tool_call_id"),
    }
    assert (the(trace, "call_0").name, the(trace, "call_0~2").name) == ("Read", "Grep")
    heard = [json.loads(the(trace, f"msg_a{n}").input or "")[0]["content"] for n in (1, 2)]
    assert heard == ["one", "two"]  # each is given what was said to it


def test_lines_with_one_message_id_are_one_answer_of_one_request_and_agent_only() -> None:
    lines = [
        said("a", None, use("t1"), message_id="m", requestId="q1"),
        told("r", "a", [result("t1")]),
        said("b", "r", text("."), message_id="m", requestId="q2"),
        said("c", None, text("."), message_id="m", requestId="q2", agentId="g"),
    ]
    trace = trace_of(lines)
    assert [s.step_id for s in trace.steps if s.kind == "LLM"] == ["m", "m~2", "m~3"]
    assert causes(trace) == {("t1", "m", "tool_call_id"), ("m~2", "t1", "tool_call_id")}


def test_a_call_that_another_branch_answered_anew_is_read_there_only() -> None:
    lines = [
        said("a", None, use("t1"), use("t2")),
        told("r2", "a", [result("t2")]),
        told("r1", "a", [result("t1")]),
        said("b", "r1", text("one")),
        told("again", "a", [result("t1")]),
        said("c", "again", text("two")),
    ]
    found = causes(trace_of(lines))
    assert {(e, c) for e, c, _ in found if e in ("msg_b", "msg_c")} == {
        ("msg_b", "t1"),
        ("msg_b", "t2"),
        ("msg_c", "t1~2"),
        ("msg_c", "t2"),  # the parallel call has one result, which both were given
    }


def test_a_request_that_failed_leaves_the_results_to_the_one_that_went_on() -> None:
    failed = {"model": "<synthetic>", "isApiErrorMessage": True, "error": "rate_limit"}
    lines = [
        said("a", None, use("t1")),
        told("r", "a", [result("t1")]),
        said("e1", "r", text("API Error"), **failed),
        said("e2", "e1", text("API Error"), **{**failed, "error": "Your key abc is no good"}),
        said("b", "e2", text("Done."), stop_reason="end_turn"),
    ]
    trace = trace_of(lines)
    assert causes(trace) == {
        ("t1", "msg_a", "tool_call_id"),
        *((effect, "t1", "tool_call_id") for effect in ("msg_e1", "msg_e2", "msg_b")),
        ("msg_e2", "msg_e1", "message"),
        ("msg_b", "msg_e2", "message"),
    }
    assert [the(trace, f"msg_e{n}").error_type for n in (1, 2)] == ["rate_limit", None]
    assert {the(trace, f"msg_e{n}").status for n in (1, 2)} == {"error"}


def test_behind_a_compaction_a_model_is_told_a_summary_and_no_result() -> None:
    boundary = line("k", None, "system", {}, logicalParentUuid="r", subtype="compact_boundary")
    boundary.pop("message")
    lines = [
        said("a", None, use("t1")),
        told("r", "a", [result("t1")]),
        boundary,
        told("sum", "k", "What was done so far."),
        said("b", "sum", use("t2")),
    ]
    assert causes(trace_of(lines)) == {
        ("t1", "msg_a", "tool_call_id"),
        ("msg_b", "t1", "message"),
    }


@given(st.permutations(range(7)))
def test_lines_tell_the_same_in_whatever_order_they_are_written(order: list[int]) -> None:
    lines = [
        told("u", None, "go"),
        said("a", "u", use("t1")),
        told("r1", "a", [result("t1")]),
        said("b", "r1", use("t2")),
        told("r2", "b", [result("t2", is_error=True)]),
        said("c", "r2", text("Done."), stop_reason="end_turn"),
        told("v", "c", "thanks"),
    ]
    trace = trace_of([lines[place] for place in order])
    assert gaps(trace) == {}
    assert [s.step_id for s in trace.steps] == ["msg_a", "t1", "msg_b", "t2", "msg_c"]
    assert [s.signals for s in trace.steps][-1] == ("final_answer",)
    pairs = [("t1", "msg_a"), ("msg_b", "t1"), ("t2", "msg_b"), ("msg_c", "t2")]
    assert causes(trace) == {(*pair, "tool_call_id") for pair in pairs}


def test_what_a_line_says_of_its_result_is_not_said_of_several() -> None:
    several = [result("t1", is_error=True), result("t2", is_error=True)]
    lines = [
        said("a", None, use("t1"), use("t2", "Task")),
        told("r", "a", several, toolDenialKind="cancelled", toolUseResult={"agentId": "g"}),
        said("s", None, text("."), agentId="g"),
    ]
    trace = trace_of(lines)
    assert [the(trace, call).status for call in ("t1", "t2")] == ["error", "error"]
    assert {effect for effect, _, _ in causes(trace)} == {"t1", "t2"}


def test_results_without_a_readable_id_are_not_paired_by_their_order() -> None:
    lines = [
        said("a", None, {**use("x"), "id": [1]}, {**use("y"), "id": [2]}, {**use("z"), "id": 3}),
        told("r2", "a", [result([2])]),
        told("r1", "a", [result([1])]),
        told("r3", "a", [result(3)]),
    ]
    trace = trace_of(lines)
    assert causes(trace) == {("3", "msg_a", "tool_call_id")}  # a number is an id
    assert gaps(trace)["claude_code.result_without_call"] == 2


def test_two_sessions_of_one_agent_in_a_file_are_two_traces() -> None:
    lines = [said(f"a{n}", None, text("."), agentId="g", sessionId=f"s{n}") for n in (1, 2)]
    assert [trace.trace_id for trace in traces_of(lines)] == ["agent-g", "agent-g~2"]


def test_what_a_person_says_beside_results_is_heard_by_who_reads_them() -> None:
    words = text("Stop there.")
    lines = [
        said("a", None, use("t1")),
        told("r", "a", [result("t1"), words]),
        said("b", "r", text("Yes.")),
    ]
    assert json.loads(the(trace_of(lines), "msg_b").input or "") == [
        {"role": "user", "content": [words]}
    ]
