import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damage import damaged, damages_of, is_consistent
from shared_data import fixture
from trace_view import gaps, the
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.langgraph_state.adapter import LanggraphStateAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.digest import digest_value
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Row = dict[str, Any]
SNAPSHOT = json.loads(fixture("langgraph_state/snapshot.json").read_text())
SPELLINGS = ["result_constructors", "result_messages_to_dict", "snapshot"]


def read_draft(data: bytes, *, strict: bool = False, keep: bool = True) -> Draft:
    source = Source("x.json", data)
    assert LanggraphStateAdapter().sniff(source)
    (draft,) = LanggraphStateAdapter().read([source], ReadOptions(keep, strict))
    return draft


def read(value: Any, *, strict: bool = False) -> Trace:
    (trace,) = iterate(seal(read_draft(json.dumps(value).encode(), strict=strict)))
    return trace


def read_fixture(name: str) -> Trace:
    path = fixture(f"langgraph_state/{name}.json")
    (trace,) = iterate(seal(read_draft(path.read_bytes(), strict=True)))
    return trace


def edges(trace: Trace) -> list[tuple[str, str, str]]:
    return [(cause.cause, cause.effect, cause.evidence) for cause in trace.causes]


def human(text: str) -> Row:
    return {"type": "human", "content": text}


def asks(key: str, *call_ids: str) -> Row:
    calls = [{"name": "t", "args": {"n": call_id}, "id": call_id} for call_id in call_ids]
    return {"type": "ai", "id": key, "content": "", "tool_calls": calls}


def says(key: str, text: str = "done") -> Row:
    return {"type": "ai", "id": key, "content": text}


def answers(key: str, call_id: str, **fields: Any) -> Row:
    return {"type": "tool", "id": key, "content": f"of {key}", "tool_call_id": call_id, **fields}


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_of_the_same_messages_gives_the_same_steps(name: str) -> None:
    trace = read_fixture(name)
    messages = SNAPSHOT["values"]["messages"]
    results = [m for m in messages if m["type"] == "tool"]
    assert [(s.step_id, s.kind) for s in trace.steps] == [
        (m["id"], "TOOL" if m["type"] == "tool" else "LLM")
        for m in messages
        if m["type"] in ("ai", "tool")
    ]
    bad, good, other = (m["id"] for m in results)
    assert edges(trace) == [
        ("a1", bad, "declared"),
        ("a1", good, "declared"),
        (bad, "a2", "derived"),
        (good, "a2", "derived"),
        ("a2", other, "declared"),
        (other, "a3", "derived"),
    ]
    tools = [s for s in trace.steps if s.kind == "TOOL"]
    assert [s.status for s in tools] == ["error", "ok", "ok"]
    assert tools[0].error_message == results[0]["content"]
    assert [s.args_digest for s in tools] == [
        digest_value({"city": city}) for city in ("Atlantis", "Oslo", "Bergen")
    ]
    assert [s.tool_call_id for s in tools] == [m["tool_call_id"] for m in results]
    assert [s.result_digest for s in tools[1:]] == [
        digest_value(json.loads(m["content"])) for m in results[1:]
    ]
    assert [s.tokens_total for s in trace.steps if s.kind == "LLM"] == [29, 69, 95]
    assert (trace.status, trace.fidelity, gaps(trace)) == ("ok", "order_only", {})
    assert not any(s.start for s in trace.steps)
    assert json.loads(the(trace, "a1").input or "")[0]["content"] == "weather?"


def test_a_snapshot_names_its_thread_and_says_that_nothing_follows() -> None:
    trace = read_fixture("snapshot")
    assert trace.trace_id == trace.session_id == "weather-1"
    assert the(trace, "a3").signals == ("final_answer",)
    assert trace.attributes["checkpoint_id"] == SNAPSHOT["config"]["configurable"]["checkpoint_id"]


def test_an_interrupted_thread_is_neither_failed_nor_ok() -> None:
    trace = read_fixture("snapshot_interrupted")
    assert trace.status == "unset"
    assert the(trace, "a1").signals == ("unanswered_call",)
    assert [(s.kind, s.name, s.status) for s in trace.steps][1:] == [("CHAIN", "tools", "unset")]


def test_without_a_thread_the_file_names_the_trace() -> None:
    path = fixture("langgraph_state/without_thread.json")
    (draft,) = LanggraphStateAdapter().read(
        [Source("folder/chat.json", path.read_bytes())], ReadOptions()
    )
    assert draft.traces.trace_id == ["chat"]
    assert draft.traces.session_id == [None]


def test_a_task_that_failed_is_the_failure_of_the_run() -> None:
    tasks: list[Row] = [{"id": "k", "name": "tools", "error": "ValueError('x')", "interrupts": []}]
    trace = read({"values": {"messages": [human("x"), asks("a", "1")]}, "tasks": tasks})
    assert (trace.status, the(trace, "k").status) == ("error", "error")
    assert the(trace, "k").error_message == "ValueError('x')"
    tasks = [{"id": "k", "name": "ask", "error": None, "interrupts": [{"value": "ok?"}]}]
    trace = read({"values": {"messages": [says("a")]}, "tasks": tasks, "next": ["ask"]})
    assert (trace.status, the(trace, "k").signals) == ("unset", ("interrupt",))


def test_ids_that_repeat_pair_with_the_latest_request() -> None:
    trace = read(
        {
            "messages": [
                asks("a", "1"),
                answers("r", "1"),
                asks("b", "1"),
                asks("c", "1"),
                answers("s", "1"),
                says("d"),
            ]
        }
    )
    assert edges(trace) == [
        ("a", "r", "declared"),
        ("r", "b", "derived"),
        ("c", "s", "declared"),
        ("s", "d", "derived"),
    ]
    assert the(trace, "b").signals == ("unanswered_call",)


