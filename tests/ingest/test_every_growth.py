"""Whatever a format repeats, reading more of it takes as much more work, in every format.

A format says itself what it repeats: its lists of objects, and its lines. Each is made longer by
copies of its last item with ids of their own, without knowing what they mean. Work is counted in
instructions of Python that run, so that the answer does not depend on the machine.
"""

import copy
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from claude_lines import result, said, text, told, use
from every_format import ADAPTERS, Document, Place, damaged_files, options_of
from otlp_data import TRACE, export, span
from tracegraph.errors import InputError
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal

DAMAGED = damaged_files()
FEW, MANY = 40, 160
SLACK = 20_000
"""What a longer file may cost once, such as for a way of reading that a short one skips."""
_OWN_ID = re.compile(
    r"(?i)^(_?id|uuid|.*(span|step|run|trace|event|message|call|observation)[._-]?id)$"
)


@pytest.mark.parametrize(
    ("name", "path"), DAMAGED, ids=[f"{name} {path.name}" for name, path in DAMAGED]
)
def test_work_grows_with_the_file_and_no_faster(name: str, path: Path) -> None:
    document = Document.load(path)
    plain = _work(name, document)
    wrong = []
    for place in _repeated(document):
        few, many = (_work(name, _grown(document, place, count)) - plain for count in (FEW, MANY))
        if many > 1.1 * MANY / FEW * max(few, 0) + SLACK:
            wrong.append((place, few, many))
    assert wrong == []


def _repeated(document: Document) -> Iterator[Place]:
    """Yield the places of lists of objects, one of each kind; () for the lines of a file."""
    if document.lines:
        yield ()
    seen = set()
    for place in document.places():
        value = document.at(place)
        kind = tuple("*" if isinstance(key, int) else key for key in place)
        if isinstance(value, list) and value and isinstance(value[-1], dict) and kind not in seen:
            seen.add(kind)
            yield place


def _grown(document: Document, place: Place, count: int) -> Document:
    """Return a copy in which the last item of a list stands so many more times."""
    made = Document(copy.deepcopy(document.values), document.lines)
    items = made.at(place)
    items.extend(_renewed(items[-1], number) for number in range(count))
    return made


def _renewed(item: Any, number: int) -> Any:
    """Return a copy of an item with other ids; what refers to one inside it goes along."""
    names = {old: f"{old[:-6]}{number:06x}" for old in _ids(item) if len(old) >= 6}

    def renew(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: renew(held) for key, held in value.items()}
        if isinstance(value, list):
            return [renew(held) for held in value]
        return names.get(value, value) if isinstance(value, str) else value

    return renew(item)


def _ids(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, held in value.items():
            if isinstance(held, str) and _OWN_ID.match(str(key)):
                yield held
            yield from _ids(held)
    elif isinstance(value, list):
        for held in value:
            yield from _ids(held)


def _work(name: str, document: Document) -> int:
    """Count the instructions of the project that run while a document is read."""
    instructions = 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal instructions
        instructions += event == "opcode"
        return count

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        if "/tracegraph/" not in frame.f_code.co_filename:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return count

    source = document.source()
    before = sys.gettrace()
    sys.settrace(enter)
    try:
        _read(name, source)
    finally:
        sys.settrace(before)
    return instructions


def _read(name: str, source: Source) -> None:
    try:
        for draft in ADAPTERS[name].read([source], options_of(name)):
            seal(draft)
    except InputError:
        return


def test_work_grows_with_spans_whose_events_are_spread_over_records_of_logs() -> None:
    few, many = (_work("otlp", _spread(count)) for count in (FEW, MANY))
    assert many <= 1.1 * MANY / FEW * few + SLACK


def _spread(count: int) -> Document:
    """Return spans in two records, of each an event in every record of logs that follows."""
    ids = [f"{number:016x}" for number in range(1, count + 1)]
    made = [span(number, "chat m", None) for number in range(1, count + 1)]
    records: list[Any] = [export(*made[::2]), export(*made[1::2])]
    for name in ("gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.choice"):
        events = [{"traceId": TRACE, "spanId": each, "eventName": name} for each in ids]
        records.append({"resourceLogs": [{"scopeLogs": [{"logRecords": events}]}]})
    return Document(records, lines=True)


@pytest.mark.parametrize("shape", ["forks", "failed", "parallel", "backwards"])
def test_work_grows_with_the_lines_of_a_session(shape: str) -> None:
    few, many = (
        _work("claude_code", Document(_session(shape, count), lines=True)) for count in (FEW, MANY)
    )
    assert many <= 1.1 * MANY / FEW * few + SLACK


def _session(shape: str, count: int) -> list[Any]:
    """Return lines in a shape in which each might be looked at again for each of the others."""
    prompts = [told(f"u{n}", f"u{n - 1}" if n else None, "go") for n in range(count)]
    if shape == "forks":
        return [*prompts, *(said(f"a{n}", prompts[-1]["uuid"], text(".")) for n in range(count))]
    if shape == "failed":
        fails = {"isApiErrorMessage": True}
        return [said(f"a{n}", f"a{n - 1}" if n else None, text("."), **fails) for n in range(count)]
    if shape == "parallel":
        calls = [f"t{n}" for n in range(count)]
        asks = said("a", None, *map(use, calls))
        return [
            asks,
            *(told(f"r{c}", "a", [result(c)]) for c in calls),
            said("b", "rt0", text(".")),
        ]
    return prompts[::-1]


@pytest.mark.parametrize("shape", ["parallel", "handoffs"])
def test_work_grows_with_the_spans_of_a_loop(shape: str) -> None:
    few, many = (
        _work("openai_agents", Document(_loop(shape, count), lines=True)) for count in (FEW, MANY)
    )
    assert many <= 1.1 * MANY / FEW * few + SLACK


def _loop(shape: str, count: int) -> list[Any]:
    """Return an agent with many calls of one answer, or with many handoffs to no agent."""
    agent = _agent_span(0, None, {"type": "agent", "name": "A"})
    if shape == "handoffs":
        to = {"type": "handoff", "from_agent": "A", "to_agent": "B"}
        work = {"type": "custom", "name": "x", "data": {}}
        handoffs = [_agent_span(n, 0, to) for n in range(1, count + 1)]
        return [agent, *handoffs, *(_agent_span(count + n, None, work) for n in range(1, count))]
    calls = [{"id": f"c{n}", "function": {"name": "f", "arguments": "{}"}} for n in range(count)]
    asks = [{"role": "assistant", "tool_calls": calls}]
    heard = [{"role": "tool", "tool_call_id": call["id"], "content": "x"} for call in calls]
    tool = {"type": "function", "name": "f", "input": "{}", "output": "x"}
    return [
        agent,
        _agent_span(1, 0, {"type": "generation", "input": [], "output": asks}),
        *(_agent_span(n + 2, 0, tool) for n in range(count)),
        _agent_span(count + 3, 0, {"type": "generation", "input": asks + heard, "output": []}),
    ]


def _agent_span(number: int, parent: int | None, data: Any) -> Any:
    times = [f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}{end}Z" for end in ("", ".5")]
    above = f"span_{parent}" if parent is not None else None
    return {"object": "trace.span", "trace_id": "trace_1", "id": f"span_{number}"} | {
        "parent_id": above,
        "started_at": times[0],
        "ended_at": times[1],
        "span_data": data,
    }
