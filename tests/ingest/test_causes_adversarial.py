"""Message-level causes where ids, clocks, histories and instrumentation mislead."""

import json
from itertools import permutations
from typing import Any

import pytest

from otlp_data import START, any_value, by_number, chat, edges, only, span, tool
from trace_view import gaps
from tracegraph.model.trace import Trace

MESSAGES = ("tool_call_id", "protocol")
CATS = '{"q": "cats"}'
FAILED: dict[str, Any] = {"status": {"code": 2}}


def told(trace: Trace) -> set[tuple[int, int]]:
    """Return (effect, cause) of the edges that messages tell."""
    return {(effect, cause) for effect, cause, _, _ in edges(trace, *MESSAGES)}


def ask(call_id: str | None, name: str = "search", args: str = CATS) -> tuple[str | None, str, str]:
    return call_id, name, args


def signals(trace: Trace) -> dict[int, tuple[str, ...]]:
    return {n: step.signals for n, step in by_number(trace).items() if step.signals}


def at(second: float) -> str:
    return str(START + int(second * 1_000_000_000))


@pytest.mark.parametrize("trimmed", [False, True])
def test_ids_counted_anew_in_every_turn(trimmed: bool) -> None:
    spans, expected = [], set()
    for turn in range(6):
        held = ["call_1"] * (min(turn, 1) if trimmed else turn)
        spans += [
            chat(2 * turn + 1, reads=held, asks=[ask("call_1", f"tool_{turn % 2}")]),
            tool(2 * turn + 2, f"tool_{turn % 2}", call_id="call_1"),
        ]
        expected |= {(2 * turn + 2, 2 * turn + 1), (2 * turn + 3, 2 * turn + 2)}
    spans.append(chat(13, reads=["call_1"] * (1 if trimmed else 6)))
    assert told(only(*spans)) == expected


def test_workers_without_agent_spans_keep_their_own_calls() -> None:
    """Plain functions side by side under one root, each counting its calls from zero."""
    spans = [span(1, "root", "CHAIN")]
    expected = set()
    for worker in range(3):
        own = 10 + worker
        spans += [
            span(own, f"worker {worker}", "CHAIN", parent=1),
            span(20 + worker, "inner", "CHAIN", parent=own),
            chat(30 + worker, asks=[ask("call_0")], parent=20 + worker),
            tool(40 + worker, "search", CATS, call_id="call_0", parent=own),
            chat(50 + worker, reads=["call_0"], asks=[ask("call_0")], parent=20 + worker),
            tool(60 + worker, "search", CATS, call_id="call_0", parent=own),
            chat(70 + worker, reads=["call_0", "call_0"], parent=own),
            chat(80 + worker, reads=["call_0", "call_0"], parent=own),
        ]
        expected |= {(40 + worker, 30 + worker), (50 + worker, 40 + worker)}
        expected |= {(60 + worker, 50 + worker), (70 + worker, 60 + worker)}
    assert told(only(*spans)) == expected


def test_parallel_agents_with_the_same_call_and_no_ids() -> None:
    spans = [span(1, "root", "CHAIN")]
    for agent in (2, 3):
        spans += [
            span(agent, f"agent {agent}", "AGENT", parent=1),
            chat(agent + 10, asks=[ask(None)], parent=agent),
            tool(agent + 20, "search", CATS, parent=agent),
        ]
    trace = only(*spans)
    assert told(trace) == {(22, 12), (23, 13)}
    assert gaps(trace) == {}


def test_agent_whose_model_was_not_recorded_takes_nobody_elses_call() -> None:
    spans = [span(1, "root", "CHAIN"), span(2, "a", "AGENT", parent=1)]
    spans += [span(3, "b", "AGENT", parent=1), chat(4, asks=[ask(None)], parent=2)]
    spans += [tool(5, "search", CATS, parent=3), tool(6, "search", CATS, parent=2)]
    assert told(only(*spans)) == {(6, 4)}
    by_id = [span(1, "root", "CHAIN"), span(2, "a", "AGENT", parent=1)]
    by_id += [span(3, "b", "AGENT", parent=1), chat(4, asks=[ask("call_0")], parent=2)]
    by_id += [tool(5, "search", CATS, call_id="call_0", parent=3)]
    by_id += [tool(6, "search", CATS, call_id="call_0", parent=2)]
    assert told(only(*by_id)) == {(6, 4)}


