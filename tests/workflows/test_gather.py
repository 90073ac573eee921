"""How drafts are put together leaves no trace in what is written."""

import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact_drafts import drafts
from otlp_files import span, write_spans
from trace_view import views
from tracegraph.corpus.builder import Builder
from tracegraph.corpus.segments import Segment
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.workflows import gather as gather_module
from tracegraph.workflows.load import ingest_into


@settings(deadline=None, max_examples=30)
@given(st.lists(drafts(), min_size=1, max_size=4))
def test_extended_drafts_hold_the_traces_of_both(parts: list[Draft]) -> None:
    apart = [one for part in copy.deepcopy(parts) for one in views(seal(part))]
    whole = Draft(keep_content=True)
    for part in parts:
        whole.extend(part)
    assert views(seal(whole)) == apart


@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_batches_do_not_show_in_the_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    for number in range(6):
        spans = [
            span(number, step, name=f"step {(number * 7 + step) % 5}", status={"code": step % 3})
            for step in range(4)
        ]
        write_spans(tmp_path / "in" / f"{number}.jsonl", spans)
    ingest_into([tmp_path / "in"], tmp_path / "usual")
    monkeypatch.setattr(gather_module, "SEAL_STEPS", batch)
    ingest_into([tmp_path / "in"], tmp_path / "batched")
    usual, batched = (
        {path.name: path.read_bytes() for path in sorted((tmp_path / name).rglob("segments/0/*"))}
        for name in ("usual", "batched")
    )
    assert len(usual) == 4
    assert usual == batched


def test_large_parts_are_cut_between_traces() -> None:
    draft = Draft()
    for number, steps in enumerate((3, 1, 1, 6, 2, 2, 1)):
        draft.begin(f"t{number}", source="otlp", file="f")
        for step in range(steps):
            draft.step(f"s{step}")
    columns = seal(draft)
    builder = Builder("errors", None, limit=4)
    everything = views(columns)
    builder.add(columns, np.zeros(7, dtype=np.int64), np.arange(7))
    built: list[Segment] = builder.finish()
    assert [segment.entry.steps for segment in built] == [4, 7, 5]
    assert [one for segment in built for one in views(segment.columns)] == everything
    assert [p for segment in built for p in segment.held.position.tolist()] == list(range(7))
