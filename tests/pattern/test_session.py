"""``scope session``: traces with one session id, read as one."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pattern.building import traces, written
from tracegraph.corpus.merge import rearrange
from tracegraph.model.columns import Columns
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.pattern.finish import finish
from tracegraph.pattern.load import load_adhoc
from tracegraph.pattern.matcher import match_rows
from tracegraph.pattern.plan import plan
from tracegraph.pattern.result import MatchSet
from tracegraph.pattern.session import Gathered, gather, sessions_of


def session(pattern: str, segments: Sequence[Columns]) -> tuple[Gathered, MatchSet]:
    planned = plan(load_adhoc(f"pattern p v1 scope session match {pattern}"))
    read = gather(segments, rearrange, sessions_of(segments))
    rows = match_rows(planned, read.columns, read.units)
    return read, finish(planned, rows, read.columns, read.units)


def find(pattern: str, *segments: Columns) -> list[str]:
    read, matches = session(pattern, segments)
    return [written(match, read.columns) for match in matches]


TURNS = traces(
    """
c TOOL x error @20-21
d TOOL x @22-23

a TOOL x error @0-1
b LLM @2-3 <- a

e TOOL x error @50-51
""",
    sessions="s s ?",
)


def test_order_crosses_the_traces_of_a_session() -> None:
    assert find("TOOL ~>> TOOL", TURNS) == ["a c", "a d", "c d"]


def test_nothing_else_crosses() -> None:
    assert find("TOOL ~> TOOL", TURNS) == ["c d"]
    assert find("TOOL ->> ANY", TURNS) == ["a b"]


def test_runs_cross() -> None:
    assert find("xs: TOOL {2,} same name", TURNS) == ["[a c d]"]
    assert find("xs: TOOL {2,} same name per scope", TURNS) == ["[c d]"]


def test_rows_and_windows_cross() -> None:
    error = "TOOL where status == error "
    assert find(error + "having count >= 2 by name", TURNS) == ["{a, c}"]
    assert find(error + "within 20s having count >= 2 by name", TURNS) == ["{a, c}"]
    assert find(error + "within 19s having count >= 2 by name", TURNS) == []
    assert find("TOOL ~>> TOOL within 21s", TURNS) == ["a c", "c d"]
    assert find("TOOL ~>> TOOL within 2 steps", TURNS) == ["a c", "c d"]


def test_a_match_is_listed_under_the_trace_of_its_first_step() -> None:
    read, matches = session("TOOL ~>> TOOL", [TURNS])
    assert [read.columns.trace_id[match.trace] for match in matches] == ["t1", "t1", "t0"]


def test_needs_are_those_of_the_session() -> None:
    columns = traces("a TOOL\n\nb TOOL args=1\n\nc TOOL", sessions="s s ?")
    read, matches = session("TOOL", [columns])
    assert len(matches) == 3
    planned = plan(load_adhoc("pattern p v1 scope session needs args match TOOL"))
    rows = match_rows(planned, read.columns, read.units)
    matches = finish(planned, rows, read.columns, read.units)
    assert [written(match, read.columns) for match in matches] == ["a", "b"]
    assert matches.not_evaluable == ((2, ("args",)),)


def test_traces_without_times_among_those_with() -> None:
    columns = traces("a TOOL @0-1\n\nb TOOL\n\nc TOOL\n\nd TOOL", sessions="s s u u")
    assert find("TOOL ~>> TOOL", columns) == ["a b?", "b a?", "c d"]


def test_segments_are_gathered_with_all_that_they_hold() -> None:
    first = traces(
        "a TOOL x @0-1 agent=m\nb LLM @1-2 / a\n\nz AGENT y", sessions="s ?", content=True
    )
    other = traces(
        "c CHAIN q @5-6\nd TOOL x output=o @6-7 <- c:order", sessions="s", content=True, prefix="u"
    )
    read = gather([first, other], rearrange, sessions_of([first, other]))
    columns = read.columns
    assert list(columns.step_id) == ["a", "b", "c", "d", "z"]
    assert columns.offsets.tolist() == [0, 2, 4, 5]
    assert read.units.tolist() == [0, 0, 1]
    assert (read.segment.tolist(), read.trace.tolist()) == ([0, 1, 0], [0, 0, 1])
    names = [columns.text(code) for code in columns.steps.name.tolist()]
    assert names == ["x", None, "q", "x", "y"]
    assert columns.steps.parent.tolist() == [-1, 0, -1, 2, -1]
    assert columns.steps.pre.tolist() == [0, 1, 2, 3, 4]
    assert columns.steps.last.tolist() == [1, 1, 3, 3, 4]
    assert columns.causes.effect.tolist() == [1, 3]
    assert columns.causes.cause.tolist() == [0, 2]
    assert columns.content is not None
    assert list(columns.content.output) == [None, None, None, "o", None]
    assert np.array_equal(columns.steps.o0[:4], columns.steps.start[:4])


_NAMED = st.tuples(
    st.sampled_from(["s", "u", None]),
    st.sampled_from(["otlp", "langgraph"]),
    st.sampled_from(["f", "g"]),
    st.sampled_from(["t0", "t1", "t2"]),
    st.sampled_from([-1, 5, 7]),
)


@given(st.lists(_NAMED, max_size=8), st.integers(0, 8), st.randoms(use_true_random=False))
def test_a_session_is_of_one_source_and_holds_a_trace_id_once(
    named: list[tuple[str | None, str, str, str, int]], cut: int, random: Random
) -> None:
    segments = []
    for part in (named[:cut], named[cut:]):
        draft = Draft()
        for session_id, source, file, trace_id, start in part:
            draft.begin(trace_id, source=source, file=file, session_id=session_id)
            draft.step("x", start=start, end=start)
        segments.append(seal(draft))
    ranks = list(range(len(named)))
    random.shuffle(ranks)
    pieces = [np.array(ranks[:cut], dtype=np.int64), np.array(ranks[cut:], dtype=np.int64)]
    found = sessions_of(segments, pieces)

    groups: dict[object, list[int]] = {}
    for trace in sorted(range(len(named)), key=ranks.__getitem__):
        session_id, source, file, trace_id, _ = named[trace]
        for key in ((session_id, source), (session_id, source, file)):
            has = {named[other][3] for other in groups.get(key, [])}
            if session_id is not None and trace_id not in has:
                groups.setdefault(key, []).append(trace)
                break
        else:
            groups[trace] = [trace]
    expected = [
        sorted(group, key=lambda t: (named[t][4] < 0, named[t][4], ranks[t]))
        for group in groups.values()
    ]
    assert found.order.tolist() == [trace for group in expected for trace in group]
    assert found.units.tolist() == [n for n, group in enumerate(expected) for _ in group]
    several = Counter(named[group[0]][0] for group in expected)
    no_id = several.pop(None, 0)
    unknown = [t for group in expected if len(group) > 1 for t in group if named[t][4] < 0]
    disclosed = {
        "sessions.no_id": no_id,
        "sessions.same_id_apart": sum(n > 1 for n in several.values()),
        "sessions.unknown_start": len(unknown),
    }
    assert found.gaps == {code: count for code, count in disclosed.items() if count}
