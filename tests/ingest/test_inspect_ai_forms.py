"""Inspect logs: packed and plain, old and new, damaged, and what of them is kept."""

import copy
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_logs import (
    HERE,
    POOL,
    Row,
    anonymous,
    columns_of,
    edges,
    events,
    gaps,
    given_to,
    load,
    log_of,
    members,
    read,
    read_all,
    read_one,
    read_samples,
    zipped,
)
from shared_data import fixture
from trace_view import named, view
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.inspect_ai.adapter import InspectAiAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.digest import digest_value
from tracegraph.model.seal import seal
from tracegraph.model.trace import iterate


def test_both_forms_of_a_log_say_the_same() -> None:
    for path in HERE:
        if path.suffix == ".eval":
            packed = columns_of(path.read_bytes(), keep=True)
            plain = columns_of(json.dumps(log_of(path)).encode(), keep=True)
            assert list(map(anonymous, iterate(packed))) == list(map(anonymous, iterate(plain)))


def test_texts_come_back_from_the_attachments() -> None:
    (sample,) = load("steps.json")["samples"]
    (trace,) = read(fixture("inspect_ai/steps.json"), keep=True, strict=True)
    models = [step for step in trace.steps if step.kind == "LLM"]
    held = set(sample["attachments"].values())
    for step in models:
        assert step.input is not None
        assert {m["content"] for m in json.loads(step.input)} & held
        assert "attachment://" not in step.input
    (older,) = read(fixture("inspect_ai/first_attachments.eval"), keep=True, strict=True)
    assert not any("tc://" in (step.input or "") for step in older.steps)
    log = load("steps.json")
    log["samples"][0]["attachments"].popitem()
    lost = read_one(log, keep=True, strict=True)
    assert lost.steps
    assert set(gaps(lost)) == {"inspect_ai.unresolved_attachment"}


def test_a_result_that_is_not_there_has_no_digest() -> None:
    log = load("generated_tools.json")
    sample = log["samples"][0]
    tool = events(sample, "tool")[1]
    sample["attachments"]["f00d"], tool["result"] = tool["result"], "attachment://f00d"
    whole = read_one(log, strict=True)
    assert (
        view(whole)["steps"] == view(read(fixture("inspect_ai/generated_tools.json"))[0])["steps"]
    )
    del sample["attachments"]["f00d"]
    lost = next(step for step in read_one(log).steps if step.step_id == tool["uuid"])
    assert (lost.result_digest, lost.status) == (None, "ok")


def test_each_model_has_as_input_what_it_was_given_for_the_first_time() -> None:
    (sample,) = load(POOL)["samples"]
    (trace,) = read(fixture(f"inspect_ai/{POOL}"), keep=True, strict=True)
    heard = [
        message["id"]
        for step in trace.steps
        if step.kind == "LLM"
        for message in json.loads(step.input or "")
    ]
    assert heard == [m["id"] for m in given_to(sample, events(sample, "model")[-1])]


def test_labels_are_kept_and_what_may_quote_an_answer_is_not() -> None:
    log = load("generated_tools.json")
    scores = log["samples"][0]["scores"]
    scores["number"] = {"value": 0.5, "answer": "s3cr3t", "explanation": "s3cr3t"}
    scores["several"] = {"value": {"fluent": True, "right": "I", "of": 3}}
    scores["list"] = {"value": [1, "C", False]}
    scores["text"] = {"value": "s3cr3t"}
    scores["unbounded"] = {"value": 10**400}
    scores["nested"] = {"value": {"a": {"b": "s3cr3t"}}}
    trace = read_one(log)
    assert trace.attributes["evaluations"] == [
        {"name": "includes", "label": "C"},
        {"name": "number", "score": 0.5},
        {"name": "several.fluent", "label": "true"},
        {"name": "several.right", "label": "I"},
        {"name": "several.of", "score": 3},
        {"name": "list.0", "score": 1},
        {"name": "list.1", "label": "C"},
        {"name": "list.2", "label": "false"},
    ]
    assert gaps(trace) == {"inspect_ai.scores_left_out": 3}
    with pytest.raises(StrictError, match=r"^x\.log: oslo_epoch_1: a score is neither"):
        read_one(log, strict=True)


def test_numbers_that_json_has_not() -> None:
    text = json.dumps(load("generated_tools.json"))
    text = text.replace('"value": 1.0', '"value": NaN').replace('"value": "C"', '"value": NaN')
    (trace,) = read_all(text.encode())
    assert len(trace) == 17
    assert "evaluations" not in trace.attributes
    assert gaps(trace) == {"inspect_ai.scores_left_out": 1}


def test_a_log_of_the_first_version() -> None:
    log = load("steps.json")
    sample = log["samples"][0]
    sample["transcript"] = {
        "events": sample.pop("events"),
        "content": sample.pop("attachments"),
    }
    sample["score"] = sample.pop("scores")["model_graded_fact"]
    log["version"] = 1
    trace = read_one(log, strict=True)
    now = read(fixture("inspect_ai/steps.json"))[0]
    assert view(trace)["steps"] == view(now)["steps"]
    assert view(trace)["causes"] == view(now)["causes"]
    assert trace.attributes["evaluations"] == [{"name": "score", "label": "C"}]