def test_two_calls_of_one_message_with_one_id_are_two_calls() -> None:
    """Each result is of the call of its tool, in whatever order the results came."""
    calls = [{"name": name, "args": {"of": name}, "id": "id"} for name in ("fine", "broken")]
    results = [
        {
            "type": "tool",
            "name": "broken",
            "tool_call_id": "id",
            "content": "no",
            "status": "error",
        },
        {"type": "tool", "name": "fine", "tool_call_id": "id", "content": "yes"},
    ]
    trace = read({"messages": [{"type": "ai", "content": "", "tool_calls": calls}, *results]})
    (model, *tools) = trace.steps
    assert [(step.name, step.status) for step in tools] == [("broken", "error"), ("fine", "ok")]
    for step in tools:
        assert step.args_digest == digest_value({"of": step.name})
        assert not step.orphan
    assert "unanswered_call" not in model.signals
    assert not gaps(trace)


def test_a_later_turn_has_no_result_as_cause_and_the_answer_before_is_none() -> None:
    trace = read({"messages": [human("x"), says("a"), human("y"), says("b")]})
    assert edges(trace) == []
    assert (trace.status, [s.kind for s in trace.steps]) == ("ok", ["LLM", "LLM"])


def test_a_result_that_nobody_asked_for_is_a_step_and_disclosed() -> None:
    trace = read({"messages": [human("x"), answers("r", "9"), says("b")]}, strict=True)
    assert gaps(trace) == {"langgraph_state.result_without_call": 1}
    assert the(trace, "r").orphan
    assert edges(trace) == [("r", "b", "derived")]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (None, ("ok", "default")),
        ("success", ("ok", "recorded")),
        ("error", ("error", "recorded")),
        ("odd", ("unset", None)),
        (5, ("unset", None)),
    ],
)
def test_status_of_a_tool(status: object, expected: tuple[str, str | None]) -> None:
    trace = read({"messages": [asks("a", "1"), answers("r", "1", status=status), says("b")]})
    assert (the(trace, "r").status, the(trace, "r").status_source) == expected


def test_what_is_no_message_costs_itself() -> None:
    trace = read({"messages": [human("x"), 5, {"content": "no role"}, says("b"), says("b")]})
    assert [s.step_id for s in trace.steps] == ["b", "b~2"]
    assert gaps(trace) == {"langgraph_state.unreadable_message": 2}
    with pytest.raises(StrictError, match=r"^x\.json: message 2 cannot be used"):
        read({"messages": [human("x"), 5]}, strict=True)


def test_a_truncated_file_is_refused_and_a_truncated_line_costs_itself() -> None:
    data = json.dumps({"messages": [human("x"), says("b")]}).encode()
    with pytest.raises(InputError, match=r"^x\.json: line \d+, column \d+: not JSON"):
        read_draft(data[:-9])
    draft = read_draft(data + b"\n" + data[:-9])
    assert draft.traces.trace_id == ["x"]
    assert draft.file_gaps == {"langgraph_state.unreadable_trace": 1}
    with pytest.raises(InputError, match=r"^x\.json: a state without a list of messages"):
        list(LanggraphStateAdapter().read([Source("x.json", b'{"values": 5}')], ReadOptions()))


def test_a_message_of_5000_levels_costs_that_message() -> None:
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    data = json.dumps({"messages": [human("x"), says("b", "DEEP"), says("c")]})
    (trace,) = iterate(seal(read_draft(data.replace('"DEEP"', deep).encode())))
    assert [s.step_id for s in trace.steps] == ["c"]
    assert gaps(trace) == {"langgraph_state.unreadable_message": 1}


def test_10000_parallel_calls_and_5000_turns() -> None:
    ids = [str(n) for n in range(10_000)]
    wide = [human("x"), asks("a", *ids), *(answers(f"r{n}", n) for n in ids), says("b")]
    trace = read({"messages": wide})
    assert (len(trace), len(edges(trace))) == (10_002, 20_000)
    turns = [
        message
        for n in range(5_000)
        for message in (asks(f"a{n}", f"{n}"), answers(f"r{n}", f"{n}"))
    ]
    trace = read({"messages": turns})
    assert (len(trace), len(edges(trace))) == (10_000, 9_999)


def test_bodies_leave_with_the_content() -> None:
    data = json.dumps({"messages": [human("s3cr3t"), says("b", "s3cr3t")]}).encode()
    columns = seal(read_draft(data, keep=False))
    assert columns.content is None
    assert not any("s3cr3t" in text for text in columns.vocabulary)


INTERRUPTED = json.loads(fixture("langgraph_state/snapshot_interrupted.json").read_text())
CONSTRUCTORS = json.loads(fixture("langgraph_state/result_constructors.json").read_text())


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([SNAPSHOT, INTERRUPTED, CONSTRUCTORS]).flatmap(
        lambda value: st.tuples(
            st.just(value),
            damages_of(value),
        )
    )
)
def test_damaged_states_are_read_or_refused_in_words(made: tuple[Any, list[Any]]) -> None:
    value = damaged(made[0], made[1])
    source = Source("x.json", json.dumps(value).encode())
    try:
        (draft,) = LanggraphStateAdapter().read([source], ReadOptions(True))
    except InputError as error:
        assert str(error).startswith("x.json: ")
        return
    columns = seal(draft)
    is_consistent(columns)
