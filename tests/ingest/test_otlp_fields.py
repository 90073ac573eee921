"""Attribute names of the three conventions -> fields of a step."""

import json
from typing import Any

import pytest

from otlp_data import any_value, by_number, edges, exception, only, span
from trace_view import gaps
from tracegraph.ingest.status import ERROR, OK, UNSET, RaisedException, judge
from tracegraph.model.step import Step


def step(name: str, kind: str | None = None, **attributes: Any) -> Step:
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    (found,) = only(span(1, name, kind, attributes=named)).steps
    return found


@pytest.mark.parametrize(
    ("name", "attributes", "kind", "told"),
    [
        ("x", {"openinference__span__kind": "retriever"}, "RETRIEVER", "x"),
        ("x", {"openinference__span__kind": "SOMETHING"}, "UNKNOWN", "x"),
        ("chat gpt", {"gen_ai__operation__name": "chat"}, "LLM", "gpt"),
        ("embeddings m", {"gen_ai__operation__name": "embeddings"}, "EMBEDDING", "m"),
        (
            "execute_tool a",
            {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "b"},
            "TOOL",
            "b",
        ),
        (
            "invoke_agent A",
            {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "A"},
            "AGENT",
            "A",
        ),
        (
            "plan.task",
            {"traceloop__span__kind": "task", "traceloop__entity__name": "plan"},
            "CHAIN",
            "plan",
        ),
        ("openai.chat", {"llm__request__type": "chat"}, "LLM", "openai.chat"),
        ("executor.process join", {"executor__id": "join"}, "CHAIN", "join"),
        ("GET", {}, "UNKNOWN", "GET"),
    ],
)
def test_kind_and_name(name: str, attributes: dict[str, Any], kind: str, told: str) -> None:
    found = step(name, **attributes)
    assert (found.kind, found.name) == (kind, told)


def test_usage_under_every_name() -> None:
    found = step(
        "chat m",
        gen_ai__operation__name="chat",
        gen_ai__request__model="asked",
        gen_ai__response__model="answered",
        gen_ai__usage__input_tokens=3,
        gen_ai__usage__output_tokens=4,
    )
    told = (found.model, found.tokens_prompt, found.tokens_completion, found.tokens_total)
    assert told == ("answered", 3, 4, 7)
    found = step("x", "LLM", gen_ai__usage__prompt_tokens="5", llm__usage__total_tokens=9.0)
    assert (found.tokens_prompt, found.tokens_completion, found.tokens_total) == (5, None, 9)
    assert step("x", "LLM", llm__cost__total=0.000125).cost == "0.000125"
    assert step("x", "LLM", llm__cost__prompt=0.1, llm__cost__completion=0.2).cost == "0.3"
    assert step("x", "LLM", llm__model_name="unknown").model is None


def test_documents_of_a_retriever() -> None:
    found = step(
        "r",
        "RETRIEVER",
        retrieval__documents__0__document__content="a",
        retrieval__documents__0__document__score=0.5,
        retrieval__documents__1__document__content="b",
    )
    assert found.docs == 2
    assert step("r", "RETRIEVER", output__value='{"documents": []}').docs == 0
    assert step("r", "RETRIEVER", output__value="free text").docs is None
    assert step("r", "CHAIN", output__value="[]").docs is None


@pytest.mark.parametrize(
    "attributes",
    [
        {"session__id": "s"},
        {"gen_ai__conversation__id": "s"},
        {"metadata": '{"thread_id": "s"}'},
        {"metadata__thread_id": "s"},
        {"traceloop__association__properties__thread_id": "s"},
        {"traceloop__association__properties__session_id": "s"},
    ],
)
def test_session(attributes: dict[str, Any]) -> None:
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    assert only(span(1, "x", "CHAIN", attributes=named)).session_id == "s"


def genai(number: int, operation: str, **attributes: Any) -> dict[str, Any]:
    named = {
        "gen_ai." + key.replace("__", "."): value if isinstance(value, str) else json.dumps(value)
        for key, value in attributes.items()
    }
    return span(number, operation, None, attributes={"gen_ai.operation.name": operation} | named)


CALL = {"type": "tool_call", "id": "c", "name": "search", "arguments": {"q": "x"}}
ANSWER = {"type": "tool_call_response", "id": "c", "response": "found"}


