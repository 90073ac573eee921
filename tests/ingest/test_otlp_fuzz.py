"""Damaged files: whatever is read, it is read without an unexpected error and stays consistent."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from damage import Damages, damaged, damages_of, is_consistent
from otlp_data import chat, exception, export, read, source, span, tool
from tracegraph.errors import InputError

ODD: list[Any] = [
    None,
    0,
    -1,
    1.5,
    2**70,
    "",
    "\ud83d",
    "{",
    '{"a":',
    True,
    [],
    {},
    [[1]],
    {"stringValue": 5},
    {"intValue": "x"},
    float("nan"),
]
BASE = export(
    span(1, "root", "AGENT", attributes={"metadata": '{"langgraph_step": 1}'}),
    chat(2, asks=[("c", "search", '{"q": "x"}')], parent=1, tools=["search"]),
    tool(3, "search", "x", parent=1, status={"code": 2}, events=[exception("E", "boom")]),
    chat(4, reads=["c"], says="done", parent=1, links=[{"traceId": "4f" * 16, "spanId": "1"}]),
)


@settings(max_examples=150, deadline=None)
@given(
    damages_of(BASE, st.sampled_from(ODD)),
    st.booleans(),
)
def test_damaged_exports_are_read_or_refused_in_words(damages: Damages, keep: bool) -> None:
    made = damaged(BASE, damages)
    try:
        columns = read(source(json.dumps(made)), keep_content=keep)
    except InputError as error:
        assert str(error).startswith("input.json: ")
        return
    is_consistent(columns)
