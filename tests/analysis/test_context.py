"""Items of a context: what is one, what is the same one, and what changed between two."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegraph.analysis.context.attributes import given_messages, given_tools
from tracegraph.analysis.context.compare import compare
from tracegraph.analysis.context.items import CHANNEL, INPUT, body, items_of, make_item
from tracegraph.analysis.context.view import ROWS, Context
from tracegraph.export.document import to_json

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def _context(values: list[int]) -> Context:
    return Context(0, ROWS, None, (), [make_item(INPUT, value) for value in values])


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_what_entered_left_and_stayed_adds_up(before: list[int], after: list[int]) -> None:
    change = compare(_context(before), _context(after))
    entered = Counter(v for v, new in zip(after, change.entered, strict=True) if new)
    left = Counter(item.value for item in change.left)
    assert entered == Counter(after) - Counter(before)
    assert left == Counter(before) - Counter(after)
    assert change.stayed == (Counter(before) & Counter(after)).total()


def test_another_order_of_the_same_items_is_said() -> None:
    swapped = compare(_context([1, 2, 3]), _context([1, 3, 2]))
    assert (swapped.left, any(swapped.entered), swapped.reordered) == ([], False, True)
    assert not compare(_context([1, 2, 3]), _context([0, 1, 4, 3, 5])).reordered


@given(_JSON)
def test_any_value_is_an_item_that_a_document_can_hold(value: Any) -> None:
    item = make_item(CHANNEL, value, place="c")
    again = json.loads(to_json(item.value))
    assert make_item(CHANNEL, again, place="c").digest == item.digest
    assert item.size == len(
        (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).encode()
    )


@given(_JSON)
def test_the_items_of_a_value_hold_all_of_it(value: Any) -> None:
    items = items_of(value, CHANNEL, "c")
    assert items
    if len(items) > 1:
        assert [item.index for item in items] == list(range(len(items)))
        assert len(items) == len(value)


def test_a_value_of_thousands_of_levels_is_shown_as_its_text() -> None:
    deep = "[" * 5_000 + "]" * 5_000
    assert body(deep) == deep
    assert body('{"a": 1, "a": 2}') == '{"a": 1, "a": 2}'
    assert body("[1, 2") == "[1, 2"
    assert body('{"a": [1]}') == {"a": [1]}
    nested: Any = []
    for _ in range(600):
        nested = [nested]
    assert make_item(CHANNEL, nested).value == json.dumps(nested)
    assert make_item(CHANNEL, float("nan")).value == "NaN"


def test_the_same_words_by_another_or_elsewhere_are_another_item() -> None:
    digests = {
        make_item(CHANNEL, "x", place="a").digest,
        make_item(CHANNEL, "x", place="b").digest,
        make_item(INPUT, "x", place="a").digest,
        make_item(INPUT, "x", place="a", role="user").digest,
        make_item(INPUT, "x", place="a", role="user", name="n").digest,
    }
    assert len(digests) == 5
    first = make_item(CHANNEL, {"a": 1, "b": 2.0}, index=0).digest
    assert first == make_item(CHANNEL, {"b": 2, "a": 1}, index=7).digest


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "hi"},
        {"type": "human", "data": {"content": "hi", "type": "human"}},
        {"lc": 1, "type": "constructor", "id": ["x", "HumanMessage"], "kwargs": {"content": "hi"}},
        {"type": "human", "content": "hi", "additional_kwargs": {}, "name": None},
    ],
)
def test_a_message_is_told_in_every_spelling(message: dict[str, Any]) -> None:
    for value in (message, [message], [[message]]):
        (item,) = items_of(value, CHANNEL, "messages")
        assert (item.part, item.value) == ("message", "hi")
        assert item.role in {"user", "human", "HumanMessage"}


def test_what_is_no_message_stays_what_it_is() -> None:
    for value in ({"type": "text", "content": "hi"}, {"role": "user"}, [{"role": "user"}, 1]):
        assert {item.part for item in items_of(value, CHANNEL)} == {CHANNEL}


def test_flattened_lists_are_put_together_in_the_order_of_their_numbers() -> None:
    count = 12
    flat = {f"llm.input_messages.{n}.message.content": str(n) for n in reversed(range(count))}
    flat |= {f"llm.input_messages.{n}.message.role": "user" for n in range(count)}
    assert [item.value for item in given_messages(flat)] == [str(n) for n in range(count)]
    indexed = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "hi"}
    assert [(i.role, i.value) for i in given_messages(indexed)] == [("user", "hi")]


def test_a_value_beside_its_own_members_is_not_lost() -> None:
    flat = {
        "llm.input_messages.0.message": "whole",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "part",
        "llm.input_messages.999999999." + "x." * 5_000 + "y": "deep",
    }
    for attributes in (flat, dict(reversed(flat.items()))):
        shown = to_json([item.value for item in given_messages(attributes)])
        assert all(f'"{text}"' in shown for text in ("whole", "part", "deep"))


def test_tools_are_named_however_they_are_recorded() -> None:
    schema = {"type": "function", "function": {"name": "f"}}
    for attributes in (
        {"llm.tools.0.tool.json_schema": json.dumps(schema)},
        {"gen_ai.tool.definitions": json.dumps([schema])},
        {"llm.request.functions.0.name": "f"},
        {"extra": {"invocation_params": {"tools": [schema]}}},
        {"metadata": json.dumps({"tools": [json.dumps(schema)]})},
    ):
        assert [tool.name for tool in given_tools(attributes)] == ["f"]
