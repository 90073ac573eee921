import json
from typing import Any

import pytest

from shared_data import fixture
from trace_view import gaps, the
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.agentdelta.adapter import AgentdeltaAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.digest import digest_value
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

Row = dict[str, Any]
Edges = list[tuple[str, str]]


def meta(run_id: str = "r") -> Row:
    return {"type": "trace_meta", "run_id": run_id}


def node(step: object, kind: str, content: str = "", **metadata: Any) -> Row:
    return {
        "type": "node",
        "id": "0" * 16,
        "step": step,
        "node_type": kind,
        "content": content,
        "metadata": metadata,
    }


def edge(source: int, target: int) -> Row:
    return {"type": "edge", "source_step": source, "target_step": target, "edge_type": "sequence"}


def chain(*nodes: Row) -> list[Row]:
    """Number nodes from 1 and add the edges that the recorder always writes."""
    numbered = [{**n, "step": number} for number, n in enumerate(nodes, 1)]
    return [meta(), *numbered, *(edge(number, number + 1) for number in range(1, len(nodes)))]


def lines(rows: list[Row]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def read_all(data: bytes, name: str = "x.jsonl", *, strict: bool = False) -> list[Trace]:
    source = Source(name, data)
    assert AgentdeltaAdapter().sniff(source)
    (draft,) = AgentdeltaAdapter().read([source], ReadOptions(True, strict))
    assert not draft.file_gaps
    return list(iterate(seal(draft)))


def read(rows: list[Row], *, strict: bool = False) -> Trace:
    (trace,) = read_all(lines(rows), strict=strict)
    return trace


def read_fixture(name: str) -> Trace:
    (trace,) = read_all(fixture(f"agentdelta/{name}").read_bytes(), name)
    return trace


def edges(trace: Trace) -> Edges:
    return [(cause.cause, cause.effect) for cause in trace.causes]


def evidence(trace: Trace) -> set[tuple[str, str]]:
    return {(cause.origin, cause.evidence) for cause in trace.causes}


def shape(trace: Trace) -> list[tuple[str, str, str | None]]:
    return [(step.step_id, step.kind, step.name) for step in trace.steps]


def test_a_call_and_its_return_are_one_step() -> None:
    trace = read_fixture("ok.jsonl")
    assert (trace.trace_id, trace.run_id, trace.source) == ("v1.0", "v1.0", "agentdelta")
    assert shape(trace) == [
        ("1", "CHAIN", "start"),
        ("2", "LLM", None),
        ("3", "TOOL", "get_weather"),
        ("5", "LLM", None),
        ("6", "CHAIN", "end"),
    ]
    assert edges(trace) == [("1", "2"), ("2", "3"), ("3", "5"), ("5", "6")]
    assert evidence(trace) == {("protocol", "derived")}
    assert (trace.fidelity, trace.status, gaps(trace)) == ("order_only", "unset", {})
    tool = the(trace, "3")
    assert tool.args_digest == digest_value({"location": "Tokyo"})
    assert tool.result_digest == digest_value({"temp": 22, "condition": "sunny"})
    assert tool.output == '{"temp": 22, "condition": "sunny"}'
    assert the(trace, "6").signals == ("final_answer",)


def test_what_an_answer_says_is_no_status_and_an_open_pairing_stays_open() -> None:
    trace = read_fixture("failing.jsonl")
    assert [step.step_id for step in trace.steps] == ["1", "2", "3", "5", "6", "7", "9", "10"]
    assert {step.status for step in trace.steps} == {"unset"}  # "Error: 429" is only text
    # The second return may answer the call at 5 or the one at 7: neither gets it, and the model
    # step that read it has a cause that cannot be told.
    assert gaps(trace) == {"agentdelta.open_pairing": 1}
    assert edges(trace) == [("1", "2"), ("2", "3"), ("2", "5"), ("3", "6"), ("6", "7"), ("9", "10")]
    assert the(trace, "9").orphan
    assert the(trace, "10").depth is None
    calls = [step for step in trace.steps if step.kind == "TOOL"]
    assert len({step.args_digest for step in calls}) == 1
    assert [step.result_digest is None for step in calls] == [False, True, True]
    assert not any("unanswered_call" in step.signals for step in calls)


def test_parallel_calls_that_all_returned_cause_what_follows_though_not_paired() -> None:
    trace = read_fixture("tricky_parallel_callback.jsonl")
    assert shape(trace) == [
        ("1", "CHAIN", "start"),
        ("2", "LLM", None),
        ("3", "TOOL", "get_weather"),
        ("4", "TOOL", "get_weather"),
        ("7", "CHAIN", "end"),
        ("8", "LLM", None),
        ("9", "CHAIN", "end"),
    ]
    assert edges(trace) == [
        ("1", "2"),
        ("2", "3"),
        ("2", "4"),
        ("3", "7"),
        ("4", "7"),
        ("3", "8"),
        ("4", "8"),
        ("8", "9"),
    ]
    assert gaps(trace) == {"agentdelta.open_pairing": 2}
    assert the(trace, "7").signals == ()  # a nested chain's end; the last end is the final one
    assert the(trace, "9").signals == ("final_answer", "truncated")
    assert the(trace, "8").signals == ("truncated",)


def test_without_edges_the_protocol_is_a_guess() -> None:
    trace = read_fixture("tricky_nodes_only.jsonl")
    assert (trace.trace_id, trace.run_id) == ("tricky_nodes_only", None)
    assert edges(trace) == [("1", "2"), ("2", "3"), ("3", "5"), ("5", "6")]
    assert evidence(trace) == {("protocol", "heuristic")}
    assert trace.fidelity == "order_only"


def test_edges_that_skip_join_or_go_back_are_declared_causes() -> None:
    rows = [
        meta(),
        node(1, "start"),
        node(2, "llm"),
        node(3, "tool_call", "a({})"),
        node(4, "tool_call", "b({})"),
        node(5, "tool_return", "x"),
        node(6, "tool_return", "y"),
        node(7, "llm"),
        *(edge(*pair) for pair in [(1, 2), (2, 3), (2, 4), (3, 5), (4, 6), (5, 7), (6, 7), (7, 2)]),
        edge(5, 7),
    ]
    trace = read(rows)
    assert trace.fidelity == "full"
    assert evidence(trace) == {("edge", "declared")}
    assert sorted(edges(trace)) == [
        ("1", "2"),
        ("2", "3"),
        ("2", "4"),
        ("3", "7"),
        ("4", "7"),
        ("7", "2"),
    ]
    assert trace.cyclic
    assert gaps(trace) == {"causes.cycle": 1}
    assert the(trace, "3").result_digest == digest_value("x")


def test_an_authors_return_that_joins_two_calls_stays_a_step_of_its_own() -> None:
    rows = [
        node(1, "llm"),
        node(2, "tool_call", "a({})"),
        node(3, "tool_call", "b({})"),
        node(4, "tool_return", "both"),
        node(5, "llm"),
        *(edge(*pair) for pair in [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)]),
    ]
    trace = read(rows)
    assert the(trace, "4").kind == "UNKNOWN"
    assert edges(trace) == [("1", "2"), ("1", "3"), ("2", "4"), ("3", "4"), ("4", "5")]
    assert gaps(trace) == {"agentdelta.open_pairing": 1}


