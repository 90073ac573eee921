"""One set of runs in every encoding: the same artifacts, byte for byte, but for where they lay.

The runs are real ones, and made ones of any spans that OTLP can express.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    KeyValue,
    KeyValueList,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import (
    ResourceSpans,
    ScopeSpans,
    Span,
    Status,
    TracesData,
)

from otlp_data import read
from otlp_encodings import ENCODINGS, Request, base64_of_hex, hex_json, protobuf, with_ids
from shared_data import fixture, shared
from tracegraph.export.artifact import write_artifact
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.otlp.adapter import OtlpAdapter
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import iterate

WHERE = ("file", "file_digest")
BASE64 = {"base64 ids", "ids with 0x"}
"""Encodings that OTLP/JSON does not allow, which is disclosed; and so is protobuf's own JSON."""
FOLDERS = (
    "otlp_json_openinference",
    "otlp_json_openinference/langgraph_gen",
    "otlp_json_openllmetry/langgraph_gen",
    "otlp_json_genai_maf",
)


def artifacts(data: bytes, encoding: str) -> list[dict[str, Any]]:
    """Return the artifacts of all traces of a file, without where they lay."""
    source = Source("x", data)
    assert detect(source).name == "otlp"
    found = []
    for draft in OtlpAdapter().read([source], ReadOptions(keep_content=True)):
        assert draft.file_gaps == {}
        for trace in iterate(seal(draft)):
            artifact = json.loads(write_artifact(trace, "content"))
            gaps = {gap["code"]: gap["count"] for gap in artifact["trace"].pop("gaps")}
            is_told = gaps.pop("otlp.nonstandard_id_encoding", 0) > 0
            assert is_told == (encoding in BASE64 or encoding.startswith("protobuf JSON"))
            for key in WHERE:
                artifact["trace"].pop(key)
            found.append(artifact | {"gaps": gaps})
    return found


def written(found: list[dict[str, Any]]) -> list[str]:
    """Return artifacts as text, in which 1 is not 1.0."""
    return [json.dumps(artifact, indent=1) for artifact in found]


def requests(path: Path) -> Iterator[Request]:
    """Yield the requests of a real file, with hexadecimal ids."""
    document = json.loads(path.read_text(encoding="utf-8"))
    for request in document if isinstance(document, list) else [document]:
        found: Request = request
        if any("=" in s.get("traceId", "") for s in _spans(request)):
            found = with_ids(request, _hex_of_base64)
        yield found


def _hex_of_base64(text: str) -> str:
    return base64.b64decode(text).hex()


def _spans(request: Request) -> Iterator[dict[str, Any]]:
    for group in request["resourceSpans"]:
        for scope in group["scopeSpans"]:
            yield from scope["spans"]


def united(path: Path) -> Request:
    """Return all that a real file holds as one request."""
    return {"resourceSpans": [g for r in requests(path) for g in r["resourceSpans"]]}


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if name != "hex ids"])
def test_the_projects_own_runs_in_every_encoding(encoding: str) -> None:
    paths = sorted(fixture("otlp").glob("[go]*.json"))
    assert len(paths) == 9
    for path in paths:
        request = united(path)
        expected = artifacts(ENCODINGS["hex ids"](request), "hex ids")
        assert sum(len(artifact["steps"]) for artifact in expected) == len(list(_spans(request)))
        assert written(artifacts(ENCODINGS[encoding](request), encoding)) == written(expected)


@pytest.mark.parametrize("folder", FOLDERS)
def test_real_runs_in_every_encoding(folder: str) -> None:
    paths = sorted(shared(f"traces/{folder}").glob("*.json"))
    assert paths
    for path in paths:
        request = united(path)
        expected = written(artifacts(ENCODINGS["hex ids"](request), "hex ids"))
        for encoding in ("protobuf", "protobuf JSON in snake_case", "tempo", "a request a line"):
            assert written(artifacts(ENCODINGS[encoding](request), encoding)) == expected, path.name