@pytest.mark.parametrize(
    ("spoken", "heard"),
    [
        (
            [{"role": "assistant", "parts": [CALL]}],
            [
                {"role": "assistant", "parts": [CALL | {"arguments": '{"q":"x"}'}]},
                {"role": "tool", "parts": [ANSWER]},
            ],
        ),
        (
            [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "c",
                            "type": "function",
                            "function": {"name": "search", "arguments": '{"q": "x"}'},
                        }
                    ],
                }
            ],
            [{"role": "tool", "tool_call_id": "c", "content": "found"}],
        ),
    ],
    ids=["semantic conventions", "as OpenAI writes it"],
)
def test_genai_messages(spoken: Any, heard: Any) -> None:
    trace = only(
        genai(1, "chat", output__messages=spoken),
        genai(
            2,
            "execute_tool",
            tool__name="search",
            tool__call__id="c",
            tool__call__result='"found"',
        ),
        genai(3, "chat", input__messages=heard),
    )
    assert {(e, c) for e, c, _, _ in edges(trace)} == {(2, 1), (3, 2)}
    tool = by_number(trace)[2]
    other = only(
        span(1, "search", "TOOL", attributes={"input.value": '{"q":"x"}', "output.value": "found"})
    )
    assert tool.args_digest == by_number(other)[1].args_digest
    assert tool.result_digest == by_number(other)[1].result_digest


def test_genai_messages_as_structured_values() -> None:
    made = genai(1, "chat")
    structured = {
        "kvlistValue": {
            "values": [{"key": k, "value": any_value(CALL[k])} for k in CALL if k != "arguments"]
        }
    }
    part = {"key": "parts", "value": {"arrayValue": {"values": [structured]}}}
    message = {"kvlistValue": {"values": [part]}}
    made["attributes"].append(
        {"key": "gen_ai.output.messages", "value": {"arrayValue": {"values": [message]}}}
    )
    trace = only(made, genai(2, "execute_tool", tool__name="search", tool__call__id="c"))
    assert edges(trace) == {(2, 1, "tool_call_id", "declared")}


def test_indexed_prompts_and_completions() -> None:
    trace = only(
        genai(
            1,
            "chat",
            completion__0__tool_calls__0__id="c",
            completion__0__tool_calls__0__name="search",
            completion__0__tool_calls__0__arguments='{"q": "x"}',
        ),
        genai(2, "execute_tool", tool__name="search", tool__call__id="c"),
        genai(3, "chat", prompt__0__role="tool", prompt__0__tool_call_id="c"),
    )
    assert {(e, c) for e, c, _, _ in edges(trace)} == {(2, 1), (3, 2)}


def test_unreadable_messages_are_told() -> None:
    trace = only(genai(1, "chat", output__messages="[{"))
    assert gaps(trace) == {"otlp.unreadable_messages": 1}


def test_output_cut_by_a_limit_is_no_final_answer() -> None:
    text = {"type": "text", "content": "so"}
    definitions = [{"type": "function", "name": "search"}]
    told = []
    for reason in ("stop", "length"):
        messages = [{"role": "assistant", "parts": [text], "finish_reason": reason}]
        (found,) = only(
            genai(1, "chat", output__messages=messages, tool__definitions=definitions)
        ).steps
        told.append(found.signals)
    assert told == [("final_answer",), ("truncated",)]


@pytest.mark.parametrize(
    "recorded",
    [
        {"input_str": "{'city': 'Rome'}", "inputs": {"city": "Rome"}, "kwargs": {}},
        {"input_str": "{'city': 'Rome'}", "kwargs": {"tool_call_id": "c"}},
        {"inputs": "{'city': 'Rome'}", "tags": []},
        {"args": [], "kwargs": {"city": "Rome"}},
    ],
)
def test_arguments_of_an_openllmetry_callback(recorded: dict[str, Any]) -> None:
    found = step(
        "execute_tool t",
        traceloop__span__kind="tool",
        traceloop__entity__input=json.dumps(recorded),
    )
    assert found.args_digest == step("t", "TOOL", input__value='{"city": "Rome"}').args_digest


@pytest.mark.parametrize(
    "envelope",
    [
        {"type": "tool", "data": {"content": '{"a": 1}', "tool_call_id": "c", "status": "success"}},
        {"type": "tool", "content": {"a": 1}, "tool_call_id": "c"},
        {"lc": 1, "id": ["ToolMessage"], "kwargs": {"content": '{"a": 1}', "tool_call_id": "c"}},
        {
            "output": {"lc": 1, "kwargs": {"content": '{"a": 1}', "tool_call_id": "c"}},
            "kwargs": {"name": "t"},
        },
        {
            "graph": "__parent__",
            "update": {
                "messages": [
                    {"type": "human", "data": {"content": "hi"}},
                    {"type": "tool", "data": {"content": '{"a": 1}', "tool_call_id": "c"}},
                ]
            },
        },
    ],
)
def test_result_is_the_content_without_its_envelope(envelope: dict[str, Any]) -> None:
    found = step("t", "TOOL", output__value=json.dumps(envelope))
    assert found.result_digest == step("t", "TOOL", output__value='{"a":1.0}').result_digest
    assert found.tool_call_id == "c"


