"""Who asked for a tool step and who read its result, on small made traces."""

import json

from otlp_data import by_number, chat, edges, only, span, tool
from trace_view import gaps

MESSAGES = ("tool_call_id", "protocol")
ASK = ("c1", "search", '{"q": "cats"}')


def test_ids_pair_request_step_and_reader() -> None:
    trace = only(
        chat(1, asks=[ASK]),
        tool(2, "search", '{"q":"cats"}', call_id="c1"),
        chat(3, reads=["c1"]),
        chat(4, reads=["c1"]),
    )
    assert edges(trace) == {
        (2, 1, "tool_call_id", "declared"),
        (3, 2, "tool_call_id", "declared"),
    }


def test_step_without_id_is_paired_with_the_one_fitting_request() -> None:
    asks = [ASK, ("c2", "search", '{"q": "dogs"}'), ("c3", "fetch", "{}")]
    trace = only(chat(1, asks=asks), tool(2, "search", "dogs"), chat(3, reads=["c1", "c2", "c3"]))
    assert edges(trace) == {(2, 1, "protocol", "derived"), (3, 2, "protocol", "derived")}
    steps = by_number(trace)
    other = only(tool(1, "search", '{"q": "dogs"}'))
    assert steps[2].args_digest == by_number(other)[1].args_digest
    assert steps[2].tool_call_id is None


def test_two_fitting_requests_are_left_open_and_told() -> None:
    trace = only(
        chat(1, asks=[ASK, ("c2", "search", '{"q": "cats"}')]),
        tool(2, "search", "cats"),
        tool(3, "search", "cats"),
        chat(4, reads=["c1", "c2"]),
    )
    assert edges(trace) == set()
    assert gaps(trace) == {"otlp.ambiguous_tool_call": 2}
    assert not any(step.signals for step in trace.steps)


def test_other_arguments_do_not_fit() -> None:
    trace = only(chat(1, asks=[ASK]), tool(2, "search", "dogs"), tool(3, "fetch", "cats"))
    assert edges(trace) == set()
    assert gaps(trace) == {}


def test_step_without_arguments_fits_the_only_open_request_of_its_tool() -> None:
    trace = only(chat(1, asks=[ASK]), tool(2, "search"))
    assert edges(trace) == {(2, 1, "protocol", "derived")}


def test_a_step_with_an_id_leaves_its_equal_to_the_one_without() -> None:
    trace = only(
        chat(1, asks=[ASK, ("c2", "search", '{"q": "cats"}')]),
        tool(2, "search", "cats"),
        tool(3, "search", "cats", call_id="c2"),
    )
    assert edges(trace) == {(2, 1, "protocol", "derived"), (3, 1, "tool_call_id", "declared")}


def test_answered_request_is_closed_for_steps_without_id() -> None:
    trace = only(
        chat(1, asks=[ASK]),
        chat(2, reads=["c1"], asks=[("c2", "search", '{"q": "cats"}')]),
        tool(3, "search", "cats"),
        chat(4, reads=["c1", "c2"]),
    )
    assert edges(trace) == {(3, 2, "protocol", "derived"), (4, 3, "protocol", "derived")}


def test_repeated_ids_belong_to_the_latest_open_request() -> None:
    trace = only(
        chat(1, asks=[("c", "search", '{"q": 1}')]),
        tool(2, "search", call_id="c"),
        chat(3, reads=["c"], asks=[("c", "search", '{"q": 2}')]),
        tool(4, "search", call_id="c"),
        chat(5, reads=["c", "c"], asks=[("c", "fetch", "{}")]),
        tool(6, "fetch", call_id="c"),
        chat(7, reads=["c", "c", "c"]),
        chat(8, reads=["c", "c", "c"]),
    )
    told = {(e, c) for e, c, _, _ in edges(trace)}
    assert told == {(2, 1), (3, 2), (4, 3), (5, 4), (6, 5), (7, 6)}


def test_one_id_for_two_functions_is_told_apart_by_the_tool() -> None:
    trace = only(
        chat(1, asks=[("c", "search", "{}"), ("c", "fetch", "{}")]),
        tool(2, "search", call_id="c", attributes={"input.value": '{"a": 1}'}),
        tool(3, "fetch", call_id="c"),
        chat(4, reads=["c", "c"]),
    )
    assert {(e, c) for e, c, _, _ in edges(trace)} == {(2, 1), (3, 1), (4, 2), (4, 3)}


