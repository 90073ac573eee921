"""``tracegraph cypher``: read-only Cypher, one statement or a shell."""

import glob
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tracegraph.cli.emit import emit, notice
from tracegraph.cli.loading import graph_of, inputs, loaded
from tracegraph.cli.options import (
    FormatOption,
    Keep,
    KeepOption,
    LimitOption,
    NoCacheOption,
    OutputOption,
    ParamOption,
    StrictOption,
    form_of,
    listed,
    listed_note,
    parameters,
)
from tracegraph.errors import TracegraphError, UsageError
from tracegraph.export.table import Format
from tracegraph.export.text import counted

if TYPE_CHECKING:
    from tracegraph.corpus.corpus import Corpus
    from tracegraph.graph.session import GraphSession

_SHELL_HELP = "A statement ends with ; or an empty line. :schema shows the tables, :quit leaves."
_TABLES = """\
(:Trace {trace_id, source, file, run_id, session_id, agent, status, fidelity, started_at, ended_at,
         cyclic, step_count, error_count, gaps, attributes})
(:Step {step_id, trace_id, seq, kind, name, status, status_source, agent, model, started_at,
        ended_at, duration_ms, error_type, error_message, tokens_prompt, tokens_completion,
        tokens_total, cost, tool_call_id, args_digest, result_digest, args_size, result_size,
        docs, signals, wrapper, orphan, lossy, depth, children, unknown_fields})
(effect:Step)-[:CAUSED_BY {origin, evidence}]->(cause:Step)
(child:Step)-[:TREE_PARENT {evidence}]->(parent:Step)
(:Step)-[:IN_TRACE]->(:Trace)"""


EXAMPLES = """\b
Examples:
  tracegraph cypher "MATCH (s:Step {kind: 'TOOL'}) RETURN s.name, count(*)" examples/traces
  tracegraph cypher 'MATCH (s:Step) WHERE s.name = $name RETURN s.step_id' --param name=weather \\
    examples/traces
  tracegraph cypher examples/traces
"""


def cypher(
    query: Annotated[
        str | None,
        typer.Argument(metavar="QUERY", help="A statement; without it, on a terminal, a shell."),
    ] = None,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATHS", help="Files, folders (recursive), globs, - or a corpus."),
    ] = None,
    param: ParamOption = [],  # noqa: B006 - typer copies it
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="S", min=0, help="Stop the statement after S seconds."),
    ] = None,
    form: FormatOption = None,
    output: OutputOption = None,
    limit: LimitOption = None,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Ask the graph in Cypher; without QUERY, on a terminal, a shell.

    Read-only: MATCH, OPTIONAL MATCH, UNWIND, WITH and RETURN. Values belong into --param, which
    reads JSON where it is JSON, else text.
    """
    from tracegraph.workflows.cypher import report_cypher, typed_parameters

    if query is None:
        raise UsageError("no traces are named: tracegraph cypher QUERY PATHS")
    statement, sources = _split(query, paths or [])
    shape = form_of(form, output)
    values = typed_parameters(parameters(param))
    with (
        loaded(sources, keep=keep, strict=strict, cache=not no_cache) as corpus,
        graph_of(corpus) as graph,
    ):
        if statement is None:
            _shell(corpus, graph, shape, listed(limit, shape))
            return
        bound = listed(limit, shape)
        report, rows = report_cypher(corpus, graph, statement, values, timeout, bound)
        emit(report, shape, output, inputs(corpus))
        _say_total(rows, bound)


def _split(first: str, others: list[str]) -> tuple[str | None, list[str]]:
    """Tell the statement from the paths: the first argument is one unless it names something."""
    if first == "-" or os.path.lexists(first) or (glob.has_magic(first) and glob.glob(first)):
        if not sys.stdin.isatty():
            raise UsageError(
                f"{first}: is a path; put a QUERY before it (a shell needs a terminal)"
            )
        return None, [first, *others]
    if not others:
        raise UsageError(f"{first}: no such path; a query needs PATHS behind it")
    return first, others


def _shell(corpus: "Corpus", graph: "GraphSession", shape: Format, limit: int | None) -> None:
    """Read statements from the terminal until the end of input."""
    import contextlib

    from tracegraph.workflows.cypher import report_cypher

    with contextlib.suppress(ImportError):  # line editing, where Python has it
        import readline  # noqa: F401
    notice(f"{corpus.trace_count} traces, {corpus.step_count} steps. {_SHELL_HELP}")
    while (statement := _read_statement()) is not None:
        if statement == ":schema":
            print(_TABLES)
        elif statement.startswith(":"):
            notice(_SHELL_HELP)
        elif statement:
            try:
                report, rows = report_cypher(corpus, graph, statement, {}, None, limit)
                emit(report, shape, None)
                _say_total(rows, limit)
            except TracegraphError as error:
                notice(str(error))


def _read_statement() -> str | None:
    """Return the next statement, or None at the end of input or on ``:quit``."""
    lines: list[str] = []
    while True:
        try:
            line = input("tracegraph> " if not lines else "        ... ").strip()
        except EOFError:
            return None
        if not lines and line in {":quit", ":q", "exit", "quit"}:
            return None
        if not lines and line.startswith(":"):
            return line
        lines.append(line.rstrip(";"))
        if not line or line.endswith(";"):
            return "\n".join(lines).strip()


def _say_total(rows: int, limit: int | None) -> None:
    notice(counted(rows, "row") + listed_note(limit, rows))
