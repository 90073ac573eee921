"""Where to look first: each rule, their order, and what holds of any run."""

from collections.abc import Iterator
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact_drafts import drafts
from made_runs import LONG, Edge, Run, failed
from tracegraph.analysis.candidates import LISTED, PLACES, REASONS, find_candidates
from tracegraph.analysis.incidents import find_incidents
from tracegraph.analysis.links import alone, links_of
from tracegraph.export.candidates import candidate_reason
from tracegraph.model.codes import KIND_CODE, SIGNAL_BIT
from tracegraph.model.columns import Columns
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.trace import iterate

LLM, TOOL = KIND_CODE["LLM"], KIND_CODE["TOOL"]


def told(run: Run | Columns) -> list[str]:
    """Return each candidate as ``reason step of-what-step xtimes``."""
    columns = run if isinstance(run, Columns) else run.columns()
    return list(_told(columns))


def signs(run: Run) -> list[str]:
    """Return the candidates that are more than a place."""
    return [text for text in told(run) if text.split()[0] not in PLACES]


def _told(columns: Columns) -> Iterator[str]:
    ids = columns.step_id
    for each in find_candidates(columns, find_incidents(columns)):
        about = "" if each.about is None else f" {ids[each.about]}"
        times = "" if each.times is None else f" x{each.times}"
        yield f"{each.reason} {ids[each.row]}{about}{times}"


def by(cause: str) -> list[Edge]:
    return [(cause, "tool_call_id")]


def talk(*turns: str) -> Run:
    """Return a chain ``m1 t1 m2 ...`` in which each step leads to the next; ``t1!`` fails."""
    run, before = Run(contained=False), ""
    for turn in turns:
        name = turn.rstrip("!")
        kind = "LLM" if name.startswith("m") else "TOOL"
        status = "error" if turn.endswith("!") else "ok"
        run.step(name, kind, status, after=by(before) if before else [])
        before = name
    return run


def test_behind_a_failure_is_the_model_that_led_to_it() -> None:
    assert signs(talk("m1", "t1", "m2", "t2!")) == ["led_to_failure m2 t2"]


def test_a_model_that_went_on_from_a_failure_comes_after_the_one_that_led_to_it() -> None:
    run = talk("m1", "t1!", "m2", "t2", "m3")
    assert told(run) == [
        "led_to_failure m1 t1",
        "went_on m2 t1",
        "last_model_step m3",
    ]


def test_a_failure_that_was_made_up_for_comes_after_every_other_sign() -> None:
    run = Run(contained=False).step("m1", "LLM").step("t1", name="t", after=by("m1"), **failed())
    run.step("m2", "LLM", after=by("t1")).step("t2", name="t", after=by("m2"))
    run.step("m3", "LLM", after=by("t2"), signals=SIGNAL_BIT["truncated"])
    assert signs(run) == ["truncated m3", "led_to_recovered_failure m1 t1"]


def test_fatal_before_unresolved_whatever_came_first() -> None:
    run = Run().step("root", "AGENT", "error", at=LONG, error_message="disk full")
    run.step("m1", "LLM", inside="root").step("a", after=by("m1"), inside="root", **failed("no"))
    run.step("m2", "LLM", after=by("a"), inside="root")
    run.step("b", after=by("m2"), inside="root", **failed("disk full"))
    assert signs(run) == ["led_to_failure m2 b", "led_to_failure m1 a"]


def test_what_led_to_a_failure_may_be_further_back() -> None:
    run = Run(contained=False).step("m1", "LLM").step("node", "CHAIN", after=by("m1"))
    run.step("query", "RETRIEVER", after=[("node", "graph_step")], **failed())
    assert signs(run) == ["led_to_failure m1 query"]


def test_a_failing_model_step_is_looked_at_itself() -> None:
    assert signs(talk("m1", "t1", "m2!")) == ["failed m2"]


def test_a_failure_behind_which_nothing_is_comes_after_those_behind_which_something_is() -> None:
    run = Run().step("root", "CHAIN", "error", at=LONG, error_message="limit")
    run.step("m1", "LLM", inside="root").step("t1", after=by("m1"), inside="root", **failed("no"))
    run.step("m2", "LLM", after=by("t1"), inside="root")
    assert signs(run) == ["led_to_failure m1 t1", "failed root", "went_on m2 t1"]


@pytest.mark.parametrize("signal", ["unknown_tool", "unanswered_call", "truncated"])
def test_signals_of_model_steps(signal: str) -> None:
    run = Run().step("m1", "LLM").step("m2", "LLM", signals=SIGNAL_BIT[signal])
    assert signs(run) == [f"{signal} m2"]
    assert signs(Run().step("t1", signals=SIGNAL_BIT[signal])) == []


