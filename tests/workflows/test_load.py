"""From PATHS to a corpus: what is read, what is refused, what is said."""

import json
import os
import subprocess
import sys
import tempfile
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from cli_runner import environment
from otlp_files import span, write_spans
from shared_data import shared
from trace_view import corpus_view
from tracegraph.corpus.cache import clear_cache, list_cache
from tracegraph.corpus.labels import Labels
from tracegraph.corpus.lookup import find_trace
from tracegraph.errors import (
    CorpusError,
    InputError,
    RecordLimitError,
    StrictError,
    UnknownFormatError,
    UsageError,
)
from tracegraph.workflows.load import ingest_into, load
from unprivileged import run_unprivileged

COLLECTOR = "traces/otlp_jsonl_collector/openinference_batch.jsonl"
AGENTDELTA = "traces/agentdelta/failing.jsonl"


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path_factory.mktemp("cache") / "tracegraph"
    monkeypatch.setenv("TRACEGRAPH_CACHE_DIR", str(path))
    return path


def _two_traces(folder: Path) -> Path:
    write_spans(folder / "a.jsonl", [span(0, 0), span(0, 1, 0), span(1, 2)])
    return folder


def test_a_folder_comes_from_the_cache_the_second_time(tmp_path: Path, cache: Path) -> None:
    _two_traces(tmp_path)
    first = load([tmp_path])
    written = {path: path.stat().st_mtime_ns for path in cache.rglob("hot.arrow")}
    assert written
    second = load([tmp_path])
    assert corpus_view(first) == corpus_view(second) == corpus_view(load([tmp_path], cache=False))
    assert written == {path: path.stat().st_mtime_ns for path in cache.rglob("hot.arrow")}
    assert second.notices == []
    assert cache.stat().st_mode & 0o777 == 0o700
    assert second.directory is not None
    assert second.directory.stat().st_mode & 0o777 == 0o700
    assert [(e.roots, e.traces, e.steps) for e in list_cache()] == [((str(tmp_path),), 2, 3)]
    assert clear_cache() == (1, [])
    assert list_cache() == []


def test_a_warm_load_imports_no_more_than_it_needs(tmp_path: Path, cache: Path) -> None:
    _two_traces(tmp_path)
    load([tmp_path])
    code = (
        "import sys\n"
        "from tracegraph.workflows.load import load\n"
        "corpus = load([sys.argv[1]])\n"
        "print(corpus.step_count, [trace.trace_id for trace in corpus.traces()])\n"
        "heavy = {'pyarrow.parquet', 'kuzu', 'lark', 'rich', 'filelock', 'pydantic'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "print(sorted(name for name in sys.modules if name.startswith('tracegraph.ingest.')))\n"
        "reads = {'tracegraph.workflows.rebuild', 'tracegraph.model.seal'}\n"
        "print(sorted(reads & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env=environment(cache),
        capture_output=True,
        text=True,
        check=True,
    )
    _, heavy, ingest, reads = done.stdout.splitlines()
    assert heavy == reads == "[]"
    light = ["companions", "compression", "discover", "limits", "registry", "source"]
    assert ingest == str([f"tracegraph.ingest.{name}" for name in light])


def test_real_traces_survive_the_cache() -> None:
    path = shared(COLLECTOR)
    corpus = load([path], keep="content", cache=False)
    assert (corpus.trace_count, corpus.step_count) == (34, 388)
    assert corpus_view(corpus) == corpus_view(load([path], keep="content"))
    assert corpus_view(corpus) == corpus_view(load([path], keep="content"))


