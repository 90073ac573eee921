"""The ``tracegraph`` command: registers the commands, shows errors as one line, sets exit codes.

No command's heavy imports happen here or at the top of a command's module: ``tracegraph --version``
takes as long as Python and typer do.
"""

import io
import os
import signal
import sys
from typing import Annotated, Any

import typer

from tracegraph import __version__
from tracegraph.cli import (
    analyze,
    cache,
    check,
    context,
    cypher,
    diff,
    digest,
    explain,
    export_incident_memo,
    export_review_candidates,
    ingest,
    ingest_otlp,
    ingest_phoenix,
    inspect,
    phoenix,
    presets,
    query,
    summarize,
    traces,
    validate,
    why,
)
from tracegraph.cli.command import Command, Group
from tracegraph.cli.emit import CLOSED_PIPE, notice, silence
from tracegraph.errors import TracegraphError, described

# NumPy starts a pool of threads for linear algebra, which no query uses; that takes as long as the
# rest of its import. It looks at the variable once, when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells report it."""

app = typer.Typer(
    name="tracegraph",
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("-V", "--version", is_eager=True, callback=_version, help="Show the version."),
    ] = False,
) -> None:
    """Ask questions of what AI agents did: point it at trace files of any tool.

    Answers go to standard output, everything else to standard error. Exit 2 is wrong usage, a
    refused query, or a named file that cannot be read.
    """


app.command("query", cls=Command, epilog=query.EXAMPLES)(query.query)
app.command("cypher", cls=Command, epilog=cypher.EXAMPLES)(cypher.cypher)
app.command("ingest", cls=Command, epilog=ingest.EXAMPLES)(ingest.ingest)
app.command("ingest-otlp", cls=Command, epilog=ingest_otlp.EXAMPLES)(ingest_otlp.ingest_otlp)
app.command("ingest-phoenix", cls=Command, epilog=ingest_phoenix.EXAMPLES)(
    ingest_phoenix.ingest_phoenix
)
app.command("traces", cls=Command, epilog=traces.EXAMPLES)(traces.traces)
app.command("inspect", cls=Command, epilog=inspect.EXAMPLES)(inspect.inspect)
app.command("explain", cls=Command, epilog=explain.EXAMPLES)(explain.explain)
app.command("context", cls=Command, epilog=context.EXAMPLES)(context.context)
app.command("why", cls=Command, epilog=why.EXAMPLES)(why.why)
app.command("analyze", cls=Command, epilog=analyze.EXAMPLES)(analyze.analyze)
app.command("validate", cls=Command, epilog=validate.EXAMPLES)(validate.validate)
app.command("digest", cls=Command, epilog=digest.EXAMPLES)(digest.digest)
app.command("summarize", cls=Command, epilog=summarize.EXAMPLES)(summarize.summarize)
app.command("export-review-candidates", cls=Command, epilog=export_review_candidates.EXAMPLES)(
    export_review_candidates.export_review_candidates
)
app.command("export-incident-memo", cls=Command, epilog=export_incident_memo.EXAMPLES)(
    export_incident_memo.export_incident_memo
)
app.command("diff", cls=Command, epilog=diff.EXAMPLES)(diff.diff)
app.command("check", cls=Command, epilog=check.EXAMPLES)(check.check)
app.add_typer(phoenix.app, name="phoenix")
app.add_typer(presets.app, name="presets")
app.add_typer(cache.app, name="cache")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    _open_missing_streams()
    for stream, encoding in ((sys.stdout, "utf-8"), (sys.stderr, None)):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal keeps its encoding; what it cannot show is written out, never an error.
            wanted = None if stream.isatty() else encoding
            stream.reconfigure(encoding=wanted, errors="backslashreplace", newline="\n")
    # typer would end an interrupted command with 1, which means "no match" here.
    before = signal.signal(signal.SIGINT, _interrupt)
    try:
        code = app(args=arguments, prog_name="tracegraph", standalone_mode=False)
    except TracegraphError as error:
        code = _failed(str(error), error.exit_code)
    except _WrongUsage as error:
        code = _explain_usage(error)
    except BrokenPipeError:
        silence(sys.stdout)
        code = CLOSED_PIPE
    except OSError as error:  # a full disk, a lost connection: nothing that the input can help
        code = _failed(described(error))
    except MemoryError:
        code = _failed("out of memory; name fewer or smaller files")
    finally:
        signal.signal(signal.SIGINT, before)
    sys.exit(code if isinstance(code, int) else 0)


_WrongUsage: type[Exception] = typer.BadParameter.__bases__[0]
"""What Typer raises for wrong usage; of this kind it exports only one by name."""


_MAP_FIRST = "read the log first: tracegraph ingest PATHS --map FILE --into CORPUS"


def _explain_usage(error: Any) -> int:
    """Say in one line what is wrong, where Typer would take four; its help stays as it is."""
    message = error.format_message()
    if "\n" in message:
        error.show()
        return TracegraphError.exit_code
    command = error.ctx.command_path if error.ctx else "tracegraph"
    said = message.replace("Value error, ", "").rstrip(".")
    if getattr(error, "option_name", None) == "--map":
        said = f"No such option: --map; {_MAP_FIRST}"
    return _failed(f"{said}; see: {command} --help")


def _failed(text: str, code: int = TracegraphError.exit_code) -> int:
    notice(f"tracegraph: {text}")
    return code


def _open_missing_streams() -> None:
    """Let streams that whoever started this has closed lead nowhere.

    Else the next file that is opened takes their number, and what is meant for them ends in it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _interrupt(*_: object) -> None:
    sys.exit(INTERRUPTED)
