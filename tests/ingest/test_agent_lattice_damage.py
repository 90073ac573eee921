"""Damaged, hostile and huge agent-lattice files: read as far as they are true, and disclosed."""

import json
import re
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lattice_rows import Run, Tracer, call, gaps_of, lines, pairs, read_bytes, read_rows, returned
from shared_data import ROOT, fixture
from trace_view import the
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.agent_lattice.adapter import AgentLatticeAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import iterate

FILES = {
    name: fixture(f"agent_lattice/{name}.jsonl").read_bytes()
    for name in ("ok", "failing", "team", "tricky")
}
TEXT = st.text(st.characters(exclude_categories=[]), max_size=3)  # lone surrogates too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)


def steps_of(data: bytes) -> list[str]:
    """Read what can be read; nothing but InputError may come out."""
    try:
        source = Source("x.jsonl", data)
        drafts = list(AgentLatticeAdapter().read([source], ReadOptions(True)))
    except InputError as error:
        assert "\n" not in str(error)
        assert str(error).startswith("x.jsonl")
        return []
    return [step.step_id for draft in drafts for t in iterate(seal(draft)) for step in t.steps]


def replaced(value: Any, data: st.DataObject) -> Any:
    """Return a JSON value in which one value is something else."""
    holder = {"": value}
    place: Any = holder
    key: Any = ""
    while isinstance(place[key], dict | list) and place[key] and data.draw(st.integers(0, 5)):
        place = place[key]
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
    place[key] = data.draw(JSON)
    return holder[""]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_rows_with_any_values_changed(data: st.DataObject) -> None:
    rows: Any = [json.loads(line) for line in FILES["team"].splitlines()]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(rows) - 1))
        rows[at] = replaced(rows[at], data)
    steps_of(lines(rows))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(FILES["team"].splitlines()), max_size=60))
def test_rows_in_any_order_left_out_or_repeated(rows: list[bytes]) -> None:
    found = steps_of(b"\n".join(rows))
    assert len(found) == len(set(found))


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_off_anywhere(name: str) -> None:
    for end in range(0, len(FILES[name]), 61):
        steps_of(FILES[name][:end])


def test_every_cut_keeps_the_steps_of_the_whole_lines() -> None:
    rows = FILES["ok"].splitlines()
    for cut in range(1, len(rows)):
        whole = b"\n".join(rows[:cut]) + b"\n"
        assert steps_of(whole + rows[cut][:50]) == steps_of(whole)


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("version", None),  # says nothing that reading needs
        ("seq", None),
        ("timestamp", "agent_lattice.missing_field"),
        ("session_id", "agent_lattice.missing_field"),
        ("source", "agent_lattice.missing_field"),
        ("data", "agent_lattice.missing_field"),
        ("run_id", "agent_lattice.unreadable_record"),
        ("type", "agent_lattice.unreadable_record"),
    ],
)
@pytest.mark.parametrize("scope", ["one", "all"])
def test_a_required_field_that_is_missing(field: str, code: str | None, scope: str) -> None:
    rows = Run(Tracer(), "r").start("go").turn(call("1")).think("done").end().tracer.rows
    for row in rows if scope == "all" else rows[2:3]:
        del row[field]
    source = Source("x.jsonl", lines(rows))
    if code == "agent_lattice.unreadable_record" and scope == "all":
        with pytest.raises(InputError, match=r"^x\.jsonl: no line holds"):
            list(AgentLatticeAdapter().read([source], ReadOptions()))
        return
    (draft,) = AgentLatticeAdapter().read([source], ReadOptions())
    gaps = draft.traces.gaps[0] + draft.file_gaps
    if field == "session_id" and scope == "one":
        code = None  # the other rows of the run name it
    assert (code is None) == (not gaps)
    assert code is None or code in gaps


def test_a_blank_run_id_names_no_run() -> None:
    """A trace needs an id that an artifact can hold."""
    rows = Run(Tracer(), "r").start("go").think("done").end().tracer.rows
    rows[1]["run_id"] = ""
    (draft,) = AgentLatticeAdapter().read([Source("x.jsonl", lines(rows))], ReadOptions())
    assert draft.traces.trace_id == ["r"]
    assert draft.file_gaps["agent_lattice.unreadable_record"] == 1


