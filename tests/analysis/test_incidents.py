"""One failure is one incident, whatever it surfaces in; and how it ended."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_runner import environment
from made_runs import LONG, Run, failed
from shared_data import ROOT, shared
from tracegraph.analysis.incidents import STATES, Incident, find_incidents
from tracegraph.analysis.links import alone
from tracegraph.model.columns import Columns
from tracegraph.workflows.load import load

SCENARIOS = {
    "react_ok": [],
    "tool_error_fatal": ["fatal fetch_page"],
    "tool_error_recover": ["recovered get_weather"],
    "tool_retry_same_args": ["unresolved fetch_page"] * 3,
    "node_retry_policy": ["recovered flaky"] * 2,
    "parallel_tools": ["unresolved get_weather"],
    "supervisor_handoff": [],
    "interrupt_resume": [],
    "regression_v1": [],
    "regression_v2": ["fatal LangGraph", "unresolved fetch_page", "unresolved fetch_page"],
}
"""Runs written to end so, recorded by two instrumentations."""


def told(columns: Columns) -> list[str]:
    """Return each incident as ``state origin < propagation > success``."""
    return [_told(columns, incident) for incident in find_incidents(columns)]


def _told(columns: Columns, incident: Incident) -> str:
    ids = columns.step_id
    by = incident.recovered_by
    text = f"{incident.state} {ids[incident.origin]}"
    text += "".join(f" < {ids[row]}" for row in incident.propagation)
    return text + (f" > {ids[by.row]} ({by.basis})" if by else "")


@pytest.mark.parametrize("form", ["openinference", "openllmetry"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_recorded_scenarios(form: str, scenario: str) -> None:
    path = shared(f"traces/otlp_json_{form}/langgraph_gen/{scenario}.otlp.json")
    with load([path], cache=False) as corpus:
        found = []
        for trace in corpus.traces():
            columns = alone(trace)
            for incident in find_incidents(columns):
                name = columns.text(columns.steps.name[incident.origin])
                found.append(f"{incident.state} {name}")
    assert found == SCENARIOS[scenario]


@pytest.mark.parametrize(("form", "errors"), [("openinference", 3), ("openllmetry", 4)])
def test_one_failure_in_several_error_spans_is_one_incident(form: str, errors: int) -> None:
    path = shared(f"traces/otlp_json_{form}/langgraph_gen/tool_error_fatal.otlp.json")
    with load([path], cache=False) as corpus:
        (incident,) = find_incidents(alone(next(corpus.traces())))
    assert len(incident.members) == errors
    assert incident.state == "fatal"


def test_the_same_runs_read_from_phoenix_have_the_same_incidents() -> None:
    """Phoenix keeps span parents only; incidents hang on those and on messages."""
    ids = {}
    for source in ("phoenix_export/h3_spans.jsonl", "otlp_json_openinference/langgraph_gen"):
        with load([shared(f"traces/{source}")], cache=False) as corpus:
            ids[source] = {t.trace_id: told(alone(t)) for t in corpus.traces()}
    phoenix, otlp = ids.values()
    common = phoenix.keys() & otlp.keys()
    assert sum(len(otlp[trace_id]) for trace_id in common) >= 10
    assert {trace_id: phoenix[trace_id] for trace_id in common} == {
        trace_id: otlp[trace_id] for trace_id in common
    }


# ---------------------------------------------------------------- how a failure travels


def test_the_origin_is_the_deepest() -> None:
    run = Run().step("root", "CHAIN", at=LONG, **failed())
    run.step("node", "CHAIN", inside="root", **failed()).step("tool", inside="node", **failed())
    assert told(run.columns()) == ["fatal tool < node < root"]


def test_a_recovered_failure_does_not_mask_a_later_fatal_one() -> None:
    """W1: the peer calls the recovered search primary, and the fatal write its propagation."""
    run = Run().step("root", "CHAIN", at=LONG, **failed("disk full"))
    run.step("search-1", name="a::search", inside="root", **failed("busy"))
    run.step("search-2", name="a::search", inside="root", after=[("search-1", "span_link")])
    run.step("write", inside="root", after=[("search-2", "span_link")], **failed("disk full"))
    assert told(run.columns()) == [
        "fatal write < root",
        "recovered search-1 > search-2 (same_parent)",
    ]


def test_it_is_not_masked_where_no_text_tells_the_two_apart() -> None:
    run = Run().step("root", "CHAIN", at=LONG, **failed())
    run.step("search-1", name="a::search", inside="root", **failed())
    run.step("search-2", name="a::search", inside="root")
    run.step("write", inside="root", **failed())
    assert told(run.columns())[0] == "fatal write < root"


def test_an_error_ancestor_does_not_demote_a_failure_of_its_own() -> None:
    run = Run().step("root", "CHAIN", at=LONG, **failed("limit"))
    run.step("first", inside="root", **failed("busy"))
    run.step("second", inside="root", after=[("first", "edge")], **failed("limit"))
    assert told(run.columns()) == ["fatal second < root", "unresolved first"]


def test_a_step_that_outlived_the_failures_inside_it_failed_by_itself() -> None:
    """The run went on from the tool's failure, and then met its limit."""
    run = Run().step("root", "AGENT", at=LONG, **failed("limit of 4 steps"))
    run.step("model", "LLM", inside="root")
    run.step("tool", inside="root", after=[("model", "tool_call_id")], **failed("busy"))
    run.step("again", "LLM", inside="root", after=[("tool", "tool_call_id")])
    assert told(run.columns()) == ["fatal root", "unresolved tool"]