def test_a_result_that_only_looks_like_an_envelope_is_kept_whole() -> None:
    whole = step("t", "TOOL", output__value='{"data": {"content": "x"}, "isError": true}')
    inner = step("t", "TOOL", output__value="x")
    assert whole.result_digest != inner.result_digest
    assert whole.status == "error"


def test_failed_tool_message_under_ok_is_a_signal() -> None:
    message = {"type": "tool", "data": {"content": "no", "status": "error"}}
    found = step("t", "TOOL", output__value=json.dumps(message))
    assert (found.status, found.signals) == ("ok", ("tool_error",))


@pytest.mark.parametrize(
    ("recorded", "arguments", "status", "source"),
    [
        (UNSET, {"ended": True}, OK, "default"),
        (UNSET, {"ended": False}, UNSET, None),
        (ERROR, {"ended": False}, ERROR, "recorded"),
        (UNSET, {"ended": True, "exceptions": [RaisedException()]}, OK, "default"),
        (UNSET, {"ended": True, "exceptions": [RaisedException(message="x")]}, ERROR, "exception"),
        (OK, {"ended": True, "exceptions": [RaisedException("E")]}, OK, "recorded"),
        (UNSET, {"ended": True, "error_type": "timeout"}, ERROR, "error.type"),
        (UNSET, {"ended": True, "tool_status": "Error"}, ERROR, "gen_ai.tool.status"),
        (
            ERROR,
            {"ended": True, "exceptions": [RaisedException("langgraph.errors.ParentCommand")]},
            UNSET,
            "control_flow",
        ),
        (
            ERROR,
            {
                "ended": True,
                "exceptions": [
                    RaisedException("langgraph.errors.GraphInterrupt"),
                    RaisedException("ValueError"),
                ],
            },
            ERROR,
            "recorded",
        ),
    ],
)
def test_status(recorded: int, arguments: dict[str, Any], status: int, source: str | None) -> None:
    verdict = judge(recorded, **arguments)
    assert (verdict.status, verdict.source) == (status, source)


def test_unqualified_control_flow_stays_an_error_and_is_told() -> None:
    made = span(1, "x", "CHAIN", status={"code": 2}, events=[exception("GraphInterrupt", "stop")])
    trace = only(made)
    (found,) = trace.steps
    assert (found.status, found.error_message) == ("error", "stop")
    assert gaps(trace) == {"otlp.unqualified_control_flow": 1}


def test_interrupt_under_ok_stays_ok_and_is_findable() -> None:
    raised = exception("langgraph.errors.GraphInterrupt", "ask")
    (found,) = only(span(1, "x", "CHAIN", status={"code": 1}, events=[raised])).steps
    assert (found.status, found.signals, found.error_message) == ("ok", ("interrupt",), None)


def test_open_span_is_unset() -> None:
    (found,) = only(span(1, "x", "CHAIN", endTimeUnixNano=None)).steps
    assert (found.status, found.status_source, found.end) == ("unset", None, None)


def test_error_text_prefers_the_exception_to_the_description() -> None:
    status = {"code": "STATUS_CODE_ERROR", "message": "E: traceback"}
    (found,) = only(span(1, "x", "TOOL", status=status, events=[exception("E", "boom")])).steps
    assert (found.error_type, found.error_message) == ("E", "boom")
    (found,) = only(span(1, "x", "TOOL", status=status)).steps
    assert (found.error_type, found.error_message) == (None, "E: traceback")


@pytest.mark.parametrize(
    ("named", "run_id", "disclosed"),
    [
        ([None, None], None, {}),
        (["r1", None], "r1", {}),
        ([None, "r1"], "r1", {}),
        (["r1", "r1"], "r1", {}),
        (["r1", "r2"], None, {"otlp.conflicting_run_id": 1}),
        (["  ", "r1"], "r1", {}),
    ],
)
def test_the_run_that_spans_name(
    named: list[str | None], run_id: str | None, disclosed: dict[str, int]
) -> None:
    spans = [
        span(number, "s", "CHAIN", attributes={} if run is None else {"syncmill.run_id": run})
        for number, run in enumerate(named, 1)
    ]
    trace = only(*spans)
    assert trace.run_id == run_id
    assert gaps(trace) == disclosed