def test_summariser_afterwards_only_reads_again() -> None:
    trace = only(
        span(1, "root", "CHAIN"),
        span(2, "agent", "AGENT", parent=1),
        span(3, "summariser", "AGENT", parent=1),
        chat(4, asks=[ask("c")], parent=2),
        tool(5, "search", CATS, call_id="c", parent=2),
        chat(6, reads=["c"], parent=2),
        chat(7, reads=["c"], parent=3),
        chat(8, reads=["c"], parent=2),
    )
    assert told(trace) == {(5, 4), (6, 5)}


def test_summariser_in_between_does_not_take_the_result_away() -> None:
    trace = only(
        span(1, "root", "CHAIN"),
        span(2, "agent", "AGENT", parent=1),
        span(3, "summariser", "AGENT", parent=1),
        span(9, "critic", "AGENT", parent=1),
        chat(4, asks=[ask("c")], parent=2),
        tool(5, "search", CATS, call_id="c", parent=2),
        chat(6, reads=["c"], parent=3),
        chat(7, reads=["c"], parent=2),
        chat(8, reads=["c"], parent=9),
    )
    assert told(trace) == {(5, 4), (6, 5), (7, 5)}


def test_swarm_that_rereads_everything_has_one_reader_a_handoff() -> None:
    count = 12
    spans = [span(1, "root", "CHAIN")]
    expected = set()
    for n in range(count):
        agent = 10 * (n + 1)
        spans += [
            span(agent, f"agent {n}", "AGENT", parent=1),
            chat(
                agent + 1,
                reads=[f"t{i}" for i in range(n)],
                asks=[ask(f"t{n}", f"transfer_to_{n + 1}", "{}")],
                parent=agent,
            ),
            tool(agent + 2, f"transfer_to_{n + 1}", "{}", call_id=f"t{n}", parent=agent),
        ]
        expected |= {(agent + 2, agent + 1)} | ({(agent + 1, agent - 8)} if n else set())
    assert told(only(*spans)) == expected


@pytest.mark.parametrize("start", ["0", None, at(9)])
def test_asker_whose_start_is_unknown_or_late_still_asked(start: str | None) -> None:
    trace = only(
        chat(1, asks=[ask("c")], startTimeUnixNano=start),
        tool(2, "search", CATS, call_id="c"),
        chat(3, reads=["c"]),
        chat(4, reads=["c"]),
    )
    assert told(trace) == {(2, 1), (3, 2)}
    assert signals(trace) == {}


def test_answer_from_a_cache_asks_and_reads_nothing() -> None:
    trace = only(
        chat(1, asks=[ask("c")]),
        tool(2, "search", CATS, call_id="c"),
        chat(3, says="cached"),
        chat(4, reads=["c"]),
    )
    assert told(trace) == {(2, 1), (4, 2)}


def test_streaming_model_that_ends_after_the_tool_began() -> None:
    trace = only(
        chat(1, asks=[ask("c")], endTimeUnixNano=at(9)),
        tool(2, "search", CATS, call_id="c"),
        tool(3, "search", '{"q": "dogs"}'),
        chat(4, reads=["c"]),
    )
    assert told(trace) == {(2, 1), (4, 2)}


def test_reader_that_starts_before_the_tool_ended() -> None:
    trace = only(
        chat(1, asks=[ask("c")]),
        tool(2, "search", CATS, call_id="c", endTimeUnixNano=at(8)),
        chat(3, reads=["c"]),
    )
    assert told(trace) == {(2, 1), (3, 2)}


def test_repeated_id_is_not_read_before_its_tool_runs() -> None:
    """A side model re-reads the old result between the second request and its tool."""
    trace = only(
        chat(1, asks=[ask("c")]),
        tool(2, "search", CATS, call_id="c"),
        chat(3, reads=["c"], asks=[ask("c")]),
        chat(4, reads=["c"]),
        tool(5, "search", CATS, call_id="c"),
        chat(6, reads=["c", "c"]),
    )
    assert told(trace) == {(2, 1), (3, 2), (5, 3), (6, 5)}


def test_failed_attempts_of_a_model_read_and_so_does_the_one_that_goes_on() -> None:
    trace = only(
        chat(1, asks=[ask("c")]),
        tool(2, "search", CATS, call_id="c"),
        chat(3, reads=["c"], **FAILED),
        chat(4, reads=["c"], **FAILED),
        chat(5, reads=["c"], asks=[ask("d")]),
        chat(6, reads=["c"], **FAILED),
        tool(7, "search", CATS, call_id="d"),
    )
    assert told(trace) == {(2, 1), (3, 2), (4, 2), (5, 2), (7, 5)}


