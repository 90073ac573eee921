"""A corpus that was kept up to date answers as one that was read afresh."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otlp_files import span, write_spans
from trace_view import corpus_view
from tracegraph.corpus import builder as builder_module
from tracegraph.corpus.corpus import Corpus
from tracegraph.workflows.load import ingest_into, load

NAMES = ("a.jsonl", "b.jsonl", "sub/a.jsonl", "z.jsonl")
LONG_AGO = 1_600_000_000

_SPANS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.none() | st.integers(0, 5)), max_size=6
)
_CONTENT = st.one_of(
    st.tuples(st.just("otlp"), _SPANS),
    st.tuples(st.just("agentdelta"), st.integers(0, 2)),
    st.tuples(st.just("text"), st.sampled_from(["", "no trace", "{"])),
)
_CHANGE = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), _CONTENT),
    st.tuples(st.just("remove"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("age"), st.sampled_from(NAMES), st.none()),
)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.lists(_CHANGE, min_size=1, max_size=3), min_size=1, max_size=5),
    st.sampled_from([1, 4, 1000]),
)
def test_updates_equal_a_fresh_read(rounds: list[list[tuple[str, str, object]]], full: int) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        root, age = Path(name) / "in", 0
        patch.setenv("TRACEGRAPH_CACHE_DIR", str(Path(name) / "cache"))
        patch.setattr(builder_module, "SEGMENT_STEPS", full)
        write_spans(root / "m.jsonl", [span(0, 9), span(2, 8)])
        for changes in rounds:
            for change in changes:
                age += 1
                _apply(root, age, *change)
            fresh = load([root], cache=False)
            for corpus in (load([root]), load([root]), ingest_into([root], Path(name) / "corpus")):
                assert corpus.notices == []
                assert corpus_view(corpus) == corpus_view(fresh)
                _assert_consistent(corpus)


def _apply(root: Path, age: int, what: str, name: str, content: object) -> None:
    path = root / name
    if what == "write":
        _write(path, *content)  # type: ignore[misc]
    elif what == "remove":
        path.unlink(missing_ok=True)
    elif path.exists():  # a time that is its own, and long before any manifest
        os.utime(path, (LONG_AGO + age, LONG_AGO + age))


def _write(path: Path, kind: str, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "otlp":
        assert isinstance(content, list)
        write_spans(path, [span(*one) for one in content])
    elif kind == "agentdelta":
        run = {"type": "trace_meta", "trace_id": f"run{content}"}
        node = {"type": "node", "step": 0, "node_type": "llm", "name": "m"}
        path.write_text(f"{json.dumps(run)}\n{json.dumps(node)}\n")
    else:
        path.write_text(str(content))


def _assert_consistent(corpus: Corpus) -> None:
    """Counts and numbers of the manifest are those of the segments, and no segment is left over."""
    assert [s.entry for s in corpus.parts] == list(corpus.manifest.segments)
    numbers = [number for number, _ in corpus.segments]
    assert numbers == sorted(set(numbers))
    assert corpus.step_count == sum(columns.step_count for _, columns in corpus.segments)
    assert corpus.largest_trace == max((len(trace) for trace in corpus.traces()), default=0)
    assert corpus.directory is not None
    folders = {path.name for path in (corpus.directory / "segments").glob("*")}
    assert folders == {str(number) for number in numbers}


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("TRACEGRAPH_CACHE_DIR", str(path))
    return path


def test_untouched_segments_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder_module, "SEGMENT_STEPS", 2)
    for number in range(3):
        write_spans(tmp_path / f"{number}.jsonl", [span(number, 0), span(number, 1, 0)])
    assert [number for number, _ in load([tmp_path]).segments] == [0, 1, 2]
    write_spans(tmp_path / "1.jsonl", [span(1, 0), span(1, 1, 0), span(1, 2, 0)])
    assert [number for number, _ in load([tmp_path]).segments] == [0, 2, 3]
    (tmp_path / "0.jsonl").unlink()
    assert [number for number, _ in load([tmp_path]).segments] == [2, 3]


def test_only_what_changed_is_read_again(tmp_path: Path) -> None:
    shared = write_spans(tmp_path / "a.jsonl", [span(0, 0), span(1, 1)])
    write_spans(tmp_path / "b.jsonl", [span(0, 2), span(2, 3)])
    write_spans(tmp_path / "c.jsonl", [span(3, 4)])
    for path in tmp_path.iterdir():
        os.utime(path, (LONG_AGO, LONG_AGO))
    load([tmp_path])
    path = tmp_path / "c.jsonl"  # changed without a sign of it: who reads it again finds nothing
    path.write_bytes(b" " * path.stat().st_size)
    os.utime(path, (LONG_AGO, LONG_AGO))
    write_spans(shared, [span(0, 0), span(1, 1), span(4, 5)])
    corpus = load([tmp_path])
    assert [(trace.file, len(trace)) for trace in corpus.traces()] == [
        ("a.jsonl", 2),
        ("a.jsonl", 1),
        ("a.jsonl", 1),
        ("b.jsonl", 1),
        ("c.jsonl", 1),
    ]


def test_a_change_that_its_time_does_not_show_is_found_by_digest(tmp_path: Path) -> None:
    path = write_spans(tmp_path / "a.jsonl", [span(0, 0)])
    corpus = load([tmp_path])
    assert corpus.directory is not None
    when = path.stat().st_mtime_ns
    write_spans(path, [span(0, 1)])
    os.utime(path, ns=(when, when))
    assert [step.step_id for step in next(load([tmp_path]).traces()).steps] == [f"{2:016x}"]


def test_what_was_verified_is_not_verified_again(tmp_path: Path) -> None:
    path = write_spans(tmp_path / "a.jsonl", [span(0, 0)])
    corpus = load([tmp_path])
    assert corpus.directory is not None
    manifest = corpus.directory / "corpus.json"
    second = 1_000_000_000
    long_ago = path.stat().st_mtime_ns - 100 * second
    os.utime(path, ns=(long_ago, long_ago))
    load([tmp_path])  # its time changed: it is read again
    os.utime(manifest, ns=(long_ago + second, long_ago + second))
    load([tmp_path])  # the same within two seconds: its bytes are compared
    assert manifest.stat().st_mtime_ns > long_ago + 50 * second
    settled = manifest.stat().st_mtime_ns
    load([tmp_path])
    assert manifest.stat().st_mtime_ns == settled


def test_a_manifest_speaks_of_the_time_before_it_was_read_for(tmp_path: Path) -> None:
    # Many spans: the clock of a file system may be some milliseconds late.
    write_spans(tmp_path / "a.jsonl", [span(0, step) for step in range(3000)])
    corpus = load([tmp_path])
    assert corpus.directory is not None
    read = (corpus.directory / "segments" / "0" / "hot.arrow").stat().st_mtime_ns
    written = (corpus.directory / "corpus.json").stat()
    assert written.st_mtime_ns < read < written.st_ctime_ns


def test_many_small_updates_do_not_leave_many_segments(tmp_path: Path) -> None:
    for number in range(30):
        write_spans(tmp_path / f"{number:02}.jsonl", [span(number, 0)])
        corpus = load([tmp_path])
    assert corpus.trace_count == 30
    assert len(corpus.segments) <= 9
    assert corpus_view(corpus) == corpus_view(load([tmp_path], cache=False))


def test_a_corpus_that_is_open_stays_what_it_was(tmp_path: Path) -> None:
    path = write_spans(tmp_path / "a.jsonl", [span(0, 0)])
    before = load([tmp_path])
    columns = before.columns(0)
    write_spans(path, [span(0, 0), span(0, 1)])
    assert load([tmp_path]).step_count == 2
    assert list(columns.step_id) == [f"{1:016x}"]