def test_what_began_after_a_different_failure_shows_that_it_was_survived() -> None:
    run = Run().step("root", "AGENT", at=LONG, **failed("limit of 4 steps"))
    run.step("tool", inside="root", **failed("busy")).step("other", inside="root")
    assert told(run.columns()) == ["fatal root", "unresolved tool"]
    run = Run().step("root", "AGENT", at=LONG, **failed("tool failed"))
    run.step("other", inside="root").step("tool", inside="root", **failed("busy"))
    assert told(run.columns()) == ["fatal tool < root"]


def test_a_quoted_error_is_the_same_error() -> None:
    run = Run().step("root", "AGENT", at=LONG, **failed("ToolError: no answer after 1 s"))
    run.step("tool", inside="root", **failed("no answer after 1 s")).step("other", inside="root")
    assert told(run.columns()) == ["fatal tool < root"]


def test_types_tell_errors_apart_where_texts_are_not_kept() -> None:
    run = Run().step("root", "AGENT", at=LONG, **failed(error_type="LimitError"))
    run.step("tool", inside="root", **failed(error_type="TimeoutError"))
    run.step("other", inside="root")
    assert told(run.columns()) == ["fatal root", "unresolved tool"]
    run = Run().step("root", "AGENT", at=LONG, **failed(error_type="acme.net.TimeoutError"))
    run.step("tool", inside="root", **failed(error_type="TimeoutError"))
    run.step("other", inside="root")
    assert told(run.columns()) == ["fatal tool < root"]


@pytest.mark.parametrize(
    ("between", "text", "expected"),
    [
        ("ok", "busy", ["fatal tool < root"]),
        ("ok", "limit", ["fatal root", "unresolved tool"]),
        ("ok", None, ["fatal root", "unresolved tool"]),
        ("unset", None, ["fatal tool < root"]),
    ],
)
def test_a_step_that_ended_well_shields_what_holds_it(
    between: str, text: str | None, expected: list[str]
) -> None:
    run = Run().step("root", "AGENT", at=LONG, **failed(text))
    run.step("node", "CHAIN", between, inside="root")
    run.step("tool", inside="node", **failed("busy" if text else None))
    assert told(run.columns()) == expected


def test_a_failure_is_passed_on_along_causes() -> None:
    run = Run(contained=False).step("tool", **failed())
    run.step("model", "LLM", after=[("tool", "edge")], **failed())
    assert told(run.columns()) == ["fatal tool < model"]
    run = Run(contained=False).step("tool", **failed("busy"))
    run.step("model", "LLM", after=[("tool", "edge")], **failed("out of tokens"))
    assert told(run.columns()) == ["fatal model", "unresolved tool"]


def test_heuristic_edges_pass_nothing_on() -> None:
    run = Run(contained=False).step("tool", **failed())
    run.step("model", "LLM", after=[("tool", "order")], **failed())
    assert told(run.columns()) == ["fatal model", "unresolved tool"]


def test_another_try_fails_by_itself() -> None:
    run = Run(contained=False).step("try-1", name="search", **failed("busy"))
    run.step("try-2", name="search", after=[("try-1", "edge")], **failed("busy"))
    assert told(run.columns()) == ["fatal try-2", "unresolved try-1"]


def test_a_step_that_nothing_holds_ran_where_its_cause_ran() -> None:
    run = Run().step("agent", "AGENT", at=LONG, **failed())
    run.step("model", "LLM", inside="agent").step("tool", after=[("model", "edge")], **failed())
    assert told(run.columns()) == ["fatal tool < agent"]


# ---------------------------------------------------------------- what recovers a failure


