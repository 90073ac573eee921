"""``tracegraph diff``: what changed between two runs?"""

from functools import partial
from typing import Annotated

import typer

from tracegraph.cli.emit import emit, emit_text
from tracegraph.cli.loading import inputs, loaded
from tracegraph.cli.options import (
    FormatOption,
    JsonOutOption,
    Keep,
    KeepOption,
    LimitOption,
    NoCacheOption,
    OutputOption,
    StrictOption,
    form_of,
    listed,
    with_json_out,
)
from tracegraph.errors import UsageError
from tracegraph.export.table import Format

DIFFERENT = 1

EXAMPLES = """\b
Examples:
  tracegraph diff examples/traces/react_ok.otlp.json examples/traces/tool_error_fatal.otlp.json
  tracegraph diff "examples/traces#6f3d" "examples/traces#29bc" --structure
  tracegraph diff A.json B.json --format json
"""


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A path, or PATH#ID.")],
    b: Annotated[str, typer.Argument(metavar="B", help="What to compare it with.")],
    structure: Annotated[
        bool, typer.Option("--structure", help="Compare the tree's shape, not kinds and names.")
    ] = False,
    form: FormatOption = None,
    output: OutputOption = None,
    json_out: JsonOutOption = None,
    limit: LimitOption = None,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Say what changed from run A to run B: tree, causal edges, behaviour, metrics.

    Exit 0: the first three are identical, 1: one is not. Metrics have a verdict too but no say,
    since no two runs take equally long. Names in the answer follow the privacy profile safe-v1.
    """
    from tracegraph.export.diff import diff_report
    from tracegraph.export.diff_text import diff_lines, diff_markdown
    from tracegraph.workflows.diff import artifact_digests, compare_traces
    from tracegraph.workflows.traces import split_trace

    form, output = with_json_out(form, output, json_out, Format.JSON)
    paths = [split_trace(written)[0] for written in (a, b)]
    if paths == ["-", "-"]:
        raise UsageError("standard input can be read once: name a file for A or for B")
    shape = form_of(form, output)
    bound = listed(limit, shape)
    texts = {Format.TABLE: diff_lines, Format.MD: diff_markdown}
    reading = partial(loaded, keep=keep, strict=strict, cache=not no_cache)
    said = paths[0] == paths[1]  # what was not read of the one path is not said twice
    with reading(paths[:1]) as of_a, reading(paths[1:], quiet=said) as of_b:
        read = [*inputs(of_a), *inputs(of_b)]
        result = compare_traces((a, of_a), (b, of_b), structure=structure)
        if shape in texts:
            emit_text(texts[shape](result, bound), output, read)
        else:
            emit(diff_report(result, artifact_digests(result), bound), shape, output, read)
        if not result.identical:
            raise typer.Exit(DIFFERENT)
