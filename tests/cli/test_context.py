"""What was in view at a step, counted from the raw records; and that none of it is stored."""

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import ormsgpack
import pytest

from cli_runner import Invoke, run
from shared_data import fixture

REACT = "examples/traces/react_ok.otlp.json"
DATABASE = "examples/langgraph/trace.db"
SECOND, FIRST = "65003be80ff8d25d", "1e327c2b40db5f72"
CANARY = "canary-5f1d"


def _asked(invoke: Invoke, *arguments: str) -> dict[str, Any]:
    ran = invoke("context", *arguments, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    document: dict[str, Any] = json.loads(ran.out)
    return document


def _attributes(path: str, span_id: str) -> dict[str, Any]:
    """Return the attributes of one span, read without tracegraph."""
    export = json.loads(Path(path).read_text(encoding="utf-8"))
    spans = (
        span
        for resource in export["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    )
    (found,) = (span for span in spans if span["spanId"] == span_id)
    return {a["key"]: next(iter(a["value"].values())) for a in found["attributes"]}


def _states(path: str | Path, thread: str) -> dict[str, dict[str, Any]]:
    """Return the channel values of each checkpoint of a thread, read without tracegraph."""
    query = "SELECT checkpoint_id, checkpoint FROM checkpoints WHERE thread_id = ?"
    connection = sqlite3.connect(path)
    found = {
        key: ormsgpack.unpackb(blob, ext_hook=lambda code, data: None)["channel_values"]
        for key, blob in connection.execute(query, (thread,))
    }
    connection.close()
    return found


def test_a_model_call_shows_every_message_and_tool_that_it_was_given(invoke: Invoke) -> None:
    raw = _attributes(REACT, SECOND)
    shown = _asked(invoke, REACT, SECOND)
    assert shown["step"]["view"] == "messages"
    said = [item for item in shown["items"] if item["part"] == "message"]
    prefix = "llm.input_messages."
    assert len(said) == len({key.split(".")[2] for key in raw if key.startswith(prefix)}) == 3
    for at, item in enumerate(said):
        assert item["index"] == at
        assert item["role"] == raw[f"{prefix}{at}.message.role"]
    assert said[0]["value"] == raw[f"{prefix}0.message.content"]
    (call,) = said[1]["value"]["tool_calls"]
    where = f"{prefix}1.message.tool_calls.0.tool_call."
    assert call["id"] == raw[f"{where}id"]
    assert call["function"]["arguments"] == raw[f"{where}function.arguments"]
    assert said[2]["value"]["tool_call_id"] == raw[f"{prefix}2.message.tool_call_id"] == call["id"]
    tools = [item["value"] for item in shown["items"] if item["part"] == "tool"]
    assert tools == [json.loads(raw[f"llm.tools.{at}.tool.json_schema"]) for at in range(5)]


def test_diff_says_what_entered_and_stayed_and_backward_what_left(invoke: Invoke) -> None:
    forward = _asked(invoke, REACT, SECOND, "--diff", FIRST)
    entered = [item["role"] for item in forward["items"] if item["change"] == "entered"]
    assert (entered, forward["left"], forward["stayed"]) == (["assistant", "tool"], [], 6)
    assert forward["since"]["step_id"] == FIRST
    backward = _asked(invoke, REACT, FIRST, "--diff", SECOND)
    assert [item["role"] for item in backward["left"]] == entered
    assert {item["change"] for item in backward["items"]} == {"stayed"}
    same = _asked(invoke, REACT, FIRST, "--diff", FIRST)
    assert (same["left"], same["stayed"], same["reordered"]) == ([], 6, False)


def test_a_graph_node_shows_the_channels_of_its_checkpoint(invoke: Invoke) -> None:
    states = _states(DATABASE, "A")
    shown = _asked(invoke, f"{DATABASE}#A", "f222", "--diff", "2af7")
    assert shown["step"]["view"] == "state"
    state = states[shown["step"]["checkpoint_id"]]
    assert {item["place"]: item["value"] for item in shown["items"]} == state
    assert state["error"] == "tool failed on input 'boom-please'"
    before = states[shown["since"]["checkpoint_id"]]
    assert {item["place"] for item in shown["left"]} == before.keys() - state.keys()


def test_every_task_of_every_release_has_its_state(folder: Path) -> None:
    from tracegraph.workflows.context import in_view
    from tracegraph.workflows.load import load

    counted = 0
    for path in sorted(fixture("langgraph").glob("*.sqlite")):
        with load([path], cache=False) as corpus:
            ids = [
                (trace.trace_id, step.step_id) for trace in corpus.traces() for step in trace.steps
            ]
        for trace_id, step_id in ids[::3]:
            found = in_view(str(path), trace_id, step_id).context
            assert found.view == "state", step_id
            assert found.unreadable == ()
            counted += 1
    assert counted > 40


def test_a_packet_shows_what_it_handed_over_and_a_tool_its_arguments_first(invoke: Invoke) -> None:
    path = str(fixture("langgraph/1.2.24.sqlite"))
    tree = json.loads(invoke("inspect", f"{path}#map_reduce_send", "--format", "json").out)
    work = [step["step_id"] for step in tree["steps"] if step["name"] == "work"]
    handed = [_asked(invoke, f"{path}#map_reduce_send", step)["items"] for step in work]
    assert len(handed) == 4
    assert all([item["place"] for item in items] == ["x"] for items in handed)
    assert len({items[0]["value"] for items in handed}) == 4
    tree = json.loads(invoke("inspect", f"{path}#tool_error_recover", "--format", "json").out)
    tool = next(step["step_id"] for step in tree["steps"] if step["kind"] == "TOOL")
    items = _asked(invoke, f"{path}#tool_error_recover", tool)["items"]
    assert (items[0]["part"], items[0]["value"]) == ("input", {"city": "Atlantis"})
    assert [item["role"] for item in items if item["part"] == "message"] == ["human", "ai"]


def test_a_channel_that_cannot_be_shown_is_named(invoke: Invoke) -> None:
    shutil.copy(DATABASE, "odd.db")
    key = _asked(invoke, "odd.db#A", "f222")["step"]["checkpoint_id"]
    connection = sqlite3.connect("odd.db")
    query = "SELECT rowid, checkpoint FROM checkpoints WHERE checkpoint_id = ?"
    ((row, blob),) = connection.execute(query, (key,)).fetchall()
    state = ormsgpack.unpackb(blob)
    state["channel_values"]["odd"] = ormsgpack.Ext(99, b"x")
    changed = ormsgpack.packb(state)
    connection.execute("UPDATE checkpoints SET checkpoint = ? WHERE rowid = ?", (changed, row))
    connection.commit()
    connection.close()
    shown = _asked(invoke, "odd.db#A", "f222")
    assert shown["step"]["unreadable"] == ["odd"]
    assert "odd" not in {item["place"] for item in shown["items"]}
    assert {"code": "langgraph.undecodable_blob", "count": 1} in shown["gaps"]
    assert (
        "channel odd is recorded and cannot be shown" in invoke("context", "odd.db#A", "f222").out
    )


def test_a_channel_kept_as_changes_is_not_taken_for_empty(invoke: Invoke) -> None:
    delta = pytest.importorskip("langgraph.channels.delta")
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph

    def add(state: list[str], writes: list[list[str]]) -> list[str]:
        return [*state, *(text for write in writes for text in write)]

    fields = {"notes": Annotated[list, delta.DeltaChannel(add)], "n": int}
    graph = StateGraph(TypedDict("State", fields))  # type: ignore[operator]
    graph.add_node("a", lambda state: {"notes": ["from a"], "n": 1})
    graph.add_node("b", lambda state: {"n": 2})
    for start, end in ((START, "a"), ("a", "b"), ("b", END)):
        graph.add_edge(start, end)
    connection = sqlite3.connect("delta.db", check_same_thread=False)
    app = graph.compile(checkpointer=SqliteSaver(connection))
    app.invoke({"notes": ["in"], "n": 0}, {"configurable": {"thread_id": "t"}})
    connection.close()
    tree = json.loads(invoke("inspect", "delta.db", "--format", "json").out)
    last = next(step["step_id"] for step in tree["steps"] if step["name"] == "b")
    shown = _asked(invoke, "delta.db", last)
    assert shown["step"]["unreadable"] == ["notes"]
    assert {item["place"]: item["value"] for item in shown["items"]}["n"] == 1


def test_agent_lattice_shows_the_messages_of_the_request(invoke: Invoke) -> None:
    path = fixture("agent_lattice/ok.jsonl")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    requests = [r for r in records if r["type"] == "model_request"]
    assert len(requests) == 4
    for request in requests:
        shown = _asked(invoke, f"{path}#{request['run_id']}", str(request["seq"]))
        given = request["data"]["messages"]
        assert [item["role"] for item in shown["items"]] == [said["role"] for said in given]
        for item, said in zip(shown["items"], given, strict=True):
            plain = isinstance(said["content"], str)
            assert item["value"] == (said["content"] if plain else said)


def test_a_log_shows_the_rows_before_and_no_answer_that_was_not_there(invoke: Invoke) -> None:
    path = str(fixture("agentdelta/ok.jsonl"))
    last = _asked(invoke, path, "5")
    assert last["step"]["view"] == "rows"
    rows = [(item["step_id"], item["place"], item["value"]) for item in last["items"]]
    assert rows[-1] == ("3", "output", {"temp": 22, "condition": "sunny"})
    assert [row[:2] for row in rows] == [
        ("1", "input"), ("2", "output"), ("3", "input"), ("3", "output"),
    ]  # fmt: skip
    state = str(fixture("langgraph_state/snapshot.json"))
    tree = json.loads(invoke("inspect", state, "--format", "json").out)
    atlantis, oslo = (s["step_id"] for s in tree["steps"][1:3])  # asked for by one model step
    beside = _asked(invoke, state, oslo)["items"]
    assert ("output", atlantis) not in {(item["place"], item["step_id"]) for item in beside}
    after = _asked(invoke, state, "a2")["items"]
    assert ("output", atlantis) in {(item["place"], item["step_id"]) for item in after}


@pytest.mark.parametrize(
    ("path", "step", "roles"),
    [
        ("otlp/openllmetry_tool_error_recover.json", "19ed", ["user", "assistant", "tool"]),
        ("langsmith/nested_tool_error_recover.json", "8260", ["human", "ai", "tool"]),
        ("langfuse/agentprism_langfuse-1.json", "6310", ["system", "assistant", "user"]),
        ("phoenix/made_spans.jsonl", "0000000000000006", ["user", "tool", "tool"]),
    ],
)
def test_every_source_of_model_calls_shows_who_said_what(
    invoke: Invoke, path: str, step: str, roles: list[str]
) -> None:
    items = _asked_with_gaps(invoke, str(fixture(path)), step)["items"]
    assert [item["role"] for item in items if item["part"] == "message"] == roles


def _asked_with_gaps(invoke: Invoke, *arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(invoke("context", *arguments, "--format", "json").out)
    return document


def test_a_step_without_a_recorded_input_says_so(invoke: Invoke) -> None:
    ran = invoke("context", str(fixture("langfuse/agentprism_langfuse-1.json")), "146a")
    assert ran.code == 0
    assert "the record does not hold what it was given" in ran.out


def test_copies_without_bodies_name_the_source_to_ask(invoke: Invoke) -> None:
    invoke("ingest", REACT, "-o", "r.json")
    ran = invoke("context", "r.json", SECOND)
    assert (ran.code, ran.out) == (2, "")
    assert "an artifact without what was in view" in ran.err
    assert "tracegraph context react_ok.otlp.json#93b2" in ran.err
    invoke("ingest", DATABASE, "--into", "corpus", "--keep", "content")
    ran = invoke("context", "corpus#A", "f222")  # bodies are kept, states never are
    assert ran.code == 2
    assert f"tracegraph context {Path(DATABASE).resolve()}#A STEP" in ran.err
    invoke("ingest", REACT, "-o", "whole.json", "--keep", "content")
    assert _asked(invoke, "whole.json", SECOND)["items"] == _asked(invoke, REACT, SECOND)["items"]


def test_a_folder_and_a_stream_answer_as_the_file_does(invoke: Invoke, folder: Path) -> None:
    whole = invoke("context", REACT, SECOND).out
    assert invoke("context", "examples#93b2", SECOND).out == whole
    text = Path(REACT).read_text(encoding="utf-8")
    assert run("context", "-", SECOND, cwd=folder, stdin=text).out == whole


def test_a_trace_in_two_files_has_the_bodies_of_both(invoke: Invoke) -> None:
    export = json.loads(Path(REACT).read_text(encoding="utf-8"))
    scope = export["resourceSpans"][0]["scopeSpans"][0]
    spans = scope["spans"]
    Path("parts").mkdir()
    for name, part in (("a", spans[::2]), ("b", spans[1::2])):
        scope["spans"] = part
        Path(f"parts/{name}.json").write_text(json.dumps(export), encoding="utf-8")
    parts = _asked_with_gaps(invoke, "parts", SECOND, "--diff", FIRST)
    assert parts["items"] == _asked(invoke, REACT, SECOND, "--diff", FIRST)["items"]


@pytest.fixture
def secret(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Sources whose bodies hold a canary, and a temporary folder of their own."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    text = Path(REACT).read_text(encoding="utf-8")
    assert "weather in Oslo?" in text
    Path("otlp.json").write_text(text.replace("weather in Oslo?", CANARY), encoding="utf-8")
    shutil.copy(DATABASE, "graph.db")
    connection = sqlite3.connect("graph.db")
    for row, blob in connection.execute("SELECT rowid, checkpoint FROM checkpoints").fetchall():
        # Of the length of the text that it replaces, so that msgpack stays what it is.
        changed = blob.replace(b"boom-please", CANARY.encode())
        connection.execute("UPDATE checkpoints SET checkpoint = ? WHERE rowid = ?", (changed, row))
    connection.commit()
    connection.close()
    yield tmp_path


@pytest.mark.parametrize(
    "arguments",
    [("otlp.json", SECOND, "--diff", FIRST), ("graph.db#A", "f222", "--diff", "2af7")],
)
def test_nothing_is_stored(invoke: Invoke, secret: Path, arguments: tuple[str, ...]) -> None:
    assert len(CANARY) == len("boom-please")
    before = _files(secret)
    ran = invoke("context", *arguments, "--full")
    assert CANARY in ran.out
    assert _files(secret) == before
    assert CANARY in "".join(item["value"] for item in _asked(invoke, *arguments)["items"][:1])
    assert _files(secret) == before
    holders = {path.name for path, data in before.items() if CANARY.encode() in data}
    assert holders == {"otlp.json", "graph.db"}


def _files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_output_never_replaces_the_source(invoke: Invoke) -> None:
    before = Path(REACT).read_bytes()
    ran = invoke("context", REACT, SECOND, "-o", REACT)
    assert (ran.code, Path(REACT).read_bytes()) == (2, before)
    assert "is an input" in ran.err


def _with_first_message(said: str, path: str) -> None:
    """Write the example with another first message, in every place where it stands."""
    text = Path(REACT).read_text(encoding="utf-8")
    export = json.loads(text)
    for span in export["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for attribute in span["attributes"]:
            if attribute["key"] == "llm.input_messages.0.message.content":
                attribute["value"]["stringValue"] = said
    Path(path).write_text(json.dumps(export), encoding="utf-8")


def test_text_is_shortened_with_the_count_and_whole_where_that_is_asked_for(
    invoke: Invoke,
) -> None:
    long = "x" * 199 + "y" * 1000
    _with_first_message(long, "long.json")
    line = invoke("context", "long.json", SECOND).out.splitlines()[2]
    assert line.endswith(f"{long[:200]}… (+999 characters)")
    assert invoke("context", "long.json", SECOND, "--full").out.splitlines()[2].endswith(long)
    assert _asked(invoke, "long.json", SECOND)["items"][0]["value"] == long
    assert "(+999 characters)" in invoke("context", "long.json", SECOND, "--format", "md").out
    assert long in invoke("context", "long.json", SECOND, "--format", "csv").out


def test_controls_are_made_visible_and_json_keeps_them(invoke: Invoke) -> None:
    said = "\x1b[2Ja\x00b\nc\u202e"
    _with_first_message(said, "hostile.json")
    for form in ("table", "md"):
        out = invoke("context", "hostile.json", SECOND, "--format", form).out
        assert not {"\x1b", "\x00", "\u202e"} & set(out)
        assert "\\x00b\\nc\\u202e" in out.replace("\\\\", "\\")
    assert _asked(invoke, "hostile.json", SECOND)["items"][0]["value"] == said


def test_wrong_references_are_refused_in_a_line(invoke: Invoke) -> None:
    for arguments, said in (
        ((REACT, "zzz"), "no step 'zzz'"),
        ((REACT, SECOND, "--diff", "zzz"), "no step 'zzz'"),
        ((DATABASE, "f222"), "holds 2 traces"),
        (("missing.json", "1"), "missing.json"),
    ):
        ran = invoke("context", *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert said in ran.err
        assert ran.err.count("\n") == 1


def test_two_runs_give_the_same_bytes(invoke: Invoke) -> None:
    for form in ("table", "json", "jsonl", "csv", "md"):
        arguments = ("context", f"{DATABASE}#A", "f222", "--diff", "2af7", "--format", form)
        assert invoke(*arguments).out == invoke(*arguments).out
