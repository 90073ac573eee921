"""Sessions: traces that are one logical run, listed together and read as one by patterns."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoint_files import write_checkpoints
from cli_runner import Invoke
from otlp_data import any_value, export, span
from shared_data import fixture, shared
from tracegraph.workflows.load import load

RESUMED = "examples/traces/interrupt_resume.otlp.json"
GENERATED = "traces/otlp_json_{}/langgraph_gen"
RETRIES = "cases/09-retries-as-separate-traces/input.json"
TWO_MODELS = "pattern p v1 scope session match a: LLM ~>> b: LLM"
FAILS_THEN_WORKS = (
    "pattern p v1 scope session match xs: LLM {4,} same name where status == error"
    " ~>> last: LLM where status == ok and name == $xs.name return $xs.count"
)
TWICE = "pattern p v1 scope session match TOOL where status == error having count >= 2 by name"
Spans = dict[str, list[dict[str, Any]]]


def _json(invoke: Invoke, *arguments: str) -> dict[str, Any]:
    ran = invoke(*arguments, "--format", "json")
    assert ran.code in (0, 1), ran.err
    result = json.loads(ran.out)
    assert isinstance(result, dict)
    return result


def _sessions(invoke: Invoke, *paths: str | Path) -> dict[str, Any]:
    return _json(invoke, "traces", "--by-session", *map(str, paths))


def _gaps(result: dict[str, Any]) -> dict[str, int]:
    return {gap["code"]: gap["count"] for gap in result["gaps"]}


def _raw_spans(path: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        for resource in json.loads(file.read_text())["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                yield from scope["spans"]


def _attribute(one: dict[str, Any], key: str) -> Any:
    return next((v["value"]["stringValue"] for v in one["attributes"] if v["key"] == key), None)


def _by_session(path: Path, key: str) -> dict[str, Spans]:
    """The spans of each trace of each session, by the plain records; traces by start."""
    traces: Spans = defaultdict(list)
    for one in _raw_spans(path):
        traces[one["traceId"]].append(one)
    found: dict[str, Spans] = defaultdict(dict)
    for trace_id in sorted(
        traces, key=lambda t: min(int(s["startTimeUnixNano"]) for s in traces[t])
    ):
        (session,) = {_attribute(one, key) for one in traces[trace_id]} - {None}
        found[session][trace_id] = traces[trace_id]
    return found


@pytest.mark.parametrize(
    ("folder_of", "key"),
    [
        ("openinference", "session.id"),
        ("openllmetry", "traceloop.association.properties.thread_id"),
    ],
)
def test_real_sessions_are_those_of_the_record(invoke: Invoke, folder_of: str, key: str) -> None:
    path = shared(GENERATED.format(folder_of))
    raw = _by_session(path, key)
    result = _sessions(invoke, path)
    listed = {session["session_id"]: session for session in result["sessions"]}
    assert {
        name: [trace["trace_id"] for trace in session["traces"]] for name, session in listed.items()
    } == {name: list(traces) for name, traces in raw.items()}
    assert {name: session["step_count"] for name, session in listed.items()} == {
        name: sum(map(len, traces.values())) for name, traces in raw.items()
    }
    assert (result["session_count"], result["alone_count"]) == (len(raw), 0)
    assert [len(raw[name]) for name in ("multi_turn", "interrupt_resume")] == [3, 2]
    assert "sessions.no_id" not in _gaps(result)


def test_sessions_of_phoenix_are_those_of_the_record(invoke: Invoke) -> None:
    path = shared("traces/phoenix_export/h3_spans.jsonl")
    raw: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for line in path.read_text().splitlines():
        one = json.loads(line)
        session = one["attributes"]["session.id"]
        raw[session][one["context"]["trace_id"]].append(one["start_time"])
    ordered = {name: sorted(traces, key=lambda t: min(traces[t])) for name, traces in raw.items()}
    result = _sessions(invoke, path)
    assert {
        session["session_id"]: [trace["trace_id"] for trace in session["traces"]]
        for session in result["sessions"]
    } == ordered
    assert [len(raw[name]) for name in ("multi_turn", "fork_time_travel")] == [3, 3]


def test_recordings_of_one_run_by_several_tools_do_not_mix(invoke: Invoke) -> None:
    """Spans, their copy in Phoenix and the checkpoints: no failure becomes a repeated one."""
    paths = [
        str(shared("traces/" + name))
        for name in (
            "otlp_json_openinference/langgraph_gen",
            "phoenix_export/h3_spans.jsonl",
            "langgraph_sqlite/gen_langgraph1.2_all_scenarios.sqlite",
        )
    ]
    sessions = [_sessions(invoke, path) for path in paths]
    together = _sessions(invoke, *paths)
    assert together["session_count"] == sum(result["session_count"] for result in sessions)
    names = Counter(s["session_id"] for result in sessions for s in result["sessions"])
    assert _gaps(together)["sessions.same_id_apart"] == sum(n > 1 for n in names.values()) > 0
    for pattern in (TWICE, TWO_MODELS):
        alone = [_json(invoke, "query", "-e", pattern, path) for path in paths]
        found = _json(invoke, "query", "-e", pattern, *paths)
        for count in ("match_count", "possible_count"):
            assert found[count] == sum(result[count] for result in alone)
        assert found["match_count"] > 0


def test_a_pattern_matches_across_the_turns_of_a_conversation(invoke: Invoke) -> None:
    path = shared(GENERATED.format("openinference") + "/multi_turn.otlp.json")
    models = [
        (int(one["startTimeUnixNano"]), int(one["endTimeUnixNano"]), one["traceId"], one["spanId"])
        for one in _raw_spans(path)
        if _attribute(one, "openinference.span.kind") == "LLM"
    ]
    expected = {
        (a[3], b[3]) for a in models for b in models if a[1] < b[0] or (a[1] == b[0] and a != b)
    }
    assert any(a[2] != b[2] for a in models for b in models if (a[3], b[3]) in expected)
    result = _json(invoke, "query", "-e", TWO_MODELS, str(path))
    found = [tuple(step["step_id"] for step in m["steps"]) for m in result["matches"]]
    assert set(found) == expected
    assert len(found) == len(expected)
    in_traces = _json(invoke, "query", "-e", TWO_MODELS.replace("session", "trace"), str(path))
    assert in_traces["match_count"] == sum(
        a[2] == b[2] for a in models for b in models if (a[3], b[3]) in expected
    )


def test_a_resume_follows_its_interrupt(invoke: Invoke, folder: Path) -> None:
    pattern = 'pattern p v1 scope session match i: ANY where signals contains "interrupt" ~>> ANY'
    raw = _by_session(folder / RESUMED, "session.id")["interrupt_resume"]
    first, second = raw
    result = _json(invoke, "query", "-e", pattern, RESUMED)
    assert result["match_count"] > 0
    for match in result["matches"]:
        assert match["trace_id"] == first
        assert match["certainty"] == "confirmed"
        stopped, later = match["steps"]
        assert stopped["trace_id"] == first
        assert later["trace_id"] in raw
    reached = {m["steps"][1]["step_id"] for m in result["matches"]}
    assert {one["spanId"] for one in raw[second]} <= reached


def test_attempts_in_traces_of_their_own_are_one_session(invoke: Invoke) -> None:
    path = fixture(RETRIES)
    result = _sessions(invoke, path)
    (session,) = result["sessions"]
    assert (session["session_id"], session["trace_count"]) == ("th-1", 5)
    assert (session["step_count"], session["error_count"], session["status"]) == (5, 4, "ok")
    assert [trace["status"] for trace in session["traces"]] == ["error"] * 4 + ["ok"]
    corpus = load([path], keep="content", cache=False)
    assert [list(trace.causes) for trace in corpus.traces()] == [[]] * 5
    tags = [step.attributes.get("tag.tags") for trace in corpus.traces() for step in trace.steps]
    assert tags == [None, *(f"retry:attempt:{n}" for n in range(2, 6))]

    found = _json(invoke, "query", "-e", FAILS_THEN_WORKS, str(path))
    (match,) = found["matches"]
    assert (match["certainty"], match["evidence"]) == ("confirmed", "heuristic")
    assert match["values"] == {"xs.count": 4}
    assert match["trace_id"] == f"{1:032x}"
    assert [int(step["trace_id"], 16) for step in match["steps"]] == [1, 2, 3, 4, 5]
    assert invoke("query", "-e", FAILS_THEN_WORKS.replace("session", "trace"), str(path)).code == 1


def _trace(number: int, session: str | None = None, **fields: Any) -> dict[str, Any]:
    """One failing TOOL step as a trace; its start is ``number`` seconds after others' zero."""
    attributes = {} if session is None else {"session.id": session}
    made = span(number + 1, "call", "TOOL", attributes=attributes, status={"code": 2})
    return made | {"traceId": f"{number + 1:032x}"} | fields


