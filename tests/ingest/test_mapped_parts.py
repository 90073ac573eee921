"""Records that a mapping declares parts of one step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapped_logs import Row, drafts, edges, fields, lines, read, read_all
from trace_view import gaps
from tracegraph.errors import StrictError

PARTS = '[rows]\nsame_id = "parts"\n[status]\nok = [true]\nerror = [false]\nunset = ["started"]\n'
LOG = (
    fields(
        step_id="id", parent="up", name="tool", status="ok", error_message="error", start="ts",
        end="ts", args="in", result="out", tokens_prompt="tin", tokens_completion="tout",
    )
    + PARTS
)  # fmt: skip
SHORT = fields(step_id="id", name="tool", status="ok") + PARTS
SECOND = 10**9
NOON = 1_800_000_000


def test_a_call_and_its_return_are_one_step() -> None:
    rows: list[Row] = [
        {"id": "a", "tool": "plan", "ts": NOON, "ok": "started", "tin": 3},
        {"id": "b", "up": "a", "tool": "fetch", "ts": NOON + 1, "in": {"q": 1}},
        {"id": "b", "tool": "other", "ts": NOON + 4, "ok": False, "error": "boom", "out": "x"},
        {"id": "a", "ts": NOON + 9, "ok": True, "tout": 4},
    ]
    trace = read(lines(*rows), LOG, strict=True)
    assert gaps(trace) == {}
    plan, fetch = trace.steps
    assert (plan.step_id, plan.name, plan.status, plan.tokens_total) == ("a", "plan", "ok", 7)
    assert (plan.duration_ns, fetch.duration_ns) == (9 * SECOND, 3 * SECOND)
    assert (fetch.name, fetch.status, fetch.error_message) == ("fetch", "error", "boom")
    assert None not in (fetch.args_digest, fetch.result_digest)
    assert edges(trace, "span_parent") == {("a", "b")}


def test_the_same_log_without_the_key_has_a_step_a_record() -> None:
    rows = [{"id": "a", "tool": "t", "ts": NOON}, {"id": "a", "ok": True, "ts": NOON + 1}]
    trace = read_all_of(rows, LOG.replace('"parts"', '"steps"'))
    assert trace == [("a", NOON, NOON), ("a~2", NOON + 1, NOON + 1)]


def read_all_of(rows: list[Row], mapping: str) -> list[tuple[str, int, int]]:
    (draft,) = drafts(lines(*rows), mapping)
    steps = draft.steps
    return [
        (own, start // SECOND, end // SECOND)
        for own, start, end in zip(steps.step_id, steps.start, steps.end, strict=True)
    ]


def test_a_step_of_which_only_the_start_is_recorded_has_no_end() -> None:
    (draft,) = drafts(lines({"id": "a", "ts": NOON, "tool": "t"}), LOG)
    assert (draft.steps.start, draft.steps.end) == ([NOON * SECOND], [-1])


def test_a_part_that_is_there_twice_is_no_end() -> None:
    start = {"id": "a", "ts": NOON, "tool": "t"}
    (draft,) = drafts(lines(start, start), LOG)
    assert (draft.steps.step_id, draft.steps.end) == (["a"], [-1])
    assert draft.traces.gaps[0] == {"mapped.duplicate_identical": 1}


def test_one_id_in_two_traces_is_two_steps_and_records_without_an_id_are_steps() -> None:
    mapping = fields(step_id="id", trace_id="t", name="n", status="ok") + PARTS
    rows = [{"t": t, "id": 1, "n": t} for t in "xy"] + [{"t": t, "id": 1, "ok": True} for t in "yx"]
    traces = read_all(lines(*rows, {"t": "x", "n": "p"}, {"t": "x", "n": "q"}), mapping)
    found = {t.trace_id: [(s.name, s.status) for s in t.steps] for t in traces}
    assert found == {"x": [("x", "ok"), ("p", "unset"), ("q", "unset")], "y": [("y", "ok")]}


def test_a_value_that_cannot_be_used_is_placed_among_the_parts() -> None:
    rows = [{"id": 1, "tool": "t"}, {"id": 1, "ok": "odd"}]
    assert gaps(read(lines(*rows), SHORT)) == {"mapped.unknown_status": 1}
    with pytest.raises(StrictError, match=r"^log\.x: line 1 to line 2: status "):
        drafts(lines(*rows), SHORT, strict=True)


@given(st.permutations([(n, part) for n in range(4) for part in (0, 1)]))
def test_the_parts_of_steps_may_be_mixed_anyhow(order: list[tuple[int, int]]) -> None:
    rows = [
        {"id": n, "ts": NOON + at, **({"tool": f"t{n}"} if part == 0 else {"ok": n % 2 == 0})}
        for at, (n, part) in enumerate(order)
    ]
    firsts = list(dict.fromkeys(str(n) for n, _ in order))
    times = {own: [NOON + at for at, (n, _) in enumerate(order) if str(n) == own] for own in firsts}
    assert read_all_of(rows, LOG) == [(n, min(times[n]), max(times[n])) for n in firsts]
