"""``tracegraph ingest-otlp``: one trace of a file of OTLP spans as a portable artifact."""

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
  tracegraph ingest-otlp --file examples/traces/react_ok.otlp.json
  tracegraph ingest-otlp --file examples/traces/react_ok.otlp.json -o react_ok.json
  tracegraph ingest-otlp --file - -o last.json < examples/traces/react_ok.otlp.json
"""


def ingest_otlp(
    file: FileOption,
    trace: TraceOption = None,
    output: ArtifactOption = None,
    redact_errors: RedactOption = False,
    strict: StrictOption = False,
    keep: KeepOption = Keep.ERRORS,
    no_cache: NoCacheOption = False,
) -> None:
    """Write one trace of an OTLP export (JSON, or JSON Lines of a Collector) as an artifact.

    An artifact holds one trace with all that is known of it, causes and links included, and is
    read like any other trace file. Names and error text go along as recorded.
    """
    from tracegraph.workflows.ingest import read_otlp

    policy = kept(keep, redact_errors)
    ingest_file(read_otlp, file, trace, output, keep=policy, strict=strict, cache=not no_cache)