def _write(path: Path, *spans: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(export(*spans)))
    return path


def test_a_trace_without_a_session_stands_alone_and_is_said_to(
    invoke: Invoke, folder: Path
) -> None:
    path = _write(folder / "a.json", _trace(0), _trace(1, "s"), _trace(2), _trace(3, "s"))
    result = _sessions(invoke, path)
    assert [
        (session["session_id"], [int(trace["trace_id"], 16) for trace in session["traces"]])
        for session in result["sessions"]
    ] == [(None, [1]), ("s", [2, 4]), (None, [3])]
    assert (result["session_count"], result["alone_count"]) == (1, 2)
    assert _gaps(result) == {"sessions.no_id": 2}
    ran = invoke("traces", "--by-session", str(path))
    assert ran.err == (
        "1 session, 2 traces without one: 4 traces, 4 steps, 4 failing; gaps: sessions.no_id 2\n"
    )
    assert [line.split()[:2] for line in ran.out.splitlines()[1:]] == [
        ["otlp", "error"],
        ["s", "otlp"],
        ["otlp", "error"],
    ]
    ran = invoke("traces", "--by-session", str(path), "--limit", "1")
    assert "; 1 listed: " in ran.err
    found = _json(invoke, "query", "-e", TWICE, str(path))
    (row,) = found["matches"]
    assert [int(step["trace_id"], 16) for (step,) in row["members"]] == [2, 4]
    assert _gaps(found) == {"sessions.no_id": 2}
    assert _gaps(_json(invoke, "query", "tool-failure", str(path))) == {}


