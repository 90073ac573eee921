"""SWE-agent and mini-swe-agent: what their runs become, counted again from their JSON."""

import copy
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from damage import damaged, damages_of, is_consistent
from shared_data import fixture, shared
from trace_view import gaps
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.source import Source
from tracegraph.ingest.swe_agent.adapter import SweAgentAdapter
from tracegraph.model.digest import digest_text, digest_value
from tracegraph.model.seal import seal
from tracegraph.model.step import Step
from tracegraph.model.trace import Trace, iterate

Row = dict[str, Any]
HERE = sorted(fixture("swe_agent").iterdir())
CALLING = "made_function_calling"


def read_bytes(
    data: bytes, name: str = "x.traj", *, keep: bool = False, strict: bool = True
) -> Trace:
    source = Source(name, data)
    assert SweAgentAdapter().sniff(source)
    (draft,) = SweAgentAdapter().read([source], ReadOptions(keep_content=keep, strict=strict))
    (trace,) = iterate(seal(draft))
    return trace


def read(run: Row, *, keep: bool = False, strict: bool = True) -> Trace:
    return read_bytes(json.dumps(run).encode(), keep=keep, strict=strict)


def load(name: str) -> Row:
    run: Row = json.loads(fixture(f"swe_agent/{name}.json").read_text())
    return run


def steps(trace: Trace, kind: str) -> list[Step]:
    return [step for step in trace.steps if step.kind == kind]


def edges(trace: Trace, evidence: str) -> list[tuple[str, str]]:
    return [(c.cause, c.effect) for c in trace.causes if c.evidence == evidence]


def answers(run: Row) -> list[Row]:
    """Return the answers of the run's own model in its history."""
    return [m for m in run["history"] if m["role"] == "assistant" and not m.get("is_demo")]


def is_as_plain_json_counts(path: Path) -> None:
    """Hold a run to its items: an answer, a call and a result each, one after the other."""
    run = json.loads(path.read_text())
    trace = read_bytes(path.read_bytes(), path.name)
    items = run.get("trajectory")
    asked = answers(run) if items is None else items
    models, tools = steps(trace, "LLM"), steps(trace, "TOOL")
    assert len(models) == len(asked)
    assert len(tools) == sum(1 for item in asked if item["action"].strip())
    assert trace.fidelity == "order_only"
    assert not any(step.start or step.end for step in trace.steps)
    order = [step.step_id for step in trace.steps]
    chain = {(c.cause, c.effect) for c in trace.causes}
    assert chain == set(pairwise(order))  # strictly one after the other
    if items is not None:
        assert [step.result_digest for step in tools] == [
            digest_text(item["observation"]) if item["observation"].strip() else None
            for item in items
        ]
    agents = {message["agent"] for message in answers(run)}
    assert {trace.agent} == agents
    assert gaps(trace) == {}


def test_shared_runs_are_as_plain_json_counts() -> None:
    paths = sorted(shared("traces/swe_agent_traj").iterdir())
    for path in paths:
        is_as_plain_json_counts(path)
    assert len(paths) == 8


@pytest.mark.parametrize("name", [CALLING, "function_calling_simple", "warmup"])
def test_runs_are_as_plain_json_counts(name: str) -> None:
    is_as_plain_json_counts(fixture(f"swe_agent/{name}.json"))


def test_function_calls_of_the_history_pair_by_their_ids() -> None:
    run = load(CALLING)
    trace = read(run)
    calls = [message["tool_calls"][0] for message in answers(run)]
    tools = steps(trace, "TOOL")
    assert [(step.tool_call_id, step.name) for step in tools] == [
        (call["id"], call["function"]["name"]) for call in calls
    ]
    assert [step.args_digest for step in tools] == [
        digest_value(json.loads(call["function"]["arguments"])) for call in calls
    ]
    assert len(edges(trace, "declared")) == len(calls)
    assert [step.duration_ns for step in tools] == [
        round(item["execution_time"] * 1e9) for item in run["trajectory"]
    ]
    assert trace.trace_id == json.loads(run["replay_config"])["problem_statement"]["id"]
    assert trace.attributes["model"] == "gpt-4o"


def test_a_history_alone_pairs_results_by_their_ids() -> None:
    run = load("function_calling_simple")
    trace = read(run)
    results = [message for message in run["history"] if message["role"] == "tool"]
    tools = steps(trace, "TOOL")
    assert [[step.tool_call_id] for step in tools] == [m["tool_call_ids"] for m in results]
    assert [step.result_digest for step in tools] == [digest_text(m["content"]) for m in results]
    assert len(edges(trace, "declared")) == len(results)
    assert trace.status == "unset"  # nothing says how it ended


def test_commands_without_ids_pair_by_position() -> None:
    run = load("warmup")
    trace = read(run)
    tools = steps(trace, "TOOL")
    assert edges(trace, "declared") == []
    assert [step.tool_call_id for step in tools] == [None] * len(run["trajectory"])
    assert [step.args_digest for step in tools] == [
        digest_text(item["action"]) for item in run["trajectory"]
    ]
    names = [item["action"].split()[0] for item in run["trajectory"]]
    assert [step.name for step in tools] == names
    assert {step.status for step in tools} == {"unset"}  # no exit code is recorded
    assert trace.status == "ok"