def test_a_real_trace_split_over_two_files_is_one(tmp_path: Path) -> None:
    whole = load([shared(COLLECTOR)], cache=False)
    spans: list[tuple[str, str]] = []
    for line in shared(COLLECTOR).read_text().splitlines():
        request = json.loads(line)
        for resource in request["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for one in scope["spans"]:
                    alone = {**resource, "scopeSpans": [{**scope, "spans": [one]}]}
                    spans.append((one["traceId"], json.dumps({"resourceSpans": [alone]})))
    for name, part in (("a.jsonl", spans[::2]), ("b.jsonl", spans[1::2])):
        (tmp_path / name).write_text("".join(text + "\n" for _, text in part))
    both = [trace for trace, _ in spans[::2] if trace in {other for other, _ in spans[1::2]}]
    assert both
    for corpus in (load([tmp_path]), load([tmp_path]), load([tmp_path], cache=False)):
        assert (corpus.trace_count, corpus.step_count) == (34, 388)
        assert len(corpus.manifest.split) == len(set(both))
        assert {t.trace_id: [s.step_id for s in t.steps] for t in corpus.traces()} == {
            t.trace_id: [s.step_id for s in t.steps] for t in whole.traces()
        }
        assert {t.trace_id: list(t.causes) for t in corpus.traces()} == {
            t.trace_id: list(t.causes) for t in whole.traces()
        }


def test_ids_that_people_choose_do_not_unite(tmp_path: Path) -> None:
    text = shared(AGENTDELTA).read_bytes()
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(text)
    corpus = load([tmp_path])
    assert corpus.trace_count == 2
    first, second = corpus.traces()
    labels = Labels(corpus)
    assert labels.of(first.columns, first.index) == f"{first.trace_id}@a.jsonl"
    assert find_trace(corpus, labels.of(second.columns, second.index)).file == "b.jsonl"
    with pytest.raises(UsageError, match=r"ambiguous, 2 traces fit: .*@a\.jsonl, .*@b\.jsonl"):
        find_trace(corpus, first.trace_id)


def test_a_trace_is_found_by_the_start_of_its_id(tmp_path: Path) -> None:
    write_spans(tmp_path / "a.jsonl", [span(0x10, 0), span(0x11, 1), span(0x200, 2)])
    corpus = load([tmp_path])
    assert find_trace(corpus, f"{0x201:032x}").trace_id == f"{0x201:032x}"
    assert find_trace(corpus, "0" * 29 + "2").trace_id == f"{0x201:032x}"
    assert find_trace(corpus, "0" * 29 + "2@otlp").trace_id == f"{0x201:032x}"
    with pytest.raises(UsageError, match="2 traces fit"):
        find_trace(corpus, "0" * 30 + "1")
    with pytest.raises(UsageError, match="no trace 'f'"):
        find_trace(corpus, "f")


def test_content_is_kept_only_on_purpose(tmp_path: Path, cache: Path) -> None:
    secret = [{"key": "input.value", "value": {"stringValue": "my secret"}}]
    write_spans(tmp_path / "a.jsonl", [span(0, 0, attributes=secret)])
    assert next(next(load([tmp_path]).traces()).steps).input is None
    assert not any(b"my secret" in path.read_bytes() for path in cache.rglob("hot.arrow"))
    assert not list(cache.rglob("content.parquet"))
    kept = load([tmp_path], keep="content")
    assert next(next(kept.traces()).steps).input == "my secret"
    assert next(next(load([tmp_path], keep="content").traces()).steps).input == "my secret"
    assert len(list(cache.rglob("content.parquet"))) == 1


def test_structure_writes_no_error_text(tmp_path: Path, cache: Path) -> None:
    status = {"code": 2, "message": "the password is x"}
    write_spans(tmp_path / "a.jsonl", [span(0, 0, status=status)])
    step = next(next(load([tmp_path], keep="structure").traces()).steps)
    assert (step.status, step.error_message) == ("error", None)
    assert not any(b"password" in p.read_bytes() for p in cache.rglob("*") if p.is_file())
    assert next(next(load([tmp_path]).traces()).steps).error_message == "the password is x"


def test_other_files_in_a_folder_are_skipped_and_said(tmp_path: Path) -> None:
    _two_traces(tmp_path)
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "notes.md").write_text("# notes")
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x00\xff")
    for corpus in (load([tmp_path]), load([tmp_path]), load([tmp_path], cache=False)):
        assert corpus.trace_count == 2
        assert [file.name for file in corpus.skipped] == ["empty.jsonl", "image.png", "notes.md"]
        assert corpus.skipped[0].reason == "the file is empty"
        assert corpus.gaps["files.skipped"] == 3
    assert load([tmp_path], strict=True).trace_count == 2  # nothing of a trace was lost


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", UnknownFormatError, r"^a\.jsonl: the file is empty$"),
        ("hello", UnknownFormatError, r"^a\.jsonl: no known trace format"),
    ],
)
def test_a_named_file_that_is_no_trace_is_refused(
    tmp_path: Path, cache: Path, text: str, error: type[InputError], message: str
) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(error, match=message):
        load([tmp_path / "a.jsonl"])
    assert list(cache.iterdir()) == []