def _conversation(last: str) -> Run:
    run = Run().step("root", "AGENT", at=LONG)
    run.step("m1", "LLM", inside="root")
    run.step("t1", name="search", inside="root", after=[("m1", "tool_call_id")], **failed("busy"))
    run.step("m2", "LLM", inside="root", after=[("t1", "tool_call_id")])
    run.step("docs", inside="root", after=[("m2", "tool_call_id")])
    run.step("m3", "LLM", inside="root", after=[("docs", "tool_call_id")])
    asked = [("m3", "tool_call_id")]
    return run.step("t2", status=last, name="search", inside="root", after=asked, args="other")


def test_the_model_that_read_a_failure_may_ask_again_later() -> None:
    assert told(_conversation("ok").columns()) == ["recovered t1 > t2 (model)"]


@pytest.mark.parametrize("last", ["error", "unset"])
def test_only_a_recorded_success_recovers(last: str) -> None:
    assert told(_conversation(last).columns())[0].split()[:2] == ["unresolved", "t1"]


def test_a_parallel_call_recovers_nothing() -> None:
    run = Run().step("root", "AGENT", at=LONG).step("m1", "LLM", inside="root")
    asked = [("m1", "tool_call_id")]
    run.step("t1", name="search", inside="root", after=asked, args="oslo", **failed("busy"))
    run.step("t2", name="search", inside="root", after=asked, args="rome")
    read = [("t1", "tool_call_id"), ("t2", "tool_call_id")]
    run.step("m2", "LLM", inside="root", after=read)
    assert told(run.columns()) == ["unresolved t1"]


def test_the_same_call_made_again_recovers() -> None:
    run = Run().step("root", "AGENT", at=LONG).step("m1", "LLM", inside="root")
    asked = [("m1", "tool_call_id")]
    run.step("t1", name="search", inside="root", after=asked, tool_call_id="c1", **failed("busy"))
    run.step("t2", name="search", inside="root", after=asked, tool_call_id="c1")
    assert told(run.columns()) == ["recovered t1 > t2 (same_call)"]


def test_attempts_under_one_parent() -> None:
    run = Run().step("root", "CHAIN", at=LONG)
    run.step("a1", "CHAIN", name="flaky", inside="root", **failed("one"))
    run.step("t1", name="fetch", inside="a1", **failed("one"))
    run.step("a2", "CHAIN", name="flaky", inside="root", after=[("a1", "graph_step")])
    assert told(run.columns()) == ["recovered t1 < a1 > a2 (same_parent)"]


def test_the_items_of_a_fan_out_do_not_recover_each_other() -> None:
    run = Run().step("root", "CHAIN", at=LONG).step("plan", "CHAIN", inside="root")
    for number, status in enumerate(["error", "ok", "ok"]):
        after = [("plan", "graph_step")]
        run.step(f"w{number}", "CHAIN", status, name="work", inside="root", after=after)
    assert told(run.columns()) == ["unresolved w0"]
    run.step("again", "CHAIN", name="work", inside="root", after=[("w2", "graph_step")])
    assert told(run.columns()) == ["recovered w0 > again (same_parent)"]


@pytest.mark.parametrize(
    ("second", "is_recovered"),
    [
        ({"args": "same"}, True),
        ({}, True),
        ({"args": "other"}, False),
        ({"name": "read"}, False),
        ({"kind": "CHAIN"}, False),
        ({"inside": "elsewhere"}, False),
        ({"at": (1_000, 1_005)}, False),
    ],
)
def test_under_one_parent_the_same_work_has_to_begin_later(
    second: dict[str, Any], is_recovered: bool
) -> None:
    run = Run().step("root", "AGENT", at=LONG).step("elsewhere", "AGENT", inside="root", at=LONG)
    run.step("t1", name="write", inside="root", args="same", **failed("busy"))
    run.step("t2", **{"name": "write", "inside": "root", **second})
    assert told(run.columns())[0].startswith("recovered") is is_recovered


def test_what_has_no_name_recovers_nothing() -> None:
    run = Run().step("root", "AGENT", at=LONG)
    run.step("t1", name="", inside="root", **failed("busy")).step("t2", name="", inside="root")
    assert told(run.columns()) == ["unresolved t1"]


# ---------------------------------------------------------------- what reaches the end


def test_a_failure_under_a_run_that_never_ended_is_not_called_fatal() -> None:
    run = Run().step("root", "AGENT", "unset", at=(0, -1)).step("tool", inside="root", **failed())
    assert told(run.columns()) == ["unresolved tool"]


def test_an_orphan_is_not_called_fatal() -> None:
    run = Run().step("root", "AGENT", at=LONG).step("lost", orphan=True, **failed())
    assert told(run.columns()) == ["unresolved lost"]


def test_without_a_container_the_last_step_ends_the_run() -> None:
    run = Run(contained=False).step("a", **failed("one")).step("b", after=[("a", "edge")])
    assert told(run.columns()) == ["unresolved a"]
    run.step("c", after=[("b", "edge")], **failed("two"))
    assert told(run.columns()) == ["fatal c", "unresolved a"]


