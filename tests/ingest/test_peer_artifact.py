import json
from collections import Counter
from typing import Any

import pytest

from shared_data import fixture
from trace_view import gaps
from tracegraph.errors import InputError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.peer_artifact.adapter import PeerArtifactAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import CausalEdge, Trace


def header(**changes: Any) -> dict[str, Any]:
    base = {
        "trace_id": "t",
        "source_kind": "otlp",
        "thread_id": "t",
        "causal_fidelity": "declared_dag",
        "capture": {"gaps": []},
    }
    return {**base, **changes}


def step(step_id: str, **changes: Any) -> dict[str, Any]:
    base = {"step_id": step_id, "trace_id": "t", "seq": 0, "kind": "TOOL", "status": "ok"}
    return {**base, **changes}


def edge(effect: str, cause: str, origin: str | None, kind: str = "CAUSED_BY") -> dict[str, Any]:
    return {"type": kind, "src": effect, "dst": cause, "origin": origin}


def artifact(
    steps: list[Any], edges: list[Any] | None = None, version: object = 7, **trace: Any
) -> bytes:
    body = {"edges": edges or [], "steps": steps, "trace": header(**trace)}
    return json.dumps({"schema_version": version, "trace": body}).encode()


def read(data: bytes, *, strict: bool = False) -> Trace:
    source = Source("x.json", data)
    assert PeerArtifactAdapter().sniff(source)
    (draft,) = PeerArtifactAdapter().read([source], ReadOptions(True, strict))
    return Trace(seal(draft), 0)


def read_fixture(name: str) -> Trace:
    return read(fixture(f"peer_artifact/{name}").read_bytes(), strict=True)


def test_a_trace_of_spans() -> None:
    trace = read_fixture("otlp_tool_error.v7.json")
    assert (trace.source, trace.session_id, trace.fidelity) == ("otlp", None, "full")
    assert trace.status == "ok"  # its root is; agent-tracegraph says error if any step is
    assert Counter(s.kind for s in trace.steps) == {"CHAIN": 6, "AGENT": 3, "LLM": 3, "TOOL": 2}
    assert {cause.origin for cause in trace.causes} == {"span_parent"}
    failed = [s for s in trace.steps if s.status == "error"]
    assert [(s.kind, s.name) for s in failed] == [("TOOL", "get_weather")]
    assert "unknown city: Atlantis" in (failed[0].error_message or "")
    model = next(s for s in trace.steps if s.kind == "LLM")
    assert (model.tokens_prompt, model.tokens_completion, model.tokens_total) == (50, 10, 60)
    assert model.duration_ns == 467_968


def test_span_links_are_declared_causes_and_the_tree_is_the_same() -> None:
    name = "otlp_span_links.v7.json"
    trace = read_fixture(name)
    assert Counter((c.origin, c.evidence) for c in trace.causes) == {
        ("span_link", "declared"): 10,
        ("span_parent", "containment"): 14,
    }
    recorded = json.loads(fixture(f"peer_artifact/{name}").read_bytes())["trace"]["edges"]
    theirs = {(e["src"], e["dst"]) for e in recorded if e["type"] == "TREE_PARENT"}
    ours = {(s.step_id, s.parent.step_id) for s in trace.steps if s.parent}
    assert ours == theirs


def test_kinds_that_were_substituted_are_unknown() -> None:
    trace = read_fixture("otlp_unknown_kinds.v7.json")
    assert {(s.kind, s.unknown_fields) for s in trace.steps} == {("UNKNOWN", ("kind",))}
    assert all(s.attributes["substituted"] == {"kind": "CHAIN"} for s in trace.steps)
    assert all(s.name for s in trace.steps)


def test_checkpoints() -> None:
    trace = read_fixture("langgraph_subgraphs.v9.json")
    assert (trace.source, trace.session_id) == ("langgraph", "nested_subgraphs")
    assert Counter((c.origin, c.evidence) for c in trace.causes) == {
        ("checkpoint_parent", "declared"): 10,
        ("subgraph_return", "declared"): 3,
    }
    guessed = [s for s in trace.steps if s.unknown_fields]
    assert len(guessed) == 6
    assert {(s.kind, s.name, s.unknown_fields) for s in guessed} == {
        ("UNKNOWN", None, ("kind", "name"))
    }


