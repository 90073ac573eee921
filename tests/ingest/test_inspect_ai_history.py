"""What the models of an Inspect sample were given: each message once, over long conversations."""

import copy
import json

from hypothesis import given
from hypothesis import strategies as st

from inspect_logs import POOL, Row, edges, events, load, read_one
from tracegraph.ingest.inspect_ai.history import take_unread


def turns(count: int) -> Row:
    """Make a log of that many turns, each model event with ranges of one pool."""
    log = load(POOL)
    sample = log["samples"][0]
    model, tool = events(sample, "model")[0], events(sample, "tool")[0]
    pool, made = sample["message_pool"][:1], []
    for number in range(count):
        name = f"c{number}"
        asks = copy.deepcopy(model)
        message = asks["output"]["choices"][0]["message"]
        message["tool_calls"][0]["id"] = name
        asks |= {"uuid": f"m{number}", "input_refs": [[0, len(pool)]]}
        runs = {**tool, "uuid": f"t{number}", "id": name}
        pool += [message, {"role": "tool", "tool_call_id": name, "content": "x" * 500}]
        made += [asks, runs]
    sample |= {"message_pool": pool, "events": made}
    return log


def test_2000_turns_over_one_pool() -> None:
    trace = read_one(turns(2_000), keep=True)
    assert len(trace) == 4_001
    assert len(edges(trace, "tool_call_id")) == 2 * 2_000 - 1
    kept = sum(len(step.input or "") for step in trace.steps)
    assert kept < 2_000 * 2_000  # what each re-read is not kept again


def test_inputs_that_begin_elsewhere_each_time_are_read_once() -> None:
    """As where a long conversation is trimmed: no prefix of it is what was given before."""
    log = turns(500)
    models = events(log["samples"][0], "model")
    size = len(log["samples"][0]["message_pool"])
    for number, event in enumerate(models):
        event["input_refs"] = [[number % 7, size - number % 3]]
    trace = read_one(log, keep=True)
    given = [json.loads(step.input) for step in trace.steps if step.kind == "LLM" and step.input]
    assert sum(map(len, given)) == size


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted), max_size=6))
def test_what_was_not_read_is_what_a_set_says(ranges: list[list[int]]) -> None:
    read: list[int] = []
    seen: set[int] = set()
    for start, end in ranges:
        found = [n for low, high in take_unread(read, start, end) for n in range(low, high)]
        assert found == [n for n in range(start, end) if n not in seen]
        seen |= set(found)