@pytest.mark.parametrize("missing", [True, False])
def test_a_command_whose_observation_is_not_recorded_has_not_come_back(missing: bool) -> None:
    items: list[Row] = [
        {"action": action, "observation": "x", "response": "r"} for action in ("ls", "pwd", "cat a")
    ]
    items[1]["observation"] = None
    if missing:
        del items[1]["observation"]
    trace = read({"trajectory": items, "history": []}, strict=False)
    assert [step.step_id for step in steps(trace, "TOOL")] == ["step-1-tool", "step-3-tool"]
    assert edges(trace, "derived") == [
        ("step-1", "step-1-tool"),
        ("step-1-tool", "step-2"),
        ("step-3", "step-3-tool"),
    ]
    unanswered = [s.step_id for s in trace.steps if "unanswered_call" in s.signals]
    assert (unanswered, gaps(trace)) == (["step-2"], {"swe_agent.unreadable_field": 1})


def test_ids_of_a_command_that_the_history_holds_less_often_are_nobodys() -> None:
    run = load(CALLING)
    asks = [message for message in answers(run) if message.get("tool_calls")]
    lost = asks[-1]
    again = next(i for i in run["trajectory"] if i["action"] == lost["action"])
    run["trajectory"].insert(0, {**again, "observation": "of another time"})
    ids = {step.tool_call_id for step in steps(read(run), "TOOL")}
    assert lost["tool_calls"][0]["id"] not in ids
    assert {m["tool_calls"][0]["id"] for m in asks if m["action"] != lost["action"]} <= ids


def test_a_history_without_ids_and_what_is_shown_as_an_example() -> None:
    run = load("warmup")
    demo = {"role": "assistant", "content": "x", "action": "ls", "thought": "", "is_demo": True}
    history = [*run["history"][:2], demo, *run["history"][2:]]
    trace = read({"history": history, "info": {}})
    assert len(steps(trace, "LLM")) == len(answers(run))
    # The last command ended the run, so nothing came back.
    assert len(steps(trace, "TOOL")) == len(answers(run)) - 1
    assert list(trace.steps)[-1].signals == ("unanswered_call",)


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("submitted", "ok"),
        ("submitted (exit_cost)", "unset"),
        ("submitted (exit_error)", "error"),
        ("exit_cost", "unset"),
        ("exit_context", "unset"),
        ("exit_total_execution_time", "unset"),
        ("exit_forfeit", "unset"),
        ("early_exit", "unset"),
        ("exit_format", "error"),
        ("exit_api", "error"),
        ("exit_environment_error", "error"),
        (None, "unset"),
    ],
)
def test_how_a_run_ended(word: str | None, status: str) -> None:
    run = load("warmup")
    run["info"]["exit_status"] = word
    trace = read(run)
    assert trace.status == status
    assert trace.attributes.get("ended_by") == (word and {"exit_status": word})
    ends = steps(trace, "CHAIN")
    assert [step.status for step in ends] == ["error"] * (status == "error")


def test_an_end_that_the_agent_wrote_itself_is_no_answer_and_no_call() -> None:
    run = load("made_exit_error")
    trace = read(run)
    *_, last = trace.steps
    assert [step.kind for step in trace.steps] == ["LLM", "TOOL", "CHAIN"]
    assert (last.status, last.error_type) == ("error", "exit_error")
    assert last.error_message == run["trajectory"][-1]["thought"]
    run["trajectory"][-1] |= {"action": ""}  # as since 1.0
    run["info"]["exit_status"] = "submitted (exit_cost)"
    *_, last = read(run).steps
    assert (last.kind, last.name, last.status) == ("CHAIN", "exit_cost", "unset")


def test_an_exit_status_that_is_no_word_stays_out() -> None:
    run = load("warmup")
    run["info"]["exit_status"] = "could not: see /home/me"
    trace = read(run, strict=False)
    assert "ended_by" not in trace.attributes
    assert gaps(trace) == {"swe_agent.unreadable_field": 1}


def test_what_a_run_used_is_said_of_the_run() -> None:
    run = load(CALLING)
    trace = read(run)
    stats = run["info"]["model_stats"]
    assert {key: trace.attributes[key] for key in stats} == stats
    assert {step.tokens_total for step in trace.steps} == {None}
    replayed = read(load("warmup"))  # which counted nothing
    assert not stats.keys() & replayed.attributes.keys()


def test_other_attempts_than_the_chosen_one_are_disclosed() -> None:
    run = load(CALLING)
    run["attempts"] = [copy.deepcopy(run), {}, {}]
    assert gaps(read(run, strict=False)) == {"swe_agent.attempts_left_out": 2}
    with pytest.raises(StrictError, match=r"^x\.traj: marshmallow-code__marshmallow-1867: other"):
        read(run)