def test_one_id_in_two_kinds_of_source_is_two_sessions(invoke: Invoke, folder: Path) -> None:
    _write(folder / "in" / "spans.json", _trace(0, "A"))
    write_checkpoints(folder / "in" / "a.sqlite", "A")
    result = _sessions(invoke, "in")
    assert [(s["session_id"], s["source"], s["trace_count"]) for s in result["sessions"]] == [
        ("A", "langgraph", 1),
        ("A", "otlp", 1),
    ]
    assert _gaps(result)["sessions.same_id_apart"] == 1
    across = "pattern p v1 scope session match ANY ~>> TOOL"
    found = _json(invoke, "query", "-e", across, "in")
    assert found["match_count"] == found["possible_count"] == 0
    assert _gaps(found)["sessions.same_id_apart"] == 1


def test_one_thread_id_in_two_databases_is_two_sessions(invoke: Invoke, folder: Path) -> None:
    for name in ("a.sqlite", "b.sqlite"):
        (folder / "in").mkdir(exist_ok=True)
        write_checkpoints(folder / "in" / name, "1")
    result = _sessions(invoke, "in")
    assert [(s["session_id"], s["traces"][0]["label"]) for s in result["sessions"]] == [
        ("1", "1@a.sqlite"),
        ("1", "1@b.sqlite"),
    ]
    assert _gaps(result)["sessions.same_id_apart"] == 1


def test_a_session_goes_on_in_another_file(invoke: Invoke, folder: Path) -> None:
    _write(folder / "in" / "b.json", _trace(0, "s"), _trace(2, "s"))
    _write(folder / "in" / "a.json", _trace(1, "s"))
    (session,) = _sessions(invoke, "in")["sessions"]
    assert [int(trace["trace_id"], 16) for trace in session["traces"]] == [1, 2, 3]


