"""``tracegraph ingest-phoenix``: one trace of a Phoenix export as a portable artifact."""

from tracegraph.cli.artifact import (
    ArtifactOption,
    FileOption,
    RedactOption,
    TraceOption,
    ingest_file,
    kept,
)
from tracegraph.cli.options import Keep, KeepOption, NoCacheOption, StrictOption

EXAMPLES = """\b
Examples:
  tracegraph ingest-phoenix --file phoenix-trace.json --out tracegraph.json
  px trace get ID --format raw --no-progress | tracegraph ingest-phoenix --file - -o trace.json
"""


def ingest_phoenix(
    file: FileOption,
    trace: TraceOption = None,
    output: ArtifactOption = None,
    redact_errors: RedactOption = False,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Write one trace of what Phoenix exported as an artifact; an artifact of one is saved again.

    Phoenix exports have no span links, so causes that only links record are missing, and the
    trace says so: its fidelity is parent_only.
    """
    from tracegraph.workflows.ingest import read_phoenix

    policy = kept(keep, redact_errors)
    ingest_file(read_phoenix, file, trace, output, keep=policy, strict=strict, cache=not no_cache)