def test_model_that_failed_after_it_spoke_went_on() -> None:
    trace = only(
        chat(1, asks=[ask("c")]),
        tool(2, "search", CATS, call_id="c"),
        chat(3, reads=["c"], says="partial", **FAILED),
        chat(4, reads=["c"]),
    )
    assert told(trace) == {(2, 1), (3, 2)}


def test_one_model_call_recorded_by_two_libraries_is_one_link_of_the_chain() -> None:
    spans = [span(1, "agent", "AGENT")]
    for outer in (10, 20, 30):
        turn = outer // 10
        reads = [f"c{n}" for n in range(1, turn)]
        asks = [ask(f"c{turn}")]
        spans += [
            chat(outer, reads=reads, asks=asks, says="and so", parent=1),
            chat(outer + 1, reads=reads, asks=asks, says="and so", parent=outer),
            tool(outer + 2, "search", CATS, call_id=f"c{turn}", parent=1),
        ]
    trace = only(*spans)
    assert told(trace) == {(12, 11), (21, 12), (22, 21), (31, 22), (32, 31)}
    assert signals(trace) == {}


def test_one_model_call_recorded_twice_without_ids_is_not_ambiguous() -> None:
    spans = [span(1, "agent", "AGENT"), chat(2, asks=[ask(None)], parent=1)]
    spans += [chat(3, asks=[ask(None)], parent=2), tool(4, "search", "cats", parent=1)]
    trace = only(*spans)
    assert told(trace) == {(4, 3)}
    assert gaps(trace) == {}


@pytest.mark.parametrize("inner_id", ["c", None])
def test_one_tool_call_recorded_by_client_and_server_is_one_link(inner_id: str | None) -> None:
    trace = only(
        chat(1, asks=[ask("c"), ask("d", args='{"q": "dogs"}')]),
        tool(2, "search", CATS, call_id="c"),
        tool(3, "search", call_id=inner_id, parent=2),
        tool(4, "search", CATS, call_id=inner_id, parent=3),
        tool(5, "search", '{"q": "dogs"}'),
        chat(6, reads=["c", "d"]),
    )
    assert told(trace) == {(2, 1), (5, 1), (6, 2), (6, 5)}
    assert gaps(trace) == {}


def test_tool_below_the_model_that_asked() -> None:
    spans = [
        chat(1, asks=[ask("c")]),
        tool(2, "search", CATS, call_id="c", parent=1),
        chat(3, reads=["c"], asks=[ask("c")]),
        tool(4, "search", CATS, call_id="c", parent=3),
        chat(5, reads=["c"]),
    ]
    for order in permutations(spans):
        assert told(only(*order)) == {(2, 1), (3, 2), (4, 3), (5, 4)}


def test_agent_as_a_tool_talks_for_itself() -> None:
    """The sub-agent under the tool counts its ids from zero too; no agent span tells it apart."""
    trace = only(
        span(1, "root", "AGENT"),
        chat(2, asks=[ask("call_0", "research", "{}")], parent=1),
        tool(3, "research", "{}", call_id="call_0", parent=1, endTimeUnixNano=at(9)),
        chat(4, asks=[ask("call_0")], parent=3),
        tool(5, "search", CATS, call_id="call_0", parent=3),
        chat(6, reads=["call_0"], asks=[ask("call_1")], parent=3),
        tool(7, "search", CATS, call_id="call_1", parent=3),
        chat(10, reads=["call_0"], parent=1),
    )
    assert told(trace) == {(3, 2), (5, 4), (6, 5), (7, 6), (10, 3)}


def test_tool_that_nobody_asked_for_and_call_that_nobody_ran() -> None:
    trace = only(
        chat(1, asks=[ask("c"), ask("d", "fetch")]),
        tool(2, "search", CATS, call_id="c"),
        tool(3, "audit", "{}"),
        tool(4, "audit", "{}", call_id="x"),
        chat(5, reads=["c"]),
    )
    assert told(trace) == {(2, 1), (5, 2)}
    assert signals(trace) == {1: ("unanswered_call",)}


def test_call_without_any_recorded_tool_is_not_said_to_be_unanswered() -> None:
    spans = [span(1, "agent", "AGENT"), chat(2, asks=[ask("c", "final_answer")], parent=1)]
    assert signals(only(*spans)) == {}