def test_without_a_start_nobody_knows_which_trace_was_last(invoke: Invoke, folder: Path) -> None:
    untimed = {"startTimeUnixNano": "0", "endTimeUnixNano": "0", "status": {}}
    path = _write(folder / "a.json", _trace(0, "s", **untimed), _trace(1, "s"), _trace(2, "t"))
    result = _sessions(invoke, path)
    first, other = result["sessions"]
    assert [int(trace["trace_id"], 16) for trace in first["traces"]] == [2, 1]
    assert first["status"] is None
    assert first["started_at"] == first["traces"][0]["started_at"]
    assert other["status"] == "error"
    assert _gaps(result)["sessions.unknown_start"] == 1
    found = _json(invoke, "query", "-e", "pattern p v1 scope session match TOOL ~>> TOOL", "a.json")
    assert (found["match_count"], found["possible_count"]) == (0, 2)
    assert _gaps(found)["sessions.unknown_start"] == 1


def test_of_contradicting_sessions_the_root_is_right(invoke: Invoke, folder: Path) -> None:
    def one(number: int, session: str, parent: int | None = None) -> dict[str, Any]:
        return span(number, "x", "CHAIN", attributes={"session.id": session}, parent=parent)

    spans = [one(3, "child", 2), one(4, "child", 2), one(2, "root"), one(5, "later root")]
    for given in (spans, spans[::-1]):
        result = _sessions(invoke, _write(folder / "a.json", *given))
        assert [session["session_id"] for session in result["sessions"]] == ["root"]
        assert _gaps(result) == {"sessions.conflicting_id": 2}
    assert invoke("traces", "a.json", "--strict").code == 0


@pytest.mark.parametrize(
    "attributes",
    [
        {"session.id": "s", "metadata": '{"thread_id": "t"}'},
        {"gen_ai.conversation.id": "s"},
        {"metadata": '{"thread_id": "s"}'},
        {"metadata": '{"session_id": "s", "thread_id": "t"}'},
        {"metadata.thread_id": "s"},
        {"metadata.session_id": "s", "metadata.thread_id": "t"},
        {"traceloop.association.properties.session_id": "s"},
        {"traceloop.association.properties.thread_id": "s"},
        {"metadata": "{}", "traceloop.association.properties.thread_id": "s"},
        {"session.id": " ", "metadata": '{"thread_id": "s"}'},
    ],
)
def test_a_session_goes_by_many_names(
    invoke: Invoke, folder: Path, attributes: dict[str, str]
) -> None:
    listed = [{"key": key, "value": any_value(value)} for key, value in attributes.items()]
    path = _write(folder / "a.json", _trace(0, attributes=listed))
    assert [session["session_id"] for session in _sessions(invoke, path)["sessions"]] == ["s"]


def test_sessions_do_not_depend_on_the_order_of_reading(invoke: Invoke, folder: Path) -> None:
    """Traces that start at one time stand in the order of their files, in an updated cache too."""
    same = {"startTimeUnixNano": "1764000000000000000", "endTimeUnixNano": "1764000000000000001"}
    _write(folder / "in" / "b.json", _trace(0, "s", **same))
    _sessions(invoke, "in")
    _write(folder / "in" / "a.json", _trace(1, "s", **same))
    updated = _sessions(invoke, "in")
    assert updated == _json(invoke, "traces", "--by-session", "in", "--no-cache")
    assert [trace["file"] for trace in updated["sessions"][0]["traces"]] == ["a.json", "b.json"]
    runs = "pattern p v1 scope session match xs: TOOL {2,} same name"
    assert _json(invoke, "query", "-e", runs, "in") == _json(
        invoke, "query", "-e", runs, "in", "--no-cache"
    )


def test_nothing_to_list_is_no_error(invoke: Invoke, folder: Path) -> None:
    (folder / "none.json").write_text('{"resourceSpans": []}')
    assert invoke("traces", "none.json").code == 0
    result = _sessions(invoke, "none.json")
    assert (result["sessions"], result["session_count"]) == ([], 0)