def test_repeated_samples_have_ids_of_their_own() -> None:
    log = load("generated_limit.json")
    log["samples"] *= 2
    assert read_samples(log)[0] == ["oslo_epoch_1", "oslo_epoch_1~2"]


@pytest.mark.parametrize(("status", "samples"), [("started", []), ("cancelled", None)])
def test_a_log_without_samples_is_refused_in_words(status: str, samples: object) -> None:
    log = {**load("generated_limit.json"), "status": status, "samples": samples}
    with pytest.raises(InputError, match=rf"^x\.log: a log \(status {status}\) without samples"):
        read_one(log)
    header = members(fixture(f"inspect_ai/{POOL}"))["header.json"]
    with pytest.raises(InputError, match=r"^x\.log: a log \(status success\) without samples"):
        read_all(zipped({"header.json": header}))


def test_a_run_that_never_ended_has_its_first_header_only() -> None:
    parts = members(fixture(f"inspect_ai/{POOL}"))
    del parts["header.json"]
    (trace,) = read_all(zipped(parts))
    assert trace.run_id == json.loads(parts["_journal/start.json"])["eval"]["run_id"]
    assert "eval_status" not in trace.attributes
    del parts["_journal/start.json"]
    source = Source("x", zipped(dict(sorted(parts.items(), reverse=True))))
    (draft,) = InspectAiAdapter().read([source], ReadOptions(strict=True))
    assert draft.file_gaps == {"inspect_ai.no_header": 1}
    assert draft.traces.trace_id == ["0_epoch_1"]


def test_a_broken_member_costs_its_sample() -> None:
    parts = members(fixture("inspect_ai/generated_cut.eval"))
    parts["samples/oslo_epoch_1.json"] = parts["samples/oslo_epoch_1.json"][:-5]
    (draft,) = InspectAiAdapter().read([Source("x", zipped(parts))], ReadOptions())
    assert draft.traces.trace_id == ["oslo_epoch_2"]
    assert draft.file_gaps == {"inspect_ai.unreadable_sample": 1}
    with pytest.raises(StrictError, match=r"^x: samples/oslo_epoch_1\.json: line 1, column \d+"):
        list(InspectAiAdapter().read([Source("x", zipped(parts))], ReadOptions(strict=True)))


PACKED = [path for path in HERE if path.suffix == ".eval"]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PACKED), st.data())
def test_packed_logs_cut_or_with_other_bytes(path: Path, data: st.DataObject) -> None:
    """Samples that are lost are disclosed, or the file is refused in one line of words."""
    packed = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        packed[data.draw(st.integers(30, len(packed) - 1))] = data.draw(st.integers(0, 255))
    packed = packed[: data.draw(st.integers(60, len(packed)))]
    try:
        (draft,) = InspectAiAdapter().read([Source("x", bytes(packed))], ReadOptions(True))
    except InputError as error:
        assert str(error).startswith("x")
        assert "\n" not in str(error)
        return
    found = list(iterate(seal(draft)))
    whole = read(path)
    lost = len(whole) - len(found)
    assert lost <= 0 or draft.file_gaps


def test_a_cut_log_gives_the_samples_in_front_of_the_cut() -> None:
    path = fixture("inspect_ai/generated_cut.eval")
    with zipfile.ZipFile(path) as file:
        second = file.getinfo("samples/oslo_epoch_2.json").header_offset
    source = Source("x", path.read_bytes()[: second + 60])
    (draft,) = InspectAiAdapter().read([source], ReadOptions())
    assert draft.traces.trace_id == ["oslo_epoch_1"]
    assert draft.file_gaps["files.damaged"] == 1


def test_what_is_no_event_costs_itself_and_new_kinds_are_told() -> None:
    log = load("generated_tools.json")
    whole = read_one(log)
    log["samples"][0]["events"][3:3] = [5, {"event": 7}, {"event": "dream", "id": "x"}]
    trace = read_one(log)
    assert [s.step_id for s in trace.steps] == [s.step_id for s in whole.steps]
    assert gaps(trace) == {"inspect_ai.unreadable_event": 2, "inspect_ai.unknown_event": 1}


def test_an_interrupt_is_told_of_the_sample() -> None:
    log = load("generated_tools.json")
    interrupt = {"event": "interrupt", "source": "user_cancel", "interrupted": "generate"}
    log["samples"][0]["events"].append(interrupt)
    assert "interrupt" in named(read_one(log, strict=True), "weather_tools").signals


