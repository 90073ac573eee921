"""``tracegraph traces``: what is there."""

from typing import TYPE_CHECKING, Annotated

import typer

from tracegraph.cli.emit import emit, notice
from tracegraph.cli.loading import inputs, loaded
from tracegraph.cli.options import (
    FormatOption,
    Keep,
    KeepOption,
    LimitOption,
    NoCacheOption,
    OutputOption,
    Paths,
    StrictOption,
    form_of,
    listed,
    listed_note,
)
from tracegraph.export.text import counted, gaps_text

if TYPE_CHECKING:
    from tracegraph.workflows.traces import SessionListing

EXAMPLES = """\b
Examples:
  tracegraph traces examples/traces
  tracegraph traces examples/traces --format csv -o traces.csv
  tracegraph traces examples/traces --by-session
"""


def traces(
    paths: Paths,
    form: FormatOption = None,
    output: OutputOption = None,
    limit: LimitOption = None,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
    by_session: Annotated[
        bool, typer.Option("--by-session", help="List sessions; the traces of one lie under it.")
    ] = False,
) -> None:
    """List the traces of files, folders or a corpus: status, steps, failing steps, start, file.

    --by-session lists the sessions, threads or conversations that the traces belong to, with the
    status of the last trace of each. A trace that names none stands alone.
    """
    from tracegraph.workflows.traces import report_sessions, report_traces, totals

    shape = form_of(form, output)
    with loaded(paths, keep=keep, strict=strict, cache=not no_cache) as corpus:
        bound = listed(limit, shape)
        total = totals(corpus)
        text = f"{counted(total.traces, 'trace')}, {counted(total.steps, 'step')}"
        text += f", {total.errors} failing"
        if by_session:
            listing = report_sessions(corpus, bound)
            emit(listing.report, shape, output, inputs(corpus))
            notice(_sessions_text(listing, bound) + text + gaps_text(listing.gaps))
        else:
            emit(report_traces(corpus, bound), shape, output, inputs(corpus))
            notice(text + listed_note(bound, total.traces) + gaps_text(corpus.gaps))


def _sessions_text(listing: "SessionListing", bound: int | None) -> str:
    found = listing.found
    text = counted(found.sessions, "session")
    if found.alone:
        text += f", {counted(found.alone, 'trace')} without one"
    return text + listed_note(bound, found.sessions + found.alone) + ": "