def test_signs_come_in_the_order_of_the_run() -> None:
    run = Run().step("m1", "LLM", signals=SIGNAL_BIT["truncated"])
    run.step("m2", "LLM", signals=SIGNAL_BIT["unknown_tool"] | SIGNAL_BIT["truncated"])
    assert signs(run) == ["truncated m1", "unknown_tool m2"]


def called(*calls: tuple[str, str]) -> Run:
    """Return calls of one tool, each with its arguments and its result."""
    run = Run(contained=False)
    for number, (args, result) in enumerate(calls):
        before = by(f"t{number - 1}") if number else []
        run.step(f"m{number}", "LLM", after=before)
        run.step(f"t{number}", name="t", args=args, result=result, after=by(f"m{number}"))
    return run.step("end", "LLM", after=by(f"t{len(calls) - 1}"))


def test_the_first_of_equal_calls_in_a_row() -> None:
    run = called(("a", "1"), ("b", "1"), ("b", "1"), ("b", "1"), ("a", "1"))
    assert signs(run) == ["repeated m1 t1 x3"]


def test_calls_that_differ_in_arguments_or_results_are_no_repetition() -> None:
    assert signs(called(("a", "1"), ("b", "1"), ("b", "2"), ("a", "1"))) == []


def test_unknown_arguments_and_results_equal_nothing() -> None:
    run = Run()
    for name in ("t1", "t2", "t3"):
        run.step(name, name="t", result="1")
    for name in ("u1", "u2", "u3"):
        run.step(name, name="u", args="1")
    for name in ("m1", "m2"):
        run.step(name, "LLM", name="m")
    assert signs(run) == []


def test_a_model_that_says_the_same_again() -> None:
    run = Run().step("a1", "LLM", name="a", result="x").step("b1", "LLM", name="b", result="x")
    run.step("a2", "LLM", name="a", result="x").step("b2", "LLM", name="b", result="y")
    assert signs(run) == ["repeated a1 x2"]


def test_two_agents_that_do_the_same_once_each_are_no_repetition() -> None:
    run = Run(contained=False)
    for agent in ("a", "b"):
        run.step(f"{agent}1", "LLM", name="", agent=agent, result="x")
        run.step(f"{agent}2", name="t", agent=agent, args="y", result="z", after=by(f"{agent}1"))
        run.step(f"{agent}3", "LLM", name="", agent=agent, result="w", after=by(f"{agent}2"))
    assert signs(run) == []
    run.step("b4", name="t", agent="b", args="y", result="z").step("end", "LLM", after=by("b4"))
    assert signs(run) == ["repeated b1 b2 x2"]


def test_a_repetition_says_what_was_compared() -> None:
    run = Run().step("m1", "LLM", name="m", result="x").step("m2", "LLM", name="m", result="x")
    for number in (1, 2, 3):
        run.step(f"t{number}", name="t", args="x", result="y")
    for number in (4, 5):
        run.step(f"m{number}", "LLM").step(
            f"u{number}", name="u", args="x", result="y", after=by(f"m{number}")
        )
    columns = run.columns()
    texts = [candidate_reason(columns, each) for each in find_candidates(columns, [])]
    assert texts[:3] == [
        "the first of 2 in a row that said the very same",
        "the first of 3 in a row with equal arguments and results",
        "led to TOOL u @u4, the first of 2 in a row with equal arguments and results",
    ]


def test_a_result_that_nobody_read_where_others_were_read() -> None:
    run = talk("m1", "t1", "m2", "t2")
    assert signs(run.step("m3", "LLM")) == ["unread_result m2 t2"]
    assert signs(talk("m1", "t1", "m2")) == []


def test_the_last_call_of_a_run_has_no_reader_and_that_is_no_sign() -> None:
    """What submits an answer, hands over to people or stands where a limit ended the run."""
    run = talk("m1", "t1", "m2", "t2")
    assert signs(run) == []
    assert signs(run.step("t3", after=by("m2"))) == []


def test_where_no_reader_is_recorded_at_all_nothing_is_called_unread() -> None:
    run = Run().step("m1", "LLM").step("t1", after=by("m1")).step("t2", after=by("m1"))
    assert signs(run) == []


def test_heuristic_edges_prove_nothing() -> None:
    run = Run().step("m1", "LLM").step("t1", after=[("m1", "order")], **failed())
    assert signs(run) == ["failed t1"]


def test_without_any_sign_there_are_places() -> None:
    assert told(Run()) == []
    assert told(Run().step("a", "CHAIN").step("b", "TOOL")) == ["first_step a"]
    assert told(talk("m1", "m2")) == ["first_model_step m1", "last_model_step m2"]
    assert told(talk("m1", "m2", "t1", "m3")) == [
        "first_action m2",
        "first_model_step m1",
        "last_model_step m3",
    ]


