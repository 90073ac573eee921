"""``tracegraph cache``: what is kept of the folders that were queried."""

import typer

from tracegraph.cli.command import Command, Group
from tracegraph.cli.emit import emit, notice
from tracegraph.cli.options import FormatOption, OutputOption, form_of

app = typer.Typer(cls=Group, help="What is kept of the files and folders that were queried.")


@app.callback(invoke_without_command=True)
def cache(context: typer.Context) -> None:
    """Show the cache; see the sub-commands for more."""
    if context.invoked_subcommand is None:
        show()


@app.command("show", cls=Command, epilog="Example: tracegraph cache show")
def show(form: FormatOption = None, output: OutputOption = None) -> None:
    """Show where the cache lies and what it holds."""
    from tracegraph.corpus.cache import cache_root, list_cache
    from tracegraph.export.cache import cache_report

    entries = list_cache()
    emit(cache_report(entries), form_of(form, output), output)
    size = sum(entry.size for entry in entries)
    notice(f"{cache_root()}: {_corpora(len(entries))}, {size} bytes")


@app.command("clear", cls=Command, epilog="Example: tracegraph cache clear")
def clear() -> None:
    """Remove everything that is kept; sources are never touched."""
    from tracegraph.corpus.cache import clear_cache

    removed, held = clear_cache()
    notice(f"{_corpora(removed)} removed")
    for reason in held:
        notice(reason)


def _corpora(number: int) -> str:
    return f"{number} {'corpus' if number == 1 else 'corpora'}"
