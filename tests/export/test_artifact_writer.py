import json
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from artifact_drafts import drafts
from tracegraph.corpus.policy import KEEPS, Keep
from tracegraph.export.artifact import write_artifact
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.artifact.adapter import ArtifactAdapter
from tracegraph.ingest.source import Source
from tracegraph.model.codes import KIND_CODE, SIGNAL_BIT, STATUS_CODE
from tracegraph.model.columns import Columns
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate
from tracegraph.resources import read_data

SCHEMA: dict[str, Any] = json.loads(read_data("contracts", "trace-artifact.v1.schema.json"))
VALIDATOR = Draft202012Validator(SCHEMA)


def read_back(data: bytes) -> Columns:
    source = Source("again.json", data)
    assert ArtifactAdapter().sniff(source)
    (draft,) = ArtifactAdapter().read([source], ReadOptions(keep_content=True, strict=True))
    return seal(draft)


def one_trace(draft: Draft) -> Trace:
    return Trace(seal(draft), 0)


@settings(max_examples=100, deadline=None)
@given(drafts())
def test_written_read_and_written_again_gives_the_same_bytes(draft: Draft) -> None:
    for trace in iterate(seal(draft)):
        written = write_artifact(trace, "content")
        assert write_artifact(Trace(read_back(written), 0), "content") == written


@settings(max_examples=50, deadline=None)
@given(drafts())
def test_everything_written_holds_the_contract(draft: Draft) -> None:
    for trace in iterate(seal(draft)):
        for keep in KEEPS:
            VALIDATOR.validate(json.loads(write_artifact(trace, keep)))


@settings(max_examples=50, deadline=None)
@given(drafts())
def test_times_and_orders_survive_to_the_nanosecond(draft: Draft) -> None:
    columns = seal(draft)
    for trace in iterate(columns):
        again = Trace(read_back(write_artifact(trace)), 0)
        assert [s.step_id for s in again.steps] == [s.step_id for s in trace.steps]
        assert [(s.start, s.end) for s in again.steps] == [(s.start, s.end) for s in trace.steps]
        assert list(again.causes) == list(trace.causes)
        assert [s.depth for s in again.steps] == [s.depth for s in trace.steps]


def test_the_contract_is_a_valid_schema_that_describes_every_field() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    for part in (SCHEMA, *SCHEMA["$defs"].values()):
        assert part["additionalProperties"] is False
        for name, field in part["properties"].items():
            assert field.get("description") or "$ref" in field, name


@pytest.mark.parametrize("ns", [0, 1, 999_999, 10**6, 24_999_999_999_999_999, 2**63 - 1])
def test_a_duration_survives_writing_to_the_byte(ns: int) -> None:
    draft = Draft()
    draft.begin("t", source="otlp", file="f")
    draft.step("s", duration=ns)
    written = write_artifact(one_trace(draft))
    again = Trace(read_back(written), 0)
    assert write_artifact(again) == written
    if ns < 2**52:
        assert [step.duration_ns for step in again.steps] == [ns]


def _full() -> Draft:
    draft = Draft(keep_content=True)
    draft.begin("t", source="otlp", file="a/b.json", attributes='{"b": 1, "a": NaN}')
    draft.step(
        "s",
        kind=KIND_CODE["TOOL"],
        status=STATUS_CODE["error"],
        error_type="ValueError",
        error_message="secret text",
        start=1,
        end=1_500_001,
        signals=SIGNAL_BIT["tool_error"] | SIGNAL_BIT["truncated"],
        unknown_fields="kind,name",
        cost="0.0010",
        input="in",
        output="out",
        attributes='{"k": 1e999}',
    )
    return draft


@pytest.mark.parametrize(
    ("keep", "present"),
    [("structure", []), ("errors", ["error_message"]), ("content", ["error_message", "input"])],
)
def test_a_policy_decides_what_is_written(keep: Keep, present: list[str]) -> None:
    (step,) = json.loads(write_artifact(one_trace(_full()), keep))["steps"]
    assert [name for name in ("error_message", "input") if name in step] == present
    assert step["error_type"] == "ValueError"


def test_the_default_policy_writes_no_content() -> None:
    text = write_artifact(one_trace(_full())).decode()
    assert '"output"' not in text
    assert "secret text" in text


def test_values_are_written_exactly() -> None:
    document = json.loads(write_artifact(one_trace(_full()), "content"))
    (step,) = document["steps"]
    assert step["started_at"] == "1970-01-01T00:00:00.000000001Z"
    assert step["duration_ms"] == 1.5
    assert step["cost"] == "0.0010"
    assert step["signals"] == ["tool_error", "truncated"]
    assert step["unknown_fields"] == ["kind", "name"]
    assert step["attributes"] == {"k": "1e999"}
    assert document["trace"]["attributes"] == {"a": "NaN", "b": 1}


def test_what_is_unknown_is_left_out() -> None:
    draft = Draft()
    draft.begin("t", source="otlp", file="f")
    draft.step("s")
    document = json.loads(write_artifact(one_trace(draft), "content"))
    assert document["steps"] == [
        {"step_id": "s", "seq": 0, "kind": "UNKNOWN", "status": "unset"},
    ]
    assert document["causes"] == []
    assert "started_at" not in document["trace"]
    assert None not in document["trace"].values()


def test_the_tree_is_written_for_readers() -> None:
    draft = Draft()
    draft.begin("t", source="otlp", file="f")
    a, b, c = (draft.step(name) for name in "abc")
    draft.link(b, a, "span_parent")
    draft.link(c, a, "span_link")
    draft.link(c, b, "span_parent")
    steps = json.loads(write_artifact(one_trace(draft)))["steps"]
    assert [step.get("parent") for step in steps] == [None, "a", "b"]
    assert [step.get("lossy") for step in steps] == [None, None, True]


def test_gaps_that_sealing_finds_are_not_counted_twice() -> None:
    draft = Draft()
    draft.begin("t", source="otlp", file="f")
    a, b = draft.step("a", start=9, end=5), draft.step("b", start=1)
    draft.link(a, b, "edge")
    draft.link(b, a, "edge")
    draft.link(a, a, "edge")
    written = write_artifact(one_trace(draft))
    gaps = {gap["code"]: gap["count"] for gap in json.loads(written)["trace"]["gaps"]}
    assert gaps == {"causes.cycle": 1, "causes.self": 1, "clock.end_before_start": 1}
    assert write_artifact(Trace(read_back(written), 0)) == written