def test_rank() -> None:
    run = Run().step("root", "AGENT", at=LONG, **failed("fatal"))
    run.step("r1", name="r", inside="root", **failed("one")).step("r2", name="r", inside="root")
    run.step("small", inside="root", **failed("two"))
    run.step("large", "AGENT", inside="root", at=(1_500, 1_600), **failed("three"))
    run.step("in", inside="large", at=(1_500, 1_550), **failed("three"))
    run.step("end", inside="root", at=(2_000, 2_010), **failed("fatal"))
    assert [text.split(" >")[0] for text in told(run.columns())] == [
        "fatal end < root",
        "unresolved in < large",
        "unresolved small",
        "recovered r1",
    ]


def test_a_circle_of_causes_is_one_incident() -> None:
    run = Run(contained=False).step("a", "AGENT", **failed())
    run.step("b", "CHAIN", after=[("a", "edge")], **failed())
    run.step("c", inside="b", after=[("b", "edge")], **failed())
    columns = run.step("d", after=[("c", "edge")], **failed()).columns()
    assert sorted(columns.step_id[row] for i in find_incidents(columns) for row in i.members) == [
        *"abcd"
    ]


# ---------------------------------------------------------------- any run

_KINDS = ["AGENT", "CHAIN", "LLM", "TOOL"]
_ORIGINS = ["span_parent", "tool_call_id", "edge", "graph_step", "span_link", "order"]


@st.composite
def runs(draw: st.DrawFn) -> Columns:
    run = Run(contained=draw(st.booleans()))
    count = draw(st.integers(1, 12))
    for number in range(count):
        others = st.tuples(st.integers(0, count - 1), st.sampled_from(_ORIGINS))
        start = draw(st.integers(0, 30))
        run.step(
            str(number),
            draw(st.sampled_from(_KINDS)),
            draw(st.sampled_from(["ok", "error", "error", "unset"])),
            name=draw(st.sampled_from(["", "x", "y"])),
            at=draw(st.sampled_from([(start, start + 3), (-1, -1)])),
            error_message=draw(st.sampled_from([None, "one", "two"])),
            orphan=draw(st.booleans()),
        )
        run._edges += [
            (str(number), str(cause), origin)
            for cause, origin in draw(st.lists(others, max_size=3))
            if cause <= number or number == count - 1
        ]
    return _closed(run)


def _closed(run: Run) -> Columns:
    run._edges = [edge for edge in run._edges if edge[1] in run._rows]
    return run.columns()


@settings(max_examples=300, deadline=None)
@given(runs())
def test_every_failing_step_belongs_to_one_incident(columns: Columns) -> None:
    incidents = find_incidents(columns)
    steps = columns.steps
    members = [row for incident in incidents for row in incident.members]
    assert sorted(members) == [r for r in range(columns.step_count) if steps.status[r] == 2]
    assert [STATES.index(i.state) for i in incidents] == sorted(
        STATES.index(i.state) for i in incidents
    )
    for incident in incidents:
        by = incident.recovered_by
        assert (by is not None) == (incident.state == "recovered")
        if by is not None:
            assert steps.status[by.row] == 1
            assert any(
                steps.kind[row] == steps.kind[by.row] and steps.name[row] == steps.name[by.row] >= 0
                for row in incident.members
            )
        if incident.state == "fatal":
            assert columns.traces.status[0] == 2


_NESTED = """
import re, sys
from pathlib import Path
from made_runs import Run
from tracegraph.export.analysis import Analysed, analysis_report
from tracegraph.export.table import Format, render
from tracegraph.workflows.analyze import analyze, run_of
run = Run()
for n in range(2000):
    inside = f"s{n - 1}" if n else None
    run.step(f"s{n}", sys.argv[1], "error", name="same", inside=inside, at=(n, 9000 - n))
told = analyze(run_of(run.trace()))
size = sum(len(text) for text in render(analysis_report(told), Format.JSON))
# Not ru_maxrss, which begins with what the process that started this one had reached.
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
print(len(told.analysis.incidents), size, peak)
"""


@pytest.mark.parametrize("kind", ["TOOL", "AGENT"])
def test_two_thousand_nested_failures_are_one_small_incident(kind: str, tmp_path: Path) -> None:
    variables = environment(tmp_path)
    variables["PYTHONPATH"] += f":{ROOT / 'tests'}"
    done = subprocess.run(
        [sys.executable, "-c", _NESTED, kind],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    incidents, size, kilobytes = json.loads("[" + ",".join(done.stdout.split()) + "]")
    assert incidents == 1
    assert size < 5_000_000
    assert kilobytes < 300_000