def test_a_call_id_pairs_across_other_calls() -> None:
    trace = read(
        chain(
            node(0, "llm"),
            node(0, "tool_call", "a({})", call_id="1"),
            node(0, "tool_call", "a({})", call_id="2"),
            node(0, "tool_return", "of 2", call_id="2"),
            node(0, "tool_return", "of 1", call_id="1"),
            node(0, "end"),
        )
    )
    assert the(trace, "2").result_digest == digest_value("of 1")
    assert the(trace, "3").result_digest == digest_value("of 2")
    assert gaps(trace) == {}


def test_a_tool_name_on_the_return_narrows_the_open_calls() -> None:
    trace = read(
        chain(
            node(0, "tool_call", "a({})"),
            node(0, "tool_call", "b({})"),
            node(0, "tool_return", "of b", tool="b"),
            node(0, "tool_return", "of a"),
        )
    )
    assert the(trace, "1").result_digest == digest_value("of a")
    assert the(trace, "2").result_digest == digest_value("of b")


def test_a_call_without_a_return_is_unanswered() -> None:
    trace = read(chain(node(0, "llm"), node(0, "tool_call", "a({})"), node(0, "llm")))
    assert the(trace, "2").signals == ("unanswered_call",)
    assert edges(trace) == [("1", "2"), ("2", "3")]