def test_what_is_still_pending_has_no_status() -> None:
    log = load("generated_tools.json")
    for event in events(log["samples"][0], "model", "tool"):
        event["pending"] = True
        event.pop("completed")
        event.pop("error", None)
    kinds = {s.kind: (s.status, s.end) for s in read_one(log, strict=True).steps}
    assert kinds["LLM"] == kinds["TOOL"] == ("unset", None)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("model", {"output": None}),
        ("model", {"output": {"choices": []}}),
        ("model", {"error": {"message": "what no text is"}}),
        ("tool", {"result": None}),
        ("tool", {"error": "what no object is"}),
    ],
)
def test_what_is_not_recorded_to_have_come_back_has_no_status(kind: str, change: Row) -> None:
    log = load("generated_tools.json")
    event = next(each for each in events(log["samples"][0], kind) if not each.get("error"))
    event |= change
    for key in [key for key, value in change.items() if value is None]:
        del event[key]
    by_id = {step.step_id: step for step in read_one(log).steps}
    assert (by_id[event["uuid"]].status, by_id[event["uuid"]].status_source) == ("unset", None)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_agents_side_by_side_keep_what_their_calls_of_one_tool_hold(order: tuple[int, int]) -> None:
    """``collect()`` of Inspect: the spans of two calls are open before the event of either."""
    log = load("generated_tools.json")
    sample = log["samples"][0]
    model, tool = events(sample, "model")[0], events(sample, "tool")[0]
    agents = [_span(f"agent{n}", None, type="agent") for n in (0, 1)]
    opened = [_span(f"span{n}", f"agent{n}", type="tool", name=tool["function"]) for n in (0, 1)]
    calls = [{**tool, "uuid": f"call{n}", "id": f"c{n}", "span_id": f"agent{n}"} for n in order]
    inner = [{**model, "uuid": f"inner{n}", "span_id": f"span{n}"} for n in (0, 1)]
    sample["events"] = [*agents, *opened, *calls, *inner]
    trace = read_one(log)
    assert {step.step_id for step in trace.steps if step.kind == "TOOL"} == {"call0", "call1"}
    held = edges(trace, "span_parent")
    for n in (0, 1):
        assert {(f"inner{n}", f"call{n}"), (f"call{n}", f"agent{n}")} <= set(held)


def _span(span_id: str, parent: str | None, **fields: str) -> Row:
    return {"event": "span_begin", "id": span_id, "parent_id": parent, "name": span_id, **fields}


def test_events_nested_in_a_call_as_until_2025() -> None:
    log = load("generated_tools.json")
    sample = log["samples"][0]
    tool = events(sample, "tool")[0]
    inner = copy.deepcopy(events(sample, "model")[0])
    del inner["span_id"], inner["uuid"]
    inner["output"]["choices"][0]["message"]["tool_calls"] = None
    tool["events"] = [inner]
    trace = read_one(log)
    added = next(step for step in trace.steps if step.step_id.endswith("-1"))
    assert added.kind == "LLM"
    assert (added.step_id, tool["uuid"]) in edges(trace, "span_parent")


def test_events_nested_hundreds_of_levels_deep_cost_what_is_deepest() -> None:
    log = load("generated_tools.json")
    tool = events(log["samples"][0], "tool")[0]
    del tool["uuid"]
    for _ in range(240):
        tool = {**tool, "events": [tool]}
    log["samples"][0]["events"] = [tool]
    trace = read_one(log)
    assert sum(step.kind == "TOOL" for step in trace.steps) > 50
    assert gaps(trace)["inspect_ai.unreadable_field"] == 1


def test_an_input_of_5000_levels_in_every_model() -> None:
    log = load("generated_tools.json")
    sample = log["samples"][0]
    for event in events(sample, "model"):
        event["input"] = [{"role": "user", "content": "DEEP"}]
    deep = json.dumps(log).replace('"DEEP"', "[" * 5_000 + "]" * 5_000)
    (trace,) = read_all(deep.encode(), keep=True)
    assert len(trace) == len(read(fixture("inspect_ai/generated_tools.json"))[0])
    assert gaps(trace) == {"inspect_ai.unreadable_message": len(events(sample, "model"))}


def test_results_of_hundreds_of_levels() -> None:
    log = load("generated_tools.json")
    tool = events(log["samples"][0], "tool")[1]
    for _ in range(240):
        tool["result"] = [{"a": tool["result"]}]
    trace = read_one(log, keep=True, strict=True)
    step = next(step for step in trace.steps if step.step_id == tool["uuid"])
    assert step.result_digest == digest_value(tool["result"])
    for _ in range(40):
        tool["result"] = [tool["result"]]
    assert gaps(read_one(log, keep=True)) == {"inspect_ai.unreadable_field": 1}


def test_bodies_leave_with_the_content() -> None:
    for path in HERE:
        columns = columns_of(path.read_bytes())
        assert columns.content is None
        words = " ".join(columns.vocabulary)
        for sample in log_of(path)["samples"]:
            for message in sample["messages"]:
                text = message["content"]
                if isinstance(text, str) and len(text) > 20:
                    assert text not in words