def test_the_first_of_another_agent_stands_in_for_the_first_action() -> None:
    run = Run().step("m1", "LLM", agent="a").step("m2", "LLM").step("m3", "LLM", agent="b")
    assert told(run) == ["second_agent m3", "first_model_step m1"]
    unknown = Run().step("m1", "LLM").step("m2", "LLM", agent="b")
    assert told(unknown) == ["first_model_step m1", "last_model_step m2"]


def test_there_are_no_more_than_are_listed() -> None:
    run = Run()
    for number in range(40):
        run.step(f"m{number}", "LLM", signals=SIGNAL_BIT["truncated"])
    assert signs(run) == [f"truncated m{number}" for number in range(LISTED)]


@settings(deadline=None, max_examples=50)
@given(drafts())
def test_of_any_run_that_has_steps_there_is_a_candidate(draft: Draft) -> None:
    for trace in iterate(seal(draft)):
        columns = alone(trace)
        found = find_candidates(columns, find_incidents(columns))
        assert bool(found) == bool(len(trace))
        assert len(found) == len({each.row for each in found}) <= LISTED
        assert found == find_candidates(columns, find_incidents(columns))
        places = [each.reason in PLACES for each in found]
        assert places == sorted(places)
        for each in found:
            assert each.reason in REASONS
            assert candidate_reason(columns, each)


STEP = st.tuples(
    st.sampled_from(["LLM", "TOOL", "CHAIN"]),
    st.sampled_from("ab"),
    st.sampled_from([None, "x"]),
    st.sampled_from([None, "1", "2"]),
    st.sampled_from([None, "p", "q"]),
    st.sets(st.integers(1, 4)),
)
"""Kind, name, arguments, result, agent, and how far back the causes are."""


@settings(deadline=None)
@given(st.lists(STEP, max_size=12))
def test_repetitions_and_unread_results_are_those_that_counting_finds(
    steps: list[tuple[str, str, str | None, str | None, str | None, set[int]]],
) -> None:
    """Found again in plain loops; of a step that has several reasons the first one is told."""
    run = Run()
    for at, (kind, name, args, result, agent, back) in enumerate(steps):
        after = [(f"s{at - far}", "tool_call_id") for far in back if far <= at]
        run.step(f"s{at}", kind, name=name, args=args, result=result, agent=agent, after=after)
    columns = run.columns()
    found = {each.row: each for each in find_candidates(columns, [])}
    repeated, unread = _repeated(columns), _unread(columns)
    for row, each in found.items():
        if each.reason == "repeated":
            assert (each.about, each.times) in repeated[row]
        elif each.reason == "unread_result":
            assert each.about in unread[row]
            assert row not in repeated
        else:
            assert row not in repeated
            assert row not in unread
    if len(found) < LISTED:
        assert repeated.keys() | unread.keys() <= found.keys()


def _asker(columns: Columns, row: int) -> int | None:
    asking = (c for c in reversed(links_of(columns).causes[row]) if columns.steps.kind[c] == LLM)
    return next(asking, None)


def _repeated(columns: Columns) -> dict[int, list[tuple[int | None, int]]]:
    """Return for each step to look at what its repetitions are about, and how often in a row."""
    steps = columns.steps
    found: dict[int, list[tuple[int | None, int]]] = {}
    works = sorted(zip(steps.kind, steps.name, steps.agent, range(len(steps.kind)), strict=True))
    for _, work in groupby(works, lambda each: each[:3]):
        rows = [row for kind, _, _, row in work if kind in (LLM, TOOL)]
        outcomes = [_outcome(columns, row) for row in rows]
        for _, run in groupby(range(len(rows)), outcomes.__getitem__):
            first, *others = list(run)
            row = rows[first]
            if others:
                asker = _asker(columns, row) if steps.kind[row] == TOOL else None
                about = None if asker is None else row
                found.setdefault(row if asker is None else asker, []).append(
                    (about, 1 + len(others))
                )
    return found


def _outcome(columns: Columns, row: int) -> tuple[int, ...]:
    """Return what equals nothing else where something of it is unknown."""
    steps = columns.steps
    args = int(steps.args[row]) if steps.kind[row] == TOOL else 0
    result = int(steps.result[row])
    return (args, result) if min(args, result) >= 0 else (-1, row)


def _unread(columns: Columns) -> dict[int, list[int]]:
    effects, kind = links_of(columns).effects, columns.steps.kind
    tools = [row for row in range(len(kind)) if kind[row] == TOOL]
    unread = [row for row in tools if not any(kind[effect] == LLM for effect in effects[row])]
    found: dict[int, list[int]] = {}
    for row in unread if unread != tools else []:
        asker = _asker(columns, row)
        if asker is not None and LLM in kind[row:]:
            found.setdefault(asker, []).append(row)
    return found
