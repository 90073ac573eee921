"""``ingest``, ``ingest-otlp`` and ``ingest-phoenix``: one trace as a portable artifact."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from cli_runner import Invoke, run
from shared_data import fixture, shared
from trace_view import View, view
from tracegraph.corpus.policy import KEEPS, Keep
from tracegraph.export.artifact_name import artifact_name
from tracegraph.model.trace import Trace
from tracegraph.workflows.ingest import artifact_text
from tracegraph.workflows.load import load

TRACES = "examples/traces"
RECOVER = f"{TRACES}/tool_error_recover.otlp.json"
RECOVER_ID = "6f3d4ceebcd24ca896e0935518f8c813"
RESUMED = f"{TRACES}/interrupt_resume.otlp.json"
AGENTDELTA = fixture("agentdelta/failing.jsonl")


def _only(path: Path | str) -> View:
    """The one trace of a file."""
    (trace,) = load([path], cache=False).traces()
    return _view(trace)


def _view(trace: Trace) -> View:
    """All that is known of a trace, its attributes as JSON and not as the text of it."""
    seen = view(trace)
    return {**seen, "attributes": seen["attributes"] and json.loads(seen["attributes"])}


def _written(folder: Path, *, besides: set[str]) -> set[str]:
    return {path.name for path in folder.iterdir()} - besides


def test_otlp_becomes_an_artifact_that_its_id_names(invoke: Invoke, folder: Path) -> None:
    ran = invoke("ingest-otlp", "--file", RECOVER)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == f"{RECOVER_ID}.json: trace {RECOVER_ID}, 14 steps, 1 failing\n"
    assert _only(f"{RECOVER_ID}.json") == _only(RECOVER)
    assert _written(folder, besides={"examples"}) == {f"{RECOVER_ID}.json"}


@pytest.mark.parametrize("option", ["-o", "--output", "--out"])
def test_an_output_that_is_named_is_replaced(invoke: Invoke, folder: Path, option: str) -> None:
    (folder / "x.json").write_text("old")
    assert invoke("ingest-otlp", "-f", RECOVER, option, "x.json").code == 0
    assert _only("x.json")["trace_id"] == RECOVER_ID


def test_one_that_nobody_named_replaces_nothing(invoke: Invoke, folder: Path) -> None:
    target = folder / f"{RECOVER_ID}.json"
    for make in (lambda: target.write_text("mine"), lambda: target.symlink_to("nowhere")):
        make()
        ran = invoke("ingest-otlp", "--file", RECOVER)
        assert ran.code == 2
        assert ran.err == (
            f"tracegraph: {RECOVER_ID}.json: is there already; name it with -o to replace it\n"
        )
        assert target.is_symlink() or target.read_text() == "mine"
        target.unlink()
    assert _written(folder, besides={"examples"}) == set()


@pytest.mark.parametrize("kind", ["path", "symlink", "hardlink"])
def test_an_output_is_never_an_input(invoke: Invoke, folder: Path, kind: str) -> None:
    source = (folder / RECOVER).read_bytes()
    target = {"path": RECOVER}.get(kind, "other.json")
    if kind == "symlink":
        (folder / target).symlink_to(folder / RECOVER)
    elif kind == "hardlink":
        os.link(folder / RECOVER, folder / target)
    ran = invoke("ingest-otlp", "--file", RECOVER, "-o", target)
    assert ran.code == 2
    assert "is an input" in ran.err
    assert (folder / RECOVER).read_bytes() == source


@pytest.mark.parametrize(
    ("trace_id", "name"),
    [
        ("A", "A.json"),
        ("a.b_c-d", "a.b_c-d.json"),
        ("x" * 128, "x" * 128 + ".json"),
        ("conan", "conan.json"),
        ("x" * 129, None),
        ("-a", None),
        (".a", None),
        ("a/b", None),
        ("../a", None),
        ("a b", None),
        ("a\n", None),
        ("ä", None),
        ("", None),
        ("con", None),
        ("NUL", None),
        ("Com1.x", None),
        ("lpt9", None),
        ("\ud800", None),
    ],
)
def test_a_name_is_short_and_portable_or_a_digest(trace_id: str, name: str | None) -> None:
    digest = hashlib.sha256(trace_id.encode("utf-8", "surrogatepass")).hexdigest()
    assert artifact_name(trace_id) == (name or f"trace-{digest}.json")


def test_an_id_that_is_no_name_becomes_a_digest(invoke: Invoke, folder: Path) -> None:
    made = (folder / "examples/made/retry_marker.json").read_text()
    (folder / "odd.json").write_text(made.replace("made-retry-marker", "../up"))
    assert invoke("ingest", "odd.json", "-o", "same.json").code == 0
    assert _only("same.json")["trace_id"] == "../up"
    assert not (folder.parent / "up.json").exists()


def test_one_of_several_traces_has_to_be_named(invoke: Invoke, folder: Path) -> None:
    for option in ([], ["-o", "x.json"]):
        ran = invoke("ingest-otlp", "--file", RESUMED, *option)
        assert ran.code == 2
        assert ran.err.startswith(
            f"tracegraph: {RESUMED}: holds 2 traces, name one as --trace ID: 74472faabcef"
        )
        assert len(ran.err.splitlines()) == 1
    assert invoke("ingest-otlp", "--file", RESUMED, "--trace", "74472", "-o", "x.json").code == 0
    assert _only("x.json")["trace_id"] == "74472faabcefe8ba03d767fc4be556d2"
    assert invoke("ingest-otlp", "--file", RESUMED, "-t", "nosuch").code == 2
    assert _written(folder, besides={"examples"}) == {"x.json"}


def test_standard_input_is_read(folder: Path) -> None:
    text = (folder / RECOVER).read_text()
    ran = run("ingest-otlp", "--file", "-", "-o", "x.json", cwd=folder, stdin=text)
    assert (ran.code, ran.out) == (0, "")
    told = _only("x.json")
    assert told.pop("file") == "stdin"
    whole = _only(RECOVER)
    del whole["file"]
    assert told == whole


@pytest.mark.parametrize("redact", [["--redact-errors"], ["--keep", "structure"]])
def test_error_text_is_left_out_on_demand(invoke: Invoke, folder: Path, redact: list[str]) -> None:
    assert invoke("ingest-otlp", "--file", RECOVER, "-o", "kept.json").code == 0
    assert invoke("ingest-otlp", "--file", RECOVER, "-o", "cut.json", *redact).code == 0
    assert "unknown city" in (folder / "kept.json").read_text()
    assert "unknown city" not in (folder / "cut.json").read_text()
    kept, cut = (json.loads((folder / name).read_text()) for name in ("kept.json", "cut.json"))
    for step in kept["steps"]:
        step.pop("error_message", None)
    assert cut == kept


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ingest-otlp", "--file", str(AGENTDELTA)], "holds agentdelta, not otlp"),
        (["ingest-phoenix", "--file", str(AGENTDELTA)], "holds agentdelta, not phoenix"),
        (["ingest-phoenix", "--file", RECOVER], "holds otlp, not phoenix"),
        (["ingest-otlp", "--file", "examples/made/retry_marker.json"], "holds artifact, not otlp"),
        (["ingest", "--sqlite", RECOVER, "--thread", "A"], "holds otlp, not langgraph"),
        (["ingest-otlp", "--file", "nosuch.json"], "nosuch.json: cannot be read"),
        (["ingest-otlp", "--file", TRACES], "is a folder; name one file"),
        (["ingest-otlp", "--file", "*.json"], "*.json: cannot be read"),
        (["ingest", "--sqlite", TRACES], "is a folder; name one file"),
        (["ingest", "--sqlite", "nosuch.db", "--thread", "A"], "nosuch.db: cannot be read"),
        (["ingest-otlp"], "Missing option"),
        (
            ["ingest-otlp", "--file", RECOVER, "--redact-errors", "--keep", "content"],
            "give one",
        ),
        (["ingest"], "name PATHS to read, or a checkpoint database with --sqlite DB"),
        (["ingest", TRACES, "--thread", "A"], "--thread is for a checkpoint database"),
        (["ingest", TRACES, "--graph", "a.py:g"], "--graph is for a checkpoint database"),
        (["ingest", TRACES, "--error-channel", "e"], "--error-channel is for a checkpoint"),
        (["ingest", TRACES, "--sqlite", "a.db"], f"leave {TRACES} out"),
        (["ingest", "--sqlite", "a.db", "--trace", "x", "-o", "y"], "give --thread ID"),
        (["ingest", "--sqlite", "a.db", "--graph", "a.py:g"], "name one --thread ID"),
        (["ingest", "--sqlite", "a.db", "--into", "c", "--thread", "A"], "--thread is for one"),
        (["ingest", "--sqlite", "a.db", "--into", "c", "--graph", "a:g"], "--thread ID"),
        (["ingest", "--sqlite", "a.db", "--into", "c", "-o", "y"], "one or the other"),
        (["ingest", RECOVER, "-o", "y.json", "--format", "csv"], "--format is for what was read"),
        (["ingest", RECOVER, "--trace", "x"], "--trace chooses the trace of -o FILE"),
    ],
)
def test_what_makes_no_sense_gets_one_line(
    invoke: Invoke, folder: Path, arguments: list[str], message: str
) -> None:
    ran = invoke(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
    assert _written(folder, besides={"examples"}) == set()


@pytest.mark.parametrize(
    "given",
    ["otlp/openinference_parallel_tools.json", "agentdelta/failing.jsonl", "peer_artifact"],
)
def test_a_second_writing_is_byte_equal(invoke: Invoke, folder: Path, given: str) -> None:
    for path in sorted(fixture(given).iterdir()) if fixture(given).is_dir() else [fixture(given)]:
        assert invoke("ingest", str(path), "-o", "one.json").code == 0
        assert invoke("ingest", "one.json", "-o", "two.json").code == 0
        assert (folder / "one.json").read_bytes() == (folder / "two.json").read_bytes()
        assert _only("one.json") == _only(path)


@pytest.mark.parametrize(
    "given",
    [
        "otlp_json_genai_maf",
        "otlp_json_openinference/langgraph_gen",
        "otlp_json_openllmetry/langgraph_gen",
        "otlp_jsonl_collector",
        "phoenix_export/h3_spans.jsonl",
        "langgraph_sqlite",
        "agentdelta",
    ],
)
@pytest.mark.parametrize("keep", KEEPS)
def test_real_traces_are_written_twice_alike(tmp_path: Path, given: str, keep: Keep) -> None:
    for trace in load([shared("traces/" + given)], keep=keep, cache=False).traces():
        (tmp_path / "one.json").write_text(artifact_text(trace, keep))
        (again,) = load([tmp_path / "one.json"], keep=keep, cache=False).traces()
        assert artifact_text(again, keep).encode() == (tmp_path / "one.json").read_bytes()
        assert [step.step_id for step in again.steps] == [step.step_id for step in trace.steps]
        assert list(again.causes) == list(trace.causes)


def test_strict_and_no_cache_are_taken(invoke: Invoke, folder: Path) -> None:
    broken = json.loads((folder / RECOVER).read_text())
    spans = broken["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans.append({"spanId": "00"})
    (folder / "broken.json").write_text(json.dumps(broken))
    ran = invoke("ingest-otlp", "--file", "broken.json", "-o", "x.json", "--strict")
    assert ran.code == 2
    assert not (folder / "x.json").exists()
    assert invoke("ingest-otlp", "--file", "broken.json", "-o", "x.json", "--no-cache").code == 0
    assert not list(Path(os.environ["TRACEGRAPH_CACHE_DIR"]).rglob("corpus.json"))


def test_a_phoenix_export_becomes_an_artifact(invoke: Invoke, folder: Path) -> None:
    shutil.copy(shared("traces/phoenix_export/h3_spans.jsonl"), folder / "spans.jsonl")
    ids = [trace.trace_id for trace in load(["spans.jsonl"], cache=False).traces()]
    assert len(ids) > 1
    assert invoke("ingest-phoenix", "--file", "spans.jsonl").code == 2
    ran = invoke("ingest-phoenix", "--file", "spans.jsonl", "--trace", ids[0], "--out", "one.json")
    assert ran.code == 0
    assert f"trace {ids[0]}" in ran.err
    assert invoke("ingest-phoenix", "--file", "one.json", "--out", "two.json").code == 0
    assert (folder / "one.json").read_bytes() == (folder / "two.json").read_bytes()
    (trace,) = load(["one.json"], cache=False).traces()
    assert (trace.source, trace.fidelity) == ("phoenix", "parent_only")
    whole = load(["spans.jsonl"], cache=False)
    assert _view(trace) == next(_view(t) for t in whole.traces() if t.trace_id == ids[0])
