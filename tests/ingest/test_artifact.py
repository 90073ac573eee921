import json
from collections import Counter
from typing import Any

import pytest

from trace_view import gaps
from tracegraph.errors import InputError, RecordLimitError, StrictError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.artifact.adapter import ArtifactAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.columns import Columns
from tracegraph.model.seal import seal
from tracegraph.model.trace import CausalEdge, Trace, iterate

MINIMAL: dict[str, Any] = {
    "kind": "tracegraph.trace",
    "schema_version": 1,
    "trace": {"trace_id": "t1"},
    "steps": [
        {"step_id": "a", "kind": "TOOL", "name": "search", "status": "ok"},
        {"step_id": "b", "kind": "CHAIN", "name": "retry:search"},
        {"step_id": "c", "kind": "TOOL", "name": "search", "status": "error"},
    ],
    "causes": [{"effect": "b", "cause": "a"}, {"effect": "c", "cause": "b", "origin": "span_link"}],
}


def artifact(**changes: Any) -> bytes:
    return json.dumps({**MINIMAL, **changes}).encode()


def with_step(**fields: Any) -> bytes:
    return artifact(steps=[{"step_id": "a", **fields}], causes=[])


def read(
    data: bytes, *, strict: bool = False, only: frozenset[str] | None = None
) -> tuple[Columns, Counter[str]]:
    source = Source("x.json", data)
    assert ArtifactAdapter().sniff(source)
    (draft,) = ArtifactAdapter().read([source], ReadOptions(True, strict, only))
    return seal(draft), draft.file_gaps


def read_trace(data: bytes) -> Trace:
    columns, file_gaps = read(data)
    assert not file_gaps
    return Trace(columns, 0)


def test_a_minimal_artifact_is_enough() -> None:
    trace = read_trace(artifact())
    assert (trace.trace_id, trace.source, trace.file) == ("t1", "artifact", "x.json")
    assert trace.fidelity == "full"
    assert [(s.kind, s.name, s.status) for s in trace.steps] == [
        ("TOOL", "search", "ok"),
        ("CHAIN", "retry:search", "unset"),
        ("TOOL", "search", "error"),
    ]
    assert list(trace.causes) == [
        CausalEdge("b", "a", "edge", "declared"),
        CausalEdge("c", "b", "span_link", "declared"),
    ]
    assert gaps(trace) == {}


def test_steps_and_causes_may_be_left_out() -> None:
    trace = read_trace(b'{"kind":"tracegraph.trace","schema_version":1,"trace":{"trace_id":"t"}}')
    assert len(trace) == 0
    assert trace.status == "unset"


def test_the_recorded_source_file_and_status_stay() -> None:
    header = {
        "trace_id": "t1",
        "source": "otlp",
        "file": "spans.jsonl",
        "file_digest": "00ff",
        "status": "error",
        "contained": False,
        "run_id": "r",
        "session_id": "s",
        "agent": "g",
        "fidelity": "parent_only",
        "gaps": [{"code": "otlp.missing_parent", "count": 2}],
        "attributes": {"k": 1},
    }
    trace = read_trace(artifact(trace=header))
    assert (trace.source, trace.file, trace.file_digest) == ("otlp", "spans.jsonl", "00ff")
    assert (trace.status, trace.fidelity) == ("error", "parent_only")
    assert (trace.run_id, trace.session_id, trace.agent) == ("r", "s", "g")
    assert trace.attributes == {"k": 1}
    assert gaps(trace) == {"otlp.missing_parent": 2}


def test_status_follows_from_the_steps_where_it_is_not_recorded() -> None:
    below = [{"effect": "b", "cause": "a"}, {"effect": "c", "cause": "b"}]
    assert read_trace(artifact(causes=below)).status == "ok"  # of the root, which contains the run
    assert read_trace(artifact()).status == "error"  # a link says what came after, not what holds
    log = {"trace_id": "t1", "contained": False}
    assert read_trace(artifact(trace=log)).status == "error"  # of the last step


@pytest.mark.parametrize("layout", ["array", "lines", "bom", "pretty"])
def test_every_layout_of_a_file_is_read(layout: str) -> None:
    second = artifact(trace={"trace_id": "t2"})
    data = {
        "array": b"[" + artifact() + b",\n" + second + b"]",
        "lines": artifact() + b"\n\n" + second + b"\n",
        "bom": b"\xef\xbb\xbf[" + artifact() + b"," + second + b"]",
        "pretty": json.dumps([MINIMAL, json.loads(second)], indent=2).encode(),
    }[layout]
    columns, file_gaps = read(data)
    assert [trace.trace_id for trace in iterate(columns)] == ["t1", "t2"]
    assert not file_gaps


