"""Values that our commands take as they are come out as Typer would give them."""

import json
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.core import TyperCommand, TyperGroup
from typer.testing import CliRunner

from tracegraph.cli.command import Command, Group


class Colour(StrEnum):
    """Some words."""

    RED = "red"
    BLUE = "blue"


def _command(
    first: Annotated[str, typer.Argument()],
    others: Annotated[list[Path] | None, typer.Argument()] = None,
    colour: Annotated[Colour | None, typer.Option()] = None,
    shade: Annotated[Colour, typer.Option()] = Colour.BLUE,
    word: Annotated[Literal["auto", "never"], typer.Option()] = "auto",
    file: Annotated[Path | None, typer.Option()] = None,
    number: Annotated[int | None, typer.Option(min=0)] = None,
    size: Annotated[int, typer.Option()] = 3,
    several: Annotated[list[str], typer.Option()] = [],  # noqa: B006
    must: Annotated[list[str] | None, typer.Option()] = None,
    flag: Annotated[bool, typer.Option("--flag")] = False,
) -> None:
    print(json.dumps({name: repr(value) for name, value in locals().items()}))


def _required(
    paths: Annotated[list[str], typer.Argument()], name: Annotated[str, typer.Option()]
) -> None:
    print(paths, name)


def _ran(command: Callable[..., None], arguments: list[str], ours: bool) -> tuple[int, str]:
    classes: tuple[Any, Any] = (Command, Group) if ours else (TyperCommand, TyperGroup)
    app = typer.Typer(cls=classes[1], rich_markup_mode=None, add_completion=False)
    app.command("run", cls=classes[0])(command)
    app.command("other")(lambda: None)
    done = CliRunner().invoke(app, ["run", *arguments])
    return done.exit_code, done.output


@pytest.mark.parametrize(
    "line",
    [
        "",
        "a",
        "a b c",
        "a --colour red --shade red",
        "a --colour RED",
        "a --colour green",
        "a --word never --file x/y --number 3",
        "a --word sometimes",
        "a --number -1",
        "a --number x",
        "a --size 4 --flag",
        "a --several x --several y=z --must q",
        "a --unknown",
        "--help",
    ],
)
def test_values_and_refusals_are_those_of_typer(line: str) -> None:
    arguments = line.split()
    assert _ran(_command, arguments, ours=True) == _ran(_command, arguments, ours=False)


@pytest.mark.parametrize("line", ["", "a", "a b --name n", "--name n"])
def test_what_is_missing_is_refused_as_typer_does(line: str) -> None:
    arguments = line.split()
    ran = _ran(_required, arguments, ours=True)
    assert ran == _ran(_required, arguments, ours=False)
    assert ran[0] == (0 if line == "a b --name n" else 2)
