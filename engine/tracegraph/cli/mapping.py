"""What ``ingest`` says of home-made logs: ``--map`` and ``--map-template``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from tracegraph.cli.emit import emit_text
from tracegraph.errors import UsageError

MapOption = Annotated[
    Path | None,
    typer.Option(
        "--map",
        metavar="FILE",
        help="Read PATHS as home-made logs (JSON Lines, JSON, CSV), by the mapping in FILE.",
    ),
]
TemplateOption = Annotated[
    bool,
    typer.Option(
        "--map-template",
        help="Write a mapping for the log in PATHS to start from, to -o FILE or standard output.",
    ),
]


def write_map_template(paths: list[str], output: Path | None, beside: Mapping[str, object]) -> None:
    """Write a mapping for one log.

    Args:
        paths: the log.
        output: where to; None for standard output.
        beside: options that mean nothing beside this one, by name.

    Raises:
        UsageError: there is such an option, or not one path.
    """
    for name, value in beside.items():
        if value:
            raise UsageError(f"{name} reads traces, --map-template a log to map: give one")
    if len(paths) != 1:
        raise UsageError("--map-template looks at one log: name one file, or - for standard input")
    from tracegraph.workflows.mapping import map_template

    emit_text([map_template(paths[0])], output, [Path(paths[0])])
