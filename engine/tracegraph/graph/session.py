"""Read-only Cypher over a built graph."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

from tracegraph.errors import CorpusError, DamagedGraphError, QueryError
from tracegraph.graph.engine import engine, reason
from tracegraph.graph.filling import MAX_DB_BYTES, GraphCounts, count
from tracegraph.graph.guard import read_only_statement
from tracegraph.graph.hints import hinted
from tracegraph.graph.load import texts_path
from tracegraph.graph.parameters import check_parameters
from tracegraph.graph.texts import Texts
from tracegraph.graph.values import holds_graph, neutral

_ARROW_ROWS: Final = 65536
_LONGEST_MS: Final = (1 << 53) - 1
_SCARCE: Final = ("Buffer manager exception", "IO exception")
"""How the engine says that the system, and not the file, is at fault."""
_REBUILD: Final = "remove the file; the graph is built anew when it is needed"


class Result:
    """The answer to one statement: an iterator over its rows, read once.

    Nodes, edges and paths are dicts, in which the engine's own keys start with ``_``: ``_label``,
    ``_nodes`` and so on.

    Attributes:
        columns: the names of the columns.
        types: the engine's type of each column, e.g. ``INT64``, ``NODE``.
    """

    def __init__(self, result: Any) -> None:
        self._result = result
        self.columns: tuple[str, ...] = tuple(result.get_column_names())
        self.types: tuple[str, ...] = tuple(result.get_column_data_types())

    def __len__(self) -> int:
        return int(self._result.get_num_tuples())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        graphs = [holds_graph(name) for name in self.types]
        while self._result.has_next():
            row = self._result.get_next()
            yield tuple(neutral(v) if g else v for v, g in zip(row, graphs, strict=True))

    def arrow(self) -> Any:
        """Return all rows as a ``pyarrow.Table``."""
        return self._result.get_as_arrow(_ARROW_ROWS)


class GraphSession:
    """A read-only connection to one graph, for one thread."""

    def __init__(self, path: Path, database: Any, connection: Any, counts: GraphCounts) -> None:
        self._path = path
        self._database = database
        self._connection = connection
        self.counts = counts

    @classmethod
    def open(cls, path: Path, counts: GraphCounts | None = None) -> Self:
        """Open a graph and check that it holds what the corpus says.

        Raises:
            DamagedGraphError: the graph is missing, unreadable, or does not hold ``counts``.
            CorpusError: the system lets the engine have no memory or no file.
        """
        if not path.is_file():
            raise DamagedGraphError(f"{path}: there is no graph; {_REBUILD}")
        try:
            database = engine().Database(str(path), read_only=True, max_db_size=MAX_DB_BYTES)
            connection = engine().Connection(database)
            found = count(connection)
        except RuntimeError as error:
            message = f"{path}: the graph cannot be opened: {reason(error)}"
            if reason(error).startswith(_SCARCE):
                raise CorpusError(f"{message}; raise the limits of the system") from None
            raise DamagedGraphError(f"{message}; {_REBUILD}") from None
        session = cls(path, database, connection, found)
        if counts is not None and found != counts:
            session.close()
            raise DamagedGraphError(
                f"{path}: the graph holds {_describe(found)}, the corpus {_describe(counts)}; "
                f"{_REBUILD}"
            )
        return session

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; results must have been read."""
        self._connection.close()
        self._database.close()

    @cached_property
    def texts(self) -> Texts:
        """The texts behind the graph's global text codes."""
        return Texts(texts_path(self._path))

    def max_depth(self, hops: int) -> None:
        """Let recursive patterns reach ``hops`` edges; the engine itself stops at 30, silently."""
        self._connection.execute(f"CALL var_length_extend_max_depth={int(hops)}")

    def run(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Run one read-only statement.

        Args:
            text: the statement; the guard refuses whatever could write, or read another file.
            parameters: a value for each ``$name`` in the statement, no more and no fewer.
            timeout: seconds after which the statement is stopped.

        Raises:
            QueryError: the statement or a parameter is refused, or the engine failed.
        """
        statement, names = read_only_statement(text)
        values = check_parameters(names, parameters or {})
        self._connection.set_query_timeout(_milliseconds(timeout))
        try:
            return Result(self._execute(statement, values))
        except RuntimeError as error:
            message = _explain(reason(error, statement), timeout)
            raise QueryError(hinted(message, self._connection)) from None

    def _execute(self, statement: str, values: Mapping[str, Any]) -> Any:
        """Run a statement in a thread, so that Ctrl-C stops it: the engine itself never looks."""
        with ThreadPoolExecutor(max_workers=1) as pool:
            running = pool.submit(self._connection.execute, statement, values)
            try:
                return running.result()
            except (KeyboardInterrupt, SystemExit):  # the command line's handler raises the second
                self._connection.interrupt()
                raise


def _milliseconds(timeout: float | None) -> int:
    """Return a bound on time as the engine takes it, 0 for none."""
    return 0 if timeout is None else max(1, int(min(timeout * 1000, _LONGEST_MS)))


def _explain(message: str, timeout: float | None) -> str:
    if message.startswith("Interrupted") and timeout is not None:
        return f"the statement was stopped after {timeout:g} s; narrow it or allow more time"
    return message


def _describe(counts: GraphCounts) -> str:
    return f"{counts.traces} traces, {counts.steps} steps and {counts.causes} causes"