NUMBERS = st.one_of(
    st.sampled_from([0, -1, 2**53 + 1, 2**63 - 1, -(2**63)]), st.integers(-(2**63), 2**63 - 1)
)
DOUBLES = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1.0, 2.0**60, 5e-324, 1e308]))
TEXT = st.text(max_size=6)
VALUES: st.SearchStrategy[AnyValue] = st.recursive(
    st.one_of(
        st.just(AnyValue()),
        TEXT.map(lambda value: AnyValue(string_value=value)),
        NUMBERS.map(lambda value: AnyValue(int_value=value)),
        DOUBLES.map(lambda value: AnyValue(double_value=value)),
        st.booleans().map(lambda value: AnyValue(bool_value=value)),
        st.binary(max_size=5).map(lambda value: AnyValue(bytes_value=value)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda vs: AnyValue(array_value=ArrayValue(values=vs))),
        st.dictionaries(TEXT, inner, max_size=3).map(
            lambda vs: AnyValue(kvlist_value=KeyValueList(values=_key_values(vs)))
        ),
    ),
    max_leaves=6,
)
KEYS = st.one_of(
    TEXT,
    st.sampled_from(
        "openinference.span.kind input.value output.value llm.model_name session.id tool.name "
        "llm.token_count.prompt llm.token_count.completion llm.cost.total error.type metadata "
        "gen_ai.operation.name gen_ai.tool.call.id gen_ai.usage.input_tokens graph.node.id".split()
    ),
)
ATTRIBUTES = st.dictionaries(KEYS, VALUES, max_size=5)
IDS = st.integers(1, 6).map(lambda number: number.to_bytes(8, "big"))
TIMES = st.one_of(st.just(0), st.integers(1, 2**63 - 1))
COUNTS = st.sampled_from([0, 0, 1, 7])


def _key_values(values: dict[str, AnyValue]) -> list[KeyValue]:
    return [KeyValue(key=key, value=value) for key, value in values.items()]


@st.composite
def _span(draw: st.DrawFn) -> Span:
    made = Span(
        trace_id=draw(st.sampled_from([b"\x01" * 16, b"\xab" * 16])),
        span_id=draw(IDS),
        parent_span_id=draw(st.one_of(st.just(b""), IDS)),
        name=draw(TEXT),
        start_time_unix_nano=draw(st.integers(1, 2**63 - 1)),
        end_time_unix_nano=draw(TIMES),
        attributes=_key_values(draw(ATTRIBUTES)),
        dropped_attributes_count=draw(COUNTS),
        dropped_events_count=draw(COUNTS),
        dropped_links_count=draw(COUNTS),
    )
    for name in draw(st.lists(st.sampled_from(["exception", "gen_ai.choice", "x"]), max_size=2)):
        attributes = draw(
            st.dictionaries(
                st.sampled_from(["exception.type", "exception.message", "content", "id"]),
                VALUES,
                max_size=2,
            )
        )
        made.events.append(
            Span.Event(name=name, time_unix_nano=draw(TIMES), attributes=_key_values(attributes))
        )
    for _ in range(draw(st.integers(0, 2))):
        made.links.append(Span.Link(trace_id=made.trace_id, span_id=draw(IDS)))
    if draw(st.booleans()):
        status = draw(st.sampled_from([0, 1, 2]))
        made.status.CopyFrom(Status(code=status, message=draw(TEXT)))  # type: ignore[arg-type]
    return made


@settings(max_examples=100, deadline=None)
@given(
    st.lists(_span(), min_size=1, max_size=4),
    st.dictionaries(st.sampled_from(["service.name", "service.version", "x"]), VALUES, max_size=2),
    st.lists(st.sampled_from(sorted(ENCODINGS)), min_size=4, max_size=4, unique=True),
)
def test_any_spans_in_any_encodings(
    spans: list[Span], described: dict[str, AnyValue], encodings: list[str]
) -> None:
    data = TracesData(
        resource_spans=[
            ResourceSpans(
                resource=Resource(attributes=_key_values(described)),
                scope_spans=[ScopeSpans(spans=spans)],
            )
        ]
    )
    request = hex_json(data)
    expected = written(artifacts(data.SerializeToString(), "protobuf"))
    assert expected
    for encoding in encodings:
        found = written(artifacts(ENCODINGS[encoding](request), encoding))
        assert found == expected, encoding


def test_the_same_spans_in_two_encodings_are_the_same_spans() -> None:
    """Copies are found to be copies, and what differs to differ, whatever the two encodings."""
    request = united(fixture("otlp/genai_wf_fan_out_in.json"))
    count = len(list(_spans(request)))
    other = json.loads(json.dumps(request))
    for span in _spans(other):
        span["attributes"].append({"key": "more", "value": {"intValue": "1"}})
    binary, text = Source("a", protobuf(request)), Source("b", json.dumps(request).encode())
    coded = Source("c", json.dumps(with_ids(request, base64_of_hex)).encode())
    changed = Source("d", protobuf(other))
    for pair, code in (
        ((binary, text), "otlp.duplicate_identical"),
        ((text, binary), "otlp.duplicate_identical"),
        ((coded, binary), "otlp.duplicate_identical"),
        ((changed, text), "otlp.duplicate_conflict"),
        ((text, changed), "otlp.duplicate_conflict"),
        ((binary, changed), "otlp.duplicate_conflict"),
    ):
        gaps = [
            {gap.code: gap.count for gap in trace.gaps if ".duplicate_" in gap.code}
            for trace in iterate(read(*pair))
        ]
        assert [set(found) for found in gaps] == [{code}, {code}]
        assert sum(found[code] for found in gaps) == count
