"""The DDL, the rows that are loaded and the columns of the model say the same."""

import re

import numpy as np
import pyarrow as pa
import pytest

from tracegraph.graph.load import DDL
from tracegraph.graph.tables import SegmentTables
from tracegraph.model.columns import CauseColumns, StepColumns, TraceColumns, names
from tracegraph.model.draft import Draft
from tracegraph.model.seal import seal
from tracegraph.resources import read_data

_TYPES = {
    "INT64": pa.int64(),
    "STRING": pa.string(),
    "STRING[]": pa.list_(pa.string()),
    "BOOL": pa.bool_(),
    "DOUBLE": pa.float64(),
    "TIMESTAMP": pa.timestamp("us"),
}
_READABLE = {
    "start": "started_at",
    "end": "ended_at",
    "duration": "duration_ms",
    "args": "args_digest",
    "result": "result_digest",
    "started": "started_at",
    "ended": "ended_at",
}
_NOT_IN_GRAPH = {
    TraceColumns: {
        "file_digest",  # provenance of the corpus
        "contained",  # how `status` was decided
        "timed",  # whether order bounds are times
    },
    StepColumns: {
        "cost_text",  # the exact decimal of `cost`
        "parent_evidence",  # a property of TREE_PARENT
    },
}


def ddl_columns(table: str) -> dict[str, str]:
    """Return the columns of a table in the DDL, with their types, in order."""
    text = re.sub(r"//.*", "", read_data("schema", DDL))
    match = re.search(rf"TABLE {table} \((.*?)\);", text, re.DOTALL)
    assert match, table
    entries = [" ".join(entry.split()) for entry in match[1].split(",")]
    columns = [entry.removesuffix(" PRIMARY KEY").split() for entry in entries]
    return {c[0]: c[1] for c in columns if c[0] != "FROM"}


def segment() -> SegmentTables:
    draft = Draft()
    draft.begin("t", source="otlp", file="f")
    draft.step("a")
    draft.step("b")
    draft.link(1, 0, "span_parent")
    columns = seal(draft)
    return SegmentTables(0, columns, np.arange(len(columns.vocabulary)))


@pytest.mark.parametrize("table", ["Trace", "Step", "CAUSED_BY", "TREE_PARENT", "IN_TRACE"])
def test_loaded_rows_have_the_columns_of_the_ddl_in_order(table: str) -> None:
    rows = {
        "Trace": SegmentTables.traces,
        "Step": SegmentTables.steps,
        "CAUSED_BY": SegmentTables.causes,
        "TREE_PARENT": SegmentTables.tree,
        "IN_TRACE": SegmentTables.membership,
    }[table](segment())
    loaded = {
        field.name: field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        for field in rows.schema
        if field.name not in {"from", "to"}
    }
    declared = {name: _TYPES[kind] for name, kind in ddl_columns(table).items()}
    assert list(loaded.items()) == list(declared.items())


@pytest.mark.parametrize(("model", "table"), [(TraceColumns, "Trace"), (StepColumns, "Step")])
def test_every_model_column_is_in_the_graph(model: type, table: str) -> None:
    declared = ddl_columns(table)
    missing = {
        name
        for name in names(model)
        if f"_{name}" not in declared and _READABLE.get(name, name) not in declared
    }
    assert missing == _NOT_IN_GRAPH[model]


def test_causes_are_edges_with_all_their_properties() -> None:
    assert set(names(CauseColumns)) - {"effect", "cause"} <= set(ddl_columns("CAUSED_BY"))


def test_engine_columns_begin_with_an_underscore_and_readable_ones_do_not_clash() -> None:
    reserved = {"_id", "_label", "_src", "_dst"}
    for table in ("Trace", "Step", "CAUSED_BY", "TREE_PARENT"):
        assert not reserved & {name.lower() for name in ddl_columns(table)}