def test_an_item_that_cannot_be_used_costs_itself() -> None:
    run = load("warmup")
    count = len(run["trajectory"])
    run["trajectory"][2] = 5
    trace = read(run, strict=False)
    assert len(steps(trace, "LLM")) == len(steps(trace, "TOOL")) == count - 1
    assert gaps(trace) == {"swe_agent.unreadable_step": 1}
    with pytest.raises(InputError, match=r"^x\.traj: neither a trajectory nor a history"):
        list(SweAgentAdapter().read([Source("x.traj", b'{"history": 5}')], ReadOptions()))


MINI = [path.stem for path in HERE if "mini" in path.name]


@pytest.mark.parametrize("name", MINI)
def test_runs_of_mini_are_as_plain_json_counts(name: str) -> None:
    run = load(name)
    trace = read(run)
    messages = run["messages"]
    said = [m for m in messages if m.get("role") == "assistant" or m.get("object") == "response"]
    models, tools = steps(trace, "LLM"), steps(trace, "TOOL")
    unanswered = "crash" in name  # the call that raised left no answer
    assert len(models) == len(said) == run["info"]["model_stats"]["api_calls"] - unanswered
    codes = [m["extra"]["returncode"] for m in messages if "returncode" in m.get("extra", {})]
    known = [step for step in tools if step.status_source == "recorded"]
    assert [step.status for step in known] == ["error" if code else "ok" for code in codes]
    assert trace.attributes["mini_version"] == run["info"]["mini_version"]
    assert trace.attributes["ended_by"] == {"exit_status": run["info"]["exit_status"]}
    times = [m.get("timestamp", m.get("extra", {}).get("timestamp")) for m in said]
    assert [step.end for step in models] == [round(time * 1e6) * 1_000 for time in times]
    assert not any(step.start for step in trace.steps)


def test_calls_of_mini_pair_by_id_and_the_last_gave_what_was_submitted() -> None:
    run = load("generated_mini_toolcall")
    trace = read(run)
    tools = steps(trace, "TOOL")
    asked = [call for m in run["messages"] for call in m.get("tool_calls") or []]
    assert [step.tool_call_id for step in tools] == [call["id"] for call in asked]
    assert [step.args_digest for step in tools] == [
        digest_value(json.loads(call["function"]["arguments"])) for call in asked
    ]
    assert Counter(c.evidence for c in trace.causes) == {"declared": 4, "derived": 3}
    assert [step.error_message for step in tools] == [None, "returncode 1", None, None]
    assert tools[-1].result_digest == digest_text(run["info"]["submission"])
    assert trace.status == "ok"


def test_the_first_versions_of_mini_have_a_block_of_bash() -> None:
    trace = read(load("generated_mini_v1"))
    tools = steps(trace, "TOOL")
    commands = ["cat word", "cat nothing"]
    assert [step.args_digest for step in tools[:2]] == [
        digest_value({"command": command}) for command in commands
    ]
    assert {step.status for step in tools} == {"unset"}
    assert len(tools) == 3  # one of the four answers held no command


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("generated_mini_limit", "unset", None),
        ("generated_mini_crash", "error", ("ConnectionError", "the model is gone")),
        ("generated_mini_responses", "ok", None),
    ],
)
def test_how_a_run_of_mini_ended(name: str, status: str, error: tuple[str, str] | None) -> None:
    trace = read(load(name))
    assert trace.status == status
    ends = [(step.error_type, step.error_message) for step in steps(trace, "CHAIN")]
    assert ends == [error] * (error is not None)


def test_5000_items() -> None:
    run = load(CALLING)
    item, message = run["trajectory"][0], answers(run)[0]
    run["trajectory"] = [item] * 5_000
    run["history"] = [message] * 5_000
    trace = read(run)
    assert (len(trace), len(list(trace.causes))) == (10_000, 9_999)


def test_bodies_leave_with_the_content() -> None:
    for path in HERE:
        source = Source("x", path.read_bytes())
        (draft,) = SweAgentAdapter().read([source], ReadOptions())
        columns = seal(draft)
        assert columns.content is None
        words = " ".join(columns.vocabulary)
        run = json.loads(path.read_text())
        for message in [*run.get("history", []), *run.get("messages", [])]:
            text = message.get("content")
            if isinstance(text, str) and len(text) > 20:
                assert text not in words


DAMAGED = [load(path.stem) for path in HERE if path.stem != "warmup"]


@given(st.sampled_from(DAMAGED).flatmap(lambda run: st.tuples(st.just(run), damages_of(run))))
def test_damaged_runs_are_read_or_refused_in_words(made: tuple[Any, list[Any]]) -> None:
    source = Source("x.json", json.dumps(damaged(*made)).encode())
    try:
        (draft,) = SweAgentAdapter().read([source], ReadOptions(True))
    except InputError as error:
        assert str(error).startswith("x.json: ")
        return
    is_consistent(seal(draft))
