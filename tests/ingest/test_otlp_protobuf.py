"""OTLP in binary protobuf: what is told from its bytes, what damage costs, and what it is not."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from cli_runner import environment
from every_format import ADAPTERS, PLACES, files_of
from otlp_data import TRACE, by_number, export, of_file, read, source, span, traces
from otlp_encodings import collector_frame, message, one_each, protobuf, varint_frame
from shared_data import ROOT, fixture, shared
from trace_view import gaps
from tracegraph.errors import InputError, RecordLimitError, StrictError, UnknownFormatError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.otlp.adapter import OtlpAdapter
from tracegraph.ingest.otlp.framing import framing_of
from tracegraph.ingest.registry import detect
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace, iterate

SPANS = [span(n, f"step {n}", "CHAIN", parent=n - 1 or None) for n in range(1, 5)]
REQUEST = export(*SPANS)
ONE_EACH = [protobuf(one) for one in one_each(REQUEST)]
FRAMES = {"collector": collector_frame, "delimited": varint_frame}
EACH = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
Frame = Callable[[bytes], bytes]


def found(data: bytes, **options: Any) -> tuple[list[Trace], Counter[str]]:
    """Return the traces of a file and what was lost outside them."""
    drafts = list(OtlpAdapter().read([Source("x.pb", data)], ReadOptions(**options)))
    told = sum((draft.file_gaps for draft in drafts), Counter[str]())
    return [trace for draft in drafts for trace in iterate(seal(draft))], told


def numbers(found: list[Trace]) -> list[int]:
    return sorted(number for trace in found for number in by_number(trace))


def test_a_real_request_holds_what_the_library_says() -> None:
    path = fixture("otlp/openinference_export_request.pb")
    data = TracesData.FromString(path.read_bytes())
    raw = [s for g in data.resource_spans for scope in g.scope_spans for s in scope.spans]
    (trace,) = of_file(path)
    assert gaps(trace) == {}
    assert {s.step_id for s in trace.steps} == {s.span_id.hex() for s in raw}
    assert {trace.trace_id} == {s.trace_id.hex() for s in raw}
    parents = {(e.effect, e.cause) for e in trace.causes if e.origin == "span_parent"}
    assert parents == {(s.span_id.hex(), s.parent_span_id.hex()) for s in raw if s.parent_span_id}
    assert {s.step_id: s.status for s in trace.steps} == {
        s.span_id.hex(): ("unset", "ok", "error")[s.status.code] for s in raw
    }


def test_the_fixture_is_the_shared_file_and_the_run_of_the_collector_file() -> None:
    path = fixture("otlp/openinference_export_request.pb")
    given = shared("traces/otlp_variants/openinference_export_request.pb")
    assert path.read_bytes() == given.read_bytes()
    (trace,) = of_file(path)
    batch = shared("traces/otlp_jsonl_collector/openinference_batch.jsonl")
    other = next(t for t in of_file(batch) if t.trace_id == trace.trace_id)
    assert [s.step_id for s in other.steps] == [s.step_id for s in trace.steps]
    assert [(s.start, s.args_digest, s.result_digest) for s in other.steps] == [
        (s.start, s.args_digest, s.result_digest) for s in trace.steps
    ]
    for pair in ((path, batch), (batch, path)):
        united = {t.trace_id: t for t in iterate(read(*(Source.open(p, p.name) for p in pair)))}
        assert gaps(united[trace.trace_id]) == {"otlp.duplicate_identical": len(trace)}


@EACH
def test_requests_one_after_the_other(frame: Frame) -> None:
    data = b"".join(map(frame, ONE_EACH))
    assert detect(Source("x", data)).name == "otlp"
    assert (numbers(found(data)[0]), found(data)[1]) == ([1, 2, 3, 4], {})
    with_empty = frame(b"") + data + frame(b"") + frame(b"")
    assert detect(Source("x", with_empty)).name == "otlp"
    assert found(with_empty)[1] == {"otlp.empty_record": 3}
    assert numbers(found(with_empty)[0]) == [1, 2, 3, 4]


@EACH
def test_a_torn_request_costs_itself_and_is_told(frame: Frame) -> None:
    framed = list(map(frame, ONE_EACH))
    data, whole = b"".join(framed), b"".join(framed[:3])
    for end in range(len(whole) + 1, len(data)):
        assert numbers(found(data[:end])[0]) == [1, 2, 3]
        told = found(data[:end])[1]
        assert told.total() == 1, end
        assert set(told) <= {"otlp.unreadable_record", "otlp.unreadable_span"}
        with pytest.raises(StrictError, match=r"^x\.pb: byte \d+: "):
            found(data[:end], strict=True)


@EACH
def test_a_request_torn_between_two_resources_is_told(frame: Frame) -> None:
    both = frame(ONE_EACH[0] + ONE_EACH[1])  # messages put together are one with both
    assert (numbers(found(both)[0]), found(both)[1]) == ([1, 2], {})
    got, told = found(both[: -len(ONE_EACH[1])])
    assert (numbers(got), told) == ([1], {"otlp.unreadable_span": 1})


@pytest.mark.parametrize("mark", [b"{", b"["])
def test_a_request_whose_length_looks_like_json(mark: bytes) -> None:
    """The second byte is a length, the first is a line break."""
    names = ("n" * length for length in range(128))
    made = (protobuf(export(span(1, name, None))) for name in names)
    data = next(data for data in made if data.startswith(b"\n" + mark))
    assert detect(Source("x", data)).name == "otlp"
    assert numbers(found(data)[0]) == [1]


def test_of_a_torn_request_the_whole_spans_are_read() -> None:
    data = protobuf(REQUEST)
    ends = [data.find(bytes.fromhex(s["spanId"])) for s in SPANS]
    for end in range(ends[0] + 200, len(data)):
        assert detect(Source("x", data[:end])).name == "otlp"
        got, told = found(data[:end])
        read_ones = numbers(got)
        assert read_ones == [1, 2, 3, 4][: len(read_ones)]
        assert told == {"otlp.unreadable_span": 1}
    assert numbers(found(data[:-1])[0]) == [1, 2, 3]


def test_a_file_of_which_nothing_can_be_read_is_refused_in_words() -> None:
    data = protobuf(export(SPANS[0]))
    at = data.find(b"\x12\x08" + bytes.fromhex(SPANS[0]["spanId"]))
    with pytest.raises(UnknownFormatError, match=r"^x: "):
        detect(Source("x", data[:at]))


def test_a_request_of_something_else_is_told() -> None:
    other = TracesData()
    other.resource_spans.add().scope_spans.add().spans.add().name = "without ids"
    torn = ONE_EACH[0][:10]
    data = b"".join(map(collector_frame, (ONE_EACH[0], other.SerializeToString(), torn)))
    got, told = found(data)
    assert (numbers(got), told) == ([1], {"otlp.unreadable_record": 2})


def test_spans_without_ids_are_told() -> None:
    for made in (SPANS[1] | {"traceId": ""}, SPANS[1] | {"traceId": "0" * 32}):
        assert found(protobuf(export(SPANS[0], made)))[1] == {"otlp.unreadable_span": 1}
        assert found(json.dumps(export(SPANS[0], made)).encode())[1] == {"otlp.unreadable_span": 1}


def test_an_odd_span_costs_itself() -> None:
    data = protobuf(export(*SPANS[:3]))
    kept = data.replace(b"\x2a\x06step 2", b"\x29\x06step 2")  # 64 bits, which is other bytes too
    assert kept != data
    got, told = found(kept)
    assert (numbers(got), told) == ([1, 3], {"otlp.unreadable_span": 1})
    got, told = found(_with_a_bottomless_value())
    assert (numbers(got), told) == ([1, 3], {"otlp.unreadable_span": 1})


def _message(made: dict[str, Any]) -> Span:
    found: Span = message(export(made)).resource_spans[0].scope_spans[0].spans[0]
    return found


def _with_a_bottomless_value() -> bytes:
    """Return three spans, one of them nested more deeply than the library itself will write."""
    value = b""
    for _ in range(3000):
        inner = b"\x0a" + varint_frame(value)
        value = b"\x2a" + varint_frame(inner)
    attribute = b"\x0a\x04deep\x12" + varint_frame(value)
    written = [_message(s).SerializeToString() for s in SPANS[:3]]
    written[1] += b"\x4a" + varint_frame(attribute)
    scope = b"".join(b"\x12" + varint_frame(s) for s in written)
    group = b"\x12" + varint_frame(scope)
    return b"\x0a" + varint_frame(group)


def test_unknown_fields_are_no_fault() -> None:
    unknown = b"\xba\x3e\x03new\xc0\x3e\x05\xc9\x3e" + bytes(8) + b"\xd5\x3e" + bytes(4)
    one = _message(SPANS[0]).SerializeToString()
    scope = unknown + b"\x12" + varint_frame(one + unknown) + unknown
    group = unknown + b"\x12" + varint_frame(scope) + unknown
    got, told = found(b"\x0a" + varint_frame(group) + unknown)
    assert (numbers(got), told, gaps(got[0])) == ([1], {}, {})


def test_spans_under_the_name_that_scopes_had_before() -> None:
    one = message(export(SPANS[0])).resource_spans[0].scope_spans[0].SerializeToString()
    group = b"\xc2\x3e" + varint_frame(one)
    assert numbers(found(b"\x0a" + varint_frame(group))[0]) == [1]


def test_text_that_is_no_utf8_is_mended_as_in_json() -> None:
    made = span(1, "na~me", "TOOL", attributes={"tool.name": "a~", "input.value": "caf~"})
    data = protobuf(export(made, SPANS[1])).replace(b"~", b"\xc3")
    got, told = found(data, keep_content=True)
    (trace,) = got
    assert (numbers(got), told, gaps(trace)) == ([1, 2], {}, {"text.invalid_utf8": 3})
    step = by_number(trace)[1]
    assert (step.name, step.input) == ("a\ufffd", "caf\ufffd")
    at = data.find(b"\xc3")
    assert trace.attributes["notes"] == [f"x.pb: first invalid UTF-8 at byte {at}"]
    json_trace = traces(json.dumps(export(made, SPANS[1])).encode().replace(b"~", b"\xc3"))[0]
    assert gaps(json_trace) == gaps(trace)
    assert by_number(json_trace)[1].args_digest == step.args_digest
    with pytest.raises(StrictError, match=rf"^x\.pb: byte {at}: .*text\.invalid_utf8"):
        found(data, strict=True)


def test_no_other_file_is_taken_for_protobuf() -> None:
    paths = [path for name in PLACES if name != "otlp" for path in files_of(name)]
    for path in [*paths, *fixture("otlp").glob("*.json*")]:
        data = path.read_bytes()
        for content in (data, b"\n" + data, data[1:], collector_frame(data), varint_frame(data)):
            assert not _is_protobuf(content), path
    (binary,) = fixture("otlp").glob("*.pb")
    made = Source(binary.name, binary.read_bytes())
    assert [name for name, adapter in ADAPTERS.items() if adapter.sniff(made)] == ["otlp"]


def _is_protobuf(data: bytes) -> bool:
    return framing_of(Source("x", data)) is not None


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode)), st.booleans())
@example(b"\n" * 100, False)
@example(bytes(100), False)
@example(b"\n\x02\x12\x00", False)
@example(b"SQLite format 3\x00" + bytes(100), False)
@example(b"PK\x03\x04\x0a" + bytes(100), False)
def test_other_bytes_are_not_taken(data: bytes, framed: bool) -> None:
    assume(not data.startswith((b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd")))  # of compressed files
    assert not _is_protobuf(collector_frame(data) if framed else data)


@EACH
def test_bytes_that_are_other_bytes(frame: Frame) -> None:
    rng = random.Random(7)
    whole = b"".join(map(frame, ONE_EACH))
    for data in (whole, fixture("otlp/openinference_export_request.pb").read_bytes()):
        for _ in range(150):
            changed = bytearray(data)
            for _ in range(rng.randint(1, 4)):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            made = Source("x.pb", bytes(changed))
            for adapter in ADAPTERS.values():
                adapter.sniff(made)
            try:
                got, _ = found(bytes(changed))
            except InputError as error:
                assert str(error).startswith("x.pb: ")
                assert "\n" not in str(error)
                continue
            for trace in got:
                steps = {step.step_id for step in trace.steps}
                assert all({e.effect, e.cause} <= steps for e in trace.causes)


def test_a_request_over_the_limit_is_refused_by_name_and_variable() -> None:
    data = b"".join(map(collector_frame, ONE_EACH))
    with pytest.raises(RecordLimitError, match=r"^x\.pb byte 4: .*TRACEGRAPH_MAX_RECORD_BYTES"):
        read(Source("x.pb", data, limit=50))
    assert read(Source("x.pb", data, limit=len(ONE_EACH[0]) + 30)).step_count == 4


def test_ids_of_other_lengths_still_join() -> None:
    first, second, third = map(_message, SPANS[:3])
    first.trace_id = second.trace_id = b"short"
    data = TracesData()
    data.resource_spans.add().scope_spans.add().spans.extend([first, second, third])
    got, told = found(data.SerializeToString())
    assert [(t.trace_id, len(t)) for t in got] == [(b"short".hex(), 2), (TRACE, 1)]
    assert (told, gaps(got[0])) == ({}, {"otlp.nonstandard_id_encoding": 2})


WITHOUT_LIBRARY = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("google", "opentelemetry"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
from tracegraph.cli.main import main
main(sys.argv[1:])
"""


