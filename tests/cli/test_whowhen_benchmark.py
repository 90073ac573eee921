"""``benchmarks/whowhen.py`` says what counting the answers of ``why`` by hand says."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cli_runner import Invoke, environment
from shared_data import ROOT, fixture

FILES = sorted(fixture("whowhen").glob("*.json"))
Row = dict[str, Any]


def measured(folder: Path, scratch: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "whowhen.py"), str(folder)],
        env=environment(scratch),
        capture_output=True,
        text=True,
        check=False,
    )


def asked(invoke: Invoke, path: Path) -> Row:
    """Return the label of a run, its messages of agents and what ``why`` would look at."""
    record = json.loads(path.read_text(encoding="utf-8"))
    told = json.loads(invoke("why", str(path), "--format", "json").out)
    return {
        "label": str(record["mistake_step"]),
        "steps": sum(message["role"] != "human" for message in record["history"]),
        "candidates": [each["step"]["step_id"] for each in told["candidates"]],
        "reason": told["candidates"][0]["reason"],
        "generated": "name" in record["history"][0],
    }


def share(runs: Sequence[Row], chance: Callable[[Row], float], *, whole: bool = True) -> str:
    hits = sum(map(chance, runs))
    number = f"{hits:.0f}" if whole else f"{hits:.1f}"
    return f"{number} of {len(runs)} ({100 * hits / len(runs):.0f} %)"


def test_the_table_is_what_counting_gives(invoke: Invoke, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    for path in FILES:
        shutil.copy(path, folder)
    runs = [asked(invoke, path) for path in FILES]
    done = measured(folder, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if "|" in line]
    table = {row[0]: row[1:] for row in rows}
    groups = [runs, [r for r in runs if r["generated"]], [r for r in runs if not r["generated"]]]
    assert all(groups)
    cells = [(group, first) for group in groups for first in (1, 3)]
    assert table["`tracegraph why`"] == [
        share(group, lambda r, n=first: r["label"] in r["candidates"][:n])  # type: ignore[misc]
        for group, first in cells
    ]
    for place in (0, 1):
        assert table[f"always message {place}"] == [
            share(group, lambda r, n=first, p=place: p <= int(r["label"]) < p + n)  # type: ignore[misc]
            for group, first in cells
        ]
    assert table["a random step"] == [
        share(group, lambda r, n=first: n / r["steps"], whole=False)  # type: ignore[misc]
        for group, first in cells
    ]
    for reason in {run["reason"] for run in runs}:
        of = [run for run in runs if run["reason"] == reason]
        right = sum(run["label"] == run["candidates"][0] for run in of)
        assert table[f"`{reason}`"] == [str(len(of)), str(right)]


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    done = measured(tmp_path / "nothing", tmp_path)
    assert done.returncode == 1
    assert re.search(r"nothing: holds no \.json files of Who&When", done.stderr)


def test_no_label_reaches_the_candidates(invoke: Invoke, tmp_path: Path) -> None:
    """What people judged afterwards and what was asked: with other ones the answer is the same."""
    labels = ("mistake_agent", "mistake_step", "mistake_reason", "is_correct", "is_corrected")
    task = ("question", "question_ID", "ground_truth", "level")
    for path in FILES:
        record = json.loads(path.read_text(encoding="utf-8"))
        other = tmp_path / path.name
        for value in ("0", "7", "Somebody"):
            changed = {k: value for k in (*labels, *task) if isinstance(record.get(k), str)}
            other.write_text(json.dumps({**record, **changed}), encoding="utf-8")
            assert asked(invoke, other)["candidates"] == asked(invoke, path)["candidates"]
