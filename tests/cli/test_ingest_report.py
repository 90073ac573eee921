"""``tracegraph ingest FOLDER``: what was read by format, what was not, what is unchanged."""

import json
import os
import re
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cli_runner import Invoke
from every_format import ADAPTERS
from shared_data import ROOT, shared
from tracegraph.errors import InputError
from tracegraph.ingest.adapter import ReadOptions
from tracegraph.ingest.discover import discover
from tracegraph.ingest.registry import uniting
from tracegraph.ingest.source import Source
from tracegraph.model.seal import seal
from tracegraph.model.trace import iterate

UNKNOWN = "no known trace format"


def _report(invoke: Invoke, *arguments: str | Path) -> dict[str, Any]:
    ran = invoke("ingest", *map(str, arguments), "--format", "json")
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    assert isinstance(report, dict)
    return report


@dataclass
class Counted:
    """What the files of one format hold, counted file by file."""

    files: int = 0
    skipped: int = 0
    steps: dict[Any, dict[str, bool]] = field(default_factory=lambda: defaultdict(dict))
    """By trace: which steps it has, and whether they failed in any of the files that hold them."""


def _count(folder: Path) -> tuple[dict[str, Counted], list[str]]:
    """Read every file by itself, without a corpus; return the files that no adapter takes, too."""
    found: dict[str, Counted] = defaultdict(Counted)
    unknown = []
    for file in discover([folder]).files:
        assert file.path is not None
        source = Source.open(file.path, file.name)
        name = next((name for name, each in ADAPTERS.items() if each.sniff(source)), None)
        if name is None:
            unknown.append(file.name)
            continue
        try:
            drafts = list(ADAPTERS[name].read([source], ReadOptions()))
        except InputError:
            found[name].skipped += 1
            continue
        found[name].files += 1
        for columns in map(seal, drafts):
            for trace in iterate(columns):
                key = trace.trace_id if name in uniting() else (file.name, trace.trace_id)
                steps = found[name].steps[key]
                for step in trace.steps:
                    is_error = step.status == "error"
                    steps[step.step_id] = steps.get(step.step_id, False) or is_error
    return found, unknown


def _check(report: dict[str, Any], folder: Path) -> None:
    """Compare what is reported with what is counted."""
    counted, unknown = _count(folder)
    expected = [
        {
            "format": name,
            "file_count": each.files,
            "opened_count": each.files + each.skipped,
            "skipped_count": each.skipped,
            "trace_count": len(each.steps),
            "step_count": sum(map(len, each.steps.values())),
            "error_count": sum(list(s.values()).count(True) for s in each.steps.values()),
        }
        for name, each in sorted(counted.items())
    ]
    assert report["formats"] == expected
    assert [s["file"] for s in report["skipped"] if s["reason"] == UNKNOWN] == unknown
    assert {s["format"] for s in report["skipped"] if s["reason"] == UNKNOWN} <= {None}
    for name in ("file_count", "trace_count", "step_count", "error_count"):
        assert report[name] == sum(each[name] for each in report["formats"])
    assert report["unchanged_count"] == 0
    files = len(discover([folder]).files)
    assert report["opened_count"] == files == report["file_count"] + len(report["skipped"])


@pytest.fixture
def fixtures(folder: Path) -> Path:
    """The project's files of all formats, in a folder that may be changed.

    The cases with faults are left out: they are other traces under one id.
    """
    faulty = shutil.ignore_patterns("cases")
    shutil.copytree(ROOT / "tests" / "fixtures", folder / "in", ignore=faulty)
    return folder / "in"


@pytest.mark.parametrize("is_new", [False, True], ids=["old", "written just now"])
def test_what_is_read_of_each_format_and_nothing_again(
    invoke: Invoke, fixtures: Path, is_new: bool
) -> None:
    """The time of a file that was written just now does not tell whether it changes again."""
    for path in fixtures.rglob("*"):
        if not is_new:
            os.utime(path, (1_700_000_000, 1_700_000_000))
    first = _report(invoke, fixtures)
    _check(first, fixtures)
    assert {"otlp", "phoenix", "langsmith"} <= {each["format"] for each in first["formats"]}
    opened = first["opened_count"]
    for _ in range(2):
        again = _report(invoke, fixtures)
        assert (again["opened_count"], again["unchanged_count"]) == (0, opened)
        for each in again["formats"]:
            assert each.pop("opened_count") == 0
        without = [{k: v for k, v in f.items() if k != "opened_count"} for f in first["formats"]]
        assert again["formats"] == without
        assert again["skipped"] == first["skipped"]


