"""Whatever a trace may hold (cycles, orphans, odd names, no steps): compared, told, contracted."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from artifact_drafts import drafts
from shared_data import ROOT
from tracegraph.analysis.diff.compare import Diff, compare
from tracegraph.export.diff import diff_report
from tracegraph.export.diff_text import diff_lines, diff_markdown
from tracegraph.export.table import Format, render
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.model.trace import Trace

_SCHEMA = json.loads((ROOT / "contracts" / "diff.v1.schema.json").read_text(encoding="utf-8"))
_VALIDATOR = Draft202012Validator(_SCHEMA)
_DIGESTS = ("a" * 64, "b" * 64)


def _last(draft: Draft) -> Trace:
    """Return the last trace of a draft, whose rows do not begin at 0 where there are several."""
    columns = seal(draft)
    return Trace(columns, columns.trace_count - 1)


def _document(diff: Diff, limit: int | None = None) -> Any:
    return json.loads("".join(render(diff_report(diff, _DIGESTS, limit), Format.JSON)))


@settings(max_examples=120, deadline=None)
@given(drafts(), drafts(), st.booleans(), st.none() | st.integers(0, 3))
def test_any_two_traces_can_be_compared_and_told(
    a: Draft, b: Draft, structure: bool, limit: int | None
) -> None:
    diff = compare(_last(a), _last(b), structure=structure)
    found = _document(diff, limit)
    assert [error.message for error in _VALIDATOR.iter_errors(found)] == []
    assert found["identical"] is all(
        found[part]["identical"] for part in ("topology", "causal_edges", "behaviour")
    )
    for part in ("topology", "causal_edges", "behaviour"):
        total = sum(found[part][word] for word in ("changed", "only_in_a", "only_in_b"))
        assert found[part]["identical"] is (total == 0)
        listed = found[part]["differences"]
        assert len(listed) == (total if limit is None else min(limit, total))
    for lines in (diff_lines(diff, limit), diff_markdown(diff, limit)):
        assert all(line.count("\n") in {1, 2} and line.endswith("\n") for line in lines)


@settings(max_examples=60, deadline=None)
@given(drafts())
def test_any_trace_is_identical_to_itself(draft: Draft) -> None:
    trace = _last(draft)
    diff = compare(trace, trace)
    assert diff.identical
    assert diff.metrics.identical
    assert all(metric.delta in {None, 0} for metric in diff.metrics.metrics)
    assert diff.steps.to_b.tolist() == list(range(len(trace)))


@settings(max_examples=60, deadline=None)
@given(drafts(), drafts())
def test_the_reverse_comparison_finds_as_much(a: Draft, b: Draft) -> None:
    there, back = compare(_last(a), _last(b)), compare(_last(b), _last(a))
    assert there.identical is back.identical
    assert there.topology.identical is back.topology.identical
    sizes = [(diff.a, diff.b) for diff in (there, back)]
    assert [len(side) for side in sizes[0]] == [len(side) for side in reversed(sizes[1])]
