"""``session=ID``: the traces of one session as one run, with what was recorded and nothing else."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact_drafts import drafts
from otlp_data import START, chat, export, span
from trace_view import view
from tracegraph.analysis.artifact_check import check
from tracegraph.corpus.corpus import Corpus
from tracegraph.errors import UsageError
from tracegraph.export.artifact import write_artifact
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.artifact.adapter import ArtifactAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.codes import FIDELITIES
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.session_run import session_run
from tracegraph.model.trace import Trace, iterate
from tracegraph.workflows.context import in_view
from tracegraph.workflows.load import ingest_into, load
from tracegraph.workflows.sessions import find_session
from tracegraph.workflows.traces import resolve_trace, select_trace

# What the place of a step among the others decides; all else is as recorded.
PLACED = {"parent", "pre", "last", "scope", "o0", "o1", "step_id"}


def _united(draft: Draft) -> tuple[list[Trace], Trace, list[int]]:
    draft.traces.source = ["otlp"] * len(draft.traces.source)
    columns = seal(draft)
    run = session_run(columns, "s")
    return list(iterate(columns)), Trace(run.columns, 0), run.rows.tolist()


@settings(max_examples=150, deadline=None)
@given(drafts())
def test_a_run_holds_the_steps_and_causes_of_its_traces_and_no_others(draft: Draft) -> None:
    parts, run, rows = _united(draft)
    assert sorted(rows) == list(range(parts[0].columns.step_count))
    before = [step for part in parts for step in view(part)["steps"]]
    after = view(run)["steps"]
    assert [
        {name: value for name, value in before[row].items() if name not in PLACED} for row in rows
    ] == [{name: value for name, value in step.items() if name not in PLACED} for step in after]
    ids = [step["step_id"] for step in after]
    assert len(set(ids)) == len(ids)
    told = {row: step_id for row, step_id in zip(rows, ids, strict=True)}
    expected: Counter[tuple[str, str, str, str]] = Counter()
    for part in parts:
        own = {step.step_id: told[step.row] for step in part.steps}
        expected.update((own[e.effect], own[e.cause], e.origin, e.evidence) for e in part.causes)
        in_run = [row for row in rows if row in part.rows]
        assert in_run == list(part.rows)  # each trace keeps the order of its own
        assert [told[row] for row in in_run if part.columns.steps.parent[row] >= 0] == [
            told[row] for row in in_run if run.columns.steps.parent[rows.index(row)] >= 0
        ]
    assert Counter((e.effect, e.cause, e.origin, e.evidence) for e in run.causes) == expected


@settings(max_examples=100, deadline=None)
@given(drafts())
def test_a_run_is_written_and_read_like_any_trace(draft: Draft) -> None:
    _, run, _ = _united(draft)
    written = write_artifact(run, "content")
    (again,) = ArtifactAdapter().read(
        [Source("x", written)], ReadOptions(keep_content=True, strict=True)
    )
    assert write_artifact(Trace(seal(again), 0), "content") == written


@settings(max_examples=100, deadline=None)
@given(drafts())
def test_what_holds_of_the_traces_holds_of_the_run(draft: Draft) -> None:
    parts, run, _ = _united(draft)
    gaps: Counter[str] = Counter()
    for part in parts:
        gaps.update({gap.code: gap.count for gap in part.gaps})
    unknown = sum(part.started is None for part in parts) if len(parts) > 1 else 0
    gaps += Counter({"sessions.unknown_start": unknown})
    assert {gap.code: gap.count for gap in run.gaps} == gaps
    assert run.fidelity == max((part.fidelity for part in parts), key=FIDELITIES.index)
    assert run.cyclic == any(part.cyclic for part in parts)
    starts = [part.started for part in parts if part.started is not None]
    assert run.started == min(starts, default=None)
    assert run.ended == max((p.ended for p in parts if p.ended is not None), default=None)
    is_known = len(parts) == 1 or parts[-1].started is not None
    assert run.status == (parts[-1].status if is_known else "unset")
    assert run.attributes["session_traces"] == [part.trace_id for part in parts]
    for name in ("run_id", "agent"):
        told = {getattr(part, name) for part in parts} - ({None} if name == "agent" else set())
        assert getattr(run, name) == (told.pop() if len(told) == 1 else None)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.none() | st.integers(0, 9), min_size=1, max_size=4), min_size=1))
def test_steps_without_causes_are_in_the_order_of_time(starts: list[list[int | None]]) -> None:
    draft = Draft()
    for number, trace in enumerate(starts):
        draft.begin(f"t{number}", source="otlp", file="f", session_id="s")
        for at, start in enumerate(trace):
            draft.step(f"{number}.{at}", start=-1 if start is None else start)
    _, run, _ = _united(draft)
    every = [(start, f"{n}.{at}") for n, t in enumerate(starts) for at, start in enumerate(t)]
    timed = sorted((each for each in every if each[0] is not None), key=lambda each: each[0] or 0)
    untimed = [each for each in every if each[0] is None]
    assert [step.step_id for step in run.steps] == [step_id for _, step_id in timed + untimed]
    bounds = run.columns.steps.o0.tolist()
    in_order = [start for start, _ in timed] + [-1] * len(untimed)
    assert bounds == (in_order if timed else list(range(len(every))))


def test_ids_are_told_apart_only_where_they_collide() -> None:
    draft = Draft()
    for trace, ids in (("t1", ["a", "b", "a@t2"]), ("t2", ["a", "c"])):
        draft.begin(trace, source="otlp", file="f")
        for step_id in ids:
            draft.step(step_id)
    run = Trace(session_run(seal(draft), "s").columns, 0)
    assert [step.step_id for step in run.steps] == ["a@t1", "b", "a@t2", "a@t2#2", "c"]


def _call(trace: int, number: int, session: str, **fields: Any) -> dict[str, Any]:
    made = span(number, "call", "TOOL", attributes={"session.id": session}, **fields)
    return made | {"traceId": f"{trace:032x}"}


def _write(path: Path, *spans: dict[str, Any]) -> str:
    path.write_text(json.dumps(export(*spans)))
    return str(path)


def _names(corpus: Corpus, references: Sequence[str]) -> list[tuple[str, int]]:
    found = [resolve_trace(corpus, reference) for reference in references]
    return [(listed.label, len(listed.trace)) for listed in found]


def test_a_session_is_named_as_a_trace_is(tmp_path: Path) -> None:
    _write(tmp_path / "a.json", *(_call(n, n, "turns", status={"code": 2}) for n in (1, 2, 3)))
    _write(tmp_path / "b.json", _call(9, 1, "turn"), _call(8, 2, "other"))
    corpus = load([tmp_path], cache=False)
    references = ["session=turns", "session=turn", "session=oth", "session=other@b.json"]
    labels = ["session=turns", "session=turn", "session=other", "session=other"]
    assert _names(corpus, references) == list(zip(labels, [3, 1, 1, 1], strict=True))
    with pytest.raises(UsageError, match="'tur' is ambiguous, 2 sessions fit: turns, turn"):
        resolve_trace(corpus, "session=tur")
    with pytest.raises(UsageError, match="no session 'x'; see: tracegraph traces --by-session"):
        resolve_trace(corpus, "session=x")
    with pytest.raises(UsageError) as refused:
        select_trace(corpus, None, "in", "in#ID")
    assert "name one as in#ID: " in str(refused.value)
    assert str(refused.value).endswith("; or the traces of one session together: session=turns")
    alone = load([tmp_path / "b.json"], cache=False)
    with pytest.raises(UsageError) as refused:
        select_trace(alone, None, "in", "in#ID")
    assert "session" not in str(refused.value)


def test_sessions_of_one_id_are_told_apart_by_their_files(tmp_path: Path) -> None:
    """The same run in two files, of a format whose ids people choose, is two sessions."""
    for name in ("a", "b"):
        trace = {"trace_id": "t", "session_id": "s", "source": "langgraph"}
        whole = {"kind": "tracegraph.trace", "schema_version": 1, "trace": trace}
        (tmp_path / f"{name}.json").write_text(json.dumps({**whole, "steps": [{"step_id": name}]}))
    corpus = load([tmp_path], cache=False)
    with pytest.raises(UsageError, match=r"ambiguous, 2 sessions fit: s@a\.json, s@b\.json"):
        resolve_trace(corpus, "session=s")
    assert _names(corpus, ["session=s@b.json"]) == [("session=s@b.json", 1)]


def test_the_run_does_not_depend_on_how_its_traces_are_stored(tmp_path: Path) -> None:
    spans = [_call(n, 9 - n, "s", status={"code": n % 3}) for n in range(1, 7)]
    written = set()
    folder = tmp_path / "in"
    folder.mkdir()
    for at, one in enumerate(spans):  # one segment after the other
        _write(folder / f"{at}.json", one)
        ingest_into([folder], tmp_path / "corpus").close()
    for corpus in (load([folder], cache=False), load([tmp_path / "corpus"])):
        trace = find_session(corpus, "s").trace
        written.add(write_artifact(trace))
        assert [step.start for step in trace.steps] == sorted(
            int(one["startTimeUnixNano"]) for one in spans
        )
        assert trace.file == "5.json"  # of the first trace, as of one whose spans lie in several
    assert len(written) == 1


def test_what_was_in_view_is_that_of_the_trace_of_the_step(tmp_path: Path) -> None:
    """A step of the second turn saw what its own trace says, and no rows of the first."""
    asked = chat(1, says="first"), chat(2, says="second")
    spans = [
        {**one, "traceId": f"{n:032x}", "spanId": "00000000000000aa"}
        for n, one in enumerate(asked, 1)
    ]
    for one in spans:
        one["attributes"].append({"key": "session.id", "value": {"stringValue": "s"}})
    path = _write(tmp_path / "a.json", *spans)
    for trace in ("1", "2"):
        alone = in_view(path, f"{int(trace):032x}", "00000000000000aa")
        told = in_view(path, "session=s", f"00000000000000aa@{int(trace):032x}")
        assert told.context.items == alone.context.items
        assert told.context.view == alone.context.view == "messages"
        assert told.listed.trace.columns.step_id[told.context.row].endswith(trace)
    both = in_view(
        path, "session=s", f"00000000000000aa@{2:032x}", since=f"00000000000000aa@{1:032x}"
    )
    assert both.change is not None


def test_times_that_nobody_knows_leave_the_status_open() -> None:
    draft = Draft()
    draft.begin("t1", source="otlp", file="f", session_id="s")
    draft.step("a", start=START, status=1)
    draft.begin("t2", source="otlp", file="f", session_id="s")
    draft.step("b", status=2)
    run = Trace(session_run(seal(draft), "s").columns, 0)
    assert (run.status, run.trace_id, run.session_id) == ("unset", "s", "s")
    assert {gap.code: gap.count for gap in run.gaps} == {"sessions.unknown_start": 1}
    assert np.array_equal(run.columns.traces.contained, [False])


def test_the_artifact_of_a_run_that_its_last_trace_speaks_for_is_valid(tmp_path: Path) -> None:
    """The last step failed, and the agent around it went on: its trace ended well."""
    session = {"session.id": "s"}
    agent = span(5, "agent", "AGENT", attributes=session, status={"code": 1})
    tool = span(6, "call", "TOOL", parent=5, attributes=session, status={"code": 2})
    path = _write(tmp_path / "a.json", _call(1, 1, "s", status={"code": 2}), agent, tool)
    run = resolve_trace(load([path], cache=False), "session=s").trace
    assert (run.status, [step.status for step in run.steps]) == ("ok", ["error", "ok", "error"])
    written = write_artifact(run)
    assert list(check(written, Source("x", written), is_peer=False)) == []