def test_call_without_id_is_not_said_to_be_unanswered() -> None:
    """Anthropic's instrumentation records no ids: the result may well have been read."""
    trace = only(chat(1, asks=[ask(None)]), tool(2, "other", "{}"), chat(3, says="found"))
    assert signals(trace) == {}


def test_failed_attempt_without_id_was_asked_for_and_not_read() -> None:
    trace = only(
        chat(1, asks=[ask("c")]),
        tool(2, "search", CATS, **FAILED),
        tool(3, "search", CATS, call_id="c"),
        chat(4, reads=["c"]),
        tool(5, "search", CATS, **FAILED),
    )
    assert edges(trace) == {
        (2, 1, "protocol", "derived"),
        (3, 1, "tool_call_id", "declared"),
        (4, 3, "tool_call_id", "declared"),
    }


def test_stale_request_does_not_take_the_second_run_of_a_newer_one() -> None:
    trace = only(
        chat(1, asks=[ask("c", "unknown")]),
        chat(2, reads=["c"], asks=[ask("c")]),
        tool(3, "search", CATS, call_id="c", **FAILED),
        tool(4, "search", CATS, call_id="c"),
        chat(5, reads=["c", "c"]),
    )
    assert told(trace) == {(3, 2), (4, 2), (5, 4)}


def test_one_id_for_two_calls_of_one_tool_is_told_apart_by_the_arguments() -> None:
    dogs = '{"q": "dogs"}'
    trace = only(
        chat(1, asks=[ask("c", args=dogs)]),
        chat(2, asks=[ask("c", args=CATS)]),
        tool(3, "search", "dogs", call_id="c"),
        tool(4, "search", CATS, call_id="c"),
    )
    assert told(trace) == {(3, 1), (4, 2)}


def test_error_result_with_an_id_goes_on_like_any_other() -> None:
    trace = only(
        chat(1, asks=[ask("c")]),
        tool(2, "search", CATS, call_id="c", attributes={"error.type": "timeout"}),
        chat(3, reads=["c"], asks=[ask("d")]),
        tool(4, "search", CATS, call_id="d"),
    )
    assert told(trace) == {(2, 1), (3, 2), (4, 3)}
    assert [by_number(trace)[n].status for n in (2, 4)] == ["error", "ok"]


def test_many_workers_with_one_id_are_not_quadratic() -> None:
    spans = [span(1, "root", "CHAIN")]
    expected = set()
    for n in range(1000):
        first = 10 * (n + 1)
        spans += [
            span(first, "w", "CHAIN", parent=1, startTimeUnixNano=at(1)),
            chat(first + 1, asks=[ask("c")], parent=first, startTimeUnixNano=at(2)),
            tool(first + 2, "search", CATS, call_id="c", parent=first, startTimeUnixNano=at(3)),
            chat(first + 3, reads=["c"], parent=first, startTimeUnixNano=at(4)),
        ]
        expected |= {(first + 2, first + 1), (first + 3, first + 2)}
    assert told(only(*spans)) == expected


def test_links_to_the_own_parent_and_both_ways() -> None:
    def link(number: int) -> dict[str, str]:
        return {"traceId": "4f" * 16, "spanId": f"{number:016x}"}

    trace = only(
        span(1, "a", "CHAIN"),
        span(2, "b", "CHAIN", parent=1, links=[link(1)]),
        span(3, "c", "CHAIN", parent=1, links=[link(4)]),
        span(4, "d", "CHAIN", parent=1, links=[link(3), link(3)]),
    )
    assert edges(trace, "span_link") == {
        (2, 1, "span_link", "declared"),
        (3, 4, "span_link", "declared"),
        (4, 3, "span_link", "declared"),
    }
    assert trace.cyclic
    assert gaps(trace) == {"causes.cycle": 1}
    steps = by_number(trace)
    assert [steps[n].lossy for n in (2, 3, 4)] == [False, True, True]
    assert [steps[n].depth for n in (1, 2, 3, 4)] == [0, 1, 1, 1]


CALL = {"type": "tool_call", "id": "c", "name": "search", "arguments": {"q": "cats"}}
ANSWER = {"type": "tool_call_response", "id": "c", "response": "found"}
USE = {"type": "tool_use", "id": "c", "name": "search", "input": {"q": "cats"}}
RESULT = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "x"}]}
AS_OPENAI = {
    "id": "c",
    "type": "function",
    "function": {"name": "search", "arguments": CATS},
}