def test_agents_with_equal_ids_keep_their_own_results() -> None:
    trace = only(
        span(1, "root", "CHAIN"),
        span(2, "a", "AGENT", parent=1),
        span(3, "b", "AGENT", parent=1),
        chat(4, asks=[("call_0", "search", "{}")], parent=2),
        chat(5, asks=[("call_0", "search", "{}")], parent=3),
        tool(6, "search", call_id="call_0", parent=2),
        tool(7, "search", call_id="call_0", parent=3),
        chat(8, reads=["call_0"], parent=2),
        chat(9, reads=["call_0"], parent=2),
        chat(10, reads=["call_0"], parent=3),
    )
    told = {(e, c) for e, c, _, _ in edges(trace, *MESSAGES)}
    assert told == {(6, 4), (7, 5), (8, 6), (10, 7)}


def test_trimmed_history_still_holds_the_result() -> None:
    history = "llm.input_messages.1.message.tool_calls.0.tool_call.id"
    trace = only(
        chat(1, asks=[ASK]),
        tool(2, "search", call_id="c1"),
        chat(3, reads=["c1"], attributes={history: "another"}),
        chat(4, reads=["c1"], attributes={history: "c1"}),
    )
    assert {(e, c) for e, c, _, _ in edges(trace)} == {(2, 1), (3, 2)}


def test_repeated_id_without_its_request_in_the_history_is_another_ones() -> None:
    history = "llm.input_messages.1.message.tool_calls.0.tool_call.id"
    trace = only(
        chat(1, asks=[ASK]),
        tool(2, "search", call_id="c1"),
        chat(3, reads=["c1"], attributes={history: "another"}),
        chat(4, reads=["c1"], asks=[ASK], attributes={history: "c1"}),
        tool(5, "search", call_id="c1"),
    )
    assert {(e, c) for e, c, _, _ in edges(trace)} == {(2, 1), (4, 2), (5, 4)}


def test_call_run_again_is_caused_by_the_request_and_the_last_run_is_read() -> None:
    trace = only(
        chat(1, asks=[ASK]),
        tool(2, "search", call_id="c1", status={"code": 2}),
        tool(3, "search", call_id="c1"),
        chat(4, reads=["c1"]),
    )
    assert {(e, c) for e, c, _, _ in edges(trace)} == {(2, 1), (3, 1), (4, 3)}


def test_clock_skew_does_not_undo_declared_ids() -> None:
    trace = only(
        tool(1, "search", call_id="c1"),
        chat(2, asks=[ASK]),
        chat(3, reads=["c1"]),
        tool(6, "search", call_id="c9"),
        chat(5, reads=["c9"]),
        chat(4, asks=[("c9", "search", "{}")]),
    )
    assert {(e, c) for e, c, _, _ in edges(trace)} == {(1, 2), (3, 1), (6, 4), (5, 6)}


def test_result_of_a_call_from_another_trace_has_its_reader() -> None:
    trace = only(tool(1, "search", call_id="c1"), chat(2, reads=["c1"]))
    assert edges(trace) == {(2, 1, "tool_call_id", "declared")}


def test_signals_of_model_steps() -> None:
    offered = ["search"]
    trace = only(
        chat(1, asks=[("c1", "drop_table", "{}")], tools=offered),
        chat(2, reads=["c1"], asks=[("c1", "search", "{}")], tools=offered),
        tool(3, "search", call_id="c1"),
        chat(4, reads=["c1"], says="done", tools=offered),
        chat(5, says="no tools here"),
        chat(6, asks=[("c6", "search", "{}")], tools=offered),
    )
    signals = {n: step.signals for n, step in by_number(trace).items() if step.signals}
    assert signals == {1: ("unknown_tool",), 4: ("final_answer",), 6: ("unanswered_call",)}


def test_call_is_not_unanswered_where_nothing_could_show_an_answer() -> None:
    assert [step.signals for step in only(chat(1, asks=[ASK])).steps] == [()]


def test_long_run_is_not_quadratic_in_edges() -> None:
    spans, ids = [], []
    for turn in range(1, 201):
        ids.append(f"c{turn}")
        spans.append(
            chat(2 * turn, asks=[(ids[-1], "search", json.dumps({"q": turn}))], reads=ids[:-1])
        )
        spans.append(tool(2 * turn + 1, "search", call_id=ids[-1]))
    trace = only(*spans)
    assert len(edges(trace)) == 200 + 199
