"""Read-only Cypher over a corpus."""

import json
from collections.abc import Mapping
from typing import Any

from tracegraph.corpus.corpus import Corpus
from tracegraph.errors import UsageError
from tracegraph.export.cypher import CypherResult, cypher_report, json_value
from tracegraph.export.table import Report
from tracegraph.graph.session import GraphSession


def run_cypher(
    corpus: Corpus,
    graph: GraphSession,
    statement: str,
    parameters: Mapping[str, Any] | None = None,
    timeout: float | None = None,
) -> CypherResult:
    """Run one read-only statement.

    Args:
        corpus: the corpus that the graph was built from.
        graph: its graph.
        statement: MATCH, OPTIONAL MATCH, UNWIND, WITH and RETURN are taken, all else is refused.
        parameters: a value for each ``$name`` in the statement.
        timeout: seconds after which it is stopped.

    Raises:
        QueryError: the statement is refused or failed.
    """
    result = graph.run(statement, parameters, timeout)
    rows = ([json_value(value) for value in row] for row in result)
    return CypherResult(result.columns, len(result), rows, corpus.gaps)


def report_cypher(
    corpus: Corpus,
    graph: GraphSession,
    statement: str,
    parameters: Mapping[str, Any],
    timeout: float | None,
    limit: int | None,
) -> tuple[Report, int]:
    """Run one statement and report its first ``limit`` rows; return the number of all rows too."""
    result = run_cypher(corpus, graph, statement, parameters, timeout)
    return cypher_report(result, limit), result.row_count


def typed_parameters(texts: Mapping[str, str]) -> dict[str, Any]:
    """Read values as JSON where they are JSON (``3``, ``true``, ``["a"]``), else as text.

    Raises:
        UsageError: a value nests too deeply.
    """
    values: dict[str, Any] = {}
    for name, text in texts.items():
        try:
            values[name] = json.loads(text)
        except ValueError:
            values[name] = text
        except RecursionError:
            raise UsageError(f"--param {name}: the JSON nests too deeply to be read") from None
    return values