@pytest.mark.parametrize("field", ["tools", "messages", "model", "message", "id", "name", "input"])
def test_a_field_of_the_data_that_is_missing(field: str) -> None:
    rows = Run(Tracer(), "r").start("go").turn(call("1")).think("done").end().tracer.rows
    for row in rows:
        row["data"].pop(field, None)
    # Without its id a call and its result cannot be told to be one.
    assert len(steps_of(lines(rows))) == (7 if field == "id" else 6)


@pytest.mark.parametrize("wrong", [None, 7, "text", [], {}, [[]], {"role": 1}, True])
@pytest.mark.parametrize("field", ["source", "timestamp", "data", "session_id", "parent_run_id"])
def test_a_field_of_the_wrong_type_costs_itself(field: str, wrong: object) -> None:
    rows = Run(Tracer(), "r").start("go").turn(call("1")).think("done").end().tracer.rows
    rows[4][field] = wrong
    (trace,), gaps = read_bytes(lines(rows))
    assert gaps == {}
    assert len(trace) >= 6
    assert gaps_of(trace) or wrong in (None, {}) or (field, wrong) == ("parent_run_id", "text")


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (b"{]", "agent_lattice.unreadable_line"),
        (b"[]", "agent_lattice.unreadable_record"),
        (b'{"run_id": "r"}', "agent_lattice.unreadable_record"),
        (b'{"type": "result", "run_id": 5}', "agent_lattice.unreadable_record"),
    ],
)
def test_a_bad_line_costs_itself_and_a_disclosure(bad: bytes, code: str) -> None:
    rows = Run(Tracer(), "r").start("go").turn(call("1")).think("done").end().tracer.rows
    data = lines(rows[:4]) + bad + b"\n" + lines(rows[4:])
    (trace,), gaps = read_bytes(data)
    assert gaps == {code: 1}
    assert len(trace) == 6
    with pytest.raises(StrictError, match=code):
        read_bytes(data, strict=True)


@pytest.mark.parametrize(
    ("kind", "code"),
    [("team_message", "unknown_record"), ("metric", "unknown_record")],
)
def test_a_row_of_another_type_is_disclosed(kind: str, code: str) -> None:
    run = Run(Tracer(), "r").start("go").think("done")
    run.write(kind, text="hello")
    trace = read_rows(run.end().tracer.rows)
    assert gaps_of(trace) == {f"agent_lattice.{code}": 1}
    with pytest.raises(StrictError, match=r"x\.jsonl: line 5: .*unknown_record"):
        read_rows(run.tracer.rows, strict=True)


def test_what_is_merely_not_recorded_is_no_loss() -> None:
    rows = Run(Tracer(), "r").start("go").turn(call("1")).think("done").end().tracer.rows
    (trace,), gaps = read_bytes(lines([r for r in rows if r["seq"] not in (1, 4, 6)]), strict=True)
    assert set(gaps_of(trace)) == {
        "agent_lattice.missing_run_start",
        "agent_lattice.missing_assistant_message",
        "agent_lattice.missing_tool_result",
    }
    assert gaps == {"agent_lattice.missing_row": 2}


def test_rows_of_tracers_that_take_turns_are_not_missing() -> None:
    one, two = Tracer(), Tracer()
    Run(one, "r1").start("go").turn(call("1")).think("done").end()
    Run(two, "r2", session="t").start("go").think("done").end()
    mixed = [row for pair in zip(one.rows, two.rows, strict=False) for row in pair]
    mixed += one.rows[len(two.rows) :]
    traces, gaps = read_bytes(lines(mixed))
    assert [len(t) for t in traces] == [6, 4]
    assert gaps == {}


@pytest.mark.parametrize("stamp", ["yesterday", "2026-13-01T00:00:00Z", "1066-10-14T00:00:00Z", ""])
def test_a_time_that_is_none_is_unknown(stamp: str) -> None:
    rows = Run(Tracer(), "r").start("go").think("done").end().tracer.rows
    rows[2]["timestamp"] = stamp
    trace = read_rows(rows)
    assert the(trace, "3").start is None
    assert gaps_of(trace) == {"agent_lattice.unreadable_timestamp": 1}


