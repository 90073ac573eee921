"""The graph of a corpus is built once, published, appended to, and never in the way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import environment
from otlp_files import span, write_spans
from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.manifest import read_manifest
from tracegraph.workflows.graphs import ensure_graph, open_graph
from tracegraph.workflows.load import ingest_into, load


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("TRACEGRAPH_CACHE_DIR", str(path))
    return path


def _steps(corpus: Corpus) -> set[str]:
    with open_graph(corpus) as graph:
        return {str(row[0]) for row in graph.run("MATCH (s:Step) RETURN s.step_id")}


def _held(corpus: Corpus) -> set[str]:
    return {step.step_id for trace in corpus.traces() for step in trace.steps}


def test_a_graph_is_built_once_and_published(tmp_path: Path) -> None:
    write_spans(tmp_path / "a.jsonl", [span(0, 0), span(0, 1, 0)])
    corpus = load([tmp_path])
    assert corpus.graph_path is None
    path = ensure_graph(corpus)
    assert corpus.graph_path == path
    assert _steps(corpus) == _held(corpus)
    again = load([tmp_path])
    assert again.graph_path == path
    written = path.stat().st_mtime_ns
    assert ensure_graph(again) == path
    assert path.stat().st_mtime_ns == written


def test_generations_follow_the_segments(tmp_path: Path) -> None:
    source, directory = tmp_path / "in", tmp_path / "corpus"
    generations = []
    for number in range(4):
        write_spans(source / f"{number}.jsonl", [span(number, number)])
        corpus = ingest_into([source], directory)
        assert corpus.graph_path is None
        generations.append(ensure_graph(corpus).name)
        assert _steps(corpus) == _held(corpus)
    assert generations == [f"graph.{number}.kuzu" for number in range(4)]
    (source / "0.jsonl").unlink()  # a segment went: nothing can be appended to
    corpus = ingest_into([source], directory)
    assert ensure_graph(corpus).name == "graph.4.kuzu"
    assert _steps(corpus) == _held(corpus)
    assert sorted(path.name for path in directory.glob("graph.*.kuzu")) == [
        "graph.3.kuzu",
        "graph.4.kuzu",
    ]


def test_an_old_corpus_keeps_its_own_graph(tmp_path: Path) -> None:
    source = write_spans(tmp_path / "in" / "a.jsonl", [span(0, 0)])
    before = ingest_into([source], tmp_path / "corpus")
    write_spans(source, [span(0, 1)])
    after = ingest_into([source], tmp_path / "corpus")
    assert before.directory is not None
    assert _steps(before) == _held(before) == {f"{1:016x}"}  # though its segments are replaced
    ensure_graph(after)
    published = read_manifest(before.directory).graph
    assert published is not None
    assert published.segments == tuple(number for number, _ in after.segments)
    assert _steps(after) == _held(after)


def test_a_corpus_in_memory_has_a_private_graph(tmp_path: Path) -> None:
    write_spans(tmp_path / "a.jsonl", [span(0, 0), span(1, 1)])
    corpus = load([tmp_path], cache=False)
    path = ensure_graph(corpus)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert _steps(corpus) == _held(corpus)
    assert ensure_graph(corpus) == path
    del corpus
    assert not path.exists()


def test_a_corpus_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    write_spans(tmp_path / "in" / "a.jsonl", [span(0, 0)])
    corpus = ingest_into([tmp_path / "in"], tmp_path / "corpus")
    (tmp_path / "corpus" / ".lock").unlink()
    (tmp_path / "corpus" / ".lock").mkdir()  # nobody can take a lock on a folder
    assert _steps(corpus) == _held(corpus)
    assert "the graph is built for this query only" in corpus.notices[0]
    assert not list((tmp_path / "corpus").glob("graph.*"))
    assert os.listdir(tmp_path / "corpus" / ".lock") == []


def test_a_graph_is_not_blamed_for_what_the_system_refuses(tmp_path: Path) -> None:
    write_spans(tmp_path / "a.jsonl", [span(0, 0)])
    path = ensure_graph(load([tmp_path]))
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from tracegraph.corpus.corpus import open_corpus\n"
        "from tracegraph.errors import CorpusError, DamagedGraphError\n"
        "from tracegraph.workflows.graphs import open_graph\n"
        "import kuzu\n"
        "corpus = open_corpus(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
        "try: open_graph(corpus)\n"
        "except DamagedGraphError as error: print('damaged', error)\n"
        "except CorpusError as error: print('scarce', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path.parent)],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"scarce {path}: the graph cannot be opened: ")
    assert path.is_file()
