"""``tracegraph query``: where does a pattern match?"""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from tracegraph.cli.emit import emit, emit_text, notice
from tracegraph.cli.loading import inputs, loaded
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
from tracegraph.errors import UsageError
from tracegraph.export.table import Format

NO_MATCH = 1
Backend = Literal["auto", "cypher", "matcher", "ladybug"]


EXAMPLES = """\b
Examples:
  tracegraph query tool-failure examples/traces
  tracegraph query examples/patterns/recovered-by-model.tgp examples/traces
  tracegraph query -e "xs: TOOL {3,} same name, args" examples/traces --format json
"""


def query(
    pattern: Annotated[
        str | None,
        typer.Argument(
            metavar="PATTERN",
            help="A preset id, a .tgp file, or FILE#ID where it holds several; none with -e.",
        ),
    ] = None,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATHS", help="Files, folders (recursive), globs, - or a corpus."),
    ] = None,
    text: Annotated[
        str | None, typer.Option("-e", "--expression", metavar="TEXT", help="A pattern as text.")
    ] = None,
    param: ParamOption = [],  # noqa: B006 - typer copies it
    backend: Annotated[
        Backend, typer.Option("--backend", help="What answers; ladybug is read as cypher.")
    ] = "auto",
    explain_plan: Annotated[
        bool, typer.Option("--explain-plan", help="Show what would run, and why; run nothing.")
    ] = False,
    exists: Annotated[
        bool, typer.Option("--exists", help="Stop at the first confirmed match.")
    ] = False,
    form: FormatOption = None,
    output: OutputOption = None,
    json_out: Annotated[
        Path | None,
        typer.Option("--json-out", metavar="FILE", help="Same as --format json -o FILE."),
    ] = None,
    limit: LimitOption = None,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Find where a pattern matches. Exit 0: a confirmed match, 1: none."""
    from tracegraph.export.query_result import query_report, summary
    from tracegraph.workflows.patterns import load_expression, load_pattern, pattern_file, unkept
    from tracegraph.workflows.query import explain, run_query

    if json_out is not None:
        if output is not None or form not in {None, Format.JSON}:
            raise UsageError("--json-out stands for --format json -o: give one or the other")
        output, form = json_out, Format.JSON
    if explain_plan and form not in {None, Format.TABLE}:
        raise UsageError("--explain-plan prints text: leave --format and --json-out out")
    values = parameters(param)
    asked_by = None
    if pattern is None or (text is None and not paths):
        raise UsageError(_incomplete(pattern, text))
    if text is not None:
        chosen, sources = load_expression(text, values), [pattern, *(paths or [])]
    else:
        chosen, sources = load_pattern(pattern, values), paths or []
        asked_by = pattern_file(pattern)
    shape = form_of(form, output)
    bound = listed(limit, shape)
    with loaded(sources, keep=keep, strict=strict, cache=not no_cache) as corpus:
        read = inputs(corpus, asked_by)
        if explain_plan:
            emit_text([explain(corpus, chosen, backend)], output, read)
            return
        unknown = unkept(chosen, corpus.keep)
        if unknown is not None:
            notice(unknown)
        result = run_query(corpus, chosen, backend=backend, limit=bound, exists=exists)
        emit(query_report(result), shape, output, read)
        total = (result.match_count or 0) + (result.possible_count or 0)
        notice(summary(result) + listed_note(bound, total))
        if not result.found:
            raise typer.Exit(NO_MATCH)


def _incomplete(given: str | None, text: str | None) -> str:
    """Say what is missing where one of pattern and traces is."""
    if text is not None or (given is not None and not os.path.isdir(given)):
        asked = "-e TEXT" if text is not None else given
        return f"no traces are named: tracegraph query {asked} PATHS"
    return f"no pattern is named: tracegraph query PATTERN {given or 'PATHS'}"