def test_a_file_that_was_touched_is_opened_again_and_no_other(
    invoke: Invoke, fixtures: Path
) -> None:
    opened = _report(invoke, fixtures)["opened_count"]
    for name, form in (("agentdelta/ok.jsonl", "agentdelta"), ("README.md", None)):
        os.utime(fixtures / name, (1_700_000_000, 1_700_000_000))
        again = _report(invoke, fixtures)
        assert (again["opened_count"], again["unchanged_count"]) == (1, opened - 1)
        of_formats = {f["format"]: f["opened_count"] for f in again["formats"] if f["opened_count"]}
        assert of_formats == ({} if form is None else {form: 1})
    (fixtures / "more.txt").write_text("hello")
    (fixtures / "langfuse" / "api_trace.json").unlink()
    again = _report(invoke, fixtures)
    assert (again["opened_count"], again["unchanged_count"]) == (1, opened - 1)


def test_without_a_cache_everything_is_opened(invoke: Invoke, fixtures: Path) -> None:
    opened = _report(invoke, fixtures)["opened_count"]
    again = _report(invoke, fixtures, "--no-cache")
    assert (again["opened_count"], again["unchanged_count"]) == (opened, 0)


def test_a_corpus_says_the_same(invoke: Invoke, fixtures: Path) -> None:
    first = _report(invoke, fixtures, "--into", "corpus")
    _check(first, fixtures)
    again = _report(invoke, fixtures, "--into", "corpus")
    assert (again["opened_count"], again["unchanged_count"]) == (0, first["opened_count"])
    opened = _report(invoke, "corpus")
    assert (opened["opened_count"], opened["unchanged_count"]) == (0, first["opened_count"])


def test_the_table_says_it_in_words_and_a_remedy_once(invoke: Invoke, folder: Path) -> None:
    (folder / "in").mkdir()
    for name in ("react_ok", "tool_error_fatal"):
        shutil.copy(folder / f"examples/traces/{name}.otlp.json", folder / "in")
    shutil.copy(ROOT / "tests/fixtures/phoenix_without_spans/projects.json", folder / "in")
    for name in ("a.txt", "b.txt"):
        (folder / "in" / name).write_text("hello")
    (folder / "in" / "empty").write_bytes(b"")
    ran = invoke("ingest", "in")
    rows = [re.split("  +", line) for line in ran.out.splitlines()]
    told = {(what, name): value for what, name, value in rows}
    assert (told["files", "opened now"], told["files", "unchanged"]) == ("6", "0")
    spans = [
        one
        for path in sorted((folder / "in").glob("*.otlp.json"))
        for resource in json.loads(path.read_text())["resourceSpans"]
        for scope in resource["scopeSpans"]
        for one in scope["spans"]
    ]
    failing = sum(one["status"].get("code") == 2 for one in spans)
    assert told["format", "otlp"] == f"2 files, 2 traces, {len(spans)} steps, {failing} failing"
    assert told["format", "phoenix"] == "0 files, 0 traces, 0 steps, 0 failing, 1 skipped"
    assert told["skipped", "a.txt"] == told["skipped", "b.txt"] == UNKNOWN
    assert told["skipped", "empty"] == "the file is empty"
    assert ran.out.count(UNKNOWN) == 2
    assert ran.err.count("known: ") == 1
    assert ran.err.startswith(f"2 files of {UNKNOWN}; known: ")
    refused = invoke("ingest", "in/a.txt")
    assert refused.code == 2
    assert refused.err.startswith(f"tracegraph: a.txt: {UNKNOWN} (known: ")


def test_all_shared_traces_in_one_command(invoke: Invoke) -> None:
    folder = shared("traces")
    first = _report(invoke, folder)
    _check(first, folder)
    reasons = {s["file"]: s for s in first["skipped"]}
    for name in ("openinference", "openllmetry", "langsmith"):
        assert reasons[f"labels/{name}_labels.json"]["reason"] == UNKNOWN
    page = reasons["phoenix_export/rest_projects.json"]
    assert page["format"] == "phoenix"
    assert "a Phoenix page of projects" in page["reason"]
    again = _report(invoke, folder)
    assert (again["opened_count"], again["unchanged_count"]) == (0, first["opened_count"])
    assert again["skipped"] == first["skipped"]
