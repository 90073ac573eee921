"""The Python front door: traces that can be queried, iterated and had as Arrow tables."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from tracegraph.corpus.corpus import Corpus
from tracegraph.corpus.policy import Keep, policy
from tracegraph.errors import UsageError
from tracegraph.export.query_result import QueryResult
from tracegraph.model.trace import Trace
from tracegraph.workflows.load import load as load_corpus

if TYPE_CHECKING:
    import pyarrow as pa

    from tracegraph.graph.session import GraphSession
    from tracegraph.pattern.backend import Request
    from tracegraph.pattern.params import Given

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
TableName = Literal["traces", "steps", "causes"]


def load(
    paths: Paths,
    *,
    keep: Keep = "errors",
    strict: bool = False,
    cache: bool = True,
    mapping: str | os.PathLike[str] | None = None,
) -> "TraceSet":
    """Load the traces of files, folders (recursive), globs or corpora.

    Args:
        paths: one path or several; formats are told by content.
        keep: what the cache may hold and queries may read: ``structure`` (names, kinds, status,
            times, digests), ``errors`` (error text too), ``content`` (bodies too).
        strict: refuse at the first loss instead of disclosing it in :attr:`TraceSet.gaps`.
        cache: read what did not change from the user's cache, and write the rest to it.
        mapping: a file that says how home-made logs are to be read; all paths are read by it, and
            the cache is not used.

    Raises:
        InputError: something named cannot be read, or nothing could be read.
        StrictError: something was lost, and ``strict``.
        UsageError: no path is given, or ``keep`` is none of the three.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise UsageError("load: name at least one path")
    options = None
    if mapping is not None:
        from tracegraph.workflows.mapping import mapped_by, refuse_corpora

        refuse_corpora([os.fspath(path) for path in given])
        options = mapped_by(Path(mapping))
    corpus = load_corpus(given, keep=policy(keep), strict=strict, cache=cache, options=options)
    return TraceSet(corpus)


class TraceSet:
    """Loaded traces, in the order of their files. A context manager; closing is optional."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._open = ExitStack()

    def __repr__(self) -> str:
        return f"TraceSet({len(self)} traces, {self.step_count} steps)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the graph and of mapped files; traces that are held stay usable."""
        self._open.close()
        self.__dict__.pop("_graph", None)
        self._corpus.close()

    def __len__(self) -> int:
        return self._corpus.trace_count

    def __iter__(self) -> Iterator[Trace]:
        return self.traces()

    @property
    def step_count(self) -> int:
        """Number of steps over all traces."""
        return self._corpus.step_count

    @property
    def gaps(self) -> dict[str, int]:
        """What was lost or noticed on the way in: code -> how often."""
        return dict(self._corpus.gaps)

    @property
    def skipped(self) -> dict[str, str]:
        """Files that were met and not read: name -> why."""
        return {file.name: file.reason for file in self._corpus.skipped}

    def traces(self) -> Iterator[Trace]:
        """Yield every trace."""
        return self._corpus.traces()

    def trace(self, reference: str) -> Trace:
        """Return one trace by its id, the start of one, ``id@source`` or ``id@file``.

        ``session=ID`` is the run that the traces of a session make together.

        Raises:
            UsageError: none or several fit.
        """
        from tracegraph.workflows.traces import resolve_trace

        return resolve_trace(self._corpus, reference).trace

    def query(
        self,
        pattern: str,
        *,
        params: "Given | None" = None,
        backend: "Request" = "auto",
        limit: int | None = None,
        exists: bool = False,
    ) -> QueryResult:
        """Find where a pattern matches.

        Args:
            pattern: a preset id, the path of a ``.tgp`` file, or a pattern as text: whatever is
                neither, such as ``a: TOOL -> LLM``.
            params: values of ``@params``.
            backend: ``auto``, ``cypher`` or ``matcher``.
            limit: how many matches are listed; counts stay totals.
            exists: stop at the first confirmed match and count nothing.

        Raises:
            PatternError: the pattern cannot be loaded, or not be answered by the backend.
            UsageError: there is no such backend, or ``limit`` is negative.
        """
        from tracegraph.pattern.backend import REQUESTS
        from tracegraph.workflows.patterns import is_named, load_expression, load_pattern
        from tracegraph.workflows.query import run_query

        if backend not in REQUESTS:
            raise UsageError(f"backend {backend!r}: expected one of {', '.join(REQUESTS)}")
        if limit is not None and limit < 0:
            raise UsageError(f"limit {limit}: expected 0 or more, or None for all")
        load = load_pattern if is_named(pattern) else load_expression
        loaded = load(pattern, params)
        return run_query(self._corpus, loaded, backend=backend, limit=limit, exists=exists)

    def cypher(
        self,
        statement: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> list[dict[str, Any]]:
        """Run one read-only Cypher statement and return its rows by column name.

        Raises:
            QueryError: the statement is refused or failed.
        """
        from tracegraph.workflows.cypher import run_cypher

        result = run_cypher(self._corpus, self._graph, statement, parameters, timeout)
        return [dict(zip(result.columns, row, strict=True)) for row in result.rows]

    def arrow(self, table: TableName) -> "pa.Table":
        """Return traces, steps or causes as one Arrow table, segment by segment.

        ``trace`` (with ``segment``) joins the three; ids alone do not, since two sources may use
        the same ones.

        Raises:
            UsageError: there is no such table.
        """
        import pyarrow as pa

        from tracegraph.corpus.record import causes_table, steps_table, traces_table

        makers = {"traces": traces_table, "steps": steps_table, "causes": causes_table}
        if table not in makers:
            raise UsageError(f"arrow({table!r}): the tables are {', '.join(makers)}")
        parts = []
        for number, columns in self._corpus.segments:
            part = makers[table](columns)
            segment = pa.array([number] * part.num_rows, pa.int32())
            parts.append(part.add_column(0, "segment", segment))
        return pa.concat_tables(parts).unify_dictionaries()

    @cached_property
    def _graph(self) -> "GraphSession":
        from tracegraph.workflows.graphs import open_graph

        return self._open.enter_context(open_graph(self._corpus))