def test_a_folder_with_nothing_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing to read$"):
        load([tmp_path])
    (tmp_path / "notes.md").write_text("# notes")
    with pytest.raises(InputError, match=r"nothing to read \(notes\.md: no known trace format"):
        load([tmp_path])


def test_a_truncated_file_keeps_what_it_holds(tmp_path: Path) -> None:
    path = write_spans(tmp_path / "a.jsonl", [span(0, 0), span(1, 1)])
    path.write_text(path.read_text()[:-40])
    corpus = load([path])
    assert corpus.trace_count == 1
    assert sum(corpus.gaps.values()) == 1
    with pytest.raises(StrictError, match=r"^a\.jsonl"):
        load([path], strict=True)  # also where the cache holds it already
    with pytest.raises(StrictError, match=r"^a\.jsonl"):
        load([path], strict=True, cache=False)


def test_a_record_over_the_limit_is_refused_by_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_spans(tmp_path / "big.jsonl", [span(0, 0), span(0, 1, name="x" * 5000)])
    write_spans(tmp_path / "small.jsonl", [span(1, 2)])
    monkeypatch.setenv("TRACEGRAPH_MAX_RECORD_BYTES", "2000")
    with pytest.raises(
        RecordLimitError, match=r"^big\.jsonl line 2: .*TRACEGRAPH_MAX_RECORD_BYTES"
    ):
        load([tmp_path / "big.jsonl"])
    corpus = load([tmp_path])
    assert (corpus.trace_count, [file.name for file in corpus.skipped]) == (1, ["big.jsonl"])
    assert load([tmp_path]).trace_count == 1
    with pytest.raises(RecordLimitError):
        load([tmp_path], strict=True)
    monkeypatch.setenv("TRACEGRAPH_MAX_RECORD_BYTES", "0")
    assert load([tmp_path]).trace_count == 2
    assert load([tmp_path / "big.jsonl"]).step_count == 2


def test_a_cache_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _two_traces(tmp_path / "in")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRACEGRAPH_CACHE_DIR", str(tmp_path / "file" / "cache"))
    corpus = load([tmp_path / "in"])
    assert corpus.trace_count == 2
    assert corpus.directory is None
    assert [n for n in corpus.notices if n.startswith("the cache is not used: ")] == corpus.notices
    assert "Not a directory" in corpus.notices[0]


def test_what_may_not_be_read_is_said() -> None:
    # Not under tmp_path, which other users may not enter.
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        _two_traces(root / "in")
        write_spans(root / "in" / "closed.jsonl", [span(5, 0)]).chmod(0)
        write_spans(root / "in" / "folder" / "b.jsonl", [span(6, 0)])
        (root / "in" / "folder").chmod(0)
        (root / "cache").mkdir(mode=0o555)
        code = (
            "import sys\n"
            "from tracegraph.errors import TracegraphError\n"
            "from tracegraph.workflows.load import load\n"
            "corpus = load(sys.argv[1:2])\n"
            "print(corpus.trace_count, *corpus.skipped, *corpus.notices, sep='\\n')\n"
            "for number in (1, 2, 3):\n"
            "    try:\n"
            "        load([sys.argv[number]], strict=number == 1)\n"
            "    except TracegraphError as error:\n"
            "        print(error)\n"
        )
        inside = root / "in"
        try:
            printed = run_unprivileged(
                code,
                str(inside),
                str(inside / "folder"),
                str(inside / "closed.jsonl"),
                cache=root / "cache" / "mine",
            ).splitlines()
        finally:
            (inside / "folder").chmod(0o755)
    assert printed[0] == "2"
    assert "closed.jsonl" in printed[1]
    assert "Permission denied" in printed[1]
    assert "the folder cannot be read: Permission denied" in printed[2]
    assert printed[3].startswith("the cache is not used: ")
    assert printed[4] == "folder: the folder cannot be read: Permission denied"
    assert printed[5].endswith("in/folder: cannot be read: Permission denied")
    assert printed[6] == "closed.jsonl: cannot be read: Permission denied"


