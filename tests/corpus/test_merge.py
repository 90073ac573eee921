"""Putting columns together and taking them apart changes no trace."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact_drafts import drafts
from trace_view import views
from tracegraph.corpus.merge import compact, concat, take
from tracegraph.corpus.policy import restrict
from tracegraph.model.columns import Columns, StepColumns, TraceColumns, dtype, is_text, names
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal

COLUMNS = drafts().map(seal)
SETTINGS = settings(deadline=None, max_examples=30)


@SETTINGS
@given(st.lists(COLUMNS, min_size=1, max_size=4))
def test_concat_keeps_every_trace(parts: list[Columns]) -> None:
    whole = concat(parts)
    assert views(whole) == [one for part in parts for one in views(part)]
    assert len(set(whole.vocabulary)) == len(whole.vocabulary)
    _assert_well_formed(whole)


@SETTINGS
@given(COLUMNS, st.data())
def test_take_keeps_the_chosen_traces(columns: Columns, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, columns.trace_count - 1), unique=True))
    taken = take(columns, np.array(chosen, dtype=np.int64))
    whole = views(columns)
    assert views(taken) == [whole[index] for index in chosen]
    assert set(taken.vocabulary) == _used(taken)
    _assert_well_formed(taken)


@SETTINGS
@given(COLUMNS)
def test_policies_drop_what_they_say(columns: Columns) -> None:
    structure, errors = restrict(columns, "structure"), restrict(columns, "errors")
    expected = views(columns)
    for trace in expected:
        for step in trace["steps"]:
            step["bodies"] = None
    assert views(errors) == expected
    for trace in expected:
        for step in trace["steps"]:
            step["error_message"] = None
    assert views(structure) == expected
    assert set(structure.vocabulary) == _used(structure)
    assert views(restrict(columns, "content")) == views(columns)


def test_structure_leaves_no_error_text_behind() -> None:
    draft = Draft()
    draft.begin("t", source="otlp", file="f")
    draft.step("a", error_message="secret", error_type="E")
    columns = restrict(seal(draft), "structure")
    assert "secret" not in columns.vocabulary
    assert "E" in columns.vocabulary


def test_text_that_two_columns_share_stays_while_one_uses_it() -> None:
    draft = Draft()
    draft.begin("t", source="otlp", file="f")
    draft.step("a", error_message="same", name="same")
    columns = restrict(seal(draft), "structure")
    assert columns.text(int(columns.steps.name[0])) == "same"
    assert columns.text(int(columns.steps.error_message[0])) is None


def test_nothing_to_drop_is_no_copy() -> None:
    draft = Draft()
    draft.begin("t", source="otlp", file="f")
    columns = seal(draft)
    assert compact(columns) is columns


def _used(columns: Columns) -> set[str]:
    tables: tuple[tuple[type, object], ...] = (
        (StepColumns, columns.steps),
        (TraceColumns, columns.traces),
    )
    return {
        columns.vocabulary[code]
        for table, values in tables
        for name in names(table)
        if is_text(table, name)
        for code in getattr(values, name).tolist()
        if code >= 0
    }


def _assert_well_formed(columns: Columns) -> None:
    assert columns.offsets[0] == 0
    assert len(columns.step_id) == columns.step_count
    for name in names(StepColumns):
        values = getattr(columns.steps, name)
        assert values.dtype == dtype(StepColumns, name)
        assert len(values) == columns.step_count
    assert (np.diff(columns.causes.effect) >= 0).all()
