"""The columns of a segment as a language-neutral document: ``schema/columns.v1.json``.

Generated from :mod:`tracegraph.model.columns` and :mod:`tracegraph.model.codes`, which are the one
home of these facts. To bring the committed file up to date::

    python -c "from tracegraph.model.schema_document import document; print(document(), end='')"
"""

import json
from typing import Any, Final

from tracegraph.model import codes
from tracegraph.model.columns import (
    CauseColumns,
    StepColumns,
    TraceColumns,
    doc,
    dtype,
    is_row,
    is_text,
    names,
)

VERSION: Final = 1
FILE: Final = f"columns.v{VERSION}.json"

_TABLES: Final = {"traces": TraceColumns, "steps": StepColumns, "causes": CauseColumns}
_CODES: Final = ("KINDS", "STATUSES", "FIDELITIES", "EVIDENCE", "ORIGINS", "SIGNALS")


def document() -> str:
    """Return the document as JSON text."""
    content = {
        "title": "Columns of a tracegraph segment",
        "version": VERSION,
        "unknown": codes.UNKNOWN,
        "codes": {name: list(getattr(codes, name)) for name in _CODES},
        "tables": {
            name: [_column(table, column) for column in names(table)]
            for name, table in _TABLES.items()
        },
    }
    return json.dumps(content, indent=2) + "\n"


def _column(table: type, name: str) -> dict[str, Any]:
    """Describe a column; ``values`` says what its integers stand for, where they stand for more."""
    column = {"name": name, "dtype": str(dtype(table, name)), "doc": doc(table, name)}
    if is_text(table, name):
        column["values"] = "codes into the segment's vocabulary"
    elif is_row(table, name):
        column["values"] = "rows of the segment's steps"
    return column