def test_only_the_wanted_traces_are_read() -> None:
    data = artifact() + b"\n" + artifact(trace={"trace_id": "t2"})
    columns, _ = read(data, only=frozenset({"t2"}))
    assert columns.trace_id == ["t2"]


@pytest.mark.parametrize("bad", [b'{"kind": "tracegraph.trace", "sche', b"[1]", b'{"kind": 1}'])
def test_a_bad_line_costs_itself_and_a_disclosure(bad: bytes) -> None:
    columns, file_gaps = read(artifact() + b"\n" + bad)
    assert columns.trace_id == ["t1"]
    assert file_gaps == {"artifact.unreadable_trace": 1}
    with pytest.raises(InputError, match=r"x\.json: line 2"):
        read(artifact() + b"\n" + bad, strict=True)


def test_a_torn_first_line_does_not_hide_the_others() -> None:
    columns, file_gaps = read(b'{"kind": "tracegraph.trace", "sche\n' + artifact() + b"\n")
    assert columns.trace_id == ["t1"]
    assert file_gaps == {"artifact.unreadable_trace": 1}


def test_what_is_no_json_is_named_with_line_and_column() -> None:
    data = b'{"kind": "tracegraph.trace",\n "schema_version": 1,\n "trace": tru}'
    with pytest.raises(InputError, match=r"^x\.json: line 3, column 11: not JSON: .*$"):
        read(data)


def test_a_newer_schema_version_says_so() -> None:
    with pytest.raises(InputError, match=r"x\.json: .*schema version 2; .* upgrade tracegraph"):
        read(artifact(schema_version=2, new_member={}))


@pytest.mark.parametrize("version", [None, "1", True, 0, 1.5])
def test_a_schema_version_that_is_no_version_is_refused(version: object) -> None:
    with pytest.raises(InputError, match="schema_version must be a whole number"):
        read(artifact(schema_version=version))


@pytest.mark.parametrize("header", [{}, {"trace_id": ""}, {"trace_id": 7}, None, []])
def test_a_trace_without_an_id_is_refused(header: object) -> None:
    with pytest.raises(InputError, match="no trace with a trace_id"):
        read(artifact(trace=header))


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("kind", "FOO", "artifact.unknown_word"),
        ("status", "great", "artifact.unknown_word"),
        ("signals", ["odd", "truncated"], "artifact.unknown_word"),
        ("name", 5, "artifact.unreadable_field"),
        ("tokens_prompt", -1, "artifact.unreadable_field"),
        ("tokens_prompt", 2**63, "artifact.unreadable_field"),
        ("tokens_total", 1.5, "artifact.unreadable_field"),
        ("started_at", "yesterday", "artifact.unreadable_field"),
        ("ended_at", "1969-12-31T23:59:59Z", "artifact.unreadable_field"),
        ("duration_ms", -4, "artifact.unreadable_field"),
        ("duration_ms", 1e300, "artifact.unreadable_field"),
        ("cost", "free", "artifact.unreadable_field"),
        ("cost", -1, "artifact.unreadable_field"),
        ("wrapper", "yes", "artifact.unreadable_field"),
        ("attributes", [], "artifact.unreadable_field"),
        ("nmae", "search", "artifact.unknown_field"),
    ],
)
def test_an_odd_field_costs_itself_and_strictness_refuses_it(
    field: str, value: object, code: str
) -> None:
    data = with_step(**{"model": "m", field: value})
    trace = read_trace(data)
    assert gaps(trace) == {code: 1}
    (step,) = trace.steps
    assert step.model == "m"
    assert (step.kind, step.status, step.name, step.cost) == ("UNKNOWN", "unset", None, None)
    assert (step.start, step.end, step.duration_ns, step.tokens_prompt) == (None,) * 4
    with pytest.raises(StrictError, match=rf"x\.json: .*\({code}\)"):
        read(data, strict=True)


def test_a_signal_stays_beside_an_unknown_one() -> None:
    (step,) = read_trace(with_step(signals=["odd", "truncated"])).steps
    assert step.signals == ("truncated",)


@pytest.mark.parametrize("step", [7, {}, {"step_id": ""}, {"name": "x"}])
def test_a_step_without_an_id_costs_itself(step: object) -> None:
    trace = read_trace(artifact(steps=[{"step_id": "a"}, step], causes=[]))
    assert [s.step_id for s in trace.steps] == ["a"]
    assert gaps(trace)["artifact.unreadable_step"] == 1