def test_a_run_of_checkpoints_ends_as_its_last_step_does() -> None:
    trace = read_fixture("langgraph_task_error.v7.json")
    assert trace.status == "error"
    assert [s.status for s in trace.steps] == ["ok", "ok", "ok", "error"]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("checkpoint_parent", ("checkpoint_parent", "declared")),
        ("checkpoint_subgraph_return", ("subgraph_return", "declared")),
        ("graph_parent", ("graph_parent", "declared")),
        ("graph_parent_heuristic", ("graph_parent", "heuristic")),
        ("span_link", ("span_link", "declared")),
        ("span_parent_fallback", ("span_parent", "containment")),
        ("legacy_unknown", ("legacy_unknown", "heuristic")),
        (None, ("legacy_unknown", "heuristic")),
    ],
)
def test_origins(theirs: str | None, ours: tuple[str, str]) -> None:
    trace = read(artifact([step("a"), step("b")], [edge("b", "a", theirs)]))
    assert list(trace.causes) == [CausalEdge("b", "a", *ours)]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("declared_dag", "full"), ("parent_only", "parent_only"), ("legacy_unknown", "order_only")],
)
def test_fidelity(theirs: str, ours: str) -> None:
    assert read(artifact([step("a")], causal_fidelity=theirs)).fidelity == ours


def test_derived_edges_are_set_aside() -> None:
    edges = [edge("b", "a", None, "TREE_PARENT"), edge("b", "t", None, "BELONGS_TO")]
    trace = read(artifact([step("a"), step("b")], edges))
    assert list(trace.causes) == []
    assert gaps(trace) == {}


def test_every_version_is_read_and_others_are_named() -> None:
    for version in range(2, 10):
        assert read(artifact([step("a")], version=version)).trace_id == "t"
    for version in (1, 10):
        with pytest.raises(InputError, match=rf"schema_version {version}; versions 2 to 9"):
            read(artifact([step("a")], version=version))


def test_an_artifact_without_a_record_of_gaps_is_not_one_without_gaps() -> None:
    assert gaps(read(artifact([step("a")], capture=None), strict=True)) == {
        "peer_artifact.unrecorded_gaps": 1
    }


def test_recorded_gaps_keep_their_codes() -> None:
    capture = {"gaps": [{"code": "otlp.unresolved_span_link", "count": 3}]}
    assert gaps(read(artifact([step("a")], capture=capture))) == {"otlp.unresolved_span_link": 3}


def test_measurements() -> None:
    evidence = {
        "end_ts": "2026-01-01T00:00:01+00:00",
        "duration_ms": 12.345678,
        "prompt_tokens": 7,
        "completion_tokens": None,
        "total_cost": "0.0120",
        "prompt_cost": "0.01",
        "cost_currency": "EUR",
        "evaluations": [{"name": "good", "label": "yes", "score": 1.0}],
    }
    trace = read(artifact([step("a", ts="2026-01-01T00:00:00.5+00:00", evidence=evidence)]))
    (found,) = trace.steps
    assert found.start == 1_767_225_600_500_000_000
    assert found.end == 1_767_225_601_000_000_000
    assert found.duration_ns == 12_345_678
    assert (found.tokens_prompt, found.tokens_completion, found.cost) == (7, None, "0.0120")
    assert found.attributes == {
        "evaluations": evidence["evaluations"],
        "prompt_cost": "0.01",
    }
    assert trace.attributes == {"cost_currency": ["EUR"]}


def test_header_evidence_is_kept() -> None:
    decision = {"source": "toolgraph_preflight", "graph_generation": 3, "verdict": "pass"}
    trace = read(
        artifact(
            [step("a")],
            decision_evidence=[decision],
            links_preserved=False,
            schedule_graph={"fingerprint": "sha256:0"},
            run_id="r",
            thread_id="conversation",
        )
    )
    assert trace.attributes == {
        "decision_evidence": [decision],
        "links_preserved": False,
        "schedule_graph": {"fingerprint": "sha256:0"},
    }
    assert (trace.run_id, trace.session_id) == ("r", "conversation")


