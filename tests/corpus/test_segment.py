"""A segment gives back what was written, costs no Parquet to open, and is the same bytes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from artifact_drafts import drafts
from cli_runner import environment
from trace_view import views
from tracegraph.corpus.segment import HOT, Held, open_segment, write_segment
from tracegraph.errors import CorpusError
from tracegraph.model.columns import Columns, StepColumns, names
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal

COLUMNS = drafts().map(seal)
REUSED = settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def _held(columns: Columns) -> Held:
    count = columns.trace_count
    return Held(columns, np.arange(count) + 7, np.arange(count) * 2)


def _fresh(folder: Path) -> Path:
    return folder / str(len(list(folder.iterdir())))


@REUSED
@given(COLUMNS)
def test_gives_back_what_was_written(tmp_path: Path, columns: Columns) -> None:
    path = _fresh(tmp_path)
    write_segment(path, _held(columns))
    held = open_segment(path)
    assert views(held.columns) == views(columns)
    assert list(held.columns.vocabulary) == list(columns.vocabulary)
    assert held.home.tolist() == _held(columns).home.tolist()
    assert held.position.tolist() == _held(columns).position.tolist()
    for name in names(StepColumns):
        values = getattr(held.columns.steps, name)
        assert values.dtype == getattr(columns.steps, name).dtype
        assert not values.flags.writeable
        assert not values.flags.owndata


@REUSED
@given(COLUMNS)
def test_same_columns_same_bytes(tmp_path: Path, columns: Columns) -> None:
    first, second = _fresh(tmp_path), tmp_path / "again"
    write_segment(first, _held(columns))
    write_segment(second, _held(open_segment(first).columns))
    files = sorted(path.name for path in first.iterdir())
    assert files == sorted(path.name for path in second.iterdir())
    assert [(first / f).read_bytes() for f in files] == [(second / f).read_bytes() for f in files]
    for file in files:
        (second / file).unlink()
    second.rmdir()


def test_no_traces_at_all(tmp_path: Path) -> None:
    write_segment(tmp_path / "0", _held(seal(Draft())))
    assert open_segment(tmp_path / "0").columns.trace_count == 0


def test_opening_and_reading_imports_no_parquet(tmp_path: Path) -> None:
    draft = Draft()
    draft.begin("t", source="otlp", file="f")
    draft.step("a", name="x")
    write_segment(tmp_path / "0", _held(seal(draft)))
    code = (
        "import sys, pathlib\n"
        "from tracegraph.corpus.segment import open_segment\n"
        "columns = open_segment(pathlib.Path(sys.argv[1])).columns\n"
        "print(columns.step_id[0], columns.text(int(columns.steps.name[0])))\n"
        "print('pyarrow.parquet' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "0")],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["a", "x", "False"]


@pytest.mark.parametrize("cut", [0, 1, 100, -8])
def test_damage_is_named(tmp_path: Path, cut: int) -> None:
    draft = Draft()
    draft.begin("t", source="otlp", file="f")
    draft.step("a")
    write_segment(tmp_path / "0", _held(seal(draft)))
    path = tmp_path / "0" / HOT
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(CorpusError, match=r"hot\.arrow: damaged"):
        open_segment(tmp_path / "0")


def test_a_segment_that_is_gone_is_no_damage(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_segment(tmp_path / "0")