def test_a_return_without_a_call_is_a_tool_step_and_disclosed() -> None:
    trace = read(chain(node(0, "llm"), node(0, "tool_return", "x"), node(0, "llm")))
    assert shape(trace)[1] == ("2", "TOOL", None)
    assert edges(trace) == [("1", "2"), ("2", "3")]
    assert gaps(trace) == {"agentdelta.return_without_call": 1}


@pytest.mark.parametrize(
    ("metadata", "status", "source", "message"),
    [
        ({"status": "success"}, "ok", "metadata.status", None),
        ({"status": "FAILED"}, "error", "metadata.status", None),
        ({"ok": False, "error": "no disk"}, "error", "metadata.ok", "no disk"),
        ({"success": True}, "ok", "metadata.success", None),
        ({"failed": True}, "error", "metadata.failed", None),
        ({"error": {"type": "IOError", "message": "m"}}, "error", "metadata.error", "m"),
        ({"error": True}, "error", "metadata.error", None),
        ({"error": False}, "unset", None, None),
        ({"error": ""}, "unset", None, None),
        ({"status": "pending"}, "unset", None, None),
    ],
)
def test_status_is_taken_from_metadata(
    metadata: Row, status: str, source: str | None, message: str | None
) -> None:
    trace = read(
        chain(node(0, "tool_call", "a({})"), node(0, "tool_return", "Error: 429", **metadata))
    )
    tool = the(trace, "1")
    assert (tool.status, tool.status_source, tool.error_message) == (status, source, message)
    assert trace.status == status  # nothing contains the run: its last step speaks


def test_the_return_speaks_before_the_call() -> None:
    call = node(0, "tool_call", "a({})", status="ok")
    failed = the(read(chain(call, node(0, "tool_return", "", status="error"))), "1")
    silent = the(read(chain(call, node(0, "tool_return", ""))), "1")
    assert (failed.status, silent.status) == ("error", "ok")


def test_a_handled_error_is_a_signal() -> None:
    trace = read(chain(node(0, "llm", "x", status="ok", error="retried")))
    step = the(trace, "1")
    assert (step.status, step.signals) == ("ok", ("tool_error",))


def test_every_later_meta_starts_a_run_of_its_own() -> None:
    first = chain(node(0, "start"), node(0, "llm"))
    traces = read_all(lines([*first, *first, meta("other"), node(1, "llm")]))
    assert [trace.trace_id for trace in traces] == ["r", "r~2", "other"]
    assert [trace.run_id for trace in traces] == ["r", "r", "other"]
    assert [len(trace) for trace in traces] == [2, 2, 1]


def test_only_the_wanted_runs_are_read() -> None:
    source = Source("x.jsonl", lines([meta("a"), node(1, "llm"), meta("b"), node(1, "llm")]))
    (draft,) = AgentdeltaAdapter().read([source], ReadOptions(only=frozenset({"b"})))
    assert draft.traces.trace_id == ["b"]