def test_text_that_is_no_unicode_is_replaced() -> None:
    rows = Run(Tracer(), "r").start("go").think("done").end("\ud800").tracer.rows
    data = lines(rows).replace(b'"go"', b'"g\xff"', 1)
    (trace,), _ = read_bytes(data)
    assert gaps_of(trace) == {"text.lone_surrogate": 1, "text.invalid_utf8": 1}
    assert the(trace, "2").input == "g\ufffd"


def test_a_run_id_that_looks_like_a_line_is_told_from_lines() -> None:
    rows = Run(Tracer(), "2").start("go").think("done").end().tracer.rows
    assert [step.step_id for step in read_rows(rows).steps] == ["run:2", "2", "3", "5"]


def test_a_run_that_names_two_sessions_is_one_run() -> None:
    rows = Run(Tracer(), "r").start("go").think("done").end().tracer.rows
    rows[2]["session_id"] = "other"
    trace = read_rows(rows)
    assert (trace.session_id, gaps_of(trace)) == ("s", {"agent_lattice.contradictory_ids": 1})


def test_values_of_5000_levels_cost_themselves() -> None:
    rows = Run(Tracer(), "r").start("go").turn(call("1")).think("done").end().tracer.rows
    deep = b"[" * 5000 + b"]" * 5000
    for at in range(len(rows)):
        held = json.dumps({**rows[at], "data": {**rows[at]["data"], "DEEP": 0}})
        changed = held.encode().replace(b'"DEEP": 0', b'"input": %b, "content": %b' % (deep, deep))
        data = lines(rows[:at]) + changed + b"\n" + lines(rows[at + 1 :])
        (trace,), gaps = read_bytes(data)
        assert gaps == {}
        assert len(trace) == 6
    for levels in (490, 700, 950):
        shallow = json.dumps({**rows[4], "data": {**rows[4]["data"], "input": 0}}).encode()
        changed = shallow.replace(b'"input": 0', b'"input": ' + b"[" * levels + b"]" * levels)
        (trace,), _ = read_bytes(lines(rows[:4]) + changed + b"\n" + lines(rows[5:]))
        assert len(trace) == 6


@pytest.mark.parametrize("number", ["9" * 5000, "1e999", "-0", "NaN", "Infinity", "-5", "1.5"])
@pytest.mark.parametrize("field", ["seq", "input_tokens", "timestamp", "id", "is_error", "deep"])
def test_numbers_that_no_reader_expects(field: str, number: str) -> None:
    rows = Run(Tracer(), "r").start("go").turn(call("1", deep=1)).think("done").end().tracer.rows
    value = re.compile(rf'"{field}": (?:"[^"]*"|[^,}}]+)')
    data = value.sub(f'"{field}": {number}', lines(rows).decode(), count=1).encode()
    assert data != lines(rows)
    (trace,), _ = read_bytes(data)
    assert len(trace) >= 5


def test_runs_of_5000_levels() -> None:
    tracer = Tracer()
    for level in range(5000):
        parent = f"r{level - 1}" if level else None
        run = Run(tracer, f"r{level}", parent=parent)
        run.write("run_start", model="m")
    trace = read_rows(tracer.rows)
    assert len(trace) == 5000
    assert trace.trace_id == "r0"
    assert the(trace, "r4999").depth == 4999


def test_a_team_of_10000_members_that_are_handed_work_and_asked() -> None:
    tracer = Tracer()
    source = {"kind": "root", "name": "t", "team": "t", "mailbox": "m"}
    lead = Run(tracer, "lead", parent="root", source=source).start("go")
    tasks = [call(f"c{n}", "qa", task=f"task {n} " + "x" * (n % 97)) for n in range(10_000)]
    lead.think(*tasks)
    for task in tasks:
        lead.use(task)
    for n, task in enumerate(tasks):
        given = f"message_id: {n}\n--- delegated task ---\n{task['input']['task']}"
        member = {"kind": "team_member", "name": "qa", "member": "qa"}
        Run(tracer, f"m{n}", parent="root", source=member).start(given).end()
    for task in tasks:
        lead.returns(task["id"])
    lead.batch(*(returned(task["id"]) for task in tasks)).think("done").end()
    trace = read_rows(tracer.rows)
    origins = Counter(cause.origin for cause in trace.causes)
    assert (origins["data_flow"], origins["tool_call_id"]) == (10_000, 20_000)
    assert origins["protocol"] == 10_000  # the lead's last model step reads every result
    assert gaps_of(trace) == {"agent_lattice.missing_parent": 10_001}


