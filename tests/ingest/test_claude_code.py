"""Claude Code sessions: counted from the raw lines, and the tree of lines followed by hand."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_lines import Line, columns_of, trace_of, traces_of
from damage import damaged, damages_of, is_consistent
from shared_data import fixture, shared
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.claude_code.adapter import ClaudeCodeAdapter
from tracegraph.ingest.source import Source
from tracegraph.ingest.times import parse_time
from tracegraph.model.digest import digest_text, digest_value
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

MADE_TEXT = fixture("claude_code/made_session.jsonl").read_text()
MADE = [json.loads(line) for line in MADE_TEXT.splitlines()]
SESSION = "0b6d6c1e-0000-4000-8000-000000000001"


def made(lines: list[Line] = MADE) -> Trace:
    return trace_of(lines)


def causes_of(trace: Trace) -> set[tuple[str, str, str, str]]:
    return {(c.effect, c.cause, c.origin, c.evidence) for c in trace.causes}


def real_files() -> Iterator[Path]:
    yield from fixture("claude_code").iterdir()
    yield from shared("traces/claude_code_jsonl").iterdir()


def raw_lines(path: Path) -> list[Line]:
    """Return the lines that are objects, each id once: of several the last."""
    text = path.read_text()
    found = json.loads(text)["loglines"] if '"loglines"' in text else None
    values = found or [json.loads(line) for line in text.splitlines()]
    lines = [value for value in values if isinstance(value, dict)]
    return list({line.get("uuid", number): line for number, line in enumerate(lines)}.values())


def blocks(line: Line) -> list[Any]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def test_steps_calls_and_results_are_those_of_the_lines() -> None:
    for path in real_files():
        lines = raw_lines(path)
        traces = list(iterate(columns_of(path.read_bytes())))
        answers = {
            line["message"].get("id", f"line {number}")
            for number, line in enumerate(lines)
            if line.get("type") == "assistant"
        }
        results = [
            (block["tool_use_id"], bool(block.get("is_error")))
            for line in lines
            for block in blocks(line)
            if isinstance(block, dict) and block.get("type") == "tool_result"
        ]
        steps = [step for trace in traces for step in trace.steps]
        tools = [step for step in steps if step.kind == "TOOL"]
        assert Counter(step.kind for step in steps) == Counter(
            {"LLM": len(answers), "TOOL": len(results)}
        ), path
        found = [(step.tool_call_id, step.status == "error") for step in tools]
        assert sorted(found) == sorted(results)
        uses = {
            block["id"]: block
            for line in lines
            for block in blocks(line)
            if isinstance(block, dict) and block.get("type") == "tool_use"
        }
        for step in tools:
            use = uses.get(step.tool_call_id or "")
            assert step.name == (use and use["name"])
            assert step.args_digest == (use and digest_value(use["input"]))


def test_what_a_model_was_given_follows_the_lines_not_their_order() -> None:
    """Two answers share a prompt's parent: the person went back, and the first led nowhere."""
    assert causes_of(made()) == {
        ("toolu_1", "msg_1", "tool_call_id", "declared"),
        ("toolu_2", "msg_1", "tool_call_id", "declared"),
        ("msg_2", "toolu_1", "tool_call_id", "derived"),
        ("msg_2", "toolu_2", "tool_call_id", "derived"),
        ("toolu_3", "msg_2", "tool_call_id", "declared"),
        ("msg_s1", "toolu_3", "edge", "declared"),
        ("toolu_s1", "msg_s1", "tool_call_id", "declared"),
        ("msg_s2", "toolu_s1", "tool_call_id", "derived"),
        ("msg_3", "toolu_3", "tool_call_id", "derived"),
        ("msg_4", "msg_3", "message", "declared"),
        ("toolu_4", "msg_4", "tool_call_id", "declared"),
        ("msg_5", "msg_3", "message", "declared"),
        ("msg_6", "msg_5", "message", "declared"),
        ("msg_7", "msg_6", "message", "declared"),
        ("toolu_5", "msg_7", "tool_call_id", "declared"),
        ("msg_8", "toolu_5", "tool_call_id", "derived"),
        ("msg_8", "toolu_9", "tool_call_id", "derived"),
    }


def test_lines_that_name_no_line_before_them_are_related_by_calls_only() -> None:
    path = fixture("claude_code/simonw_sample_session.json")
    (trace,) = iterate(columns_of(path.read_bytes(), strict=True))
    assert trace.trace_id == "x"  # the file's: it names no session
    assert {cause.origin for cause in trace.causes} == {"tool_call_id"}


def test_an_answer_over_several_lines_is_one_step_and_counted_once() -> None:
    first = next(step for step in made().steps if step.step_id == "msg_1")
    assert (first.tokens_prompt, first.tokens_completion, first.tokens_total) == (312, 61, 373)
    assert first.output == "I look at both files."
    assert first.model == "claude-sonnet-4-5"
    assert first.end == parse_time("2026-03-01T10:00:06.250Z")  # when its last line was written
    assert first.start is None  # when the model was asked is not recorded