def test_a_torn_last_line_is_disclosed_and_the_rest_stays_a_chain() -> None:
    rows = chain(node(0, "start"), node(0, "llm"), node(0, "end"))
    data = lines(rows)[:-20]
    (trace,) = read_all(data)
    assert gaps(trace) == {"agentdelta.torn_line": 1}
    assert trace.fidelity == "order_only"
    assert edges(trace) == [("1", "2"), ("2", "3")]
    with pytest.raises(StrictError, match=r"x\.jsonl: .*line 6.*\(agentdelta\.torn_line\)"):
        read_all(data, strict=True)


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ("{]", "agentdelta.unreadable_line"),
        ("[]", "agentdelta.unreadable_record"),
        ('{"type": "node", "node_type": "llm"}', "agentdelta.unreadable_record"),
        ('{"type": "edge", "source_step": 1}', "agentdelta.unreadable_record"),
        ('{"type": "metric"}', "agentdelta.unknown_record"),
        ('{"type": "node", "step": 9, "node_type": "thought"}', "agentdelta.unknown_node_type"),
        ('{"type": "node", "step": 2, "node_type": "llm"}', "agentdelta.repeated_step"),
        ('{"type": "edge", "source_step": 1, "target_step": 99}', "agentdelta.dangling_edge"),
    ],
)
def test_a_bad_record_costs_itself_and_a_disclosure(bad: str, code: str) -> None:
    rows = [meta(), node(1, "start"), node(2, "llm"), node(3, "end")]
    data = lines(rows) + bad.encode() + b"\n" + lines([edge(1, 3)])
    (trace,) = read_all(data)
    assert gaps(trace) == {code: 1}
    assert [s.step_id for s in trace.steps][:2] == ["1", "2"]
    assert ("1", "3") in edges(trace)
    with pytest.raises(StrictError, match=code):
        read_all(data, strict=True)


def test_an_edge_to_a_repeated_number_is_left_out() -> None:
    trace = read([node(1, "llm"), node(2, "llm"), node(2, "llm"), node(4, "end"), edge(1, 2)])
    assert gaps(trace) == {"agentdelta.ambiguous_edge": 1, "agentdelta.repeated_step": 1}
    assert [step.step_id for step in trace.steps] == ["1", "2", "2~2", "4"]


def test_order_is_that_of_the_step_numbers() -> None:
    rows = [node(3, "end", "c"), node(1, "start", "a"), node(2, "llm", "b"), edge(1, 3)]
    assert [step.step_id for step in read(rows).steps] == ["1", "2", "3"]


def test_cut_arguments_and_results_have_no_digest() -> None:
    trace = read(
        chain(
            node(0, "tool_call", f"write({'x' * 500})"),
            node(0, "tool_return", "y" * 500),
        )
    )
    tool = the(trace, "1")
    assert (tool.args_digest, tool.result_digest) == (None, None)
    assert tool.signals == ("truncated",)


def test_arguments_of_metadata_are_whole_and_win() -> None:
    trace = read(chain(node(0, "tool_call", f"write({'x' * 500})", args={"text": "z"})))
    tool = the(trace, "1")
    assert tool.args_digest == digest_value({"text": "z"})
    assert "truncated" not in tool.signals


@pytest.mark.parametrize(
    ("content", "name", "value"),
    [
        ("search({'q': 'a (b)'})", "search", {"q": "a (b)"}),
        ('search({"q": 1.0})', "search", {"q": 1}),
        ("search(plain text)", "search", "plain text"),
        ("search()", "search", None),
        ("no parenthesis", None, None),
        ("search({'q': object})", "search", None),
    ],
)
def test_name_and_arguments_of_a_call(content: str, name: str | None, value: object) -> None:
    tool = the(read(chain(node(0, "tool_call", content))), "1")
    assert tool.name == name
    if content.endswith("object})"):
        assert (tool.args_digest or "").startswith("raw:")
    else:
        assert tool.args_digest == digest_value(value)


def test_a_file_without_a_record_is_refused() -> None:
    source = Source("x.jsonl", b"{]\n[]\n")
    with pytest.raises(InputError, match=r"x\.jsonl: no line holds"):
        list(AgentdeltaAdapter().read([source], ReadOptions()))


@pytest.mark.parametrize(
    "data",
    [
        b'{"resourceSpans": []}\n',
        b'{"type": "node"}\n',
        b'{"version": 1, "type": "run_start", "run_id": "r", "seq": 1}\n',
        b'{"kind": "tracegraph.trace", "schema_version": 1}\n',
    ],
)
def test_other_files_are_not_taken(data: bytes) -> None:
    assert not AgentdeltaAdapter().sniff(Source("x.jsonl", data))


def test_a_bad_first_line_does_not_hide_the_format() -> None:
    assert AgentdeltaAdapter().sniff(Source("x.jsonl", b"{]\n" + lines([node(1, "llm")])))
