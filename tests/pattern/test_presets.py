import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shared_data import ROOT, fixture
from tracegraph.errors import PatternError
from tracegraph.pattern.fields import KINDS
from tracegraph.pattern.parser import parse_file
from tracegraph.pattern.plan import plan
from tracegraph.pattern.preset_lock import lint_presets, write_lock
from tracegraph.pattern.presets import preset, presets, read_lock
from tracegraph.pattern.printer import digest
from tracegraph.resources import list_data, read_data

MANDATORY = {
    "error@1",
    "tool-failure@1",
    "plan-then-tool-failure@1",
    "timeout@1",
    "repeated-agent-failure@1",
    "gate-failure-after-success@1",
    "tool-retry-failure@2",
    "tool-retry-failure-near@1",
    "tool-repeat-failure-heuristic@1",
}
OF_THE_LIBRARY = {"soft-tool-error@1", "tool-loop@1"}  # of thirty, which follow the mandatory
FOR_REVIEW = {"tool-failure", "plan-then-tool-failure", "tool-retry-failure"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the shipped presets that a test may damage."""
    return Path(shutil.copytree(ROOT / "presets", tmp_path / "presets"))


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_mandatory_presets_are_shipped() -> None:
    assert {f"{each.id}@{each.version}" for each in presets()} >= MANDATORY


def test_shipped_presets_are_sound() -> None:
    assert lint_presets() == []


def test_shipped_form_is_the_parse_of_the_files() -> None:
    parsed = [
        each.pattern
        for name in list_data("presets")
        if name.endswith(".tgp")
        for each in parse_file(read_data("presets", name), name)
    ]
    assert sorted(parsed, key=lambda each: (each.id, each.version)) == presets()
    locked = read_lock(ROOT / "presets")
    assert all(locked[f"{each.id}@{each.version}"].digest == digest(each) for each in parsed)


def test_what_is_shipped_of_the_library_means_what_its_draft_does() -> None:
    library = parse_file(fixture("patterns/library.tgp").read_text(encoding="utf-8"), "library")
    drafts = {f"{each.pattern.id}@{each.pattern.version}": each.pattern for each in library}
    for name in OF_THE_LIBRARY:
        assert digest(preset(name)) == digest(drafts[name])


def test_an_interrupt_is_information() -> None:
    found = preset("interrupt@1")
    assert (found.severity, found.confidence, found.export) == ("info", "exact", "query-only")


def test_what_may_go_to_review() -> None:
    assert {each.id for each in presets() if each.export == "review"} == FOR_REVIEW


def test_every_preset_has_a_plan() -> None:
    for each in presets():
        assert plan(each).branches


@pytest.mark.parametrize("name", ["tool-retry-failure", "tool-retry-failure@2"])
def test_preset_by_name(name: str) -> None:
    assert (preset(name).id, preset(name).version) == ("tool-retry-failure", 2)
    assert preset("error@v1") == preset("error@1")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tool-faliure", "no preset 'tool-faliure'; did you mean 'tool-failure'?"),
        ("zzzzzz", "no preset 'zzzzzz'; 'tracegraph presets list' shows them all"),
        ("tool-retry-failure@1", "no version '1' of preset 'tool-retry-failure'; there is @2"),
        ("error@x", "no version 'x' of preset 'error'; there is @1"),
        ("error@", "no version '' of preset 'error'; there is @1"),
        ("error@" + "9" * 5000, "there is @1"),
    ],
)
def test_unknown_preset(name: str, message: str) -> None:
    with pytest.raises(PatternError) as caught:
        preset(name)
    assert message in caught.value.message


def test_shipped_preset_loads_without_the_parser() -> None:
    code = (
        "import sys\n"
        "from tracegraph.pattern.presets import preset\n"
        "preset('tool-failure@1')\n"
        "print(sorted({'lark', 'numpy', 'kuzu', 'pyarrow'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT / "engine",
    )
    assert done.stdout == "[]\n"


# ---------------------------------------------------------------- the lock


def test_changed_meaning_needs_a_raised_version(folder: Path) -> None:
    replace(folder / "tool-failure.tgp", "status == error", "status != ok")
    assert lint_presets(folder)[0].startswith("tool-failure.tgp: line 5, column 3: export review")
    replace(folder / "tool-failure.tgp", "  export review\n", "")
    message = "'tool-failure@1' means something else than when it was locked: raise its version"
    assert lint_presets(folder) == [message]
    before = (folder / "presets.lock").read_bytes()
    with pytest.raises(PatternError, match=message):
        write_lock(folder)
    assert (folder / "presets.lock").read_bytes() == before

    replace(folder / "tool-failure.tgp", "tool-failure v1", "tool-failure v2")
    assert any("'tool-failure@2' is missing" in problem for problem in lint_presets(folder))
    write_lock(folder)
    assert lint_presets(folder) == []


def test_retired_version_cannot_come_back_with_another_meaning(folder: Path) -> None:
    replace(folder / "error.tgp", "error v1", "error v2")
    write_lock(folder)
    entry = read_lock(folder)["error@1"]
    assert entry.pattern is None
    replace(folder / "error.tgp", "error v2", "error v1")
    replace(folder / "error.tgp", "status == error", "status == unset")
    with pytest.raises(PatternError, match="'error@1' means something else"):
        write_lock(folder)


def test_changed_title_only_asks_for_a_new_lock(folder: Path) -> None:
    replace(folder / "error.tgp", "A step failed", "Some step failed")
    (problem,) = lint_presets(folder)
    assert problem.startswith("presets.lock: 'error@1' is out of date; write it anew: python -m ")
    module = problem.split()[-2]
    subprocess.run([sys.executable, "-m", module, str(folder)], check=True, cwd=ROOT / "engine")
    assert lint_presets(folder) == []


def test_lock_is_the_same_bytes_every_time(folder: Path) -> None:
    shipped = (ROOT / "presets" / "presets.lock").read_bytes()
    write_lock(folder)
    assert (folder / "presets.lock").read_bytes() == shipped
    (folder / "presets.lock").unlink()
    write_lock(folder)
    assert (folder / "presets.lock").read_bytes() == shipped


def test_lint_names_what_is_missing(folder: Path) -> None:
    for example in (folder / "error.examples").glob("match-*"):
        example.unlink()
    (folder / "timeout.tgp").rename(folder / "slow.tgp")
    replace(folder / "tool-failure.tgp", '  title "A tool call failed"\n', "")
    problems = lint_presets(folder)
    assert "error.tgp: no example error.examples/match-*.json" in problems
    assert "slow.tgp: line 1, column 9: expected 'slow', the name of the file" in problems
    assert "tool-failure.tgp: line 1, column 9: a shipped preset needs a title" in problems


def test_damaged_lock(folder: Path) -> None:
    (folder / "presets.lock").write_text("{", encoding="utf-8")
    (problem,) = lint_presets(folder)
    assert problem.startswith("presets.lock: not a lock of this version")


# ---------------------------------------------------------------- examples


@pytest.mark.parametrize("name", [name for name in list_data("presets") if ".examples/" in name])
def test_examples_are_whole_traces(name: str) -> None:
    trace = json.loads(read_data("presets", name))
    assert (trace["kind"], trace["schema_version"]) == ("tracegraph.trace", 1)
    ids = [step["step_id"] for step in trace["steps"]]
    assert len(set(ids)) == len(ids) > 0
    assert all(step["kind"] in KINDS[1:] for step in trace["steps"])
    assert all({cause["effect"], cause["cause"]} <= set(ids) for cause in trace["causes"])
