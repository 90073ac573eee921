"""Rows of a Cypher statement as JSON values and as a result under the contract ``cypher``."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from tracegraph.export.table import Report, Table
from tracegraph.export.traces import gap_items


@dataclass(frozen=True, slots=True)
class CypherResult:
    """The answer to one statement.

    Attributes:
        columns: names of the columns.
        row_count: number of rows that the statement gives.
        rows: the rows as JSON values, read once.
        gaps: code of a disclosed loss of the corpus -> how often.
    """

    columns: Sequence[str]
    row_count: int
    rows: Iterable[Sequence[Any]]
    gaps: Mapping[str, int]


def cypher_report(result: CypherResult, limit: int | None) -> Report:
    """Report the first ``limit`` rows (None: all)."""

    def rows() -> Iterable[Sequence[Any]]:
        return islice(result.rows, limit)

    def members() -> dict[str, Any]:
        return {
            "columns": list(result.columns),
            "row_count": result.row_count,
            "limit": limit,
            "rows": map(list, rows()),
            "gaps": gap_items(result.gaps),
        }

    def items() -> Iterable[dict[str, Any]]:
        return (dict(zip(result.columns, row, strict=True)) for row in rows())

    return Report("cypher", 1, members, items, lambda: Table(result.columns, rows()))


def json_value(value: Any) -> Any:
    """Turn a value of the database into a JSON value.

    Nodes and edges become objects of their readable properties that have a value, with ``label``;
    what starts with ``_`` is the engine's own. Times become ISO 8601 in UTC, infinities and NaN
    text, and whatever else JSON has no type for its text.
    """
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            in_utc = value.astimezone(UTC) if value.tzinfo else value
            return in_utc.replace(tzinfo=None).isoformat() + "Z"
        case list() | tuple():
            return [json_value(item) for item in value]
        case dict():
            return _object(value)
    return str(value)


def _object(value: Mapping[Any, Any]) -> dict[str, Any]:
    if "_nodes" in value:
        return {"nodes": json_value(value["_nodes"]), "edges": json_value(value["_rels"])}
    if "_label" not in value:
        return {str(key): json_value(item) for key, item in value.items()}
    readable = {key: json_value(v) for key, v in value.items() if v is not None and key[0] != "_"}
    return {"label": value["_label"], **readable}