def test_a_substituted_message_is_unknown() -> None:
    data = artifact([step("a", status="error", error_msg="error", unknown_fields=["error_msg"])])
    (found,) = read(data).steps
    assert (found.status, found.error_message) == ("error", None)
    assert found.unknown_fields == ("error_message",)


def test_an_interrupt_is_a_signal_and_no_failure() -> None:
    (found,) = read(artifact([step("a", source="interrupt", status="unset")])).steps
    assert (found.status, found.signals) == ("unset", ("interrupt",))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "DATA"),
        ("status", "fine"),
        ("ts", "noon"),
        ("name", 4),
        ("evidence", {"prompt_tokens": "7"}),
        ("evidence", {"total_cost": "unreadable"}),
    ],
)
def test_an_odd_field_costs_itself_and_strictness_refuses_it(field: str, value: object) -> None:
    data = artifact([step("a", **{field: value}), step("b")])
    trace = read(data)
    assert gaps(trace) == {"peer_artifact.unreadable_field": 1}
    first, second = trace.steps
    assert (second.kind, second.status) == ("TOOL", "ok")
    expected = {"kind": ("UNKNOWN", "ok"), "status": ("TOOL", "unset")}.get(field, ("TOOL", "ok"))
    assert (first.kind, first.status) == expected
    with pytest.raises(StrictError, match=r"peer_artifact\.unreadable_field"):
        read(data, strict=True)


def test_a_dangling_cause_is_disclosed_and_leaves_an_orphan() -> None:
    edges = [
        edge("a", "zz", "span_link"),
        edge("yy", "a", "span_link"),
        edge("b", "a", "span_link"),
    ]
    trace = read(artifact([step("a"), step("b")], edges))
    assert gaps(trace) == {"peer_artifact.dangling_cause": 2}
    assert [s.orphan for s in trace.steps] == [True, False]
    assert [c.effect for c in trace.causes] == ["b"]


def test_of_two_steps_with_one_id_the_one_that_ends_last_stays() -> None:
    def ended(name: str, second: int) -> dict[str, Any]:
        return step("a", name=name, evidence={"end_ts": f"2026-01-01T00:00:0{second}+00:00"})

    trace = read(artifact([ended("early", 1), ended("late", 2), step("a", name="open")]))
    assert [s.name for s in trace.steps] == ["late"]
    assert gaps(trace) == {"peer_artifact.duplicate_step": 2}


def test_an_unknown_edge_costs_itself() -> None:
    trace = read(artifact([step("a"), step("b")], [edge("b", "a", None, "WROTE")]))
    assert list(trace.causes) == []
    assert gaps(trace)["peer_artifact.unreadable_edge"] == 1


def test_what_is_no_artifact_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"^x\.json: line 1, column \d+: not JSON"):
        read(artifact([step("a")])[:-9])
    with pytest.raises(InputError, match="no trace with a trace_id"):
        read(artifact([step("a")], trace_id=None))


@pytest.mark.parametrize("layout", ["sorted", "trace first", "indented", "lines"])
def test_every_layout_is_recognised(layout: str) -> None:
    value = json.loads(artifact([step("a")]))
    data = {
        "sorted": json.dumps(value, sort_keys=True),
        "trace first": json.dumps({"trace": value["trace"], "schema_version": 7}),
        "indented": json.dumps(value, indent=2),
        "lines": json.dumps(value) + "\n" + json.dumps(value).replace('"t"', '"u"'),
    }[layout].encode()
    source = Source("x.json", data)
    assert PeerArtifactAdapter().sniff(source)
    (draft,) = PeerArtifactAdapter().read([source], ReadOptions(strict=True))
    assert draft.traces.trace_id == (["t", "u"] if layout == "lines" else ["t"])


@pytest.mark.parametrize(
    "data",
    [
        b'{"kind":"tracegraph.trace","schema_version":1,"trace":{"trace_id":"t"},"steps":[]}',
        b'{"schema_version":1,"trace":{"trace_id":"t"},"steps":[],"kind":"tracegraph.trace"}',
        b'{"resourceSpans":[]}',
        b'{"schema_version":1,"kind":"tracegraph.analysis","trace_id":"t"}',
    ],
)
def test_other_files_are_not_taken(data: bytes) -> None:
    assert not PeerArtifactAdapter().sniff(Source("x.json", data))