def test_without_the_library_the_file_is_known_and_refused_in_one_line(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", WITHOUT_LIBRARY, *arguments, "--no-cache"]
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)

    path = "tests/fixtures/otlp/openinference_export_request.pb"
    refused = run("traces", path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.count("\n") == 1
    assert "openinference_export_request.pb: " in refused.stderr
    assert "pip install 'tracegraph-engine[otlp]'" in refused.stderr
    folder = run("traces", "tests/fixtures/otlp")
    assert folder.returncode == 0
    assert "pip install 'tracegraph-engine[otlp]'" in folder.stderr
    assert "openinference_parallel_tools.json" in folder.stdout


@pytest.mark.parametrize("corpus", [(), ("--into", "held")])
def test_a_file_is_read_once_the_library_is_there(tmp_path: Path, corpus: tuple[str, ...]) -> None:
    """Neither the file nor an adapter changes when the extra is installed."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("openinference_export_request.pb", "openinference_parallel_tools.json"):
        path = shutil.copy(fixture(f"otlp/{name}"), logs / name)
        os.utime(path, ns=(10**18, 10**18))  # long ago: its time alone tells that it is the same

    def run(*start: str) -> dict[str, Any]:
        command = [sys.executable, *start, "ingest", "logs", *corpus, "--format", "json"]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment(tmp_path / "c"),
            check=True,
        )
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    without = [run("-c", WITHOUT_LIBRARY) for _ in range(2)]
    assert [len(told["skipped"]) for told in without] == [1, 1]
    for _ in range(2):
        told = run("-m", "tracegraph")
        assert told["skipped"] == []
        assert told["trace_count"] == without[0]["trace_count"] + 1


def test_content_that_is_neither_is_unknown() -> None:
    with pytest.raises(UnknownFormatError):
        detect(source(b"\x0a\x02\x12\x00"))