def test_a_cause_that_names_a_missing_step_is_disclosed_and_leaves_an_orphan() -> None:
    causes = [{"effect": "b", "cause": "zz"}, {"effect": "yy", "cause": "a"}]
    trace = read_trace(artifact(causes=causes))
    assert gaps(trace) == {"artifact.dangling_cause": 2}
    assert [step.orphan for step in trace.steps] == [False, True, False]
    with pytest.raises(StrictError, match="'zz'"):
        read(artifact(causes=causes), strict=True)


def test_unknown_words_of_a_cause_make_it_a_weak_one() -> None:
    causes = [
        {"effect": "b", "cause": "a", "origin": "hunch"},
        {"effect": "c", "cause": "b", "origin": "edge", "evidence": "none"},
        {"effect": "c", "cause": "a", "origin": "span_link", "evidence": "derived"},
    ]
    trace = read_trace(artifact(causes=causes))
    assert gaps(trace) == {"artifact.unknown_word": 2}
    assert list(trace.causes) == [
        CausalEdge("b", "a", "legacy_unknown", "heuristic"),
        CausalEdge("c", "a", "span_link", "derived"),
        CausalEdge("c", "b", "edge", "heuristic"),
    ]


def test_of_two_steps_with_one_id_the_one_that_ends_last_stays() -> None:
    def step(name: str, ended: str | None) -> dict[str, Any]:
        return {"step_id": "a", "name": name, **({"ended_at": ended} if ended else {})}

    early, late = step("early", "2026-01-01T00:00:01Z"), step("late", "2026-01-01T00:00:02Z")
    open_ = step("open", None)
    for order in ([early, late, open_], [open_, late, early], [late, open_, early]):
        trace = read_trace(artifact(steps=order, causes=[]))
        assert [s.name for s in trace.steps] == ["late"]
        assert gaps(trace) == {"artifact.duplicate_step": 2}


def test_times_of_any_offset_are_read_to_the_nanosecond() -> None:
    times = {"started_at": "2026-01-01T01:00:00.123456789+01:00", "ended_at": "2026-01-01T00:00:01"}
    (step,) = read_trace(with_step(**times)).steps
    assert step.start == 1_767_225_600_123_456_789
    assert step.end == 1_767_225_601_000_000_000


def test_text_that_is_no_unicode_is_mended_and_disclosed() -> None:
    data = with_step(name="NAME").replace(b"NAME", b"\\ud83d!")
    trace = read_trace(data)
    assert [s.name for s in trace.steps] == ["\ufffd!"]
    assert gaps(trace) == {"text.lone_surrogate": 1}
    data = with_step(name="NAME").replace(b"NAME", b"\xff!")
    trace = read_trace(data)
    assert [s.name for s in trace.steps] == ["\ufffd!"]
    assert gaps(trace) == {"text.invalid_utf8": 1}
    with pytest.raises(StrictError, match=r"byte \d+ is no UTF-8"):
        read(data, strict=True)


def test_deep_nesting_is_refused_by_name() -> None:
    deep = b'{"k":' * 100_000 + b"1" + b"}" * 100_000
    data = with_step(attributes={"x": 1}).replace(b'{"x": 1}', deep)
    with pytest.raises(InputError, match=r"x\.json: JSON nested too deeply"):
        read(data)


def test_a_record_over_the_limit_is_refused() -> None:
    source = Source("x.json", artifact(), limit=50)
    with pytest.raises(RecordLimitError, match="TRACEGRAPH_MAX_RECORD_BYTES"):
        list(ArtifactAdapter().read([source], ReadOptions()))


@pytest.mark.parametrize(
    "data",
    [
        b'{"kind":"tracegraph.query-result","schema_version":1}',
        b'{"schema_version":7,"trace":{"edges":[],"steps":[],"trace":{"trace_id":"t"}}}',
        b'{"resourceSpans":[{"x":"\\"kind\\":\\"tracegraph.trace\\""}]}',
        b'{"type":"trace_meta","run_id":"r"}',
        b"",
    ],
)
def test_other_files_are_not_taken(data: bytes) -> None:
    assert not ArtifactAdapter().sniff(Source("x.json", data))


def test_keys_in_any_order_are_recognised() -> None:
    assert read_trace(json.dumps(MINIMAL, sort_keys=True).encode()).trace_id == "t1"
    assert read_trace(json.dumps(dict(reversed(MINIMAL.items()))).encode()).trace_id == "t1"
