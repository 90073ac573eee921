"""Who&When: what the messages of its runs become, counted again from their JSON."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_data import fixture, shared
from trace_view import gaps
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.source import HEAD_BYTES, Source
from tracegraph.ingest.whowhen.adapter import WhowhenAdapter
from tracegraph.ingest.whowhen.code import code_blocks, exit_code
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Item = dict[str, Any]
PEOPLE, EXECUTORS = {"human"}, {"Computer_terminal", "ComputerTerminal"}
REAL = sorted(path.name for path in fixture("whowhen").glob("*.json") if "made" not in path.name)


def read(path: Path, *, keep: bool = False, strict: bool = True) -> list[Trace]:
    return read_bytes(path.read_bytes(), path.name, keep=keep, strict=strict)


def read_bytes(
    data: bytes, name: str = "x.json", *, keep: bool = False, strict: bool = True
) -> list[Trace]:
    source = Source(name, data)
    assert WhowhenAdapter().sniff(source)
    (draft,) = WhowhenAdapter().read([source], ReadOptions(keep_content=keep, strict=strict))
    return list(iterate(seal(draft)))


def read_run(history: list[Item], *, strict: bool = True, **labels: Any) -> Trace:
    run = {"is_correct": False, "history": history, **labels}
    (trace,) = read_bytes(json.dumps(run).encode(), strict=strict)
    return trace


def said(name: str, content: Any) -> Item:
    return {"content": content, "role": name}


def author(message: Item) -> str:
    return str(message.get("name") or message["role"])


def edges(trace: Trace) -> set[tuple[str, str]]:
    return {(cause.cause, cause.effect) for cause in trace.causes}


def every_file() -> list[Path]:
    return sorted(shared("traces/whowhen").glob("*.json"))


def test_every_shared_run_gives_its_messages_as_steps() -> None:
    files = every_file()
    assert len(files) == 23
    for path in files:
        record = json.loads(path.read_text(encoding="utf-8"))
        (trace,) = read(path)
        expected = [
            (str(place), "TOOL" if author(message) in EXECUTORS else "LLM", author(message))
            for place, message in enumerate(record["history"])
            if author(message) not in PEOPLE
        ]
        assert [(s.step_id, s.kind, s.name) for s in trace.steps] == expected
        assert [s.agent for s in trace.steps] == [
            re.sub(r" \(.*", "", name) for _, _, name in expected
        ]
        assert (trace.fidelity, trace.trace_id) == ("order_only", record["question_ID"])
        assert {(s.start, s.end, s.duration_ns) for s in trace.steps} == {(None, None, None)}
        assert gaps(trace) == {}


def test_every_shared_report_of_an_executor_has_the_status_of_its_exit_code() -> None:
    found: dict[str | None, int] = {}
    for path in every_file():
        history = json.loads(path.read_text(encoding="utf-8"))["history"]
        (trace,) = read(path)
        for step in trace.steps:
            if step.kind != "TOOL":
                assert (step.status, step.status_source) == ("ok", "default")
                continue
            content = history[int(step.step_id)]["content"]
            first_line = content.split("\n")[0]
            expected = {
                "exitcode: 0 (execution succeeded)": ("ok", "exit_code", None),
                "exitcode: 1 (execution failed)": ("error", "exit_code", content),
            }.get(first_line, ("unset", None, None))
            assert (step.status, step.status_source, step.error_message) == expected
            assert step.result_size == len(content.encode())
            found[step.status] = found.get(step.status, 0) + 1
    assert found == {"ok": 24, "error": 11, "unset": 8}


def test_every_shared_run_has_the_causes_of_its_framework() -> None:
    """CaptainAgent: code, its report, who speaks next. Magentic-One: who is asked, who replies."""
    total = 0
    for path in every_file():
        history = json.loads(path.read_text(encoding="utf-8"))["history"]
        (trace,) = read(path)
        assert {(c.origin, c.evidence) for c in trace.causes} <= {("protocol", "derived")}
        expected = set()
        for place, message in enumerate(history):
            following = place + 1 if place + 1 < len(history) else None
            if author(message) in EXECUTORS:
                if message["content"].startswith("exitcode: "):
                    expected.add((place - 1, place))
                    assert "```" in history[place - 1]["content"]
                expected |= {(place, following)} if following else set()
            asked = re.search(r"\(-> (.*)\)", author(message))
            for later in range(place + 1, len(history)) if asked else ():
                if author(history[later]) == asked[1]:  # type: ignore[index]
                    expected.add((place, later))
                    expected |= {(later, later + 1)} if later + 1 < len(history) else set()
                    break
                if "(-> " in author(history[later]):
                    break
        assert edges(trace) == {(str(cause), str(effect)) for cause, effect in expected}
        total += len(expected)
    assert total > 200


def test_equal_digests_mean_equal_messages() -> None:
    for path in every_file():
        history = json.loads(path.read_text(encoding="utf-8"))["history"]
        (trace,) = read(path)
        steps = list(trace.steps)
        for one, other in pairwise(steps):
            texts = [history[int(step.step_id)]["content"] for step in (one, other)]
            assert (one.result_digest == other.result_digest) == (texts[0] == texts[1])
        digests = {step.result_digest for step in steps}
        assert len(digests) == len({history[int(step.step_id)]["content"] for step in steps})


def test_the_labels_are_attributes_and_the_texts_are_not() -> None:
    for name in REAL:
        record = json.loads(fixture(f"whowhen/{name}").read_text(encoding="utf-8"))
        (trace,) = read(fixture(f"whowhen/{name}"))
        verdict = "is_correct" if "is_correct" in record else "is_corrected"
        expected = {
            "question_ID": record["question_ID"],
            "level": record.get("level"),
            "mistake_agent": record["mistake_agent"],
            "mistake_step": record["mistake_step"],
            "evaluations": [{"name": verdict, "label": "false"}],
        }
        assert trace.attributes == {k: v for k, v in expected.items() if v is not None}
        assert expected["mistake_step"] in {step.step_id for step in trace.steps}
        assert trace.status == list(trace.steps)[-1].status == "ok"  # a verdict is no status


def test_bodies_are_there_only_where_they_are_kept() -> None:
    path = fixture("whowhen/Algorithm-Generated__65.json")
    history = json.loads(path.read_text(encoding="utf-8"))["history"]
    (kept,), (bare,) = read(path, keep=True), read(path)
    assert [step.output for step in kept.steps] == [m["content"] for m in history]
    assert bare.columns.content is None
    assert "```python" in history[1]["content"]
    code = history[1]["content"].split("```python\n")[1].split("\n```")[0]
    assert json.loads(next(s.input or "" for s in kept.steps if s.kind == "TOOL")) == [
        ["python", code]
    ]


def test_an_executor_of_magentic_one_runs_the_code_that_was_handed_over_last() -> None:
    (trace,) = read(fixture("whowhen/made_terminal.json"))
    steps = {step.step_id: step for step in trace.steps}
    assert {key: step.status for key, step in steps.items() if step.kind == "TOOL"} == {
        "6": "error",
        "11": "ok",
        "13": "unset",
    }
    assert {("3", "6"), ("5", "6"), ("6", "7")} <= edges(trace)
    assert {("9", "11"), ("10", "11"), ("11", "12")} <= edges(trace)
    assert [effect for cause, effect in edges(trace) if cause == "1"] == []  # code in a thought
    assert steps["6"].args_digest != steps["11"].args_digest
    assert {key for key, step in steps.items() if "unanswered_call" in step.signals} == {"14"}
    assert trace.attributes["mistake_step"] == "9"


def test_a_reply_is_given_to_who_asked_and_to_nobody_else() -> None:
    names = ["A (-> B)", "A (note)", "B", "C", "A (-> C)", "D", "C", "D", "E"]
    trace = read_run([said(name, "x") for name in names])
    assert edges(trace) == {("0", "2"), ("2", "4"), ("4", "6")}


def test_code_in_a_language_that_is_none_was_handed_over_if_it_was_run() -> None:
    (trace,) = read(fixture("whowhen/Algorithm-Generated__36.json"))
    failed = next(step for step in trace.steps if step.status == "error")
    assert "unknown language" in (failed.error_message or "")
    assert (str(int(failed.step_id) - 1), failed.step_id) in edges(trace)
    assert not failed.orphan


def test_one_run_a_line_and_ids_that_repeat() -> None:
    first, second = read(fixture("whowhen/made_lines.jsonl"))
    assert [first.trace_id, second.trace_id] == ["made-twice", "made-twice~2"]
    calls = [step for step in first.steps if step.status == "ok" and step.kind == "TOOL"]
    assert len({(step.args_digest, step.result_digest) for step in calls}) == 1
    assert gaps(first) == {}
    assert ["unanswered_call" in step.signals for step in first.steps].index(True) == 6
    assert gaps(second) == {"whowhen.result_without_call": 1}
    assert [step.orphan for step in second.steps] == [False, True, False]
    assert second.attributes["evaluations"] == [{"name": "is_correct", "label": "true"}]


def test_an_array_of_runs_and_a_run_without_an_id() -> None:
    run = {"history": [said("A", "a")], "is_corrected": False}
    named = {**run, "question_ID": "q"}
    traces = read_bytes(json.dumps([run, named, run]).encode(), "some/where.json")
    assert [trace.trace_id for trace in traces] == ["where", "q", "where~2"]


def test_labels_may_stand_behind_a_history_that_is_longer_than_the_head() -> None:
    run = {"history": [said("human", "q" * HEAD_BYTES), said("A", "a")], "mistake_step": "1"}
    (trace,) = read_bytes(json.dumps(run).encode())
    assert [step.step_id for step in trace.steps] == ["1"]


def test_other_logs_with_a_history_are_not_taken() -> None:
    paths = [p for p in shared("traces/swe_agent_traj").rglob("*") if p.is_file()]
    paths += [p for p in shared("traces/tau_bench").rglob("*") if p.is_file()]
    assert paths
    assert not any(WhowhenAdapter().sniff(Source.open(path, path.name)) for path in paths)
    assert not WhowhenAdapter().sniff(Source("x", b'{"history": [{"role": "user"}]}'))


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (7, "whowhen.unreadable_message"),
        ({"content": "x"}, "whowhen.unreadable_message"),
        ({"role": " ", "content": "x"}, "whowhen.unreadable_message"),
        ({"role": ["A"], "content": "x"}, "whowhen.unreadable_field"),
    ],
)
def test_a_message_that_cannot_be_used_costs_itself(message: Any, code: str) -> None:
    history = [said("A", "a"), message, said("B", "b")]
    trace = read_run(history, strict=False)
    assert [step.step_id for step in trace.steps] == ["0", "2"]
    assert gaps(trace)[code] == 1
    with pytest.raises(StrictError, match=code):
        read_run(history)


@pytest.mark.parametrize("value", [[], {"history": {}, "is_correct": False}, {"history": None}])
def test_without_a_list_of_messages_it_is_no_run(value: Any) -> None:
    source = Source("x.json", json.dumps(value).encode())
    with pytest.raises(InputError, match=r"^x\.json: "):
        list(WhowhenAdapter().read([source], ReadOptions()))


@pytest.mark.parametrize(
    "labels",
    [
        {"mistake_step": [1]},
        {"mistake_agent": 3},
        {"is_correct": "no"},
        {"mistake_agent": "x" * 201},
    ],
)
def test_a_label_that_is_none_is_disclosed(labels: Item) -> None:
    trace = read_run([said("A", "a")], strict=False, **labels)
    assert gaps(trace) == {"whowhen.unreadable_field": 1}
    assert labels.keys().isdisjoint(trace.attributes)


def test_where_messages_have_names_a_role_is_no_author() -> None:
    named = {"name": "A", **said("assistant", "a")}
    trace = read_run([named, said("user", "b"), {**named, "role": "user"}], strict=False)
    assert [(step.step_id, step.agent) for step in trace.steps] == [("0", "A"), ("2", "A")]
    assert gaps(trace) == {"whowhen.unreadable_message": 1}


PROSE = st.text(st.characters(exclude_characters="`\n\r"), max_size=20)
CODE = st.lists(PROSE, min_size=1, max_size=3).map("\n".join)
BLOCK = st.tuples(st.sampled_from(["", "python", "sh", "plaintext"]), CODE)


@given(st.lists(st.tuples(PROSE, BLOCK), max_size=4), PROSE)
def test_fenced_blocks_are_found_whatever_is_around_them(
    parts: list[tuple[str, tuple[str, str]]], end: str
) -> None:
    text = "".join(f"{prose}\n```{lang}\n{code}\n```\n" for prose, (lang, code) in parts)
    assert code_blocks(text + end) == [block for _, block in parts]
    assert code_blocks(f"{text}```python\nnever closed") == [block for _, block in parts]


@given(st.integers(-255, 255), PROSE)
def test_exit_codes_are_read_at_the_very_start_only(code: int, printed: str) -> None:
    report = f"exitcode: {code} (execution failed)\nCode output: {printed}"
    assert exit_code(report) == code
    assert exit_code(f"The script ran, then exited with Unix exit code: {code}\n{printed}") == code
    assert exit_code(f"It says: {report}") is None
    assert exit_code(printed) is None or printed.startswith(("exitcode", "The script"))
