"""Damaged files: whatever is read, it is read without an unexpected error and stays consistent."""

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from otlp_data import chat, exception, export, read, source, span, tool
from tracegraph.errors import InputError
from tracegraph.model.trace import iterate

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


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [path] * bool(path) + [p for key, item in items for p in places(item, (*path, key))]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(places(BASE)), st.sampled_from(ODD)), min_size=1, max_size=5
    ),
    st.booleans(),
)
def test_damaged_exports_are_read_or_refused_in_words(
    damages: list[tuple[tuple[Any, ...], Any]], keep: bool
) -> None:
    made = copy.deepcopy(BASE)
    for path, value in damages:
        target: Any = made
        try:
            for key in path[:-1]:
                target = target[key]
            target[path[-1]] = copy.deepcopy(value)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier damage took the place away
    try:
        columns = read(source(json.dumps(made)), keep_content=keep)
    except InputError as error:
        assert str(error).startswith("input.json: ")
        return
    for trace in iterate(columns):
        ids = {step.step_id for step in trace.steps}
        assert len(ids) == len(trace)
        assert all({e.effect, e.cause} <= ids for e in trace.causes)
    for text in columns.vocabulary:
        text.encode()  # no lone surrogate gets past the reader