def many_sessions(count: int) -> bytes:
    tracer = Tracer()
    for n in range(count):
        run = Run(tracer, f"r{n}", session=f"s{n}")
        run.start("x" * 20_000).turn(call("1")).think("done").end()
    return lines(tracer.rows)


def test_memory_is_that_of_the_largest_trace_and_not_of_the_file() -> None:
    def peak(data: bytes) -> int:
        tracemalloc.start()
        for draft in AgentLatticeAdapter().read([Source("x", data)], ReadOptions(False)):
            assert draft.traces.first
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    few, many = many_sessions(10), many_sessions(100)
    assert peak(many) < len(many) / 10
    assert peak(many) < peak(few) + 100 * 20_000


def test_reading_leaves_the_source_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(FILES["tricky"])
    before = path.stat()
    list(AgentLatticeAdapter().read([Source.open(path, "a.jsonl")], ReadOptions(True)))
    assert path.read_bytes() == FILES["tricky"]
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert [p.name for p in tmp_path.iterdir()] == ["a.jsonl"]


def test_only_the_wanted_traces_are_read() -> None:
    source = Source("x.jsonl", FILES["tricky"])
    wanted = frozenset({"run-c", "run-e"})
    (draft,) = AgentLatticeAdapter().read([source], ReadOptions(only=wanted))
    assert draft.traces.trace_id == ["run-c", "run-e"]


def test_a_torn_last_line_is_refused_only_when_strict() -> None:
    _, gaps = read_bytes(FILES["tricky"])
    assert gaps == {"agent_lattice.torn_line": 1}
    with pytest.raises(StrictError, match=r"x\.jsonl: line 68: .*\(agent_lattice\.torn_line\)"):
        read_bytes(FILES["tricky"], strict=True)


OTHERS = sorted(
    path
    for folder in (ROOT / "tests" / "fixtures", ROOT / "presets", ROOT / "examples")
    for path in folder.rglob("*")
    if path.is_file() and "agent_lattice" not in path.parts
)


def test_no_other_file_of_the_project_is_taken() -> None:
    assert len(OTHERS) > 20
    taken = [p for p in OTHERS if AgentLatticeAdapter().sniff(Source.open(p, p.name))]
    assert taken == []


@pytest.mark.parametrize("name", FILES)
def test_its_own_files_are_taken_from_any_line_on(name: str) -> None:
    rows = [row for row in FILES[name].split(b"\n") if row.endswith(b"}")]
    for at in range(len(rows)):
        assert AgentLatticeAdapter().sniff(Source("x", b"\xef\xbb\xbf" + b"\n".join(rows[at:])))


@pytest.mark.parametrize(
    "data",
    [
        b'{"type": "result", "run_id": "r", "session_id": "s"}',
        b'{"type": "user", "sessionId": "s", "message": {"content": [{"type": "tool_use"}]}}',
        b'{"run_id": "r", "session_id": "s", "data": {}, "type": "llm"}',
        b'{"text": "{\\"run_id\\": 1, \\"seq\\": 1, \\"data\\": 1, \\"type\\": \\"result\\"}"}',
    ],
)
def test_other_lines_are_not_taken(data: bytes) -> None:
    assert not AgentLatticeAdapter().sniff(Source("x", data))


def test_the_reading_order_does_not_change_what_a_trace_holds() -> None:
    """Runs of other sessions in between change lines, and nothing else."""
    run = Run(Tracer(), "r").start("go").turn(call("1"), call("2")).think("done").end()
    other = Run(Tracer(), "o", session="t").start("go").think("done").end()
    alone = read_rows(run.tracer.rows)
    mixed = [row for own in run.tracer.rows for row in (own, *other.tracer.rows[:1])]
    traces, _ = read_bytes(lines(mixed))
    assert len(pairs(traces[0])) == len(pairs(alone))
    assert [s.kind for s in traces[0].steps] == [s.kind for s in alone.steps]
