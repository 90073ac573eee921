"""``tracegraph check``: may this run ship?"""

import os
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracegraph.cli.emit import emit, emit_text, notice
from tracegraph.cli.loading import inputs, loaded
from tracegraph.cli.options import (
    SUFFIXES,
    TABLE_LIMIT,
    JsonOutOption,
    Keep,
    KeepOption,
    LimitOption,
    NoCacheOption,
    OutputOption,
    StrictOption,
    with_json_out,
)
from tracegraph.errors import UsageError, system_reason
from tracegraph.export.table import Format

if TYPE_CHECKING:
    from tracegraph.export.check import Checked

EXIT = {"PASS": 0, "FAIL": 1, "INSUFFICIENT_EVIDENCE": 3}
"""Exit code of each verdict."""
SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub Actions names the file of a step's summary."""


class CheckForm(StrEnum):
    """The forms of an answer, those of CI systems included."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    MD = "md"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"


_SUFFIXES = {
    **{suffix: CheckForm(form.value) for suffix, form in SUFFIXES.items()},
    ".xml": CheckForm.JUNIT,
    ".sarif": CheckForm.SARIF,
}

EXAMPLES = """\b
Examples:
  tracegraph check current.json --baseline baseline.json --rule failures-not-increased
  tracegraph check current.json --baseline baseline.json -o check.xml \\
      --rule pattern-not-increased:tool-failure --rule topology-unchanged
  tracegraph check current.json --baseline baseline.json --rule max-tokens:+10% --format github
"""


def check(
    current: Annotated[
        str,
        typer.Argument(
            metavar="CURRENT",
            help="The run that is judged: a file, FILE#ID, CORPUS#ID, or, also of a folder, "
            "PATH#session=ID.",
        ),
    ],
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline", metavar="B", help="The run that it is compared with, named likewise."
        ),
    ],
    rule: Annotated[
        list[str],
        typer.Option(
            "--rule",
            metavar="RULE",
            help="failures-not-increased, pattern-not-increased:PRESET (or FILE.tgp), "
            "topology-unchanged[:shape], max-tokens:N, max-cost:N, max-duration:30s, max-steps:N; "
            "the last four also as +10%, over the baseline. May be given several times.",
        ),
    ],
    form: Annotated[
        CheckForm | None,
        typer.Option("--format", help="Form of the answer; else by the suffix of -o, else table."),
    ] = None,
    output: OutputOption = None,
    json_out: JsonOutOption = None,
    limit: LimitOption = None,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Judge one run against one baseline, for CI.

    Exit 0: PASS, 1: FAIL, 3: INSUFFICIENT_EVIDENCE, which is what an unknown leads to: of the
    current run it forbids PASS, of the baseline FAIL. Names in the answer follow the privacy
    profile safe-v1.
    """
    from tracegraph.pattern.ast import Pattern
    from tracegraph.workflows.check import check_runs, input_path, read_rules
    from tracegraph.workflows.patterns import pattern_file, unkept

    form, output = with_json_out(form, output, json_out, CheckForm.JSON)
    if form is None:
        suffix = output.suffix.lower() if output else ""
        form = _SUFFIXES.get(suffix, CheckForm.TABLE)
    rules = read_rules(rule)
    for pattern in (each.subject for each in rules if isinstance(each.subject, Pattern)):
        if lacking := unkept(pattern, keep.value):
            notice(lacking)
    paths = [input_path(written) for written in (current, baseline)]
    if paths == ["-", "-"]:
        raise UsageError("standard input can be read once: name a file for one of the runs")
    bound = TABLE_LIMIT if limit is None and form in {CheckForm.TABLE, CheckForm.MD} else limit
    reading = partial(loaded, keep=keep, strict=strict, cache=not no_cache)
    said = paths[0] == paths[1]  # what was not read of the one path is not said twice
    with reading(paths[:1]) as of_current, reading(paths[1:], quiet=said) as of_baseline:
        files = filter(None, (pattern_file(each.partition(":")[2]) for each in rule))
        read = [*inputs(of_current), *inputs(of_baseline), *files]
        told = check_runs((current, of_current), (baseline, of_baseline), rules, bound)
        _write(told, form, output, read)
    raise typer.Exit(EXIT[told.check.verdict])


def _write(told: "Checked", form: CheckForm, output: Path | None, read: list[Path]) -> None:
    """Write an answer in its form; only the one that is asked for is made."""
    from tracegraph.export.check import check_report
    from tracegraph.export.check_github import check_annotations
    from tracegraph.export.check_junit import check_junit
    from tracegraph.export.check_sarif import check_sarif
    from tracegraph.export.check_text import check_lines, check_markdown

    texts = {
        CheckForm.TABLE: check_lines,
        CheckForm.MD: check_markdown,
        CheckForm.JUNIT: check_junit,
        CheckForm.SARIF: check_sarif,
        CheckForm.GITHUB: check_annotations,
    }
    if form in texts:
        emit_text(texts[form](told), output, read)
    else:
        emit(check_report(told), Format(form.value), output, read)
    if form is CheckForm.GITHUB and os.environ.get(SUMMARY):
        _summarize("".join(check_markdown(told)))


def _summarize(text: str) -> None:
    """Append to the summary of the step, which other commands of it may have begun."""
    try:
        with open(os.environ[SUMMARY], "a", encoding="utf-8", newline="") as stream:
            stream.write(f"### tracegraph check\n\n{text}\n")
    except OSError as error:
        notice(f"{SUMMARY}: cannot be written: {system_reason(error)}")