def test_standard_input_is_read_and_not_cached(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_spans(tmp_path / "a.jsonl", [span(0, 0)])
    other = write_spans(tmp_path / "b.jsonl", [span(0, 1, 0)])
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(path.read_bytes())))
    corpus = load(["-", other])
    assert (corpus.trace_count, corpus.step_count) == (1, 2)  # united with the file
    assert [entry.name for entry in corpus.files] == ["b.jsonl", "stdin"]
    assert not cache.exists()


def test_a_corpus_on_purpose_gathers_the_files_of_several_calls(tmp_path: Path) -> None:
    _two_traces(tmp_path / "p")
    write_spans(tmp_path / "q" / "a.jsonl", [span(7, 0)])
    directory = tmp_path / "corpus"
    ingest_into([tmp_path / "p"], directory)
    corpus = ingest_into([tmp_path / "q"], directory)
    assert [entry.name for entry in corpus.files] == ["a.jsonl", "q/a.jsonl"]
    assert corpus.trace_count == 3
    assert corpus_view(corpus) == corpus_view(load([directory]))
    (tmp_path / "p" / "a.jsonl").unlink()
    write_spans(tmp_path / "p" / "b.jsonl", [span(8, 0)])
    assert ingest_into([tmp_path / "q"], directory).trace_count == 3  # p was not named
    corpus = ingest_into([tmp_path / "p"], directory)
    assert [entry.name for entry in corpus.files] == ["b.jsonl", "q/a.jsonl"]
    parquet = sorted(path.name for path in directory.rglob("*.parquet"))
    assert set(parquet) == {"traces.parquet", "steps.parquet", "causes.parquet"}


def test_a_part_that_cannot_be_read_again_is_said(tmp_path: Path) -> None:
    directory = tmp_path / "corpus"
    gone = write_spans(tmp_path / "p" / "a.jsonl", [span(0, 0)])
    ingest_into([tmp_path / "p"], directory)
    gone.unlink()
    write_spans(tmp_path / "q" / "b.jsonl", [span(0, 1, 0)])
    corpus = ingest_into([tmp_path / "q"], directory)
    assert corpus.trace_count == 2
    assert corpus.gaps["corpus.split_trace"] == 1
    assert load([directory]).gaps["corpus.split_trace"] == 1


def test_a_united_trace_whose_other_file_is_gone_says_so(tmp_path: Path) -> None:
    directory = tmp_path / "corpus"
    gone = write_spans(tmp_path / "p" / "a.jsonl", [span(0, 0)])
    write_spans(tmp_path / "q" / "b.jsonl", [span(0, 1, 0)])
    assert ingest_into([tmp_path / "p", tmp_path / "q"], directory).trace_count == 1
    gone.unlink()
    write_spans(tmp_path / "q" / "b.jsonl", [span(0, 1, 0), span(0, 2, 1)])
    corpus = ingest_into([tmp_path / "q"], directory)
    assert [len(trace) for trace in corpus.traces()] == [2]
    assert corpus.gaps["corpus.lost_part"] == 1


