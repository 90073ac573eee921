"""The Parquet record says in words what the columns say in codes."""

from pathlib import Path

import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings

from artifact_drafts import drafts
from tracegraph.corpus.record import write_record
from tracegraph.model.columns import Columns
from tracegraph.model.seal import seal
from tracegraph.model.trace import iterate

SETTINGS = settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
FILES = ("traces", "steps", "causes")


@SETTINGS
@given(drafts().map(seal))
def test_holds_every_trace_step_and_cause(tmp_path: Path, columns: Columns) -> None:
    write_record(tmp_path, columns)
    tables = {name: pq.read_table(tmp_path / f"{name}.parquet") for name in FILES}
    rows = {
        name: table.select([c for c in table.column_names if not c.endswith("_at")]).to_pylist()
        for name, table in tables.items()
    }
    traces = list(iterate(columns))
    steps = [(trace, step) for trace in traces for step in trace.steps]
    for trace, row in zip(traces, rows["traces"], strict=True):
        assert (row["trace"], row["trace_id"]) == (trace.index, trace.trace_id)
        for name in "source file run_id session_id agent status fidelity cyclic".split():
            assert row[name] == getattr(trace, name)
        assert row["step_count"] == len(trace)
    for (trace, step), row in zip(steps, rows["steps"], strict=True):
        assert (row["trace"], row["trace_id"]) == (trace.index, trace.trace_id)
        for name in (
            "step_id seq kind name status status_source agent model error_type error_message "
            "tokens_prompt tokens_completion tokens_total cost tool_call_id args_digest "
            "result_digest docs wrapper orphan lossy depth children"
        ).split():
            assert row[name] == getattr(step, name), name
        assert tuple(row["signals"]) == step.signals
        assert row["parent"] == (step.parent and step.parent.step_id)
        duration = step.duration_ns
        assert row["duration_ms"] == (None if duration is None else duration / 1e6)
    causes = [(trace.index, edge) for trace in traces for edge in trace.causes]
    for (index, edge), row in zip(causes, rows["causes"], strict=True):
        expected = (index, edge.effect, edge.cause, edge.origin, edge.evidence)
        assert tuple(row.values()) == expected


@SETTINGS
@given(drafts().map(seal))
def test_times_are_those_of_the_steps(tmp_path: Path, columns: Columns) -> None:
    write_record(tmp_path, columns)
    table = pq.read_table(tmp_path / "steps.parquet", columns=["started_at", "ended_at"])
    for name, values in (("started_at", columns.steps.start), ("ended_at", columns.steps.end)):
        found = table.column(name).cast("int64").to_pylist()
        assert found == [None if value < 0 else value for value in values.tolist()]


@SETTINGS
@given(drafts().map(seal))
def test_same_columns_same_bytes(tmp_path: Path, columns: Columns) -> None:
    write_record(tmp_path, columns)
    first = [(tmp_path / f"{name}.parquet").read_bytes() for name in FILES]
    write_record(tmp_path, columns)
    assert first == [(tmp_path / f"{name}.parquet").read_bytes() for name in FILES]
