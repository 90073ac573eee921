"""agent-lattice files: the steps, statuses and causes that their rows prove."""

import json
from collections import Counter
from typing import Any

import pytest

from lattice_oracle import causes
from lattice_rows import (
    Row,
    Run,
    Tracer,
    call,
    edges,
    gaps_of,
    lines,
    pairs,
    read_bytes,
    read_rows,
    returned,
)
from shared_data import fixture, shared
from trace_view import the
from tracegraph.ingest.times import parse_time
from tracegraph.model.digest import digest_value
from tracegraph.model.trace import Trace

NAMES = ["ok", "failing", "team"]
TEAM = "00000000-0000-4000-8000-000000000007"


def a_file(name: str) -> bytes:
    return fixture(f"agent_lattice/{name}.jsonl").read_bytes()


def read_file(name: str) -> list[Trace]:
    return read_bytes(a_file(name))[0]


def rows_of(name: str) -> list[Row]:
    return [json.loads(line) for line in a_file(name).splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_the_fixtures_are_the_shared_traces(name: str) -> None:
    assert shared(f"traces/agent-lattice/{name}.jsonl").read_bytes() == a_file(name)


@pytest.mark.parametrize("name", [*NAMES, "tricky"])
def test_every_cause_of_the_mapping_and_no_other(name: str) -> None:
    found = {(c.cause, c.effect) for trace in read_file(name) for c in trace.causes}
    assert found == causes(a_file(name))
    assert not any(trace.cyclic for trace in read_file(name))


@pytest.mark.parametrize("name", NAMES)
def test_steps_errors_and_tokens_are_those_of_the_rows(name: str) -> None:
    rows = rows_of(name)
    count = Counter(row["type"] for row in rows)
    traces = read_file(name)
    steps = [step for trace in traces for step in trace.steps]
    kinds = Counter(step.kind for step in steps)
    assert kinds["AGENT"] == len({row["run_id"] for row in rows}) == kinds["CHAIN"]
    assert (kinds["LLM"], kinds["TOOL"]) == (count["model_request"], count["tool_use"])
    assert kinds["PROMPT"] == count["run_start"]  # batches are no steps
    assert len(traces) == len({r["run_id"] for r in rows if "parent_run_id" not in r})
    assert [gaps_of(trace) for trace in traces] == [{}] * len(traces)

    recorded = [r["data"] for r in rows if r["type"] in ("tool_result", "result")]
    failed = [data for data in recorded if data["is_error"]]
    unanswered = count["model_request"] - count["assistant_message"]  # each by an API error
    errors = [step for step in steps if step.status == "error"]
    assert len(errors) == len(failed) + unanswered
    assert Counter(step.error_type for step in errors if step.kind != "LLM") == Counter(
        data.get("error", {}).get("name") for data in failed
    )
    usage = [r["data"]["message"]["usage"] for r in rows if r["type"] == "assistant_message"]
    total = sum(u["input_tokens"] + u["output_tokens"] for u in usage)
    assert sum(s.tokens_total or 0 for s in steps if s.kind == "LLM") == total


def test_successive_queries_are_traces_of_one_session() -> None:
    first, second = read_file("ok")
    assert (first.session_id, first.run_id) == (second.session_id, first.trace_id)
    assert first.agent == "planner"
    assert pairs(second) == {("14", "15"), ("15", "17"), ("17", "20"), ("20", "22")}


def test_concurrent_tools_have_one_cause_and_join_in_their_reader() -> None:
    trace = read_file("ok")[0]
    assert edges(trace) == {
        ("2", "3", "edge"),
        ("3", "5", "tool_call_id"),
        ("3", "6", "tool_call_id"),
        ("5", "10", "tool_call_id"),
        ("6", "10", "tool_call_id"),
        ("10", "12", "edge"),
    }
    tokyo, paris = the(trace, "5"), the(trace, "6")
    assert tokyo.result_digest == digest_value("Tokyo: 22C")  # though it returned last
    assert paris.args_digest == digest_value({"city": "Paris", "ms": 4})
    assert (tokyo.duration_ns, paris.duration_ns) == (130_000_000, 40_000_000)
    assert (tokyo.tool_call_id, tokyo.name, tokyo.agent) == ("toolu_1", "get_weather", "planner")
    assert the(trace, "3").duration_ns == 70_000_000  # to when the model call settled
    assert the(trace, "10").signals == ("final_answer",)
    assert the(trace, "3").model == "deepseek-v4-flash"


def test_failures_are_told_by_flags_and_not_by_text() -> None:
    (trace,) = read_file("failing")
    told = {s.step_id: (s.status, s.error_type, s.error_message) for s in trace.steps}
    assert told["5"] == ("error", "ToolExecutionError", "Tool search failed: upstream 503")
    assert told["15"] == ("ok", None, None)
    assert told["17"] == ("error", None, "User denied delete_file")  # no error field
    assert told["22"] == ("error", "APIError", "529 overloaded_error")  # never answered
    assert told[trace.trace_id] == told["22"]
    assert trace.status == "error"
    assert the(trace, "13").signals == ("unknown_tool",)  # fetch_url was not on offer


def test_a_team_is_one_causal_graph() -> None:
    (trace,) = read_file("team")
    assert (trace.trace_id, trace.status) == (TEAM, "ok")
    found = edges(trace)
    assert {e for e in found if e[2] in ("message", "protocol", "data_flow")} == {
        ("2", "4", "protocol"),  # the team's prompt is the first lead's
        ("7", "9", "data_flow"),  # ask: no receipt, the task reappears
        ("12", "15", "protocol"),  # and the lead reads what the member answered
        ("17", "24", "message"),
        ("18", "27", "message"),
        ("41", "43", "message"),  # two replies
        ("39", "43", "message"),
        ("46", "47", "protocol"),  # the team's result is the last lead's
    }
    # What the receipts said was read when the lead was called again, and not before.
    assert {e for e in found if e[0] in ("17", "18") and e[2] == "tool_call_id"} == {
        ("17", "44", "tool_call_id"),
        ("18", "44", "tool_call_id"),
    }


def test_a_failed_member_is_an_error_behind_an_ordinary_reply() -> None:
    (trace,) = read_file("team")
    assert [s.step_id for s in trace.steps if s.status == "error"] == [
        "00000000-0000-4000-8000-000000000015",
        "32",
        "35",
    ]
    chain = [("32", "35"), ("35", "39"), ("39", "43"), ("43", "44"), ("44", "46"), ("46", "47")]
    assert set(chain) <= pairs(trace)


def test_a_lead_that_only_queued_work_gives_no_final_answer() -> None:
    (trace,) = read_file("team")
    final = [s.step_id for s in trace.steps if "final_answer" in s.signals]
    assert final == ["38", "44"]  # a member's, and the last lead's; not the one before line 22


def test_three_interleaved_sessions_and_all_that_happens_in_them() -> None:
    traces, gaps = read_bytes(a_file("tricky"))
    assert gaps == {"agent_lattice.torn_line": 1}
    told = {t.trace_id: (t.session_id, t.status, len(t), gaps_of(t)) for t in traces}
    assert told == {
        "run-a": ("session-a", "ok", 9, {}),
        "run-b": ("session-b", "error", 7, {}),
        "run-c": ("session-c", "ok", 6, {}),
        "run-d": ("session-d", "ok", 4, {}),  # a sub-agent outside of a team: not one trace
        "run-e": ("session-a", "ok", 8, {"agent_lattice.redacted": 1}),
        "run-f": ("session-f", "unset", 5, {}),
        "run-g": ("session-g", "unset", 4, {}),
    }


def by_id() -> dict[str, Trace]:
    return {trace.trace_id: trace for trace in read_file("tricky")}


def test_an_overflow_is_compacted_and_tried_again() -> None:
    trace = by_id()["run-a"]
    assert the(trace, "22").status_source == "compaction.recovered_from_overflow"
    assert the(trace, "25").name == "compaction"
    assert {edge for edge in edges(trace) if edge[1] in ("25", "27")} == {
        ("22", "25", "edge"),
        ("25", "27", "edge"),
        ("22", "27", "protocol"),  # the retry
        ("10", "27", "tool_call_id"),  # its history shows that both results were kept
        ("12", "27", "tool_call_id"),
    }
    assert the(trace, "10").result_digest == digest_value("3 hits")  # recorded as blocks


def test_an_id_that_a_run_uses_again_is_another_call() -> None:
    trace = by_id()["run-b"]
    assert (the(trace, "13").status, the(trace, "24").status) == ("ok", "error")
    assert pairs(trace) >= {("8", "13"), ("13", "21"), ("21", "24"), ("24", "42")}
    assert the(trace, "run-b").error_type == "MaxTurnsError"
    assert the(trace, "13").args_digest != the(trace, "24").args_digest


def test_a_rejected_batch_is_three_failed_tools() -> None:
    trace = by_id()["run-e"]
    tools = [step for step in trace.steps if step.kind == "TOOL"]
    assert [tool.error_type for tool in tools] == ["ToolBatchRejectedError"] * 3


def test_an_interrupted_run_did_not_fail() -> None:
    run = the(by_id()["run-f"], "run-f")
    assert (run.status, run.status_source, run.signals) == ("unset", "control_flow", ("interrupt",))


def test_a_model_call_that_was_interrupted_did_not_fail_and_lacks_nothing() -> None:
    run = Run(Tracer(), "r").start("go").request().end("", "interrupted")
    trace = read_rows(run.tracer.rows)
    assert (the(trace, "3").status, gaps_of(trace)) == ("unset", {})
    assert ("3", "4") in pairs(trace)


def test_a_crash_leaves_steps_that_never_ended() -> None:
    trace = by_id()["run-g"]
    assert [(s.step_id, s.status) for s in trace.steps if s.kind in ("AGENT", "TOOL")] == [
        ("run-g", "unset"),
        ("67", "unset"),
    ]
    assert the(trace, "run-g").end is None


def test_images_are_kept_as_their_size_only() -> None:
    prompt = the(by_id()["run-c"], "7")
    assert "Gamma question" in (prompt.input or "")
    assert "[base64: 660 characters]" in (prompt.input or "")
    assert len(prompt.input or "") < 300


@pytest.mark.parametrize(
    ("flag", "status", "kind", "message", "signals", "gaps"),
    [
        ({"is_error": True}, "error", None, "text", (), {}),
        ({"is_error": True, "error": {"name": "E", "message": "m"}}, "error", "E", "m", (), {}),
        (
            {"is_error": False, "error": {"name": "E", "message": "m"}},  # a hook turned it
            "ok",
            None,
            None,
            ("tool_error",),
            {"agent_lattice.status_contradicts_error": 1},
        ),
        ({"is_error": None}, "unset", None, None, (), {"agent_lattice.missing_field": 1}),
        (
            {"is_error": None, "error": {"name": "E"}},
            "error",
            "E",
            "text",
            (),
            {"agent_lattice.missing_field": 1},
        ),
        ({"is_error": "yes"}, "unset", None, None, (), {"agent_lattice.missing_field": 1}),
    ],
)
def test_the_status_of_a_tool(
    flag: Row, status: str, kind: str, message: str, signals: tuple[str, ...], gaps: dict[str, int]
) -> None:
    run = (
        Run(Tracer(), "r").start("go").think(call("1")).use(call("1")).returns("1", "text", **flag)
    )
    trace = read_rows(run.tracer.rows)
    tool = the(trace, "5")
    assert (tool.status, tool.error_type, tool.error_message) == (status, kind, message)
    assert (tool.signals, gaps_of(trace)) == (signals, gaps)


@pytest.mark.parametrize(
    ("data", "status", "source", "kind", "gap"),
    [
        ({"subtype": "success", "is_error": False}, "ok", "result", None, 0),
        ({"subtype": "error_max_turns", "is_error": True}, "error", "result", "error_max_turns", 0),
        ({"subtype": "error_abort", "is_error": True}, "error", "result", "error_abort", 0),
        ({"subtype": "error_timeout", "is_error": True}, "error", "result", "error_timeout", 0),
        ({"subtype": "error", "is_error": True}, "error", "result", None, 0),
        ({"subtype": "interrupted", "is_error": True}, "unset", "control_flow", None, 0),
        ({"subtype": "error", "is_error": False}, "error", "result", None, 1),
        ({"subtype": "success", "is_error": True}, "error", "result", None, 1),
        (
            {"subtype": "success", "is_error": False, "error": {"name": "E"}},
            "ok",
            "result",
            None,
            1,
        ),
    ],
)
def test_the_status_of_a_run(data: Row, status: str, source: str, kind: str, gap: int) -> None:
    run = Run(Tracer(), "r").start("go").think("hm")
    run.write("result", result="", num_turns=1, **data)
    trace = read_rows(run.tracer.rows)
    step = the(trace, "r")
    assert (step.status, step.status_source, step.error_type) == (status, source, kind)
    assert trace.status == status
    assert gaps_of(trace) == ({"agent_lattice.status_contradicts_error": 1} if gap else {})


def test_a_result_that_says_nothing_is_no_success() -> None:
    run = Run(Tracer(), "r").start("go").think("hm")
    run.write("result", result="hm")
    trace = read_rows(run.tracer.rows)
    assert (trace.status, gaps_of(trace)) == ("unset", {"agent_lattice.missing_field": 1})


def test_an_error_row_belongs_to_the_open_request_else_to_the_run() -> None:
    error = {"name": "APIError", "message": "529"}
    run = Run(Tracer(), "r").start("go").request()
    run.write("error", error=error)
    trace = read_rows(run.tracer.rows)
    assert (the(trace, "3").error_type, trace.status) == ("APIError", "unset")
    run = Run(Tracer(), "r").start("go").think("hm")
    run.write("error", error=error)
    trace = read_rows(run.tracer.rows)
    assert (the(trace, "r").error_message, trace.status) == ("529", "error")
    run.end()
    trace = read_rows(run.tracer.rows)
    assert (trace.status, the(trace, "r").signals) == ("ok", ("tool_error",))


def test_a_cut_answer_is_truncated_and_no_final_one() -> None:
    run = Run(Tracer(), "r").start("go").request().answer("frag", stop="max_tokens").end("frag")
    assert the(read_rows(run.tracer.rows), "3").signals == ("truncated",)


def test_a_call_that_never_ran_is_unanswered() -> None:
    run = Run(Tracer(), "r").start("go").turn(call("1")).think(call("2"))
    run.end("", "error_max_turns")
    trace = read_rows(run.tracer.rows)
    assert the(trace, "8").signals == ("unanswered_call",)
    assert ("8", "10") in pairs(trace)


def test_bodies_stay_out_of_a_draft_that_keeps_none() -> None:
    (trace,), _ = read_bytes(a_file("failing"), keep=False)
    assert {(s.input, s.output, bool(s.attributes)) for s in trace.steps} == {(None, None, False)}


def test_bodies_are_kept_on_purpose() -> None:
    trace = read_file("ok")[0]
    assert the(trace, "2").input == "Compare the weather in Tokyo and Paris."
    assert json.loads(the(trace, "3").input or "") == rows_of("ok")[2]["data"]["messages"]
    assert the(trace, "5").attributes == {"description": "Current weather"}
    assert the(trace, "5").output == "Tokyo: 22C"
    assert the(trace, "12").output == "Both 22C."


def turn_of(run: Run, ids: tuple[str, ...]) -> dict[str, Any]:
    """Run one turn and return the rows of it that a test may hold back."""
    run.think(*(call(i, q=i) for i in ids))
    kept = {"answer": run.tracer.rows[-1], "request": run.tracer.rows[-2]}
    for i in ids:
        run.use(call(i, q=i))
        kept[f"use {i}"] = run.tracer.rows[-1]
    for i in ids:
        run.returns(i)
        kept[f"result {i}"] = run.tracer.rows[-1]
    run.batch(*(returned(i) for i in ids))
    kept["batch"] = run.tracer.rows[-1]
    return kept


@pytest.mark.parametrize(
    ("held_back", "code", "origins"),
    [
        ("request", "missing_model_request", {"tool_call_id"}),
        ("answer", "missing_assistant_message", {"protocol", "tool_call_id"}),
        ("use 1", "missing_tool_use", {"tool_call_id"}),
        ("result 1", "missing_tool_result", {"tool_call_id"}),
        ("batch", None, {"protocol", "tool_call_id"}),
    ],
)
def test_a_row_that_was_held_back_costs_no_cause(
    held_back: str, code: str | None, origins: set[str]
) -> None:
    run = Run(Tracer(), "r").start("go")
    rows = turn_of(run, ("1", "2"))
    run.think("done").end()
    kept = [row for row in run.tracer.rows if row is not rows[held_back]]
    (trace,), gaps = read_bytes(lines(kept))
    assert gaps == {"agent_lattice.missing_row": 1}
    assert gaps_of(trace) == ({f"agent_lattice.{code}": 1} if code else {})
    tools = [s for s in trace.steps if s.kind == "TOOL"]
    first, last = (s for s in trace.steps if s.kind == "LLM")
    assert [(t.name, t.status, t.args_digest is not None) for t in tools] == [
        ("search", "ok", True)
    ] * 2
    held = {(c.cause, c.effect): c.origin for c in trace.causes if c.origin != "span_parent"}
    around = [(first.step_id, t.step_id) for t in tools] + [
        (t.step_id, last.step_id) for t in tools
    ]
    assert set(around) <= held.keys()
    assert {held[pair] for pair in around} == origins
    assert len([pair for pair in held if pair[0] in {t.step_id for t in tools}]) == 2


def test_calls_of_which_only_the_batch_is_left() -> None:
    run = Run(Tracer(), "r").start("go")
    rows = turn_of(run, ("1", "2"))
    run.think("done").end()
    gone = [rows["use 1"], rows["result 1"]]
    (trace,), _ = read_bytes(lines([r for r in run.tracer.rows if all(r is not g for g in gone)]))
    assert gaps_of(trace) == {"agent_lattice.missing_tool_use": 1}
    tool = the(trace, "7.1")
    assert (tool.name, tool.tool_call_id, tool.start) == ("search", "1", None)
    assert {("3", "7.1"), ("7.1", "8")} <= pairs(trace)


def test_placeholders_of_a_redaction_are_no_equal_arguments() -> None:
    run = Run(Tracer(), "r").start("[redacted]")
    rows = turn_of(run, ("1", "2"))
    for name in ("use 1", "use 2"):
        rows[name]["data"]["input"] = "[redacted]"
    rows["answer"]["data"]["message"] = "[redacted]"
    rows["batch"]["data"]["message"]["content"] = "[redacted]"
    rows["request"]["data"]["messages"] = "[redacted]"
    run.think("done").end()
    trace = read_rows(run.tracer.rows)
    assert gaps_of(trace) == {"agent_lattice.redacted": 5}
    assert {the(trace, i).args_digest for i in ("5", "6")} == {None}
    assert edges(trace) == {
        ("2", "3", "edge"),
        ("3", "5", "protocol"),  # its turn
        ("3", "6", "protocol"),
        ("5", "10", "protocol"),
        ("6", "10", "protocol"),
        ("10", "12", "edge"),
    }


def test_placeholders_in_an_answer_are_no_equal_arguments_either() -> None:
    run = Run(Tracer(), "r").start("go")
    rows = turn_of(run, ("1", "2"))
    for block in rows["answer"]["data"]["message"]["content"]:
        block["input"] = "[redacted]"
    for name in ("use 1", "use 2"):
        rows[name]["data"]["input"] = "[redacted]"
    trace = read_rows(run.tracer.rows)
    assert {the(trace, i).args_digest for i in ("5", "6")} == {None}
    assert {("3", "5"), ("3", "6")} <= pairs(trace)


def test_rows_in_two_sinks_are_read_once() -> None:
    rows = Run(Tracer(), "r").start("go").turn(call("1")).think("done").end().tracer.rows
    doubled = [row for row in rows for _ in range(2)]
    once, twice = read_rows(rows), read_rows(doubled)
    assert gaps_of(twice) == {"agent_lattice.duplicate_row": len(rows)}
    assert (len(twice), len(pairs(twice))) == (len(once), len(pairs(once)))


def test_a_sequence_that_starts_anew_is_another_tracer() -> None:
    first = Run(Tracer(), "r1").start("go").think("done").end()
    second = Run(Tracer(), "r2").start("go").think("done").end()
    traces, gaps = read_bytes(lines(first.tracer.rows + second.tracer.rows))
    assert [len(trace) for trace in traces] == [4, 4]
    assert gaps == {}


def test_a_run_without_run_start_is_still_a_run() -> None:
    run = Run(Tracer(), "r").start("go").think("done").end()
    (trace,), _ = read_bytes(lines(run.tracer.rows[1:]))
    assert gaps_of(trace) == {"agent_lattice.missing_run_start": 1}
    assert (the(trace, "r").name, trace.status, len(trace)) == ("worker", "ok", 4)


@pytest.mark.parametrize("is_first_done_first", [True, False])
def test_the_batch_tells_two_calls_with_one_id_apart(is_first_done_first: bool) -> None:
    """It is in the order of the calls; the rows of results are in that in which calls ended."""
    run = Run(Tracer(), "r").start("go").think(call("1", q="a"), call("1", "read", q="b"))
    run.use(call("1", q="a")).use(call("1", "read", q="b"))
    ends = [("of search", False), ("of read", True)]
    for content, failed in ends if is_first_done_first else reversed(ends):
        run.returns("1", content, is_error=failed)
    run.batch(returned("1", "of search"), returned("1", "of read", is_error=True))
    trace = read_rows(run.think("done").end().tracer.rows)
    assert gaps_of(trace) == {"agent_lattice.ambiguous_result": 1}
    for key, name, content, status in (
        ("5", "search", "of search", "ok"),
        ("6", "read", "of read", "error"),
    ):
        step = the(trace, key)
        assert (step.name, step.status, step.status_source) == (name, status, "tool_result")
        assert step.result_digest == digest_value(content)
        row = 7 if (content == "of search") is is_first_done_first else 8
        assert step.end == parse_time(run.tracer.rows[row - 1]["timestamp"])


def test_two_open_calls_with_one_id_are_paired_backwards_and_disclosed() -> None:
    run = Run(Tracer(), "r").start("go").think(call("1", q="a"), call("1", "read", q="b"))
    run.use(call("1", q="a")).use(call("1", "read", q="b"))
    run.returns("1", "of read").returns("1", "of search")
    run.batch(returned("1", "of search"), returned("1", "of read")).think("done").end()
    trace = read_rows(run.tracer.rows)
    assert gaps_of(trace) == {"agent_lattice.ambiguous_result": 1}
    assert the(trace, "5").result_digest == digest_value("of search")
    assert pairs(trace) == {
        ("2", "3"),
        ("3", "5"),
        ("3", "6"),
        ("5", "10"),
        ("6", "10"),
        ("10", "12"),
    }


def test_a_call_that_no_answer_asked_for_has_no_cause() -> None:
    run = Run(Tracer(), "r").start("go").think(call("1")).use(call("2")).returns("2")
    trace = read_rows(run.batch(returned("2")).think("done").end().tracer.rows)
    assert gaps_of(trace) == {"agent_lattice.unrequested_tool": 1}
    assert not any(effect == "5" for _, effect in pairs(trace))
    assert ("5", "8") in pairs(trace)


def test_a_compaction_hides_what_the_history_no_longer_shows() -> None:
    run = Run(Tracer(), "r").start("go").turn(call("1"))
    run.write("compaction", compacted_messages=4, retained_messages=0, summary="so far")
    run.request([{"role": "user", "content": "so far"}]).answer("done").end()
    trace = read_rows(run.tracer.rows)
    assert edges(trace) == {
        ("2", "3", "edge"),
        ("3", "5", "tool_call_id"),
        ("5", "8", "protocol"),
        ("8", "9", "edge"),
        ("9", "11", "edge"),
    }


def test_a_second_result_is_disclosed() -> None:
    run = Run(Tracer(), "r").start("go").think("done").end().end("", "error")
    trace = read_rows(run.tracer.rows)
    assert (trace.status, gaps_of(trace)) == ("ok", {"agent_lattice.repeated_result": 1})


def test_a_prompt_that_a_compaction_kept_is_read_too() -> None:
    for history, kept in ((["so far", "go"], True), (["so far"], False)):
        run = Run(Tracer(), "r").start("go")
        run.write("compaction", compacted_messages=4, retained_messages=1, summary="so far")
        run.request([{"role": "user", "content": text} for text in history]).answer("done").end()
        found = pairs(read_rows(run.tracer.rows))
        assert {("2", "3"), ("3", "4"), ("4", "6")} <= found
        assert (("2", "4") in found) == kept
