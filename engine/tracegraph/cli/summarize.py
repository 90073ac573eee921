"""``tracegraph summarize``: what do the matches of a pattern look like?"""

from typing import Annotated

import typer

from tracegraph.cli.emit import emit, notice
from tracegraph.cli.loading import inputs, loaded
from tracegraph.cli.options import (
    FormatOption,
    Keep,
    KeepOption,
    NoCacheOption,
    OutputOption,
    ParamOption,
    Paths,
    StrictOption,
    form_of,
    parameters,
)

NO_MATCH = 1
EXAMPLES = """\b
Examples:
  tracegraph summarize tool-failure examples/traces
  tracegraph summarize tool-failure examples/traces --format json
"""


def summarize(
    preset: Annotated[
        str, typer.Argument(metavar="PRESET", help="A preset, a .tgp file, or FILE#ID.")
    ],
    paths: Paths,
    param: ParamOption = [],  # noqa: B006 - typer copies it
    form: FormatOption = None,
    output: OutputOption = None,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Group the confirmed matches of a pattern by shape. Exit 0: there is one, 1: none.

    Matches of one shape have steps of the same kind, name and status, linked in the same way, in
    traces of the same kind of source. The answer says how much was looked at and what may hide
    more. A report: names that could be free text are aliases.
    """
    from tracegraph.export.summary import coverage_text, summary_report
    from tracegraph.workflows.patterns import load_pattern, pattern_file
    from tracegraph.workflows.summarize import summarize as ask

    pattern = load_pattern(preset, parameters(param))
    shape = form_of(form, output)
    with loaded(paths, keep=keep, strict=strict, cache=not no_cache) as corpus:
        found = ask(corpus, pattern)
        emit(summary_report(found), shape, output, inputs(corpus, pattern_file(preset)))
        notice(coverage_text(found.coverage))
        if not found.groups:
            raise typer.Exit(NO_MATCH)
