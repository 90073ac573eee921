"""Arguments and results as exporters wrap them, and what must not stop a file from being read."""

import json

import pytest

from otlp_data import chat, only, span, tool
from tracegraph.ingest.tool_payload import ToolPayload, make_call, read_arguments
from tracegraph.model.digest import digest_text, digest_value


def callback(inputs: str) -> ToolPayload:
    payload = ToolPayload()
    read_arguments(json.dumps({"inputs": inputs, "tags": []}), payload)
    return payload


def test_python_literals_of_plain_data_are_compared_by_meaning() -> None:
    assert callback("{'a': 1, 'b': None}").args == digest_value({"b": None, "a": 1})


@pytest.mark.parametrize("inputs", ["{'a': b'x'}", "{'a': {1, 2}}", "[1j]", "{[]: 1}", "{'a': "])
def test_python_literals_that_json_has_not_are_compared_as_text(inputs: str) -> None:
    assert callback(inputs).args == digest_text(inputs)


@pytest.mark.parametrize("size", [1, 10_000])
def test_a_request_and_its_step_agree_however_long_the_arguments_are(size: int) -> None:
    asked = make_call("c", "write", json.dumps({"text": "x" * size}))
    bare, whole = ToolPayload(), ToolPayload()
    read_arguments("x" * size, bare)
    read_arguments(json.dumps({"text": "x" * size}, indent=2), whole)
    assert (asked.args, asked.only_arg) == (whole.args, bare.args)


def test_a_message_without_a_number_is_no_result() -> None:
    odd = {"llm.input_messages.first.message.tool_call_id": "c"}
    trace = only(
        chat(1, asks=[("c", "search", "{}")]),
        tool(2, "search", "x", call_id="c"),
        span(3, "odd", "LLM", attributes=odd),
    )
    assert [(edge.effect, edge.cause) for edge in trace.causes] == [
        (f"{2:016x}", f"{1:016x}"),
    ]
