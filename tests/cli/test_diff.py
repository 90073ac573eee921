"""``tracegraph diff`` on recorded runs: its verdicts, its forms, what it refuses."""

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.diff.runs import Made
from cli.diff_answers import FATAL, V1, V2, answer, write
from cli_runner import Invoke
from cli_runner import run as run_process
from shared_data import fixture


def _spans(path: str) -> list[dict[str, Any]]:
    """Return the spans of an OTLP file as they stand there."""
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    return [
        span
        for resource in document["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


# Recorded runs.


def test_the_regression_is_named(invoke: Invoke) -> None:
    found = answer(invoke, V1, V2)
    assert not found["identical"]
    changed = {
        (item["a"]["name"], item["b"]["name"]): (item["fields"], item["b"]["error_type"])
        for item in found["behaviour"]["differences"]
        if item["type"] == "changed"
    }
    recursion = "langgraph.errors.GraphRecursionError"
    assert changed == {
        ("LangGraph", "LangGraph"): (["status", "error_type"], recursion),
        ("get_weather", "fetch_page"): (["name", "status", "error_type"], "TimeoutError"),
    }
    alone = [item["b"]["name"] for item in found["behaviour"]["differences"] if not item["a"]]
    assert alone == ["tools", "fetch_page"]


def test_totals_are_those_of_the_raw_spans(invoke: Invoke) -> None:
    totals = {total["name"]: total for total in answer(invoke, V1, V2)["metrics"]["measures"]}
    spans = {"a": _spans(V1), "b": _spans(V2)}
    for side, raw in spans.items():
        failing = [span for span in raw if span.get("status", {}).get("code") == 2]
        assert totals["steps"][side]["value"] == len(raw)
        assert totals["errors"][side]["value"] == len(failing)
        tokens = [
            int(attribute["value"]["intValue"])
            for span in raw
            for attribute in span["attributes"]
            if attribute["key"] == "llm.token_count.total"
        ]
        assert totals["tokens_total"][side]["value"] == sum(tokens)
        (root,) = (span for span in raw if not span.get("parentSpanId"))
        nanoseconds = int(root["endTimeUnixNano"]) - int(root["startTimeUnixNano"])
        assert totals["wall_ms"][side]["value"] == nanoseconds / 1e6
    assert totals["errors"]["delta"] == 3
    assert totals["cost"]["delta"] is None


def test_every_step_stands_once_in_the_correspondence(invoke: Invoke) -> None:
    found = answer(invoke, V1, V2)
    for side, path in (("a", V1), ("b", V2)):
        listed = [item[side] for item in found["steps"] if item[side]]
        assert sorted(listed) == sorted(span["spanId"] for span in _spans(path))
    how = [item["how"] for item in found["steps"]]
    counted = found["correspondence"]
    assert counted["by"] == {word: how.count(word) for word in counted["by"]}
    assert counted["only_in_a"] + counted["only_in_b"] == how.count("none")


def test_a_run_is_identical_to_itself_in_another_order_of_spans(
    invoke: Invoke, folder: Path
) -> None:
    for path in sorted(Path("examples/traces").glob("tool_*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        for resource in document["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                scope["spans"].reverse()
        Path("reversed.json").write_text(json.dumps(document), encoding="utf-8")
        found = answer(invoke, str(path), "reversed.json")
        assert found["identical"]
        assert found["metrics"]["identical"]
        assert found["causal_edges"]["count_a"] > 0


def test_a_link_that_a_recorded_run_lost_is_a_difference(invoke: Invoke, folder: Path) -> None:
    """A fan-in that Agent Framework records as span links: agent-tracegraph calls it IDENTICAL."""
    path = fixture("otlp/genai_wf_fan_out_in.json")
    text = path.read_text(encoding="utf-8")
    document = json.loads(text)
    joining = max(
        (
            span
            for resource in document["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ),
        key=lambda span: len(span.get("links", [])),
    )
    assert len(joining["links"]) > 1
    lost = joining["links"].pop()
    Path("lost.json").write_text(json.dumps(document), encoding="utf-8")
    trace = joining["traceId"]
    found = answer(invoke, f"{path}#{trace}", f"lost.json#{trace}")
    assert found["topology"]["identical"]
    assert found["behaviour"]["identical"]
    (edge,) = found["causal_edges"]["differences"]
    assert edge == {
        "type": "only_in_a",
        "a": {
            "effect": joining["spanId"],
            "cause": lost["spanId"],
            "origin": "span_link",
            "evidence": "declared",
        },
        "b": None,
    }


def test_runs_of_different_sources_say_that_they_are_seen_otherwise(invoke: Invoke) -> None:
    found = answer(invoke, "examples/made/retry_marker.json", FATAL)
    assert "other_source" in {item["code"] for item in found["limitations"]}


# Text.


def test_the_answer_of_the_readme_the_project_came_from(invoke: Invoke) -> None:
    chain = [Made(None, "CHAIN"), Made(None, "CHAIN", 0), Made("plan", "CHAIN", 1)]
    a = [
        *chain,
        Made("call_tool", "TOOL", 2, status="error"),
        Made("handle_error", "CHAIN", 3),
        Made("respond", "CHAIN", 4),
    ]
    b = [*chain, Made("call_tool", "TOOL", 2), Made("respond", "CHAIN", 3)]
    ran = invoke("diff", write("A.json", a), write("B.json", b))
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0] == "NOT IDENTICAL"
    assert lines[2:4] == [
        "  • only in A under CHAIN > CHAIN > plan > call_tool: subtree handle_error(respond)",
        "  • only in B under CHAIN > CHAIN > plan > call_tool: subtree respond",
    ]
    assert "TOOL call_tool: status error -> ok" in ran.out
    same = invoke("diff", "A.json", "A.json")
    assert (same.code, same.out.splitlines()[0]) == (0, "IDENTICAL")


def test_deep_and_large_differences_say_what_they_leave_out(invoke: Invoke) -> None:
    deep = [Made(f"n{at}", parent=at - 1 if at else None) for at in range(60)]
    wide = [*deep, *(Made("w", parent=59) for _ in range(30)), Made("v", parent=62)]
    other = write("a.json", [Made("other", "CHAIN")])
    out = invoke("diff", other, write("b.json", wide)).out
    assert "at the root: subtree n0(n1(n2(n3(n4(n5(n6(n7(n8(n9(n10(n11)))))))))))" in out
    assert "and 79 more steps below" in out
    out = invoke("diff", write("c.json", deep), "b.json").out
    assert "under (52 more) > n52 > n53 > n54 > n55 > n56 > n57 > n58 > n59: subtree w\n" in out
    assert "> n59: subtree w(v)\n" in out


def test_limit_bounds_lists_and_counts_stay_totals(invoke: Invoke) -> None:
    root = Made("r", "CHAIN")
    many = [root, *(Made(f"n{at}", parent=0) for at in range(80))]
    paths = write("a.json", [root]), write("b.json", many)
    text = invoke("diff", *paths).out
    assert "topology (labelled): 80 differences, 50 listed" in text
    assert text.count("under r: subtree") == 50
    assert invoke("diff", *paths, "--limit", "80").out.count("under r: subtree") == 80
    found = answer(invoke, *paths, "--limit", "3")
    assert found["topology"]["only_in_b"] == 80
    assert [len(found[part]["differences"]) for part in ("topology", "causal_edges", "behaviour")]
    assert len(found["steps"]) == len(found["topology"]["differences"]) == found["limit"] == 3
    assert len(answer(invoke, *paths)["steps"]) == 81


def test_markdown_is_a_list_that_keeps_names_as_they_are(invoke: Invoke) -> None:
    a, b = write("a.json", [Made("x_*y*")]), write("b.json", [Made("z_[1]")])
    ran = invoke("diff", a, b, "--format", "md")
    assert ran.code == 1
    assert ran.out.startswith("**NOT IDENTICAL**\n\n- topology (labelled): 1 difference\n  - ")
    ran = invoke("diff", a, b, "-o", "out.md")
    assert Path("out.md").read_text(encoding="utf-8").startswith("**NOT IDENTICAL**")
    assert (ran.code, ran.out) == (1, "")


def test_rows_name_the_verdict_of_each_difference(invoke: Invoke) -> None:
    ran = invoke("diff", V1, V2, "--format", "jsonl")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    found = answer(invoke, V1, V2)
    for verdict in ("topology", "causal_edges", "behaviour"):
        mine = [row for row in rows if row["verdict"] == verdict]
        assert [{k: v for k, v in row.items() if k != "verdict"} for row in mine] == found[verdict][
            "differences"
        ]
    csv = invoke("diff", V1, V2, "--format", "csv").out.splitlines()
    assert csv[0] == "verdict,type,a,b,detail"
    assert len(csv) == len(rows) + 1


# Addressing and refusals.


def test_traces_are_named_as_in_inspect(invoke: Invoke) -> None:
    found = answer(invoke, "examples/traces#6f3d", "examples/traces#c510")
    assert found["a"]["trace_id"].startswith("6f3d")
    assert found["b"]["trace_id"].startswith("c510")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["examples/traces", V1], "name one as examples/traces#ID"),
        ([V1, "examples/traces#nothing"], "no trace 'nothing'"),
        ([V1, "missing.json"], "missing.json"),
        (["-", "-"], "standard input can be read once"),
        ([V1, V2, "-o", "o.json", "--json-out", "p.json"], "one or the other"),
        ([V1], "Missing argument"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_line(
    invoke: Invoke, arguments: list[str], message: str
) -> None:
    ran = invoke("diff", *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_an_input_is_never_the_output(invoke: Invoke) -> None:
    a, b = write("a.json", [Made("x")]), write("b.json", [Made("y")])
    before = Path(b).read_bytes()
    ran = invoke("diff", a, b, "--json-out", b)
    assert ran.code == 2
    assert "is an input" in ran.err
    assert Path(b).read_bytes() == before


def test_standard_input_and_two_processes_give_the_same_bytes(folder: Path) -> None:
    text = Path(FATAL).read_text(encoding="utf-8")
    piped = run_process("diff", "-", V1, "--format", "json", cwd=folder, stdin=text)
    assert piped.code == 1, piped.err
    first, second = (run_process("diff", V1, FATAL, cwd=folder) for _ in range(2))
    assert first == second
    assert first.code == 1