def said(number: int, **attributes: Any) -> dict[str, Any]:
    """Return a model span with ``gen_ai.`` attributes; what is no text is written as JSON."""
    named = {
        "gen_ai." + key.replace("__", "."): v if isinstance(v, str) else json.dumps(v)
        for key, v in attributes.items()
    }
    return span(number, "chat m", None, attributes={"gen_ai.operation.name": "chat"} | named)


def event(name: str, **attributes: Any) -> dict[str, Any]:
    """Return a ``gen_ai.`` span event."""
    named = {
        key.replace("__", "."): v if isinstance(v, str) else json.dumps(v)
        for key, v in attributes.items()
    }
    listed = [{"key": key, "value": any_value(v)} for key, v in named.items()]
    return {"name": "gen_ai." + name, "attributes": listed}


def with_events(number: int, *events: dict[str, Any]) -> dict[str, Any]:
    return said(number) | {"events": list(events)}


@pytest.mark.parametrize(
    ("asker", "reader"),
    [
        (
            said(1, output__messages=[{"role": "assistant", "parts": [CALL]}]),
            said(
                3,
                input__messages=[
                    {"role": "assistant", "parts": [CALL]},
                    {"role": "tool", "parts": [ANSWER]},
                ],
            ),
        ),
        (
            said(1, output__messages=[{"role": "assistant", "parts": [USE]}]),
            said(3, input__messages=[{"role": "user", "parts": [RESULT]}]),
        ),
        (
            said(1, output__messages=[{"role": "assistant", "content": ["so", USE]}]),
            said(
                3,
                input__messages=[
                    {"role": "user", "content": ["plain", 1]},
                    {"role": "assistant", "content": [USE]},
                    {"role": "user", "content": [RESULT]},
                ],
            ),
        ),
        (
            said(
                1, completion__0__tool_calls__0__id="c", completion__0__tool_calls__0__name="search"
            ),
            said(3, prompt__0__role="user", prompt__0__content=[RESULT]),
        ),
        (
            with_events(
                1,
                event(
                    "client.inference.operation.details",
                    gen_ai__output__messages=[{"role": "assistant", "parts": [CALL]}],
                ),
            ),
            with_events(
                3,
                event(
                    "client.inference.operation.details",
                    gen_ai__input__messages=[{"role": "tool", "parts": [ANSWER]}],
                ),
            ),
        ),
        (
            with_events(
                1,
                event("user.message", content="cats?"),
                event(
                    "choice",
                    gen_ai__event__content={"index": 0, "message": {"tool_calls": [AS_OPENAI]}},
                ),
            ),
            with_events(
                3,
                event("assistant.message", gen_ai__event__content={"tool_calls": [AS_OPENAI]}),
                event("tool.message", gen_ai__event__content={"id": "c", "content": "found"}),
            ),
        ),
        (
            with_events(1, event("choice", index="0", tool_calls=[AS_OPENAI])),
            with_events(3, event("tool.message", id="c", content="found")),
        ),
        (
            with_events(
                1,
                event(
                    "choice",
                    finish_reason="tool_use",
                    message=[
                        {"text": "so"},
                        {"toolUse": {"toolUseId": "c", "name": "search", "input": {"q": "cats"}}},
                    ],
                ),
            ),
            with_events(
                3,
                event("tool.message", content=[{"toolResult": {"toolUseId": "c", "content": []}}]),
            ),
        ),
    ],
    ids=[
        "parts",
        "anthropic parts",
        "anthropic content",
        "indexed",
        "one event",
        "event content",
        "event attributes",
        "bedrock events",
    ],
)
def test_every_spelling_of_a_conversation_is_the_same_chain(
    asker: dict[str, Any], reader: dict[str, Any]
) -> None:
    trace = only(asker, tool(2, "search", CATS, call_id="c"), reader)
    assert edges(trace) == {
        (2, 1, "tool_call_id", "declared"),
        (3, 2, "tool_call_id", "declared"),
    }
    assert gaps(trace) == {}
    without_id = only(asker, tool(2, "search", CATS), reader)
    assert told(without_id) == {(2, 1), (3, 2)}


def test_events_that_are_no_messages_change_nothing() -> None:
    odd = [
        event("choice"),
        event("choice", message="[torn"),
        event("tool.message", content=["x", 1, {}]),
        event("user.message", content='{"a": 1}'),
        event("content.prompt", gen_ai__prompt="cats?"),
        {"name": "gen_ai.choice"},
        {"name": None},
    ]
    trace = only(with_events(1, *odd), tool(2, "search", CATS, call_id="c"))
    assert (edges(trace), gaps(trace)) == (set(), {})