def test_the_earliest_time_of_a_line_dates_a_session_and_starts_no_step() -> None:
    for path in real_files():
        for trace in iterate(columns_of(path.read_bytes())):
            if trace.session_id is None:
                continue
            times = [
                line["timestamp"]
                for line in raw_lines(path)
                if line.get("sessionId") == trace.session_id and is_time(line.get("timestamp"))
            ]
            earliest = min(times, key=parse_time, default=None)
            assert trace.attributes.get("started_at") == earliest
            assert trace.started is None
    undated = [{**line, "timestamp": "soon"} for line in MADE]
    assert "started_at" not in made(undated).attributes


def is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and parse_time(value) >= 0
    except ValueError:
        return False


def test_what_the_lines_say_of_single_steps() -> None:
    trace = made()
    steps = {step.step_id: step for step in trace.steps}
    assert trace.trace_id == trace.session_id == SESSION
    assert trace.fidelity == "order_only"
    assert trace.attributes == {
        "started_at": MADE[1]["timestamp"],
        "versions": ["2.1.12"],
    }
    assert {s.step_id: s.signals for s in trace.steps if s.signals} == {
        "msg_6": ("truncated",),
        "msg_7": ("unanswered_call",),
        "msg_8": ("final_answer",),
    }
    failed = {s.step_id: (s.status_source, s.error_message) for s in trace.steps if s.error_message}
    assert failed == {
        "toolu_2": ("recorded", "Exit code 1\n1 failed"),
        "toolu_4": ("recorded", "The user doesn't want to proceed with this tool use."),
        "msg_5": ("recorded", "API Error: 529 overloaded"),
    }
    assert steps["msg_5"].model is None  # the client wrote it, no model
    assert (steps["msg_7"].cost, steps["msg_7"].duration_ns) == ("0.0125", 2_900_000_000)
    assert {step.step_id for step in trace.steps if step.agent == "a1b2c3"} == {
        "msg_s1",
        "toolu_s1",
        "msg_s2",
    }
    assert steps["toolu_1"].result_digest == digest_text("x = 1")  # a list of one text is the text
    assert steps["toolu_9"].orphan
    assert [gap.code for gap in trace.gaps] == ["claude_code.result_without_call"]


def test_a_sub_agents_own_file_is_a_trace_of_the_session() -> None:
    data = fixture("claude_code/made_agent-a1b2c3.jsonl").read_bytes()
    (trace,) = iterate(columns_of(data, strict=True))
    assert (trace.trace_id, trace.session_id) == ("agent-a1b2c3", SESSION)
    assert [step.step_id for step in trace.steps] == ["msg_s1", "toolu_s1", "msg_s2"]


def test_a_line_copied_is_one_line_and_an_id_of_two_lines_is_disclosed() -> None:
    whole = made()
    copied = made([*MADE, *MADE[3:6]])
    assert causes_of(copied) == causes_of(whole)
    assert {gap.code: gap.count for gap in copied.gaps} == {
        "claude_code.duplicate_identical": 3,
        "claude_code.result_without_call": 1,
    }
    other = json.loads(json.dumps(MADE[-2]))
    other["message"]["content"][0]["text"] = "Something else."
    found = made([*MADE, other])
    assert {gap.code for gap in found.gaps} >= {"claude_code.duplicate_conflict"}
    assert [s.output for s in found.steps if s.step_id == "msg_8"] == ["Something else."]
    with pytest.raises(StrictError, match=r"claude_code\.duplicate_conflict"):
        traces_of([*MADE, other], strict=True)


def test_a_line_whose_answered_line_is_not_here_is_an_orphan() -> None:
    lines = [line for line in MADE if line.get("uuid") != "u2b"]
    trace = made(lines)
    assert [s.step_id for s in trace.steps if s.orphan] == ["msg_5", "toolu_9"]
    assert {gap.code: gap.count for gap in trace.gaps}["claude_code.missing_parent"] == 1
    assert ("msg_5", "msg_3", "message", "declared") not in causes_of(trace)


def test_lines_that_answer_each_other_in_a_circle_are_read() -> None:
    lines = json.loads(json.dumps(MADE))
    by_id = {line.get("uuid"): line for line in lines}
    by_id["u1"]["parentUuid"] = "a11"
    assert len(made(lines)) == len(made())


@pytest.mark.parametrize("keep", [True, False])
def test_bodies_are_kept_on_request_only(keep: bool) -> None:
    columns = columns_of(fixture("claude_code/made_session.jsonl").read_bytes(), keep=keep)
    (trace,) = iterate(columns)
    assert any(step.input or step.output for step in trace.steps) is keep


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_anywhere(data: st.DataObject) -> None:
    lines = damaged(MADE, data.draw(damages_of(MADE)))
    source = Source("x.jsonl", "\n".join(map(json.dumps, lines)).encode())
    try:
        (draft,) = ClaudeCodeAdapter().read([source], ReadOptions(keep_content=True))
    except InputError as error:
        assert str(error).startswith("x.jsonl")
        return
    is_consistent(seal(draft))