def test_a_corpus_is_not_made_over_something_else(tmp_path: Path) -> None:
    _two_traces(tmp_path / "in")
    with pytest.raises(CorpusError, match="exists and is no corpus"):
        ingest_into([tmp_path / "in"], tmp_path)
    with pytest.raises(CorpusError, match="exists and is no corpus"):
        ingest_into([tmp_path / "in"], tmp_path / "in" / "a.jsonl")
    (tmp_path / "in" / "bad.json").write_text("")
    with pytest.raises(InputError):
        ingest_into([tmp_path / "in" / "bad.json"], tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_a_file_that_was_skipped_is_refused_when_it_is_named(tmp_path: Path) -> None:
    bad = _two_traces(tmp_path / "in") / "bad.json"
    bad.write_text("")
    ingest_into([tmp_path / "in"], tmp_path / "corpus")
    with pytest.raises(UnknownFormatError, match="the file is empty"):
        ingest_into([bad], tmp_path / "corpus")
    assert load([tmp_path / "corpus"]).trace_count == 2


def test_policies_of_one_corpus_do_not_mix(tmp_path: Path) -> None:
    _two_traces(tmp_path / "in")
    ingest_into([tmp_path / "in"], tmp_path / "corpus")
    with pytest.raises(CorpusError, match="was made with --keep errors"):
        ingest_into([tmp_path / "in"], tmp_path / "corpus", keep="content")
    corpus = load([tmp_path / "corpus"], keep="content")
    assert "without bodies" in corpus.notices[0]


def test_corpora_and_files_are_queried_together(tmp_path: Path) -> None:
    _two_traces(tmp_path / "p")
    write_spans(tmp_path / "q" / "b.jsonl", [span(7, 0)])
    write_spans(tmp_path / "r" / "c.jsonl", [span(8, 0)])
    for name in "pq":
        ingest_into([tmp_path / name], tmp_path / f"corpus {name}")
    corpus = load([tmp_path / "corpus q", tmp_path / "r", tmp_path / "corpus p"])
    assert [number for number, _ in corpus.segments] == [0, 1, 2]
    assert [trace.file for trace in corpus.traces()] == ["a.jsonl", "a.jsonl", "b.jsonl", "c.jsonl"]


def test_a_damaged_corpus_is_refused_and_a_damaged_cache_made_anew(
    tmp_path: Path, cache: Path
) -> None:
    _two_traces(tmp_path / "in")
    load([tmp_path / "in"])
    ingest_into([tmp_path / "in"], tmp_path / "corpus")
    for directory in (tmp_path / "corpus", cache):
        for path in directory.rglob("hot.arrow"):
            path.write_bytes(b"ARROW1")
    with pytest.raises(CorpusError, match=r"segments/0/hot\.arrow: damaged"):
        load([tmp_path / "corpus"])
    assert load([tmp_path / "in"]).trace_count == 2
    (tmp_path / "corpus" / "corpus.json").write_text("{")
    with pytest.raises(CorpusError, match="not a corpus manifest"):
        load([tmp_path / "corpus"])
    (tmp_path / "corpus" / "corpus.json").write_text(
        '{"kind":"tracegraph.corpus","format_version":99}'
    )
    with pytest.raises(CorpusError, match="newer tracegraph"):
        load([tmp_path / "corpus"])


def test_reading_leaves_the_sources_alone(tmp_path: Path) -> None:
    path = _two_traces(tmp_path) / "a.jsonl"
    before = path.read_bytes(), os.stat(path).st_mtime_ns
    load([tmp_path])
    assert (path.read_bytes(), os.stat(path).st_mtime_ns) == before
    assert os.listdir(tmp_path) == ["a.jsonl"]


def test_progress_hears_of_all_bytes(tmp_path: Path) -> None:
    class Heard:
        total = 0
        read = 0

        def start(self, total_bytes: int) -> None:
            self.total = total_bytes

        def advance(self, read_bytes: int) -> None:
            self.read += read_bytes

    path = _two_traces(tmp_path) / "a.jsonl"
    heard = Heard()
    load([tmp_path], progress=heard)
    assert heard.total == heard.read == path.stat().st_size
