"""``tracegraph export-review-candidates``: findings for a person to review, without bodies."""

from pathlib import Path
from typing import Annotated

import typer

from tracegraph.cli.emit import emit, notice
from tracegraph.cli.loading import inputs, loaded
from tracegraph.cli.options import Keep, NoCacheOption, Paths, StrictOption
from tracegraph.export.table import Format

EXAMPLES = """\b
Examples:
  tracegraph export-review-candidates tool-retry-failure traces/ -o candidates.json
  tracegraph export-review-candidates tool-failure traces/ -o candidates.json --strict
"""


def export_review_candidates(
    preset: Annotated[
        str, typer.Argument(metavar="PRESET", help="A preset, or a .tgp file, with export review.")
    ],
    paths: Paths,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", "--out", metavar="FILE", help="The report to write."),
    ],
    strict: StrictOption = False,
    no_cache: NoCacheOption = False,
) -> None:
    """Write which tools of which runs failed as a preset says: ids, tool keys and digests alone.

    A matching trace without run_id, or whose tool is no server::tool name, fails the whole batch
    (exit 2) and leaves FILE as it was. No match is a report too.
    """
    from tracegraph.export.review_candidates import candidates_report
    from tracegraph.export.text import counted
    from tracegraph.workflows.patterns import load_pattern, pattern_file
    from tracegraph.workflows.review_candidates import find_candidates

    pattern = load_pattern(preset)
    with loaded(paths, keep=Keep.ERRORS, strict=strict, cache=not no_cache) as corpus:
        found = find_candidates(corpus, pattern)
        read = inputs(corpus, pattern_file(preset))
        emit(candidates_report(found.candidates), Format.JSON, output, read)
        text = f"{output}: {counted(len(found.candidates), 'candidate')} in "
        text += f"{found.seen.traces} of {counted(corpus.trace_count, 'trace')}"
        if found.seen.possible:
            text += f"; {counted(found.seen.possible, 'possible match', 'es')} not exported"
        if found.seen.not_evaluable:
            text += f"; {counted(found.seen.not_evaluable, 'trace')} not evaluable"
        notice(text)
