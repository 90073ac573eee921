"""``scope session``: traces with one session id, read as one."""

from collections.abc import Sequence

import numpy as np

from pattern.building import traces, written
from tracegraph.corpus.merge import rearrange
from tracegraph.model.columns import Columns
from tracegraph.pattern.finish import finish
from tracegraph.pattern.load import load_adhoc
from tracegraph.pattern.matcher import match_rows
from tracegraph.pattern.plan import plan
from tracegraph.pattern.result import MatchSet
from tracegraph.pattern.session import Gathered, gather


def session(pattern: str, segments: Sequence[Columns]) -> tuple[Gathered, MatchSet]:
    planned = plan(load_adhoc(f"pattern p v1 scope session match {pattern}"))
    read = gather(segments, rearrange)
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
    other = traces("c CHAIN q @5-6\nd TOOL x output=o @6-7 <- c:order", sessions="s", content=True)
    read = gather([first, other], rearrange)
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
